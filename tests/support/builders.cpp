#include "support/builders.hpp"

#include <stdexcept>

#include "notation/spec_reader.hpp"

namespace einflow::testing {

namespace {

template <typename T>
T value_of(Result<T> result, const std::string& text) {
  if (result) return std::move(*result);
  throw std::runtime_error(render(result.error(), SourceText{"test", text}));
}

}  // namespace

Storage storage(const std::string& name) {
  Storage result;
  result.name = name;
  return result;
}

Storage storage(const std::string& name, const Ratio& read_bandwidth, const Ratio& write_bandwidth,
                bool double_buffered) {
  Storage result = storage(name);
  result.read_bandwidth = read_bandwidth;
  result.write_bandwidth = write_bandwidth;
  result.double_buffered = double_buffered;
  return result;
}

namespace {

Mesh mesh_with(const std::string& name, std::vector<MeshAxis> axes, Abilities abilities) {
  Mesh result;
  result.name = name;
  result.axes = std::move(axes);
  result.multicast = abilities.multicast;
  result.reduction = abilities.reduction;
  result.forwarding = abilities.forwarding;
  return result;
}

}  // namespace

Mesh mesh(const std::string& name, std::int64_t size, Abilities abilities) {
  return mesh_with(name, {{"x", size}}, abilities);
}

Mesh mesh(const std::string& name, std::int64_t x, std::int64_t y, Abilities abilities) {
  return mesh_with(name, {{"x", x}, {"y", y}}, abilities);
}

Compute compute(const std::string& name, std::vector<std::pair<std::string, std::int64_t>> atomic,
                bool operand_latches) {
  Compute result;
  result.name = name;
  result.rate[""] = Ratio(Count(1));
  result.atomic = std::move(atomic);
  result.operand_latches = operand_latches;
  return result;
}

Machine machine(std::vector<Level> levels) {
  Machine result;
  result.name = "toy";
  result.levels = std::move(levels);
  return result;
}

Machine two_level() { return machine({storage("DRAM"), storage("Buffer"), compute("MAC")}); }

Machine array_machine(std::int64_t x, std::int64_t y, Abilities abilities) {
  return machine({storage("DRAM"), storage("Buffer"), mesh("array", x, y, abilities), storage("RF"), compute("MAC")});
}

Einsum einsum(const std::string& text, std::initializer_list<std::pair<std::string, std::int64_t>> extents) {
  Einsum result = value_of(parse_einsum(text), text);
  for (const auto& [name, extent] : extents) {
    const int rank = result.rank_named(name);
    if (rank < 0) throw std::runtime_error(text + " has no rank " + name);
    result.ranks[static_cast<std::size_t>(rank)].extent = extent;
  }
  return result;
}

Spec spec(const Einsum& einsum, const Machine& machine, const std::string& nest) {
  return {einsum, machine, value_of(parse_mapping(nest, einsum, machine), nest)};
}

}  // namespace einflow::testing
