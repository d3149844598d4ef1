// What a collective moves, in closed form.
#pragma once

#include "cluster/program.hpp"

namespace einflow::cluster {

enum class Algorithm {
  ring,                ///< p - 1 steps (all-reduce 2(p - 1)), each to the neighbour
  direct,              ///< one step (all-reduce two): everyone to everyone
  recursive_doubling,  ///< log2 p steps (all-reduce by halving and doubling 2 log2 p); p a power of two
  tree,                ///< two binary trees, each with half of the bytes, pipelined
  in_network,          ///< switches add and multicast
  hierarchical,        ///< network by network: scatter inside, the rest across, gather inside
};

/// Elements that devices send, and messages one after the other.
struct Traffic {
  Count total;    ///< by all devices together
  Count busiest;  ///< by the one that sends most
  Count steps;
  bool operator==(const Traffic&) const = default;
};

/// Elements that the device sends in the collective (ring for gathers, scatters and reductions, pairwise for the rest).
Count sent_by(const Collective& collective, const DeviceMesh& mesh, std::int64_t device);

/// The total alone: of a redistribution it takes devices' time, not devices squared.
Count total_sent(const Collective& collective, const DeviceMesh& mesh);

/// Ring or pairwise, over all devices of the mesh.
Traffic traffic_of(const Collective& collective, const DeviceMesh& mesh);

/// Of a list of steps: sums of the collectives' traffic. `busiest` is the sum for the device with the largest sum.
Traffic traffic_of(const std::vector<Step>& steps, const DeviceMesh& mesh);

/// Bytes of so many elements, rounded up.
Count bytes_of(Count elements, const ElementType& type);

}  // namespace einflow::cluster
