// A spec written in einflow's own form reads back as itself.
#include <gtest/gtest.h>

#include <algorithm>

#include "notation/spec_reader.hpp"
#include "support/for_random_specs.hpp"

namespace einflow {
namespace {

/// The einsum with its ranks in the order of their names: a text declares them where the einsum first has them.
Einsum with_sorted_ranks(const Einsum& einsum) {
  Einsum sorted = einsum;
  std::sort(sorted.ranks.begin(), sorted.ranks.end(), [](const Rank& a, const Rank& b) { return a.name < b.name; });
  for (Tensor& tensor : sorted.tensors) {
    for (Axis& axis : tensor.axes) {
      for (Term& term : axis.terms) {
        term.rank = sorted.rank_named(einsum.ranks[static_cast<std::size_t>(term.rank)].name);
      }
    }
  }
  return sorted;
}

TEST(EinflowFormProperty, ReadsBackAsItself) {
  const int cases = static_cast<int>(testing::from_environment("EINFLOW_PROPERTY_CASES", 5000));
  testing::expect_for_random_specs("einflow_form_property", cases, [](const Spec& spec) -> std::string {
    const SourceText source{"written", testing::to_yaml(spec)};
    const auto read = read_spec(source, Library{});
    if (!read) return render(read.error(), source);
    const Spec& again = read->spec;
    if (!(with_sorted_ranks(again.einsum) == with_sorted_ranks(spec.einsum))) return "the einsum differs";
    if (!(again.machine == spec.machine)) return "the machine differs";
    const std::string nest = to_text(spec.mapping, spec.einsum, spec.machine);
    if (to_text(again.mapping, again.einsum, again.machine) != nest) return "the mapping differs";
    return {};
  });
}

}  // namespace
}  // namespace einflow
