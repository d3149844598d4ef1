// What the readers of Timeloop's parts find beside values: errors, conventions, what is left out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ratio.hpp"
#include "base/yaml.hpp"

namespace einflow::timeloop {

struct LeftOut {
  std::string what;
  std::vector<std::string> whose;  ///< levels; empty where it is the text's
};

struct Findings {
  Diagnostics errors;
  std::vector<std::string> conventions;
  std::vector<LeftOut> left_out;
  std::map<std::string, std::size_t> left_out_of_levels;  ///< where in `left_out` a thing of levels is
};

/// One entry for each thing, however many levels say it.
void leave_out(Findings& findings, const std::string& what, const std::string& whose = {});
/// "GLB, RF: n_banks".
std::vector<std::string> to_texts(const std::vector<LeftOut>& left_out);

/// Adds a convention once.
void assume(Findings& findings, std::string convention);

/// A number of at least 0, exact; an expression is an error that says so.
std::optional<Ratio> read_decimal(const YamlNode& node, std::string_view what, Diagnostics& errors);
/// Whole and at least `minimum`, in plain or decimal digits ("16", "16.0", "1e3").
std::optional<std::int64_t> read_whole(const YamlNode& node, std::string_view what, std::int64_t minimum,
                                       Diagnostics& errors);
/// true or false in any of YAML's spellings (True, yes, on, 1).
std::optional<bool> read_yes(const YamlNode& node, std::string_view what, Diagnostics& errors);

/// "PE[0..15]": the name, and how many there are.
struct CountedName {
  std::string name;
  std::int64_t count = 1;
};
std::optional<CountedName> read_counted_name(const YamlNode& node, std::string_view what, Diagnostics& errors);

}  // namespace einflow::timeloop
