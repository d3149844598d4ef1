#include "cluster/devices/wires.hpp"

#include <numeric>

namespace einflow::cluster::devices {

Tally::Tally(std::int64_t devices)
    : sent(static_cast<std::size_t>(devices), 0), received(static_cast<std::size_t>(devices), 0) {}

Tally& Tally::operator+=(const Tally& other) {
  for (std::size_t i = 0; i < other.sent.size(); ++i) {
    sent[i] += other.sent[i];
    received[i] += other.received[i];
  }
  return *this;
}

std::int64_t Tally::total_sent() const { return std::accumulate(sent.begin(), sent.end(), std::int64_t{0}); }
std::int64_t Tally::total_received() const {
  return std::accumulate(received.begin(), received.end(), std::int64_t{0});
}

void Wires::send(std::int64_t from, std::int64_t to, Values values) {
  tally_.sent[static_cast<std::size_t>(from)] += static_cast<std::int64_t>(values.size());
  on_the_way_[{from, to}].push_back(std::move(values));
}

Values Wires::receive(std::int64_t from, std::int64_t to) {
  std::deque<Values>& messages = on_the_way_.at({from, to});
  Values values = std::move(messages.front());
  messages.pop_front();
  tally_.received[static_cast<std::size_t>(to)] += static_cast<std::int64_t>(values.size());
  return values;
}

}  // namespace einflow::cluster::devices
