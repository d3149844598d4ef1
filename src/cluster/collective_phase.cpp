#include "cluster/collective_phase.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace einflow::cluster {

namespace {

Ratio whole(std::int64_t value) { return {Count(value)}; }
Ratio fraction(std::int64_t numerator, std::int64_t denominator) { return {Count(numerator), Count(denominator)}; }

std::int64_t log2_up(std::int64_t value) { return std::bit_width(static_cast<std::uint64_t>(value - 1)); }
bool power_of_two(std::int64_t value) { return std::has_single_bit(static_cast<std::uint64_t>(value)); }

bool splits(Communication communication) {
  return communication == Communication::reduce_scatter || communication == Communication::all_gather;
}

/// A share of n that is sent, with its words.
struct Share {
  Ratio value;
  std::string text;
};

/// The share numerator / denominator.
Share share_of(const Part& part, std::int64_t numerator, std::int64_t denominator) {
  return {fraction(numerator, denominator), part.texts ? fmt::format("{}/{}", numerator, denominator) : std::string()};
}

Share twice(const Share& share) { return {whole(2) * share.value, "2 x " + share.text}; }

Load load(const Part& part, const Share& share, const Ratio& bytes, std::int64_t links, std::int64_t steps) {
  const Ratio sent = share.value * bytes;
  Load made{sent, sent / whole(links), Count(steps), {}};
  if (!part.texts) return made;
  made.bytes_formula = (share.text.empty() ? "" : share.text + " x ") + number_text(bytes) + " B";
  return made;
}

/// Between devices that reach each other through a switch or links of their own.
std::optional<Load> direct_network(const Part& part, Communication communication, const Ratio& bytes,
                                   Algorithm algorithm) {
  const std::int64_t p = part.size;
  const bool reduces_all = communication == Communication::all_reduce;
  const Share once = share_of(part, p - 1, p);
  const Share all{whole(1), ""};
  switch (algorithm) {
    case Algorithm::ring:
      if (reduces_all) return load(part, twice(once), bytes, ring_links(part), 2 * (p - 1));
      if (splits(communication)) return load(part, once, bytes, ring_links(part), p - 1);
      if (communication == Communication::broadcast) return load(part, all, bytes, ring_links(part), p - 1);
      return std::nullopt;
    case Algorithm::direct:
      if (communication == Communication::send_receive) return load(part, all, bytes, 1, 1);
      if (reduces_all || communication == Communication::broadcast) {  // scatter (and add), then gather
        return load(part, twice(once), bytes, direct_links(part), 2);
      }
      return load(part, once, bytes, direct_links(part), 1);
    case Algorithm::recursive_doubling: {
      if (!power_of_two(p) || communication == Communication::send_receive) return std::nullopt;
      const std::int64_t rounds = log2_up(p);
      if (communication == Communication::all_to_all) {  // Bruck: half of the bytes in every round
        return load(part, share_of(part, rounds, 2), bytes, 1, rounds);
      }
      if (splits(communication)) return load(part, once, bytes, 1, rounds);
      return load(part, twice(once), bytes, 1, 2 * rounds);
    }
    case Algorithm::tree:  // Sanders, Speck, Traff 2009: every device is inside one of the two trees
      if (part.network->topology == Topology::fully_connected) return std::nullopt;
      if (reduces_all) return load(part, {whole(2), "2"}, bytes, 1, 2 * log2_up(p));
      if (communication == Communication::broadcast) return load(part, all, bytes, 1, log2_up(p));
      return std::nullopt;
    case Algorithm::in_network: {
      if (!part.network->in_network_reduction) return std::nullopt;
      const bool tree = part.network->topology == Topology::fat_tree;
      // A tree of switches adds on the way up and multicasts on the way down. One switch adds what a device reads of
      // its share and multicasts what it then writes: its own shares in, its share in, its share out.
      if (reduces_all && tree) return load(part, all, bytes, 1, 1);
      if (reduces_all) return load(part, share_of(part, p + 1, p), bytes, 1, 2);
      if (splits(communication)) return load(part, once, bytes, 1, 1);
      if (communication == Communication::broadcast) return load(part, all, bytes, 1, 1);
      return std::nullopt;
    }
    case Algorithm::hierarchical:
      return std::nullopt;
  }
  return std::nullopt;
}

/// Links of one device along an axis: both directions where it closes to a ring.
std::int64_t links_along(const Part::Axis& axis) { return axis.whole && axis.size > 2 ? 2 : 1; }

/// Links that a message passes to the farthest device of the axis.
std::int64_t hops_along(const Part::Axis& axis) {
  return (links_along(axis) == 2 ? axis.size / 2 : axis.size - 1) * axis.stride;
}

/// Scatter along all axes: the buffer in as many pieces as there are axes; each goes along all of them, one after the
/// other, every piece on another axis at a time. Bytes over the busiest link.
Ratio torus_scatter(const Part& part, const Ratio& bytes) {
  const std::size_t axes = part.axes.size();
  std::vector<Ratio> piece(axes, bytes / whole(static_cast<std::int64_t>(axes)));
  Ratio sum;
  for (std::size_t phase = 0; phase < axes; ++phase) {
    Ratio slowest;
    for (std::size_t i = 0; i < axes; ++i) {
      const Part::Axis& axis = part.axes[(i + phase) % axes];
      const Ratio link = piece[i] * fraction(axis.size - 1, axis.size) * fraction(axis.stride, links_along(axis));
      if (slowest < link) slowest = link;
      piece[i] = piece[i] / whole(axis.size);
    }
    sum = sum + slowest;
  }
  return sum;
}

std::optional<Load> torus_network(const Part& part, Communication communication, const Ratio& bytes,
                                  Algorithm algorithm) {
  const Algorithm only = communication == Communication::all_to_all || communication == Communication::send_receive
                             ? Algorithm::direct
                             : Algorithm::ring;
  if (algorithm != only) return std::nullopt;
  const Share once = share_of(part, part.size - 1, part.size);
  std::int64_t hops = 0;
  std::int64_t links = 0;
  std::int64_t stride = 1;
  for (const Part::Axis& axis : part.axes) {
    hops += hops_along(axis);
    links += links_along(axis);
    stride = std::max(stride, axis.stride);
  }
  switch (communication) {
    case Communication::all_reduce:
    case Communication::reduce_scatter:
    case Communication::all_gather: {
      const bool both = communication == Communication::all_reduce;
      Load result = load(part, both ? twice(once) : once, bytes, links, both ? 2 * hops : hops);
      result.link_bytes = torus_scatter(part, bytes) * whole(both ? 2 : 1);
      return result;
    }
    case Communication::all_to_all: {
      Load result = load(part, once, bytes, 1, hops);
      result.link_bytes = Ratio();
      // Across the middle of a line of p devices go floor(p / 2) x ceil(p / 2) messages of n / p; a ring has two
      // middles, and both ways through each.
      for (const Part::Axis& axis : part.axes) {
        const std::int64_t pairs = (axis.size / 2) * (axis.size - axis.size / 2);
        const Ratio link = bytes * fraction(pairs * axis.stride, axis.size * links_along(axis));
        if (result.link_bytes < link) result.link_bytes = link;
      }
      return result;
    }
    case Communication::broadcast: {
      Load result = load(part, {whole(1), ""}, bytes, links, hops);
      result.link_bytes = result.link_bytes * whole(stride);
      return result;
    }
    case Communication::send_receive: {
      Load result = load(part, {whole(1), ""}, bytes, 1, stride);
      result.link_bytes = result.link_bytes * whole(stride);
      return result;
    }
  }
  return std::nullopt;
}

}  // namespace

std::int64_t ring_links(const Part& part) {
  if (part.network->topology != Topology::fully_connected) return 1;
  // p - 1 rings without a common link (Tillson 1980: all p but 4 and 6, where two fewer links are used).
  if (part.size == 4 || part.size == 6) return part.size - 2;
  return part.size - 1;
}

std::int64_t direct_links(const Part& part) {
  return part.network->topology == Topology::fully_connected ? part.size - 1 : 1;
}

std::optional<Load> load_of(const Part& part, Communication communication, const Ratio& bytes, Algorithm algorithm) {
  return part.neighbourly() ? torus_network(part, communication, bytes, algorithm)
                            : direct_network(part, communication, bytes, algorithm);
}

std::string why_not(const Part& part, Communication communication, Algorithm algorithm) {
  if (part.neighbourly()) {
    const bool direct = communication == Communication::all_to_all || communication == Communication::send_receive;
    return fmt::format("neighbours alone have links: {} goes {}", to_text(communication),
                       direct ? "directly, from link to link" : "around the rings");
  }
  if (algorithm == Algorithm::recursive_doubling && !power_of_two(part.size)) {
    return fmt::format("{} devices are not a power of two", part.size);
  }
  if (algorithm == Algorithm::in_network && !part.network->in_network_reduction) {
    return fmt::format("the network '{}' does not add", part.network->name);
  }
  if (algorithm == Algorithm::hierarchical) return "it needs a group in several networks";
  return fmt::format("there is none of {} on this network", to_text(communication));
}

namespace {

/// Latency and transfer of a fitted line for so many bytes sent, with the latency of further steps.
struct Fitted {
  const FittedLine* line = nullptr;
  double latency = 0;
  double transfer = 0;
  double seconds() const { return latency + transfer; }
};

Fitted fitted(const FittedLine& line, double stated, double seconds_at_stated, double further) {
  return {&line, line.latency_seconds + further, seconds_at_stated * stated / line.bytes_per_second};
}

/// By the line of the buffer's size; a small one at most what the smallest large one takes.
Fitted by_fit(const CollectiveFit& fit, const NetworkTime& time, double rate, double hop, double buffer) {
  const auto known = static_cast<double>(ring_steps(fit.communication, fit.devices()));
  const double further = std::max(0.0, time.steps.to_double() - known) * hop;
  const double stated = fit.stated_bytes_per_second;
  const double seconds = time.link_bytes.to_double() / rate;
  constexpr auto kLimit = static_cast<double>(kSmallBuffer);
  if (buffer >= kLimit) return fitted(fit.large, stated, seconds, further);
  const Fitted small = fitted(fit.small, stated, seconds, further);
  const Fitted limit = fitted(fit.large, stated, seconds * kLimit / std::max(1.0, buffer), further);
  return small.seconds() <= limit.seconds() ? small : limit;
}

std::string formula_of(const Part& part, const Load& load, const NetworkTime& time, const std::string& reached,
                       const std::string& latency) {
  const Network& network = *part.network;
  std::string text = load.bytes_formula + " = " + number_text(load.bytes) + " B";
  if (!(time.link_bytes == load.bytes))
    text += fmt::format(", {} B over the busiest link", number_text(time.link_bytes));
  if (part.sharing > 1) text += fmt::format(" ({} collectives share it)", part.sharing);
  text += " / " + rate_text((network.bandwidth / network.oversubscription).to_double()) + reached;
  if (!(network.oversubscription == Ratio(Count(1)))) {
    text += fmt::format(" ({} / {} oversubscribed)", rate_text(network.bandwidth.to_double()),
                        number_text(network.oversubscription));
  }
  return text + latency + " = " + seconds_text(time.transfer_seconds + time.latency_seconds);
}

}  // namespace

NetworkTime time_of(const Part& part, const Load& load, const CollectiveFit* fit, const Ratio& buffer) {
  const Network& network = *part.network;
  NetworkTime time;
  time.network = network.name;
  time.devices = part.size;
  time.bytes = load.bytes;
  time.link_bytes = load.link_bytes * whole(part.sharing);
  time.steps = load.steps;
  const double rate = (network.bandwidth / network.oversubscription).to_double();
  const double hop = network.latency.to_double();
  if (fit == nullptr) {
    time.transfer_seconds = time.link_bytes.to_double() / rate;
    time.latency_seconds = time.steps.to_double() * hop;
    if (part.texts) {
      time.formula = formula_of(part, load, time, "", fmt::format(" + {} x {}", time.steps.str(), seconds_text(hop)));
    }
    return time;
  }
  const Fitted by = by_fit(*fit, time, rate, hop, buffer.to_double());
  time.measured = true;
  time.latency_seconds = by.latency;
  time.transfer_seconds = by.transfer;
  if (!part.texts) return time;
  const bool limited = by.line == &fit->large && buffer.to_double() < static_cast<double>(kSmallBuffer);
  time.formula =
      formula_of(part, load, time, fmt::format(" / {:.4g}", by.line->bytes_per_second / fit->stated_bytes_per_second),
                 fmt::format(" + {} (fitted to {}, {} devices{})", seconds_text(by.latency), fit->system,
                             fit->devices(), limited ? fmt::format(", for {} B", kSmallBuffer) : ""));
  return time;
}

std::string seconds_text(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds >= 1) return fmt::format("{:.6g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.6g} ms", seconds * 1e3);
  if (seconds >= 1e-6) return fmt::format("{:.6g} us", seconds * 1e6);
  return fmt::format("{:.6g} ns", seconds * 1e9);
}

std::string rate_text(double bytes_per_second) {
  if (bytes_per_second >= 1e12) return fmt::format("{:.6g} TB/s", bytes_per_second / 1e12);
  return fmt::format("{:.6g} GB/s", bytes_per_second / 1e9);
}

std::string number_text(const Ratio& value) {
  return value.is_whole() ? value.numerator().str() : fmt::format("{:.2f}", value.to_double());
}

}  // namespace einflow::cluster
