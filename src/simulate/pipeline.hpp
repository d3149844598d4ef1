// Cycles of loads, computation and drains that overlap as far as buffers allow (docs/law.md section 6, "pipelined").
//
// All instances advance together. The tiles j = 0, 1, .. of a storage level below the outermost are the steps of the
// temporal loops outside its innermost hold. With B = 2 buffers if the level is double-buffered, else B = 1:
//
//   load_start[j]  = max(load_end[j-1], load_end of the enclosing tile of the next level outwards, free[j-B])
//   work_start[j]  = max(load_end[j], work_end[j-1])
//   work_end[j]    = work_start[j] + the steps inside, at the innermost storage level;
//                    the drain_end of the last tile inside, at the others
//   drain_start[j] = max(work_end[j], drain_end[j-1])
//   free[j]        = drain_end[j]
//
// and the whole takes until the last drain of the outermost of these levels. Worked example: 8 tiles that take 10
// cycles to load, 25 to compute and 5 to store take 10 + 8*25 + 5 = 215 cycles with two buffers, 8 * (10+25+5) = 320
// with one.
//
// How long a tile takes to load: the longest of ceil(bytes into one instance / its write bandwidth) and of
// ceil(bytes out of one instance of the parent / the parent's read bandwidth), each element taken from the hold that is
// its parent, and once where multicast serves several. Drains likewise, by own read and the parent's write bandwidth. A
// bandwidth that is not stated takes no time. Only what a tile does not share with the tile before it is loaded.
// A step takes ceil(operations of the full atomic shape / rate) cycles (1 where no rate is stated), partial tiles too;
// operands between the innermost hold and the compute level move within it.
//
// Loads and drains have ports of their own unless the level or a parent declares a shared port. Then they take turns:
// with two buffers the load of the next tile inside the same enclosing tile goes before the drain (it is always ready
// first), and the last drain of an enclosing tile before the first load of the next. Other levels' use of a parent's
// port, and the reads of a read-modify-write, are left out: they show in the level's own cycles, not here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "mapping/mapping.hpp"

namespace einflow::execution {

class Pipeline {
 public:
  explicit Pipeline(const Spec& spec);

  /// The tile that begins next brings this into an instance of `level` / takes this out of an instance of its parent.
  void load(int level, std::int64_t instance, Count bits);
  void load_from(int level, int parent, std::int64_t instance, Count bits);
  /// The tile that ends next takes this out of an instance of `level` / brings this into an instance of its parent.
  void drain(int level, std::int64_t instance, Count bits);
  void drain_to(int level, int parent, std::int64_t instance, Count bits);

  /// A new step begins of the temporal loops outside `depth` loops: levels whose innermost hold is at that depth or
  /// deeper end a tile and begin another.
  void begin_tiles(int depth);
  /// One step of the whole nest.
  void step();
  /// Ends the last tiles; the cycles in all.
  Count finish();

 private:
  /// Bits through one port of each instance of a level during one load or drain.
  struct Port {
    int level = 0;
    std::optional<Ratio> bandwidth;
    std::vector<Count> bits;  ///< by instance
  };
  struct Stage {
    int level = 0;
    int depth = 0;  ///< of the level's innermost hold
    int buffers = 1;
    bool shared_port = false;
    std::vector<Port> load_ports;
    std::vector<Port> drain_ports;

    std::int64_t tiles = 0;  ///< begun so far
    Count load_end;
    Count work_end;
    Count drain_end;
    std::array<Count, 2> free;  ///< of tile j at j % 2
    bool drain_waits = false;   ///< the last tile's drain lets the next load go first
    Count waiting_drain;        ///< its cycles
  };

  Stage* stage_of(int level);
  void begin_tile(std::size_t stage);
  void end_tile(std::size_t stage, bool next_in_same_enclosing);
  static void drain_tile(Stage& stage, Count cycles);
  void count(std::vector<Port>& ports, int level, std::int64_t instance, Count bits, bool reads);
  static Count longest(std::vector<Port>& ports);

  const Machine& machine_;
  std::vector<Stage> stages_;  ///< outermost first
  Count step_cycles_ = 1;
  Count compute_end_;  ///< of the steps so far
};

}  // namespace einflow::execution
