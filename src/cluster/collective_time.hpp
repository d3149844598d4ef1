// How long a collective takes on a cluster: messages one after the other times their latency, and the bytes over the
// slowest link by its bandwidth (the alpha-beta model).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/ratio.hpp"
#include "cluster/cluster.hpp"
#include "cluster/program.hpp"
#include "cluster/traffic.hpp"

namespace einflow::cluster {

/// What is communicated; `n` is the number of bytes that collective_time() is given.
enum class Communication {
  all_reduce,      ///< n: the buffer that every device has, before and after
  reduce_scatter,  ///< n: the buffer that every device has before; each keeps n / p
  all_gather,      ///< n: the result; each device has n / p before
  all_to_all,      ///< n: what one device has, before and after; it keeps n / p of it and sends the rest
  broadcast,       ///< n: what the root has
  send_receive,    ///< n: what each device of the group sends to the next one
};

/// "all-reduce" ... "send-receive"; "ring", "recursive doubling" ...
std::string to_text(Communication communication);
std::string to_text(Algorithm algorithm);

/// Nothing for a slice. A redistribution counts as an all-to-all of the bytes that a device has.
std::optional<Communication> communication_of(CollectiveKind kind);

/// By nccl-tests: bus bandwidth = n / time x this. all-reduce 2 (p - 1) / p; reduce-scatter, all-gather and all-to-all
/// (p - 1) / p; the rest 1. (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md)
Ratio bus_factor(Communication communication, std::int64_t devices);

/// `size` devices of a network's axis, each `stride` from the next.
struct GroupAxis {
  std::string axis;
  std::int64_t size = 1;
  std::int64_t stride = 1;
  bool operator==(const GroupAxis&) const = default;
};

/// The devices that communicate: a grid out of the cluster's. All groups of its shape do so at once.
struct Group {
  std::vector<GroupAxis> axes;  ///< in any order, each axis once
  std::int64_t sharing = 1;     ///< collectives that go through the same ports at the same time

  std::int64_t size() const;
  bool operator==(const Group&) const = default;
};

/// The group of each axis of a mesh of devices that is laid row by row over the cluster (its last axis over the
/// innermost network's last axis, and outwards). Errors: more devices than the cluster has; an axis that would take
/// neither a divisor nor a multiple of a cluster's axis.
Result<std::vector<Group>> groups_of(const Cluster& cluster, const std::vector<MeshAxis>& mesh);

/// What the group's messages do in one network.
struct NetworkTime {
  std::string network;
  std::int64_t devices = 1;  ///< the group's size in this network alone
  Ratio bytes;               ///< that a device sends into it, on all of its links
  Ratio link_bytes;          ///< over the busiest link, those of other groups on it included
  Count steps;               ///< messages one after the other (on rings and tori: links passed one after the other)
  double transfer_seconds = 0;
  double latency_seconds = 0;
  bool measured = false;  ///< with fitted constants (collective_fits.hpp), else the network's own figures
  std::string formula;    ///< with the values put in
};

struct CollectiveTime {
  Communication communication = Communication::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  std::int64_t devices = 1;
  Count bytes;  ///< n
  double seconds = 0;
  Count steps;
  std::vector<NetworkTime> networks;  ///< that the group spans, outermost first
  std::string formula;                ///< how the networks' times make `seconds`
  std::string choice;                 ///< why this algorithm: the others' times; empty where it was asked for
};

enum class Efficiency {
  measured,  ///< fitted latency and share of the bandwidth, where there are any for the device and network
  stated,    ///< the networks' latency and bandwidth as they are stated
};

/// The algorithm asked for, else the one that takes least. Errors: an axis that the cluster lacks or that is too
/// short for the group; an algorithm that the network or the group does not allow, with the reason.
Result<CollectiveTime> collective_time(const Cluster& cluster, Communication communication, Count bytes,
                                       const Group& group, Efficiency efficiency = Efficiency::measured,
                                       std::optional<Algorithm> algorithm = std::nullopt);

/// Its seconds alone, with the algorithm that takes least: for searches, without texts.
Result<double> collective_seconds(const Cluster& cluster, Communication communication, Count bytes, const Group& group,
                                  Efficiency efficiency = Efficiency::measured);

}  // namespace einflow::cluster
