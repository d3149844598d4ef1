// One network's part in a collective: bytes, links, steps. Used by collective_time.cpp.
#pragma once

#include <string>
#include <vector>

#include "cluster/collective_fits.hpp"
#include "cluster/collective_time.hpp"

namespace einflow::cluster {

/// Of a group, what lies in one network.
struct Part {
  struct Axis {
    std::int64_t size = 1;
    std::int64_t stride = 1;
    bool whole = false;  ///< the group has the whole axis: on a ring or torus it closes to a ring
  };
  const Network* network = nullptr;
  std::vector<Axis> axes;  ///< of size 2 and more
  std::int64_t size = 1;   ///< product
  std::int64_t sharing = 1;
  bool texts = true;  ///< whether formulas are written: a search asks for seconds alone

  /// Neighbours have links, others do not.
  bool neighbourly() const { return network->topology == Topology::ring || network->topology == Topology::torus; }
};

/// The group's parts of more than one device, outermost first.
Result<std::vector<Part>> parts_of(const Cluster& cluster, const Group& group);

/// Bytes and messages in one network, before its figures are put in.
struct Load {
  Ratio bytes;       ///< that a device sends
  Ratio link_bytes;  ///< over the busiest link, before sharing
  Count steps;
  std::string bytes_formula;  ///< "2 x 7/8 x 100000000 B"
};

/// The network alone, the group having no other; nothing where the network or the communication does not allow the
/// algorithm.
std::optional<Load> load_of(const Part& part, Communication communication, const Ratio& bytes, Algorithm algorithm);

/// What lacks for the algorithm, for messages.
std::string why_not(const Part& part, Communication communication, Algorithm algorithm);

/// The same, its seconds from the network's figures, or from the fit where there is one. `buffer` is n of the whole
/// collective in this network, which chooses the fit's line.
NetworkTime time_of(const Part& part, const Load& load, const CollectiveFit* fit, const Ratio& buffer);

/// Links of a device that a ring uses, and those that everyone-to-everyone uses (switches: the one port).
std::int64_t ring_links(const Part& part);
std::int64_t direct_links(const Part& part);

/// "3.5 ms", "50 GB/s", "175000000": figures as the formulas show them.
std::string seconds_text(double seconds);
std::string rate_text(double bytes_per_second);
std::string number_text(const Ratio& value);

}  // namespace einflow::cluster
