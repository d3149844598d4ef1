#include "support/counts_text.hpp"

#include <fmt/format.h>

namespace einflow::testing {

namespace {

std::string line(const HoldCounts& c, const Spec& spec) {
  const auto tensor = static_cast<std::size_t>(c.tensor);
  const Hold& hold = spec.mapping.holds[tensor][static_cast<std::size_t>(c.hold)];
  return fmt::format(
      "{} at {}: instances {}, tile {}, fills {}, parent_reads {}, forwarded {}, drains {}, parent_updates {}, "
      "parent_rmw_reads {}",
      spec.einsum.tensors[tensor].name, spec.machine.level_name(hold.level), c.instances.str(), c.tile_elements.str(),
      c.fills.str(), c.parent_reads.str(), c.forwarded.str(), c.drains.str(), c.parent_updates.str(),
      c.parent_rmw_reads.str());
}

}  // namespace

std::string difference(const Counts& found, const Counts& expected, const Spec& spec) {
  std::string text;
  if (found.operations != expected.operations) {
    text += fmt::format("operations {}, expected {}\n", found.operations.str(), expected.operations.str());
  }
  if (found.steps != expected.steps) {
    text += fmt::format("steps {}, expected {}\n", found.steps.str(), expected.steps.str());
  }
  if (found.holds.size() != expected.holds.size()) {
    return text + fmt::format("{} holds, expected {}\n", found.holds.size(), expected.holds.size());
  }
  for (std::size_t i = 0; i < found.holds.size(); ++i) {
    if (found.holds[i] == expected.holds[i]) continue;
    text += "found    " + line(found.holds[i], spec) + "\nexpected " + line(expected.holds[i], spec) + "\n";
  }
  return text;
}

}  // namespace einflow::testing
