// Measured collectives, as constants: what a launch costs and which bandwidth is reached. The only place that holds
// them; docs/decisions/collectives.md has their errors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/count.hpp"
#include "cluster/collective_time.hpp"

namespace einflow::cluster {

/// time = latency + bytes that a device sends (ring's, see ring_bytes) / bandwidth.
struct FittedLine {
  double latency_seconds = 0;
  double bytes_per_second = 0;
};

/// One system, collective and group shape. Buffers below kSmallBuffer have a line of their own, whose time is at most
/// what the other gives at kSmallBuffer: the library changes its protocol about there.
struct CollectiveFit {
  std::string_view system;  ///< of the measurements, and in tests/reference/collectives
  Communication communication = Communication::all_reduce;
  std::int64_t nodes = 1;
  std::int64_t per_node = 1;  ///< devices of the group in each node
  FittedLine small;
  FittedLine large;
  double stated_bytes_per_second = 0;  ///< of a device's port, where the fit is for a network of the library
  /// The network of the library that it is used for, by its device's name and its own; empty: for none.
  std::string_view device;
  std::string_view network;

  std::int64_t devices() const { return nodes * per_node; }
};

inline constexpr std::int64_t kSmallBuffer = 1 << 20;

/// All of them.
std::span<const CollectiveFit> collective_fits();

/// The one for a network of the library: of this communication, else of all-reduce, else of send-receive; of those the
/// one whose number of devices is nearest, the larger of two. nullptr where nothing was measured.
const CollectiveFit* fit_for(std::string_view device, std::string_view network, Communication communication,
                             std::int64_t devices);

/// Where the measurements of the system are from.
std::string_view source_of_fits(std::string_view system);

/// Bytes that a device sends with the ring algorithm (all-to-all: pairwise).
double ring_bytes(Communication communication, double bytes, std::int64_t devices);
/// Messages one after the other in a ring.
std::int64_t ring_steps(Communication communication, std::int64_t devices);

/// A measured time.
struct MeasuredPoint {
  double bytes = 0;  ///< n, as collective_time() takes it
  double seconds = 0;
};

/// The two lines through the points, each the least sum of squared relative errors. A line is not faster than the
/// link (a single point: as fast as it), its latency not below 0. A side without points has the other's line.
void fit(CollectiveFit& fit, const std::vector<MeasuredPoint>& points, double link_bytes_per_second);

/// Seconds by the fit's own shape.
double fitted_seconds(const CollectiveFit& fit, double bytes);

}  // namespace einflow::cluster
