// Which collectives go piece by piece with an einsum.
#pragma once

#include <cstddef>
#include <vector>

#include "cluster/program.hpp"

namespace einflow::cluster::devices {

/// The collectives with the same `time` as the einsum at that position that bring or take its pieces: all-gathers of
/// the time rank among the collectives before it, the first reduce-scatter of the output behind it. Only those whose
/// whole copy no other step reads, and one drops: it need never be whole.
std::vector<std::size_t> companions(const std::vector<Step>& steps, std::size_t position);

}  // namespace einflow::cluster::devices
