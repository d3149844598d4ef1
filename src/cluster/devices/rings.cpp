#include "cluster/devices/rings.hpp"

namespace einflow::cluster::devices {

namespace {

std::int64_t modulo(std::int64_t a, std::int64_t p) { return (a % p + p) % p; }

}  // namespace

void ring_all_gather(const Line& line, Wires& wires, const ReadPiece& own, const WritePiece& write) {
  const auto p = static_cast<std::int64_t>(line.size());
  std::vector<Values> last;  // what each member got last
  for (std::int64_t i = 0; i < p; ++i) {
    last.push_back(own(i, i));
    write(i, i, last.back());
  }
  for (std::int64_t step = 0; step + 1 < p; ++step) {
    for (std::int64_t i = 0; i < p; ++i) {
      wires.send(line[static_cast<std::size_t>(i)], line[static_cast<std::size_t>((i + 1) % p)],
                 std::move(last[static_cast<std::size_t>(i)]));
    }
    for (std::int64_t i = 0; i < p; ++i) {
      Values& got = last[static_cast<std::size_t>(i)];
      got = wires.receive(line[static_cast<std::size_t>(modulo(i - 1, p))], line[static_cast<std::size_t>(i)]);
      write(i, modulo(i - 1 - step, p), got);
    }
  }
}

void ring_reduce_scatter(const Line& line, const std::string& op, Wires& wires, const ReadPiece& term,
                         const WritePiece& write) {
  const auto p = static_cast<std::int64_t>(line.size());
  // The sum of piece i starts at member i + 1, so that it ends at i.
  std::vector<Values> sums;
  for (std::int64_t i = 0; i < p; ++i) sums.push_back(term(i, modulo(i - 1, p)));
  for (std::int64_t step = 1; step < p; ++step) {
    for (std::int64_t i = 0; i < p; ++i) {
      wires.send(line[static_cast<std::size_t>(i)], line[static_cast<std::size_t>((i + 1) % p)],
                 std::move(sums[static_cast<std::size_t>(i)]));
    }
    for (std::int64_t i = 0; i < p; ++i) {
      const Values got =
          wires.receive(line[static_cast<std::size_t>(modulo(i - 1, p))], line[static_cast<std::size_t>(i)]);
      sums[static_cast<std::size_t>(i)] = combine(op, got, term(i, modulo(i - 1 - step, p)));
    }
  }
  for (std::int64_t i = 0; i < p; ++i) write(i, i, sums[static_cast<std::size_t>(i)]);
}

void chain_broadcast(const Line& line, std::int64_t piece, Wires& wires, const ReadPiece& own,
                     const WritePiece& write) {
  const auto p = static_cast<std::int64_t>(line.size());
  Values values = own(piece, piece);
  write(piece, piece, values);
  for (std::int64_t hop = 1; hop < p; ++hop) {
    const std::int64_t from = line[static_cast<std::size_t>((piece + hop - 1) % p)];
    const std::int64_t member = (piece + hop) % p;
    wires.send(from, line[static_cast<std::size_t>(member)], values);
    values = wires.receive(from, line[static_cast<std::size_t>(member)]);
    write(member, piece, values);
  }
}

void chain_reduce(const Line& line, std::int64_t piece, const std::string& op, Wires& wires, const ReadPiece& term,
                  const WritePiece& write) {
  const auto p = static_cast<std::int64_t>(line.size());
  Values sum = term((piece + 1) % p, piece);
  for (std::int64_t hop = 2; hop <= p; ++hop) {
    const std::int64_t from = line[static_cast<std::size_t>((piece + hop - 1) % p)];
    const std::int64_t member = (piece + hop) % p;
    wires.send(from, line[static_cast<std::size_t>(member)], std::move(sum));
    sum = combine(op, wires.receive(from, line[static_cast<std::size_t>(member)]), term(member, piece));
  }
  write(piece, piece, sum);
}

}  // namespace einflow::cluster::devices
