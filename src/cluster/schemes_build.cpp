#include "cluster/schemes_build.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/message.hpp"

namespace einflow::cluster {

namespace {

constexpr std::int64_t kMostDevices = std::int64_t{1} << 16;

Result<DeviceMesh> checked(DeviceMesh mesh) {
  std::int64_t devices = 1;
  for (const MeshAxis& axis : mesh.axes) {
    if (axis.size < 1 || axis.size > kMostDevices / devices) {
      return fail(fmt::format("devices: each axis has at least 1 and all together at most {}", kMostDevices));
    }
    devices *= axis.size;
  }
  return mesh;
}

}  // namespace

std::int64_t SizeReader::size(const std::string& rank) {
  asked_.insert(rank);
  if (const auto found = given_.ranks.find(rank); found != given_.ranks.end()) return found->second;
  if (const auto found = defaults_.find(rank); found != defaults_.end()) return found->second;
  static const std::map<std::string, std::int64_t> kDefaults{{"b", 4}, {"s", 8},   {"h", 64}, {"f", 256}, {"a", 8},
                                                             {"g", 4}, {"v", 512}, {"e", 8},  {"c", 4},   {"l", 8}};
  if (const auto found = kDefaults.find(rank); found != kDefaults.end()) return found->second;
  if (rank == "t") return size("s");
  if (rank == "k") return size("h");
  if (rank == "n") return size("f");
  if (rank == "m") return size("b") * size("s");
  if (rank == "u") return std::max<std::int64_t>(1, size("a") / size("g"));
  if (rank == "d") return std::max<std::int64_t>(1, size("h") / size("a"));
  return 1;
}

std::optional<std::string> SizeReader::unused() const {
  for (const auto& [rank, extent] : given_.ranks) {
    if (asked_.count(rank) == 0) return rank;
  }
  return std::nullopt;
}

SchemeBuilder::SchemeBuilder(std::string name, DeviceMesh mesh, SizeReader& sizes) : sizes_(sizes) {
  scheme_.name = std::move(name);
  scheme_.mesh = std::move(mesh);
  scheme_.microbatches = sizes.microbatches();
}

SchemeBuilder& SchemeBuilder::add(const Operand& output, const std::string& map, const std::vector<Operand>& inputs,
                                  const std::vector<ParLoop>& par, const std::optional<TimeLoop>& time) {
  ShardedEinsum sharded;
  Einsum& einsum = sharded.einsum;
  einsum.map = map;
  const auto add_tensor = [&](const Operand& operand) {
    Tensor tensor;
    tensor.name = operand.name;
    tensor.type = sizes_.given().type;
    for (const char letter : operand.ranks) {
      const std::string rank(1, letter);
      int index = einsum.rank_named(rank);
      if (index < 0) {
        index = static_cast<int>(einsum.ranks.size());
        einsum.ranks.push_back({rank, sizes_.size(rank)});
      }
      tensor.axes.push_back(Axis{{Term{index, 1}}, 0, {}});
    }
    einsum.tensors.push_back(std::move(tensor));
  };
  for (const Operand& input : inputs) add_tensor(input);
  add_tensor(output);
  bool reduces = false;
  for (std::size_t rank = 0; rank < einsum.ranks.size(); ++rank) {
    reduces = reduces || !einsum.has_rank(einsum.output(), static_cast<int>(rank));
  }
  einsum.reduce = reduces ? "+" : "";
  for (const ParLoop& loop : par) {
    if (einsum.rank_named(loop.rank) >= 0) sharded.par.push_back(loop);
  }
  if (time && einsum.rank_named(time->rank) >= 0) sharded.time = time;
  scheme_.forward.push_back(std::move(sharded));
  return *this;
}

SchemeBuilder& SchemeBuilder::maximum(const Operand& output, const Operand& input, const std::vector<ParLoop>& par,
                                      const std::optional<TimeLoop>& time) {
  add(output, "*", {input}, par, time);
  scheme_.forward.back().einsum.reduce = "max";
  return constant(output.name);  // what is subtracted before exp has no gradient
}

Placement SchemeBuilder::placement(const StateList& states) const {
  Placement result = everywhere(scheme_.mesh);
  std::map<std::string, int> depths;
  for (const auto& [axis, given] : states) {
    State state = given;
    if (state.kind == StateKind::split) state.depth = depths[state.rank]++;
    result.states[static_cast<std::size_t>(scheme_.mesh.axis_named(axis))] = state;
  }
  return result;
}

SchemeBuilder& SchemeBuilder::rest(const std::string& tensor, const StateList& states) {
  scheme_.storage[tensor] = placement(states);
  return *this;
}

SchemeBuilder& SchemeBuilder::weight(const std::string& tensor, const StateList& stored, const StateList& gradient,
                                     const StateList& optimizer) {
  scheme_.weights[tensor] = {placement(stored), placement(gradient), placement(optimizer)};
  return *this;
}

SchemeBuilder& SchemeBuilder::constant(const std::string& tensor) {
  scheme_.constant.insert(tensor);
  return *this;
}

SchemeBuilder& SchemeBuilder::keep(const std::string& tensor) {
  scheme_.kept.insert(tensor);
  return *this;
}

Result<DeviceMesh> line_of(const SizeReader& sizes, const std::string& axis, std::int64_t otherwise) {
  return grid_of(sizes, {axis}, otherwise, "p", [](std::int64_t devices) { return std::vector{devices}; });
}

Result<DeviceMesh> grid_of(const SizeReader& sizes, const std::vector<std::string>& axes, std::int64_t otherwise,
                           const std::string& shape,
                           const std::function<std::vector<std::int64_t>(std::int64_t)>& factors) {
  std::vector<std::int64_t> extents = sizes.given().devices;
  if (extents.empty()) extents = {otherwise};
  if (extents.size() == 1 && axes.size() > 1) {
    const std::int64_t devices = extents.front();
    extents = devices < 1 ? std::vector<std::int64_t>{} : factors(devices);
    if (extents.empty()) {
      return fail(
          fmt::format("{} devices are not {}", devices, shape),
          fmt::format("its mesh is {}: {} devices, or one number for each axis", fmt::join(axes, " x "), shape));
    }
  }
  if (extents.size() != axes.size()) {
    return fail(fmt::format("devices {}: the scheme has the mesh {}, {} {}", fmt::join(extents, "x"),
                            fmt::join(axes, " x "), axes.size(), axes.size() == 1 ? "axis" : "axes"));
  }
  DeviceMesh mesh;
  for (std::size_t i = 0; i < axes.size(); ++i) mesh.axes.push_back({axes[i], extents[i]});
  return checked(std::move(mesh));
}

StateList HeadSplit::heads(bool query_heads) const {
  StateList states;
  for (const ParLoop& loop : query_heads ? query : key) states.emplace_back(loop.axis, split(loop.rank));
  return states;
}

Result<HeadSplit> heads_of(SizeReader& sizes, const std::string& axis) {
  const std::int64_t kv_heads = sizes.size("g");
  const std::int64_t heads = sizes.size("u") * kv_heads;
  if (sizes.given().ranks.count("a") != 0 && sizes.size("a") != heads) {
    return fail(fmt::format("{} heads are no multiple of {} KV heads: a = g x u", sizes.size("a"), kv_heads));
  }
  const std::vector<std::int64_t>& devices = sizes.given().devices;
  if (devices.size() < 2 && (devices.empty() ? 4 : devices.front()) <= kv_heads) {
    auto mesh = line_of(sizes, axis);
    if (!mesh) return tl::unexpected(mesh.error());
    return HeadSplit{*mesh, {{"g", axis}}, {{"g", axis}}};
  }
  const auto factors = [&](std::int64_t count) {
    return count % kv_heads == 0 ? std::vector{kv_heads, count / kv_heads} : std::vector<std::int64_t>{};
  };
  auto mesh = grid_of(sizes, {axis + "_g", axis + "_u"}, 4,
                      fmt::format("a multiple of {} KV heads (nor as few as those)", kv_heads), factors);
  if (!mesh) return tl::unexpected(mesh.error());
  if (mesh->devices() > heads) {
    return fail(fmt::format("{} devices for {} heads: some would have none", mesh->devices(), heads));
  }
  return HeadSplit{*mesh, {{"g", axis + "_g"}, {"u", axis + "_u"}}, {{"g", axis + "_g"}}};
}

void add_attention(SchemeBuilder& builder, const std::vector<ParLoop>& par, const std::optional<TimeLoop>& time) {
  builder.product({"scores", "bgust"}, {"Q", "bgusd"}, {"K", "bgtd"}, par, time)
      .maximum({"max", "bgus"}, {"scores", "bgust"}, par)
      .add({"diff", "bgust"}, "-", {{"scores", "bgust"}, {"max", "bgus"}}, par)
      .add({"exp", "bgust"}, "exp", {{"diff", "bgust"}}, par)
      .add({"sum", "bgus"}, "*", {{"exp", "bgust"}}, par)
      .add({"probs", "bgust"}, "/", {{"exp", "bgust"}, {"sum", "bgus"}}, par)
      .product({"O", "bgusd"}, {"probs", "bgust"}, {"V", "bgtd"}, par, time);
}

}  // namespace einflow::cluster
