// Pieces that go around a line of devices, one hop a step.
#pragma once

#include <functional>

#include "cluster/devices/wires.hpp"

namespace einflow::cluster::devices {

/// Devices in the order of a ring: the last one's neighbour is the first.
using Line = std::vector<std::int64_t>;
/// Of the member (0, 1, ... in its line) and the piece: its values there.
using ReadPiece = std::function<Values(std::int64_t member, std::int64_t piece)>;
using WritePiece = std::function<void(std::int64_t member, std::int64_t piece, const Values& values)>;

/// Member i has piece i; all get all pieces. p - 1 steps, in each of which every member passes on the piece that it
/// got last, first its own.
void ring_all_gather(const Line& line, Wires& wires, const ReadPiece& own, const WritePiece& write);

/// Every member has a term of each piece; member i gets the sum of piece i. p - 1 steps, in each of which every member
/// adds its term to the sum that it got last and passes it on.
void ring_reduce_scatter(const Line& line, const std::string& op, Wires& wires, const ReadPiece& term,
                         const WritePiece& write);

/// Piece `piece` of its owner, the member of that number, goes along the line until all others have it, each passing
/// it on to the next (a pipelined broadcast).
void chain_broadcast(const Line& line, std::int64_t piece, Wires& wires, const ReadPiece& own, const WritePiece& write);

/// The other way: every member adds its term, the owner comes last and gets the sum.
void chain_reduce(const Line& line, std::int64_t piece, const std::string& op, Wires& wires, const ReadPiece& term,
                  const WritePiece& write);

}  // namespace einflow::cluster::devices
