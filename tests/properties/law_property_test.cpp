// The two implementations of the law agree to the element on random specs, and the mapped computation gives what the
// plain einsum gives. EINFLOW_PROPERTY_CASES and EINFLOW_PROPERTY_SEED choose how many specs and which.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "movement/movement.hpp"
#include "movement/uniform.hpp"
#include "notation/spec_reader.hpp"
#include "problem/einsum_check.hpp"
#include "simulate/simulate.hpp"
#include "support/counts_text.hpp"
#include "support/for_random_specs.hpp"
#include "support/random_spec.hpp"
#include "support/spec_yaml.hpp"

namespace einflow {
namespace {

using testing::expect_for_random_specs;
using testing::from_environment;

TEST(LawProperty, ClosedFormAndSimulatorAgreeOnRandomSpecs) {
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 20000));
  std::map<std::string, int> seen;
  expect_for_random_specs("law_property", cases, [&seen](const Spec& spec) -> std::string {
    const Result<Simulation> simulation = simulate(spec);
    if (!simulation) return render(simulation.error(), {});
    for (const std::string& feature : testing::features(spec)) ++seen[feature];
    for (const std::string& feature : testing::features(spec, simulation->counts)) ++seen[feature];
    if (!simulation->result_matches) return simulation->first_mismatch;
    if (simulation->counts.operations != spec.einsum.operations()) return "not every operation was done once";
    const Result<Counts> counts = count_movement(spec);
    if (!counts) return render(counts.error(), {});
    if (const auto busiest = busiest_instances(spec); !busiest || *busiest != simulation->busiest) {
      return "the busiest instances differ";
    }
    if (const auto networks = network_counts(spec); !networks || *networks != simulation->networks) {
      return "what crosses the meshes differs";
    }
    if (const auto accesses = access_counts(spec); !accesses || *accesses != simulation->accesses) {
      return "the accesses differ";
    }
    // Where tiles divide, count_movement() takes the short form: the general one must say the same.
    const Result<Counts> general = count_movement_general(spec);
    if (!general) return render(general.error(), {});
    if (*general != *counts) return "general form: " + testing::difference(*general, *counts, spec);
    return testing::difference(*counts, simulation->counts, spec);
  });

  std::cout << "Of " << cases << " specs:\n";
  for (const std::string& feature : testing::all_features()) {
    std::cout << fmt::format("{:>8}  {}\n", seen[feature], feature);
    EXPECT_TRUE(seen[feature] > 0 || cases < 2000) << "never generated: " << feature;
  }
  EXPECT_EQ(seen.size(), testing::all_features().size()) << "a feature is missing in all_features()";
}

TEST(LawProperty, RandomSpecsAreValid) {
  expect_for_random_specs("random_spec", 2000, [](const Spec& spec) -> std::string {
    for (const EinsumFault& fault : check_form(spec.einsum)) return fault.message;
    for (const EinsumFault& fault : check_sizes(spec.einsum)) return fault.message;
    const std::string nest = to_text(spec.mapping, spec.einsum, spec.machine);
    const Result<Mapping> read = parse_mapping(nest, spec.einsum, spec.machine);
    if (!read) return render(read.error(), {"nest", nest});
    return *read == spec.mapping ? "" : "the nest reads back differently:\n" + nest;
  });
}

// What a failing case leaves behind must be the same spec to the command line.
TEST(LawProperty, RandomSpecsReadBackFromYaml) {
  expect_for_random_specs("yaml_property", 2000, [](const Spec& spec) -> std::string {
    const SourceText source{"spec.yaml", testing::to_yaml(spec)};
    const Result<ReadSpec> read = read_spec(source, Library{});
    if (!read) return render(read.error(), source);
    if (read->spec.einsum != spec.einsum) return "another problem: " + to_text(read->spec.einsum);
    if (read->spec.machine.levels != spec.machine.levels) return "another machine";
    return read->spec.mapping == spec.mapping ? "" : "another mapping";
  });
}

}  // namespace
}  // namespace einflow
