#include "cluster/collective_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/message.hpp"
#include "cluster/collective_phase.hpp"

namespace einflow::cluster {

namespace {

/// In the order in which the first of equals is taken.
constexpr std::array kAlgorithms{Algorithm::ring, Algorithm::direct,       Algorithm::recursive_doubling,
                                 Algorithm::tree, Algorithm::hierarchical, Algorithm::in_network};

/// With 2^40 devices shares of it stay within 128 bits.
constexpr Count kMostBytes = Count(Count::Int{1} << 64);

Ratio whole(std::int64_t value) { return {Count(value)}; }

class Timer {
 public:
  Timer(const Cluster& cluster, Communication communication, Count bytes, std::vector<Part> parts,
        Efficiency efficiency)
      : cluster_(cluster),
        communication_(communication),
        bytes_(bytes),
        parts_(std::move(parts)),
        efficiency_(efficiency) {
    for (const Part& part : parts_) devices_ *= part.size;
  }

  std::int64_t devices() const { return devices_; }

  /// Whether formulas are written.
  void write_texts(bool texts) {
    texts_ = texts;
    for (Part& part : parts_) part.texts = texts;
  }

  /// Nothing where the algorithm is not possible.
  std::optional<CollectiveTime> by(Algorithm algorithm) const {
    CollectiveTime time;
    time.communication = communication_;
    time.algorithm = algorithm;
    time.devices = devices_;
    time.bytes = bytes_;
    const bool done = parts_.size() == 1                     ? single(algorithm, time)
                      : algorithm == Algorithm::hierarchical ? hierarchical(time)
                                                             : across(algorithm, time);
    if (!done) return std::nullopt;
    for (const NetworkTime& network : time.networks) time.steps += network.steps;
    return time;
  }

  std::string why_not(Algorithm algorithm) const {
    if (parts_.size() == 1) return cluster::why_not(parts_.front(), communication_, algorithm);
    for (const Part& part : parts_) {
      if (part.neighbourly()) return "a group in several networks, one of them a torus, goes network by network";
      if (algorithm != Algorithm::hierarchical && algorithm != Algorithm::in_network &&
          !load_of(part, communication_, Ratio(bytes_), algorithm)) {
        return cluster::why_not(part, communication_, algorithm);
      }
    }
    return fmt::format("there is none of {} over several networks", to_text(communication_));
  }

  /// Whether the library that was measured chose the algorithm itself, so that only the ring's bytes are compared.
  bool chosen_by_measurement(Algorithm algorithm) const {
    return algorithm == Algorithm::in_network && parts_.size() == 1 &&
           fit_of(parts_.front(), communication_) != nullptr;
  }

 private:
  const CollectiveFit* fit_of(const Part& part, Communication communication) const {
    if (efficiency_ == Efficiency::stated) return nullptr;
    return fit_for(cluster_.device.name, part.network->name, communication, part.size);
  }

  bool single(Algorithm algorithm, CollectiveTime& time) const {
    const Part& part = parts_.front();
    const auto load = load_of(part, communication_, Ratio(bytes_), algorithm);
    if (!load) return false;
    time.networks.push_back(time_of(part, *load, fit_of(part, communication_), Ratio(bytes_)));
    time.seconds = time.networks.front().transfer_seconds + time.networks.front().latency_seconds;
    time.formula = time.networks.front().formula;
    return true;
  }

  /// The fastest algorithm of one network.
  std::optional<NetworkTime> fastest(const Part& part, Communication communication, const Ratio& bytes) const {
    std::optional<NetworkTime> best;
    const CollectiveFit* fit = fit_of(part, communication);
    for (const Algorithm algorithm : kAlgorithms) {
      if (algorithm == Algorithm::in_network && fit != nullptr) continue;
      const auto load = load_of(part, communication, bytes, algorithm);
      if (!load) continue;
      NetworkTime time = time_of(part, *load, fit, bytes);
      if (texts_) time.formula = fmt::format("{} {}: {}", to_text(communication), to_text(algorithm), time.formula);
      const auto seconds = [](const NetworkTime& each) { return each.transfer_seconds + each.latency_seconds; };
      if (!best || seconds(time) < seconds(*best)) best = std::move(time);
    }
    return best;
  }

  /// Adds a phase to what the network did before.
  static void add(NetworkTime& sum, NetworkTime phase) {
    sum.network = phase.network;
    sum.devices = phase.devices;
    sum.bytes = sum.bytes + phase.bytes;
    sum.link_bytes = sum.link_bytes + phase.link_bytes;
    sum.steps += phase.steps;
    sum.transfer_seconds += phase.transfer_seconds;
    sum.latency_seconds += phase.latency_seconds;
    sum.measured = sum.measured || phase.measured;
    if (!phase.formula.empty()) sum.formula += (sum.formula.empty() ? "" : "; ") + phase.formula;
  }

  /// Network by network, one phase after the other.
  bool hierarchical(CollectiveTime& time) const {
    if (communication_ == Communication::send_receive) return false;
    time.networks.resize(parts_.size());
    const auto phase = [&](std::size_t i, Communication communication, const Ratio& bytes) {
      auto done = fastest(parts_[i], communication, bytes);
      if (!done) return false;
      add(time.networks[i], std::move(*done));
      return true;
    };
    bool possible = true;
    Ratio bytes(bytes_);
    if (communication_ == Communication::broadcast || communication_ == Communication::all_to_all) {
      for (std::size_t i = 0; i < parts_.size(); ++i) possible = possible && phase(i, communication_, bytes);
    } else if (communication_ == Communication::all_gather || communication_ == Communication::reduce_scatter) {
      for (std::size_t i = parts_.size(); i-- > 0;) {
        possible = possible && phase(i, communication_, bytes);
        bytes = bytes / whole(parts_[i].size);
      }
    } else {
      for (std::size_t i = parts_.size(); i-- > 1;) {
        possible =
            possible && phase(i, Communication::reduce_scatter, bytes) && phase(i, Communication::all_gather, bytes);
        bytes = bytes / whole(parts_[i].size);
      }
      possible = possible && phase(0, Communication::all_reduce, bytes);
    }
    if (!possible) return false;
    for (const NetworkTime& network : time.networks) {
      time.seconds += network.transfer_seconds + network.latency_seconds;
    }
    if (!texts_) return true;
    for (const NetworkTime& network : time.networks) {
      time.formula += fmt::format("{}{} {}", time.formula.empty() ? "" : " + ", network.network,
                                  seconds_text(network.transfer_seconds + network.latency_seconds));
    }
    time.formula += " = " + seconds_text(time.seconds) + " (one phase after the other)";
    return true;
  }

  /// All networks at once: the bytes take as long as on the slowest.
  bool across(Algorithm algorithm, CollectiveTime& time) const {
    if (algorithm == Algorithm::in_network) return false;
    if (communication_ == Communication::send_receive) return to_next(time, algorithm);
    std::int64_t outside = 1;  // devices outside a part: nodes of it
    for (const Part& part : parts_) {
      if (part.neighbourly()) return false;
      const auto load = load_across(part, algorithm, outside);
      if (!load) return false;
      time.networks.push_back(time_of(part, *load, fit_of(part, communication_), Ratio(bytes_)));
      outside *= part.size;
    }
    const bool phases = algorithm == Algorithm::recursive_doubling;
    double transfer = 0;
    double latency = 0;
    for (const NetworkTime& network : time.networks) {
      transfer = phases ? transfer + network.transfer_seconds : std::max(transfer, network.transfer_seconds);
      latency += network.latency_seconds;
    }
    time.seconds = transfer + latency;
    if (!texts_) return true;
    std::string transfers;
    std::string latencies;
    for (const NetworkTime& network : time.networks) {
      transfers += (transfers.empty() ? "" : phases ? " + " : ", ") + seconds_text(network.transfer_seconds);
      latencies += " + " + seconds_text(network.latency_seconds);
    }
    time.formula =
        fmt::format("{}{} = {}", phases ? transfers : "max(" + transfers + ")", latencies, seconds_text(time.seconds));
    return true;
  }

  /// What goes through one of several networks. `outside`: so many devices have its like.
  std::optional<Load> load_across(const Part& part, Algorithm algorithm, std::int64_t outside) const {
    const std::int64_t p = devices_;
    const std::int64_t here = outside * part.size;  // what the network and those outside it tell apart
    const bool outermost = outside == 1;
    const bool reduces_all = communication_ == Communication::all_reduce;
    // As many rings (trees) as the innermost groups have devices, each through other ports: of the p links of one,
    // `here` are in this network or outside it, `outside` outside it.
    const Ratio own(Count(outermost ? here : here - outside), Count(p));
    const auto over_p = [&](std::int64_t numerator) {
      return texts_ ? fmt::format("{}/{}", numerator, p) : std::string();
    };
    const std::string own_text = over_p(outermost ? here : here - outside);
    const Ratio n(bytes_);
    const auto made = [&](Ratio share, std::int64_t links, std::int64_t steps, std::string words) {
      const Ratio sent = share * n;
      return Load{sent, sent / whole(links), Count(steps), texts_ ? words + " x " + bytes_.str() + " B" : ""};
    };
    const auto alone = load_of(part, communication_, n, algorithm);
    switch (algorithm) {
      case Algorithm::ring: {
        if (!alone) return std::nullopt;
        const bool all = communication_ == Communication::broadcast;
        const Ratio each = all ? whole(1) : Ratio(Count((reduces_all ? 2 : 1) * (p - 1)), Count(p));
        const std::string text = all ? "" : (reduces_all ? "2 x " : "") + over_p(p - 1) + " x ";
        // A piece passes p - 1 links of its ring, as many of them far ones as it can.
        const std::int64_t passes = std::min(p - 1, here) - (outermost ? 0 : std::min(p - 1, outside));
        return made(each * own, ring_links(part), (reduces_all ? 2 : 1) * passes, text + own_text);
      }
      case Algorithm::direct: {
        if (!alone) return std::nullopt;
        // To (size - 1) x inside devices the way is through this network.
        const std::int64_t inside = p / here;
        const std::int64_t there = (part.size - 1) * inside;
        const bool twice = reduces_all || communication_ == Communication::broadcast;
        // The messages of one step leave together: only the slowest network's latency counts.
        return made(Ratio(Count((twice ? 2 : 1) * there), Count(p)), direct_links(part),
                    outermost ? (twice ? 2 : 1) : 0, (twice ? "2 x " : "") + over_p(there));
      }
      case Algorithm::recursive_doubling: {
        if (!alone || communication_ == Communication::all_to_all) return std::nullopt;
        // Halving goes from the inside out: what is left of n here is n / inside.
        const std::int64_t inside = p / here;
        const auto left = load_of(part, communication_, n / whole(inside), algorithm);
        return left;
      }
      case Algorithm::tree: {
        if (!alone) return std::nullopt;
        // Trees over the nodes, chains inside them.
        const std::int64_t depth =
            outermost ? alone->steps.to_int64().value_or(0) : (reduces_all ? 2 : 1) * (part.size - 1);
        return made(whole(reduces_all ? 2 : 1) * own, 1, depth, (reduces_all ? "2 x " : "") + own_text);
      }
      default:
        return std::nullopt;
    }
  }

  /// Each device to the next in the numbering: the last of a node has its next in another.
  bool to_next(CollectiveTime& time, Algorithm algorithm) const {
    if (algorithm != Algorithm::direct) return false;
    const Part& part = parts_.front();
    const auto load = load_of(part, communication_, Ratio(bytes_), algorithm);
    if (!load) return false;
    time.networks.push_back(time_of(part, *load, fit_of(part, communication_), Ratio(bytes_)));
    time.seconds = time.networks.front().transfer_seconds + time.networks.front().latency_seconds;
    if (texts_)
      time.formula = time.networks.front().formula + " (the slowest: from the last device of a node to the next node)";
    return true;
  }

  const Cluster& cluster_;  ///< outlives the timer
  Communication communication_;
  Count bytes_;
  std::vector<Part> parts_;
  Efficiency efficiency_;
  std::int64_t devices_ = 1;
  bool texts_ = true;
};

Result<Timer> timer_for(const Cluster& cluster, Communication communication, Count bytes, const Group& group,
                        Efficiency efficiency) {
  auto parts = parts_of(cluster, group);
  if (!parts) return tl::unexpected(parts.error());
  if (bytes < Count(0) || bytes.overflowed() || bytes > kMostBytes) {
    return fail("the collective's bytes are not between 0 and 2^64");
  }
  return Timer(cluster, communication, bytes, std::move(*parts), efficiency);
}

struct Candidate {
  Algorithm algorithm = Algorithm::ring;
  double seconds = 0;
};

/// What each possible algorithm takes, without texts.
std::vector<Candidate> candidates(Timer& timer) {
  std::vector<Candidate> all;
  timer.write_texts(false);
  for (const Algorithm algorithm : kAlgorithms) {
    if (timer.chosen_by_measurement(algorithm)) continue;
    if (const auto time = timer.by(algorithm)) all.push_back({algorithm, time->seconds});
  }
  timer.write_texts(true);
  return all;
}

/// The first of those that take least.
const Candidate* least(const std::vector<Candidate>& all) {
  const auto best = std::min_element(all.begin(), all.end(),
                                     [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
  return best == all.end() ? nullptr : &*best;
}

tl::unexpected<Diagnostics> no_algorithm(Communication communication) {
  return fail(fmt::format("no algorithm of {} fits this group", to_text(communication)));
}

}  // namespace

std::string to_text(Communication communication) {
  switch (communication) {
    case Communication::all_reduce:
      return "all-reduce";
    case Communication::reduce_scatter:
      return "reduce-scatter";
    case Communication::all_gather:
      return "all-gather";
    case Communication::all_to_all:
      return "all-to-all";
    case Communication::broadcast:
      return "broadcast";
    case Communication::send_receive:
      return "send-receive";
  }
  return "";
}

std::string to_text(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ring:
      return "ring";
    case Algorithm::direct:
      return "direct";
    case Algorithm::recursive_doubling:
      return "recursive doubling";
    case Algorithm::tree:
      return "tree";
    case Algorithm::in_network:
      return "in-network";
    case Algorithm::hierarchical:
      return "hierarchical";
  }
  return "";
}

std::optional<Communication> communication_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return Communication::all_reduce;
    case CollectiveKind::reduce_scatter:
      return Communication::reduce_scatter;
    case CollectiveKind::all_gather:
      return Communication::all_gather;
    case CollectiveKind::all_to_all:
    case CollectiveKind::redistribute:
      return Communication::all_to_all;
    case CollectiveKind::slice:
      return std::nullopt;
  }
  return std::nullopt;
}

Ratio bus_factor(Communication communication, std::int64_t devices) {
  const Ratio once(Count(devices - 1), Count(devices));
  switch (communication) {
    case Communication::all_reduce:
      return whole(2) * once;
    case Communication::reduce_scatter:
    case Communication::all_gather:
    case Communication::all_to_all:
      return once;
    case Communication::broadcast:
    case Communication::send_receive:
      return whole(1);
  }
  return whole(1);
}

Result<CollectiveTime> collective_time(const Cluster& cluster, Communication communication, Count bytes,
                                       const Group& group, Efficiency efficiency, std::optional<Algorithm> algorithm) {
  auto timer = timer_for(cluster, communication, bytes, group, efficiency);
  if (!timer) return tl::unexpected(timer.error());
  if (timer->devices() == 1) {
    CollectiveTime nothing;
    nothing.communication = communication;
    nothing.bytes = bytes;
    if (algorithm) nothing.algorithm = *algorithm;
    nothing.formula = "one device: nothing is sent";
    return nothing;
  }
  if (algorithm) {
    auto time = timer->by(*algorithm);
    if (time) return std::move(*time);
    return fail(
        fmt::format("no {} {} here: {}", to_text(*algorithm), to_text(communication), timer->why_not(*algorithm)));
  }
  const std::vector<Candidate> all = candidates(*timer);
  const Candidate* best = least(all);
  auto time = best == nullptr ? std::nullopt : timer->by(best->algorithm);
  if (!time) return no_algorithm(communication);
  std::vector<std::string> words;
  for (const Candidate& each : all) {
    words.push_back(fmt::format("{} {}", to_text(each.algorithm), seconds_text(each.seconds)));
  }
  if (all.size() > 1) time->choice = "the least of " + comma_list(words);
  return std::move(*time);
}

Result<double> collective_seconds(const Cluster& cluster, Communication communication, Count bytes, const Group& group,
                                  Efficiency efficiency) {
  auto timer = timer_for(cluster, communication, bytes, group, efficiency);
  if (!timer) return tl::unexpected(timer.error());
  if (timer->devices() == 1) return 0.0;
  const std::vector<Candidate> all = candidates(*timer);
  const Candidate* best = least(all);
  if (best == nullptr) return no_algorithm(communication);
  return best->seconds;
}

}  // namespace einflow::cluster
