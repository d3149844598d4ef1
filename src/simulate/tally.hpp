// The counts looked at more closely while the walk goes on: by instance of a level, by mesh, by access.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "mapping/counts.hpp"
#include "mapping/mapping.hpp"
#include "simulate/elements.hpp"
#include "simulate/residence.hpp"

namespace einflow::execution {

class Tally {
 public:
  explicit Tally(const Spec& spec);

  /// An instance of a level reads or is written this.
  void read(int level, std::int64_t instance, Count bits);
  void written(int level, std::int64_t instance, Count bits);

  /// An element that crosses between a coordinate of a hold and its parent at the present change of step.
  struct Crossed {
    std::int64_t coordinate = 0;
    std::int64_t group = 0;  ///< siblings that share one transfer
    Element element = 0;
    bool from_sibling = false;  ///< forwarded: it does not come from the parent
  };
  /// All that crosses at one change of step of one hold.
  void change(const Residence& residence, const std::vector<Crossed>& crossed);

  std::vector<BusiestInstance> busiest(const std::vector<std::vector<Residence>>& residences) const;
  std::vector<NetworkCounts> networks(const std::vector<std::vector<Residence>>& residences) const;
  std::vector<AccessCounts> accesses(const std::vector<std::vector<Residence>>& residences) const;

 private:
  /// Of one hold below the outermost.
  struct Crossing {
    std::vector<int> meshes;  ///< between parent and hold, outermost first
    /// By mesh but the last, by coordinate: its number when siblings on meshes further in that share are one.
    std::vector<std::vector<std::int64_t>> groups;
    std::vector<Count> crossed;  ///< by the same: elements on the inner side of the mesh
    Count own_accesses;          ///< at the hold, each coordinate's transfer by itself
    Count parent_accesses;       ///< at the parent, each shared transfer by itself, forwarded elements left out
    Count shared_accesses, unforwarded_accesses;  ///< at the hold's width, with and without forwarded elements
  };
  Crossing crossing_of(const Spec& spec, int tensor, int hold) const;
  Count width_of(int level) const;

  const Spec& spec_;
  std::vector<std::vector<std::pair<Count, Count>>> traffic_;  ///< by level and instance: bits read, bits written
  std::vector<std::vector<Crossing>> crossings_;               ///< by tensor and hold
};

}  // namespace einflow::execution
