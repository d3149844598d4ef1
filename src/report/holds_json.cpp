#include "report/holds_json.hpp"

#include "cost/figures.hpp"

namespace einflow {

Json problem_json(const Spec& spec, const Counts& counts) {
  const Einsum& einsum = spec.einsum;
  Json problem = Json::object();
  if (!einsum.name.empty()) problem.set("name", einsum.name);
  problem.set("einsum", to_text(einsum));
  Json ranks = Json::object();
  for (const Rank& rank : einsum.ranks) ranks.set(rank.name, Count(rank.extent));
  problem.set("ranks", std::move(ranks));
  problem.set("operations", einsum.operations());
  const bool all_executed = einsum.executed.share == Ratio(Count(1));
  if (!all_executed) {
    problem.set("executed_operations", einsum.executed_operations());
    problem.set("executed_share",
                einsum.executed.share.numerator().str() + "/" + einsum.executed.share.denominator().str());
    if (!einsum.executed.because.empty()) problem.set("executed_because", einsum.executed.because);
  }
  if (einsum.is_mac()) {
    problem.set("macs", einsum.executed_operations());
    problem.set("flops", einsum.executed_operations() * 2);
  }
  Json tensors = Json::array();
  for (int tensor = 0; tensor <= einsum.output(); ++tensor) {
    const Tensor& named = einsum.tensors[static_cast<std::size_t>(tensor)];
    const Count elements = counts_of(counts, tensor, 0).tile_elements;
    Json entry = Json::object();
    entry.set("tensor", named.name).set("axes", to_text(named, einsum));
    entry.set("role", einsum.is_output(tensor) ? "output" : "input");
    entry.set("type", named.type.name).set("elements", elements);
    entry.set("bytes", bytes_of_bits(elements * element_bits(spec, tensor)));
    tensors.push(std::move(entry));
  }
  return problem.set("tensors", std::move(tensors));
}

Json holds_json(const Spec& spec, const Counts& counts) {
  Json holds = Json::array();
  for (const HoldCounts& hold : counts.holds) {
    const std::vector<Hold>& places = spec.mapping.holds[static_cast<std::size_t>(hold.tensor)];
    const bool output = spec.einsum.is_output(hold.tensor);
    Json entry = Json::object();
    entry.set("level", spec.machine.level_name(places[static_cast<std::size_t>(hold.hold)].level));
    entry.set("tensor", spec.einsum.tensors[static_cast<std::size_t>(hold.tensor)].name);
    entry.set("role", output ? "output" : "input");
    if (hold.hold > 0) {
      entry.set("parent", spec.machine.level_name(places[static_cast<std::size_t>(hold.hold - 1)].level));
    }
    entry.set("instances", hold.instances).set("tile_elements", hold.tile_elements);
    entry.set("tile_bytes", bytes_of_bits(hold.tile_elements * element_bits(spec, hold.tensor)));
    entry.set(output ? "drains" : "fills", output ? hold.drains : hold.fills);
    if (hold.hold > 0) {
      entry.set(output ? "parent_updates" : "parent_reads", output ? hold.parent_updates : hold.parent_reads);
      entry.set(output ? "parent_rmw_reads" : "forwarded", output ? hold.parent_rmw_reads : hold.forwarded);
    }
    holds.push(std::move(entry));
  }
  return holds;
}

Json names_json(const Einsum& einsum, const std::vector<int>& tensors) {
  Json names = Json::array();
  for (int tensor : tensors) names.push(einsum.tensors[static_cast<std::size_t>(tensor)].name);
  return names;
}

void set_named(Json& object, const std::string& key, const char* kind, Json value) {
  object.set(object.has(key) ? key + " (" + kind + ")" : key, std::move(value));
}

}  // namespace einflow
