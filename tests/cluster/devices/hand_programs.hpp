// Programs written by hand, step by step: states and collectives are stated, nothing is derived.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/devices/devices.hpp"
#include "support/builders.hpp"

namespace einflow::cluster::testing {

using devices::Inputs;
using devices::Tensors;
using devices::Timed;
using devices::Values;
using Kind = CollectiveKind;

inline DeviceMesh mesh_of(std::vector<MeshAxis> axes) { return {std::move(axes)}; }
inline State R() { return replicated(); }
inline State S(const std::string& rank, int depth = 0) { return split(rank, depth); }
inline State P(const std::string& op = "+") { return partial(op); }

/// All tensors of a test with their ranks, so that a step need only name them.
class HandProgram {
 public:
  HandProgram(DeviceMesh mesh, std::vector<Rank> ranks) : ranks_(std::move(ranks)) { program.mesh = std::move(mesh); }

  Einsum einsum(const std::string& text) {
    Einsum result = einflow::testing::einsum(text, {});
    for (Rank& rank : result.ranks) {
      for (const Rank& known : ranks_) rank.extent = known.name == rank.name ? known.extent : rank.extent;
    }
    return result;
  }

  /// An einsum on the devices; placements in the order of its tensors.
  LocalEinsum local(const std::string& text, std::vector<ParLoop> par, std::vector<Placement> placements,
                    std::optional<TimeLoop> time = {}) {
    LocalEinsum step;
    step.work = {einsum(text), std::move(par), std::move(time)};
    step.placements = std::move(placements);
    einsums.push_back(step.work.einsum);
    return step;
  }
  LocalEinsum adding(const std::string& text, std::vector<ParLoop> par, std::vector<Placement> placements) {
    LocalEinsum step = local(text, std::move(par), std::move(placements));
    step.accumulate = true;
    return step;
  }

  /// "X[m,k]" changes its state on one axis.
  Collective change(Kind kind, const std::string& tensor, int axis, Placement from, Placement to,
                    std::optional<TimeLoop> time = {}) {
    const Einsum copy = einsum("Copy" + tensor.substr(tensor.find('[')) + " = " + tensor);
    Collective collective;
    collective.kind = kind;
    collective.tensor = copy.tensors.front().name;
    for (const Axis& position : copy.tensors.front().axes) {
      collective.ranks.push_back(copy.ranks[static_cast<std::size_t>(position.terms.front().rank)]);
    }
    collective.axis = axis;
    collective.from = std::move(from);
    collective.to = std::move(to);
    collective.time = std::move(time);
    return collective;
  }

  Program program;
  std::vector<Einsum> einsums;  ///< of all steps so far, in order

 private:
  std::vector<Rank> ranks_;
};

/// Whole numbers between -4 and 4, so that sums are exact in any order.
inline Values whole_numbers(std::int64_t count, std::uint64_t seed) {
  Values values;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    values.push_back(static_cast<double>((seed >> 33U) % 9) - 4);
  }
  return values;
}

inline std::string messages(const Diagnostics& errors) { return render(errors, SourceText{}); }

}  // namespace einflow::cluster::testing
