#include "support/law_cases.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/builders.hpp"

namespace einflow::testing {

namespace {

using Json = nlohmann::json;

Spec spec_of(const Json& line) {
  const auto names = line["network"].get<std::vector<std::string>>();
  const auto has = [&names](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  std::vector<Level> levels;
  for (const auto& name : line["levels"].get<std::vector<std::string>>()) {
    if (name == "array")
      levels.push_back(mesh(name, 8, 8, {has("multicast"), has("reduction"), has("forwarding")}));
    else if (name == "MAC")
      levels.push_back(compute(name));
    else
      levels.push_back(storage(name));
  }
  Einsum problem = einsum(line["einsum"].get<std::string>(), {});
  for (const auto& [name, extent] : line["ranks"].items()) {
    problem.ranks[static_cast<std::size_t>(problem.rank_named(name))].extent = extent.get<std::int64_t>();
  }
  std::string nest = line["mapping"].get<std::string>();
  std::replace(nest.begin(), nest.end(), ';', '\n');
  return spec(problem, machine(std::move(levels)), nest);
}

Counts counts_of(const Json& line, const Spec& spec) {
  Counts counts;
  counts.operations = line["operations"].get<std::int64_t>();
  counts.steps = line["steps"].get<std::int64_t>();
  int previous_tensor = -1;
  for (const Json& row : line["holds"]) {
    HoldCounts hold;
    hold.tensor = spec.einsum.tensor_named(row[1].get<std::string>());
    hold.hold = hold.tensor == previous_tensor ? counts.holds.back().hold + 1 : 0;
    previous_tensor = hold.tensor;
    hold.instances = row[2].get<std::int64_t>();
    hold.tile_elements = row[3].get<std::int64_t>();
    if (row.size() > 4) {
      const bool output = spec.einsum.is_output(hold.tensor);
      (output ? hold.drains : hold.fills) = row[4].get<std::int64_t>();
      (output ? hold.parent_updates : hold.parent_reads) = row[5].get<std::int64_t>();
      (output ? hold.parent_rmw_reads : hold.forwarded) = row[6].get<std::int64_t>();
    }
    counts.holds.push_back(hold);
  }
  return counts;
}

}  // namespace

std::vector<LawCase> law_cases() {
  const std::string path = std::string(EINFLOW_SOURCE_DIR) + "/tests/reference/law/cases.jsonl";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<LawCase> cases;
  for (std::string text; std::getline(file, text);) {
    const Json line = Json::parse(text);
    LawCase next{line["einsum"].get<std::string>() + "\n" + line["mapping"].get<std::string>(), spec_of(line), {}};
    next.expected = counts_of(line, next.spec);
    cases.push_back(std::move(next));
  }
  return cases;
}

}  // namespace einflow::testing
