#include "cli/map_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/message.hpp"
#include "base/quantity.hpp"

namespace einflow {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<std::string> MapFlags::written() const {
  std::vector<std::string> lines;
  const auto write = [&](const char* flag, const std::vector<std::string>& values) {
    for (const std::string& value : values) lines.push_back(fmt::format("{} {}", flag, value));
  };
  write("--hold", hold);
  write("--keep", keep);
  write("--bypass", bypass);
  write("--tile", tile);
  write("--stationary", stationary);
  write("--spread", spread);
  write("--no-spread", no_spread);
  if (!utilization.empty()) write("--utilization", {utilization});
  return lines;
}

std::string MapFlags::of_one_problem() const {
  MapFlags of_names = *this;
  of_names.utilization.clear();
  const std::vector<std::string> lines = of_names.written();
  return lines.empty() ? "" : lines.front().substr(0, lines.front().find(' '));
}

void add_map_flags(CommandArguments& command, MapFlags& flags) {
  command.texts("--hold", flags.hold, "LEVEL:TENSOR,...", "These tensors and no others are held at the level");
  command.texts("--keep", flags.keep, "LEVEL:TENSOR,...", "These are held at the level, others as is best");
  command.texts("--bypass", flags.bypass, "LEVEL:TENSOR,...", "These are not held at the level");
  command.texts("--tile", flags.tile, "LEVEL:RANK=SIZE,...", "What is left of a rank at the level's place");
  command.texts("--stationary", flags.stationary, "TENSOR@LEVEL",
                "The innermost loop outside the level leaves it there");
  command.texts("--spread", flags.spread, "AXIS:RANK=WAYS,...", "Ways of a rank on a mesh axis: array.x:k=16");
  command.texts("--no-spread", flags.no_spread, "RANK[@MESH[.AXIS]]", "A rank that no mesh, or not this one, splits");
  command.text("--utilization", flags.utilization, "SHARE", "Least share of the compute instances in use: 80%");
}

Result<Objective> parse_objective(const std::string& text, const Machine& machine) {
  static const std::vector<std::string> kKinds = {"energy", "cycles", "edp", "traffic"};
  const std::size_t colon = text.find(':');
  const std::string kind = trimmed(text.substr(0, colon));
  const auto found = std::find(kKinds.begin(), kKinds.end(), kind);
  if (found == kKinds.end()) {
    return fail(fmt::format("--objective: found {}, expected energy, cycles, edp or traffic:LEVEL", in_quotes(text)),
                nearest_name(kind, kKinds).empty() ? "" : name_hint(kind, kKinds, "objectives"));
  }
  Objective objective;
  objective.kind = static_cast<Objective::Kind>(found - kKinds.begin());
  if (objective.kind != Objective::Kind::traffic) {
    if (colon == std::string::npos) return objective;
    return fail(fmt::format("--objective: {} takes no level", kind), "traffic:LEVEL is the traffic of one level");
  }
  std::vector<std::string> storages;
  for (int level = 0; level < machine.compute_level(); ++level) {
    if (machine.storage(level) != nullptr) storages.push_back(machine.level_name(level));
  }
  if (colon == std::string::npos) {
    return fail("--objective: the traffic of which level?",
                fmt::format("traffic:LEVEL, storage levels: {}", comma_list(storages)));
  }
  const std::string name = trimmed(text.substr(colon + 1));
  objective.level = machine.level_named(name);
  if (objective.level >= 0 && machine.storage(objective.level) != nullptr) return objective;
  return fail(fmt::format("--objective: there is no storage level {}", in_quotes(name)),
              name_hint(name, storages, "storage levels"));
}

Result<double> parse_duration(const std::string& text) {
  static const std::vector<std::pair<std::string, double>> kUnits = {
      {"", 1}, {"s", 1}, {"ms", 1e-3}, {"min", 60}, {"h", 3600}};
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = parse_decimal(text.substr(0, end));
  const std::string unit = trimmed(text.substr(end));
  for (const auto& [name, seconds] : kUnits) {
    if (number && unit == name && number->to_double() > 0) return number->to_double() * seconds;
  }
  return fail(fmt::format("--time-limit: found {}, expected a time above 0", in_quotes(text)),
              "for example: 10 s, 500 ms, 2 min; a plain number is seconds");
}

}  // namespace einflow
