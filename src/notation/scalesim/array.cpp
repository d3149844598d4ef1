#include "notation/scalesim/array.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace einflow::scalesim {

namespace {

constexpr int kSram = 0;
constexpr int kMesh = 1;
constexpr int kRegister = 2;
constexpr int kMac = 3;

/// Ranks and tensors of the product by name.
struct Roles {
  std::string_view rows;
  std::string_view columns;
  std::string_view stream;
  std::string_view stays;
};

Roles roles_of(Dataflow dataflow) {
  switch (dataflow) {
    case Dataflow::weight_stationary:
      return {"k", "n", "m", "W"};
    case Dataflow::input_stationary:
      return {"k", "m", "n", "X"};
    default:
      return {"m", "n", "k", "Y"};
  }
}

}  // namespace

std::optional<Dataflow> dataflow_named(std::string_view word) {
  if (word == "os") return Dataflow::output_stationary;
  if (word == "ws") return Dataflow::weight_stationary;
  if (word == "is") return Dataflow::input_stationary;
  return std::nullopt;
}

std::string_view name_of(Dataflow dataflow) {
  switch (dataflow) {
    case Dataflow::weight_stationary:
      return "ws";
    case Dataflow::input_stationary:
      return "is";
    default:
      return "os";
  }
}

Machine machine_of(const Array& array) {
  Storage sram;
  sram.name = "SRAM";
  Mesh mesh;
  mesh.name = "array";
  mesh.axes = {{"rows", array.rows}, {"cols", array.columns}};
  mesh.multicast = true;
  mesh.reduction = true;
  mesh.systolic = array.timing;
  Storage cell;
  cell.name = "Reg";
  Compute mac;
  mac.name = "MAC";
  mac.rate[""] = Ratio(Count(1));
  Machine machine;
  machine.name = fmt::format("{} x {} {}", array.rows, array.columns, name_of(array.dataflow));
  machine.levels = {sram, mesh, cell, mac};
  return machine;
}

Mapping mapping_of(const Array& array, const Einsum& product) {
  const Roles roles = roles_of(array.dataflow);
  const int rows = product.rank_named(roles.rows);
  const int columns = product.rank_named(roles.columns);
  const int stream = product.rank_named(roles.stream);
  const auto extent = [&](int rank) { return product.ranks[static_cast<std::size_t>(rank)].extent; };
  Mapping mapping;
  const auto fold = [&](int rank, std::int64_t size) {
    if (size >= extent(rank)) return;
    mapping.loops.push_back({false, rank, size, 1 + (extent(rank) - 1) / size, -1, -1, {}});
  };
  fold(rows, array.rows);
  fold(columns, array.columns);
  mapping.loops.push_back({true, rows, 1, std::min(array.rows, extent(rows)), kMesh, 0, {}});
  mapping.loops.push_back({true, columns, 1, std::min(array.columns, extent(columns)), kMesh, 1, {}});
  const int cells = static_cast<int>(mapping.loops.size());
  mapping.loops.push_back({false, stream, 1, extent(stream), -1, -1, {}});
  mapping.holds.assign(product.tensors.size(), {Hold{kSram, 0, {}}});
  mapping.holds[static_cast<std::size_t>(product.tensor_named(roles.stays))].push_back({kRegister, cells, {}});
  for (auto& holds : mapping.holds) holds.push_back({kMac, cells + 1, {}});
  return mapping;
}

}  // namespace einflow::scalesim
