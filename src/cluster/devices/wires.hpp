// Messages between devices: values are copied out of the sender and into the receiver, and each is counted.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "cluster/devices/local_array.hpp"

namespace einflow::cluster::devices {

/// Elements that each device sent and received.
struct Tally {
  std::vector<std::int64_t> sent;
  std::vector<std::int64_t> received;

  Tally() = default;
  explicit Tally(std::int64_t devices);
  Tally& operator+=(const Tally& other);
  std::int64_t total_sent() const;
  std::int64_t total_received() const;
  bool operator==(const Tally&) const = default;
};

class Wires {
 public:
  explicit Wires(std::int64_t devices) : tally_(devices) {}

  void send(std::int64_t from, std::int64_t to, Values values);
  /// The oldest message on its way between the two. Requires that there is one.
  Values receive(std::int64_t from, std::int64_t to);

  const Tally& tally() const { return tally_; }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, std::deque<Values>> on_the_way_;
  Tally tally_;
};

}  // namespace einflow::cluster::devices
