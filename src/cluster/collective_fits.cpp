#include "cluster/collective_fits.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace einflow::cluster {

namespace {

constexpr Communication kAllReduce = Communication::all_reduce;
constexpr Communication kSendReceive = Communication::send_receive;
constexpr std::string_view kA100 = "a100-sxm-80gb";
constexpr std::string_view kH100 = "h100-sxm";
constexpr std::string_view kNvlink = "nvlink";
constexpr std::string_view kInfiniband = "infiniband";

// fit() through all points of tests/reference/collectives, which a test recomputes; the comment says how many. NCCL on
// dgx-a100 is taken from the four GPUs, whose buffers reach 8 GiB: those of a100-dgx end at 32 MiB, far from the
// bandwidth that larger ones reach. The networks between the nodes of a100-dgx (a third of HDR InfiniBand at best) and
// the pairs are no network of the library.
constexpr CollectiveFit kFits[] = {
    {"a100-4gpu", kAllReduce, 1, 4, {13.78e-6, 18.99e9}, {56.37e-6, 221.6e9}, 300e9, kA100, kNvlink},      // 22 points
    {"a100-dgx", kAllReduce, 1, 2, {52.77e-6, 300e9}, {40e-6, 149.8e9}, 0, "", ""},                        // 3 points
    {"a100-dgx", kAllReduce, 1, 4, {47.81e-6, 40.97e9}, {54.8e-6, 190.8e9}, 0, "", ""},                    // 7 points
    {"a100-dgx", kAllReduce, 1, 8, {30.59e-6, 300e9}, {49.52e-6, 150.6e9}, 0, "", ""},                     // 8 points
    {"a100-dgx", kAllReduce, 2, 1, {39.65e-6, 2.621e9}, {83.78e-6, 5.966e9}, 0, "", ""},                   // 9 points
    {"a100-dgx", kAllReduce, 2, 2, {30.19e-6, 2.746e9}, {256.9e-6, 10.71e9}, 0, "", ""},                   // 9 points
    {"a100-dgx", kAllReduce, 2, 4, {80.35e-6, 6.85e9}, {280.7e-6, 23.31e9}, 0, "", ""},                    // 8 points
    {"a100-dgx", kAllReduce, 2, 8, {64.76e-6, 3.656e9}, {424e-6, 13.94e9}, 0, "", ""},                     // 9 points
    {"a100-dgx", kSendReceive, 1, 2, {8.816e-6, 27.74e9}, {12.06e-6, 300e9}, 300e9, kA100, kNvlink},       // 8 points
    {"a100-dgx", kSendReceive, 2, 1, {22.04e-6, 5.213e9}, {27.15e-6, 7.77e9}, 0, "", ""},                  // 7 points
    {"a100-pairs", kAllReduce, 1, 2, {42.32e-6, 3.823e9}, {52.83e-6, 224.7e9}, 0, "", ""},                 // 7 points
    {"a100-pairs", kAllReduce, 1, 4, {58.15e-6, 18.14e9}, {57.25e-6, 23.99e9}, 0, "", ""},                 // 8 points
    {"a100-pairs", kSendReceive, 1, 2, {3.993e-6, 300e9}, {4.009e-6, 300e9}, 0, "", ""},                   // 6 points
    {"a100-pairs", kSendReceive, 2, 1, {12.44e-6, 5.455e9}, {0e-6, 5.958e9}, 0, "", ""},                   // 9 points
    {"h100-dgx", kAllReduce, 1, 2, {6.356e-6, 6.639e9}, {31.75e-6, 358.4e9}, 450e9, kH100, kNvlink},       // 10 points
    {"h100-dgx", kAllReduce, 1, 4, {39.31e-6, 147.5e9}, {30.32e-6, 388.4e9}, 450e9, kH100, kNvlink},       // 7 points
    {"h100-dgx", kAllReduce, 1, 8, {22.96e-6, 450e9}, {30.31e-6, 384.5e9}, 450e9, kH100, kNvlink},         // 6 points
    {"h100-dgx", kSendReceive, 1, 2, {5.919e-6, 127e9}, {7.365e-6, 367.6e9}, 450e9, kH100, kNvlink},       // 5 points
    {"h100-dgx", kSendReceive, 2, 1, {17.66e-6, 28.17e9}, {21.85e-6, 37.61e9}, 50e9, kH100, kInfiniband},  // 10 points
    {"h100-pairs", kAllReduce, 1, 2, {28.09e-6, 89.31e9}, {22.03e-6, 221.1e9}, 0, "", ""},                 // 6 points
    {"h100-pairs", kAllReduce, 1, 4, {27.91e-6, 450e9}, {50.09e-6, 49.75e9}, 0, "", ""},                   // 9 points
};

/// Sums of a weighted straight line.
struct Sums {
  double weight = 0, x = 0, t = 0, xx = 0, xt = 0;
  int points = 0;
};

/// t = latency + x / rate with the least sum of squares of (error / t).
FittedLine line_through(const std::vector<MeasuredPoint>& points, double link) {
  Sums sums;
  for (const MeasuredPoint& point : points) {
    const double weight = 1 / (point.seconds * point.seconds);
    sums.weight += weight;
    sums.x += weight * point.bytes;
    sums.t += weight * point.seconds;
    sums.xx += weight * point.bytes * point.bytes;
    sums.xt += weight * point.bytes * point.seconds;
    ++sums.points;
  }
  const double determinant = sums.weight * sums.xx - sums.x * sums.x;
  double slope = sums.points < 2 ? 0 : (sums.weight * sums.xt - sums.x * sums.t) / determinant;
  double latency = (sums.t - slope * sums.x) / sums.weight;
  if (latency < 0) slope = sums.xt / sums.xx;
  slope = std::max(slope, 1 / link);
  latency = std::max(0.0, (sums.t - slope * sums.x) / sums.weight);
  return {latency, 1 / slope};
}

double seconds_of(const FittedLine& line, double sent) { return line.latency_seconds + sent / line.bytes_per_second; }

/// Which fit stands for a communication that was not measured itself: 0 itself, 1 all-reduce, 2 send-receive.
int distance(Communication wanted, Communication measured) {
  if (wanted == measured) return 0;
  return measured == Communication::all_reduce ? 1 : 2;
}

}  // namespace

std::span<const CollectiveFit> collective_fits() { return kFits; }

const CollectiveFit* fit_for(std::string_view device, std::string_view network, Communication communication,
                             std::int64_t devices) {
  const CollectiveFit* best = nullptr;
  const auto nearer = [&](const CollectiveFit& a, const CollectiveFit& b) {
    const int far_a = distance(communication, a.communication);
    const int far_b = distance(communication, b.communication);
    if (far_a != far_b) return far_a < far_b;
    const std::int64_t gap_a = std::abs(a.devices() - devices);
    const std::int64_t gap_b = std::abs(b.devices() - devices);
    return gap_a != gap_b ? gap_a < gap_b : a.devices() > b.devices();
  };
  for (const CollectiveFit& fit : kFits) {
    if (fit.device.empty() || fit.device != device || fit.network != network) continue;
    if (best == nullptr || nearer(fit, *best)) best = &fit;
  }
  return best;
}

std::string_view source_of_fits(std::string_view system) {
  if (system == "a100-4gpu") {
    return "github.com/PrincetonUniversity/LLMCompass, artifact of ISCA 2024, measured all-reduce of four A100 SXM";
  }
  return "github.com/microsoft/vidur at 7d475133 (MLSys 2024), profiling data of collectives";
}

double ring_bytes(Communication communication, double bytes, std::int64_t devices) {
  const double p = static_cast<double>(devices);
  switch (communication) {
    case Communication::all_reduce:
      return 2 * (p - 1) / p * bytes;
    case Communication::reduce_scatter:
    case Communication::all_gather:
    case Communication::all_to_all:
      return (p - 1) / p * bytes;
    case Communication::broadcast:
    case Communication::send_receive:
      return bytes;
  }
  return bytes;
}

std::int64_t ring_steps(Communication communication, std::int64_t devices) {
  if (communication == Communication::send_receive) return 1;
  return communication == Communication::all_reduce ? 2 * (devices - 1) : devices - 1;
}

void fit(CollectiveFit& fit, const std::vector<MeasuredPoint>& points, double link_bytes_per_second) {
  std::vector<MeasuredPoint> small;
  std::vector<MeasuredPoint> large;
  for (const MeasuredPoint& point : points) {
    const MeasuredPoint sent{ring_bytes(fit.communication, point.bytes, fit.devices()), point.seconds};
    (point.bytes < static_cast<double>(kSmallBuffer) ? small : large).push_back(sent);
  }
  if (!large.empty()) fit.large = line_through(large, link_bytes_per_second);
  if (!small.empty()) fit.small = line_through(small, link_bytes_per_second);
  if (large.empty()) fit.large = fit.small;
  if (small.empty()) fit.small = fit.large;
}

double fitted_seconds(const CollectiveFit& fit, double bytes) {
  const auto sent = [&](double buffer) { return ring_bytes(fit.communication, buffer, fit.devices()); };
  const auto limit = static_cast<double>(kSmallBuffer);
  if (bytes >= limit) return seconds_of(fit.large, sent(bytes));
  return std::min(seconds_of(fit.small, sent(bytes)), seconds_of(fit.large, sent(limit)));
}

}  // namespace einflow::cluster
