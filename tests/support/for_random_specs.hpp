// A property that must hold for random specs, with shrinking and a file to rerun.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <unordered_map>

#include "support/random_spec.hpp"
#include "support/spec_yaml.hpp"

namespace einflow::testing {

inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// RapidCheck's own listener and configuration announce a seed that is not the one used here.
struct QuietListener : rc::detail::TestListener {
  void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
  void onShrinkTried(const rc::detail::CaseDescription&, bool) override {}
  void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};

/// Runs a property of a spec, which returns what is wrong or "", on random specs; the smallest spec for which something
/// is wrong is left as YAML in the working directory.
template <typename Property>
void expect_for_random_specs(const std::string& name, int cases, Property property) {
  rc::detail::TestParams parameters;
  parameters.seed = from_environment("EINFLOW_PROPERTY_SEED", 1);
  parameters.maxSuccess = cases;
  const std::string file_name = name + "_failure.yaml";
  std::string wrong;
  QuietListener listener;
  const auto result = rc::detail::checkTestable(
      [&] {
        const Recipe recipe = *recipes();
        const Spec spec = decode(recipe);
        std::string found = property(spec);
        if (found.empty()) return;
        // Called again and again while RapidCheck shrinks: the last failure is the smallest.
        wrong = std::move(found);
        std::ofstream(file_name) << "# seed " << parameters.seed << "\n" << to_yaml(spec);
        RC_FAIL("see " + file_name);
      },
      rc::detail::TestMetadata{name, name}, parameters, listener,
      std::unordered_map<std::string, rc::detail::Reproduce>{});
  if (result.template is<rc::detail::SuccessResult>()) return;
  ADD_FAILURE() << "seed " << parameters.seed << ": the smallest spec found is in " << file_name << "\n" << wrong;
  rc::detail::printResultMessage(result, std::cerr);
}

}  // namespace einflow::testing
