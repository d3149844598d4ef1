// Which layer of nn_dataflow an einsum is, which resource a machine is.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/message.hpp"
#include "notation/tangram/spec_match.hpp"

namespace einflow::tangram {

namespace {

bool is_single(const Axis& axis) { return axis.terms.size() == 1 && axis.terms[0].coefficient == 1; }

/// The ranks of a tensor whose axes are single ranks, in order; empty where they are not.
std::vector<int> single_ranks(const Tensor& tensor) {
  std::vector<int> ranks;
  for (const Axis& axis : tensor.axes) {
    if (!is_single(axis)) return {};
    ranks.push_back(axis.terms[0].rank);
  }
  return ranks;
}

bool same_ranks(std::vector<int> a, std::vector<int> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

/// `stride * outer + inner`: the inner rank, and the stride; -1 where the axis is another.
struct Window {
  int inner = -1;
  std::int64_t stride = 1;
};
Window window(const Axis& axis, int outer) {
  if (axis.terms.size() != 2) return {};
  for (std::size_t at = 0; at < 2; ++at) {
    const Term& term = axis.terms[at];
    const Term& other = axis.terms[1 - at];
    if (term.rank == outer && other.coefficient == 1) return {other.rank, term.coefficient};
  }
  return {};
}

class LayerMatcher {
 public:
  explicit LayerMatcher(const Einsum& einsum) : einsum_(einsum) {}

  Result<LayerMatch> match() {
    if (const std::string reason = unsayable(); !reason.empty()) return fail(reason);
    const std::size_t inputs = einsum_.tensors.size() - 1;
    bool found = false;
    if (inputs == 1) found = try_pool() || try_eltwise();
    for (int input = 0; inputs == 2 && einsum_.is_mac() && input < 2 && !found; ++input) {
      found = try_conv(input, 1 - input) || try_fc(input, 1 - input);
    }
    if (!found) {
      return fail(fmt::format("{} is none of nn_dataflow's layers", in_quotes(to_text(einsum_))),
                  "conv: OFM[b,k,p,q] += IFM[b,c,p+r,q+s] * FIL[k,c,r,s]; fc: OFM[b,k] += IFM[b,c] * FIL[k,c]; pool: "
                  "OFM[b,k,p,q] max= IFM[b,k,p+r,q+s]; eltwise: OFM[b,k,p,q] += IFM[b,k,n,p,q]");
    }
    for (const Rank& rank : einsum_.ranks) {
      if (rank.extent > kMaximumSize) {
        return fail(fmt::format("the extent of {}, {}, is above {}", in_quotes(rank.name), rank.extent, kMaximumSize));
      }
    }
    if (match_.layer.strd.h > kMaximumSize || match_.layer.strd.w > kMaximumSize)
      return fail("the stride is too large");
    note_names();
    return match_;
  }

 private:
  std::string unsayable() {
    if (!(einsum_.executed.share == Ratio(Count(1))))
      return "a share of the operations that is not executed has no word";
    for (const Tensor& tensor : einsum_.tensors) {
      for (const Axis& axis : tensor.axes) {
        if (axis.stored_size)
          return fmt::format("{} is padded; nn_dataflow's inputs are as large as the layer reads", tensor.name);
        if (axis.constant != 0)
          return fmt::format("{} is read from an offset; nn_dataflow's inputs begin at 0", tensor.name);
      }
    }
    match_.word = einsum_.tensors.front().type.bits;
    for (const Tensor& tensor : einsum_.tensors) {
      if (tensor.type.bits != match_.word) {
        return fmt::format("{} has {} bits and {} has {}; nn_dataflow's words all have the same",
                           einsum_.tensors.front().name, match_.word, tensor.name, tensor.type.bits);
      }
    }
    return {};
  }

  std::int64_t extent(int rank) const { return einsum_.ranks[static_cast<std::size_t>(rank)].extent; }
  const Tensor& tensor(int at) const { return einsum_.tensors[static_cast<std::size_t>(at)]; }

  bool accept(LayerType type, std::vector<int> ranks, std::vector<int> tensors) {
    if (ranks.size() != einsum_.ranks.size() || std::set<int>(ranks.begin(), ranks.end()).size() != ranks.size())
      return false;
    match_.layer.type = type;
    match_.ranks = std::move(ranks);
    match_.tensors = std::move(tensors);
    return true;
  }

  bool try_conv(int input, int filter) {
    const auto out = single_ranks(tensor(einsum_.output()));
    const Tensor& in = tensor(input);
    if (out.size() != 4 || in.axes.size() != 4 || !is_single(in.axes[0]) || !is_single(in.axes[1])) return false;
    const int c = in.axes[1].terms[0].rank;
    const Window rows = window(in.axes[2], out[2]);
    const Window columns = window(in.axes[3], out[3]);
    if (in.axes[0].terms[0].rank != out[0] || rows.inner < 0 || columns.inner < 0) return false;
    if (!same_ranks(single_ranks(tensor(filter)), {out[1], c, rows.inner, columns.inner})) return false;
    match_.layer = {LayerType::conv,
                    extent(c),
                    extent(out[1]),
                    {extent(out[2]), extent(out[3])},
                    {extent(rows.inner), extent(columns.inner)},
                    {rows.stride, columns.stride},
                    1,
                    extent(out[0])};
    return accept(LayerType::conv, {out[0], out[1], c, out[2], out[3], rows.inner, columns.inner},
                  {input, filter, einsum_.output()});
  }

  bool try_fc(int input, int filter) {
    const auto out = single_ranks(tensor(einsum_.output()));
    auto in = single_ranks(tensor(input));
    auto weights = single_ranks(tensor(filter));
    if (out.size() != 2 || (in.size() != 2 && in.size() != 4) || weights.size() != in.size()) return false;
    for (const int b : out) {
      const int k = out[0] == b ? out[1] : out[0];
      if (std::find(in.begin(), in.end(), b) == in.end() ||
          std::find(weights.begin(), weights.end(), k) == weights.end()) {
        continue;
      }
      std::vector<int> shared;
      std::copy_if(in.begin(), in.end(), std::back_inserter(shared), [&](int rank) { return rank != b; });
      std::vector<int> expected = shared;
      expected.push_back(k);
      if (!same_ranks(weights, expected)) continue;
      match_.layer = {};
      match_.layer.nifm = extent(shared[0]);
      match_.layer.nofm = extent(k);
      match_.layer.batch = extent(b);
      std::vector<int> ranks{b, k, shared[0]};
      if (shared.size() == 3) {
        match_.layer.sfil = {extent(shared[1]), extent(shared[2])};
        if (match_.layer.sfil == Extent{}) return false;  // its ranks of extent 1 would be lost
        ranks.insert(ranks.end(), shared.begin() + 1, shared.end());
      }
      return accept(LayerType::fc, ranks, {input, filter, einsum_.output()});
    }
    return false;
  }

  bool try_pool() {
    const auto out = single_ranks(tensor(einsum_.output()));
    const Tensor& in = tensor(0);
    if ((einsum_.reduce != "max" && einsum_.reduce != "+") || einsum_.map != "*") return false;
    if (out.size() != 4 || in.axes.size() != 4 || !is_single(in.axes[0]) || !is_single(in.axes[1])) return false;
    const Window rows = window(in.axes[2], out[2]);
    const Window columns = window(in.axes[3], out[3]);
    if (in.axes[0].terms[0].rank != out[0] || in.axes[1].terms[0].rank != out[1] || rows.inner < 0 ||
        columns.inner < 0) {
      return false;
    }
    if (einsum_.reduce != "max") match_.left_out.emplace_back("pooling is by '+'; read as 'max'");
    match_.layer = {LayerType::pool,
                    1,
                    extent(out[1]),
                    {extent(out[2]), extent(out[3])},
                    {extent(rows.inner), extent(columns.inner)},
                    {rows.stride, columns.stride},
                    1,
                    extent(out[0])};
    return accept(LayerType::pool, {out[0], out[1], out[2], out[3], rows.inner, columns.inner}, {0, 1});
  }

  bool try_eltwise() {
    const auto out = single_ranks(tensor(einsum_.output()));
    const auto in = single_ranks(tensor(0));
    if (einsum_.reduce != "+" || einsum_.map != "*" || out.size() != 4 || in.size() != 5) return false;
    int n = -1;
    for (const int rank : in) {
      if (std::find(out.begin(), out.end(), rank) == out.end()) n = rank;
    }
    if (n < 0) return false;
    match_.layer = {LayerType::eltwise, 1, extent(out[1]), {extent(out[2]), extent(out[3])}, {}, {}, extent(n),
                    extent(out[0])};
    return accept(LayerType::eltwise, {out[0], out[1], out[2], out[3], n}, {0, 1});
  }

  void note_names() {
    const Einsum own = einsum_of(match_.layer, einsum_.name, match_.word);
    if (to_text(own) != to_text(einsum_)) {
      match_.left_out.push_back(
          fmt::format("names and the order of operands and axes: {} is read as {}", to_text(einsum_), to_text(own)));
    }
    const std::string& type = own.tensors.front().type.name;
    for (const Tensor& held : einsum_.tensors) {
      if (held.type.name == type) continue;
      match_.left_out.push_back(fmt::format("types: words of {} bits are read as {}", match_.word, type));
      break;
    }
  }

  const Einsum& einsum_;
  LayerMatch match_;
};

std::optional<std::string> unlike(const Mesh& mesh, bool multicast, bool reduction) {
  if (mesh.axes.size() != 2)
    return fmt::format("the mesh {} has {} axes, expected 2: h and w", mesh.name, mesh.axes.size());
  for (const MeshAxis& axis : mesh.axes) {
    if (axis.size > kMaximumSide)
      return fmt::format("the axis {}.{} is longer than {}", mesh.name, axis.name, kMaximumSide);
  }
  if (mesh.forwarding) return fmt::format("{} forwards between neighbours; nn_dataflow's networks do not", mesh.name);
  if (mesh.systolic != SystolicTiming::none)
    return fmt::format("{} is systolic; nn_dataflow's array is not", mesh.name);
  if (mesh.multicast != multicast || mesh.reduction != reduction) {
    return fmt::format("the mesh {} has multicast {} and reduction {}, expected {} and {}", mesh.name, mesh.multicast,
                       mesh.reduction, multicast, reduction);
  }
  return std::nullopt;
}

bool has_figures(const Storage& level) {
  return level.read_bandwidth || level.write_bandwidth || level.read_energy || level.write_energy || level.access_bits;
}

}  // namespace

Result<LayerMatch> match_layer(const Einsum& einsum) { return LayerMatcher(einsum).match(); }

Result<ResourceMatch> match_resource(const Machine& machine, int word) {
  ResourceMatch match;
  Resource& resource = match.resource;
  resource.word = word;
  std::string kinds;
  for (const Level& level : machine.levels) kinds += std::array<char, 3>{'S', 'M', 'C'}[level.index()];
  if (kinds != "SMSMSC" && kinds != "SSMSC") {
    return fail(
        "the machine has other levels than nn_dataflow's",
        "a storage (DRAM), a mesh of nodes or none, a storage (GBUF), a mesh of PEs, a storage (REGF), compute");
  }
  match.nodes_level = kinds == "SMSMSC";
  const int shift = match.nodes_level ? 1 : 0;
  if (match.nodes_level) {
    const Mesh& nodes = *machine.mesh(1);
    if (const auto reason = unlike(nodes, nodes.multicast, nodes.multicast)) return fail(*reason);
    resource.nodes = {nodes.axes[0].size, nodes.axes[1].size};
    resource.access_forwarding = nodes.multicast;
    if (resource.nodes == Extent{}) match.left_out.emplace_back("the mesh of 1 x 1 nodes");
  }
  const Mesh& array = *machine.mesh(2 + shift);
  if (const auto reason = unlike(array, true, true)) return fail(*reason);
  resource.array = {array.axes[0].size, array.axes[1].size};
  if (machine.compute().operand_latches) {
    return fail(
        fmt::format("{} has operand latches; nn_dataflow's PEs read REGF for every operation", machine.compute().name));
  }
  if (!machine.compute().atomic.empty()) {
    return fail(
        fmt::format("{} has an atomic shape; nn_dataflow's PEs do one operation at a time", machine.compute().name));
  }

  bool figures = machine.clock_stated || !machine.compute().energy.empty();
  for (const Level& level : machine.levels) {
    if (const auto* storage = std::get_if<Storage>(&level)) {
      figures = figures || has_figures(*storage);
      if (storage->double_buffered)
        return fail(fmt::format("{} is double-buffered; nn_dataflow's are not", storage->name));
    }
    if (const auto* mesh = std::get_if<Mesh>(&level)) figures = figures || mesh->hop_energy;
  }
  const auto words = [&](int level, std::optional<std::int64_t>& size) -> std::optional<std::string> {
    const Storage& storage = *machine.storage(level);
    if (!storage.capacity_bits) return std::nullopt;
    const Count whole(storage.capacity_bits->value() / word);
    size = whole.to_int64();
    if (whole * Count(word) == *storage.capacity_bits && size && *size >= 1 && *size <= std::int64_t{1} << 50) {
      return std::nullopt;
    }
    return fmt::format("the capacity of {}, {} bit, is no whole number of words of {} bits that nn_dataflow has",
                       storage.name, storage.capacity_bits->str(), word);
  };
  if (const auto reason = words(1 + shift, resource.size_gbuf)) return fail(*reason);
  if (const auto reason = words(3 + shift, resource.size_regf)) return fail(*reason);
  if (machine.storage(0)->capacity_bits) match.left_out.emplace_back("the capacity of " + machine.level_name(0));
  if (figures) match.left_out.emplace_back("clock, bandwidths and energies of the machine");
  const auto& rate = machine.compute().rate;
  if (!(rate.size() == 1 && rate.begin()->first.empty() && rate.begin()->second == Ratio(Count(1)))) {
    match.left_out.emplace_back("the rate of " + machine.compute().name + "; read as 1 operation per cycle");
  }
  const Machine own = machine_of(resource);
  std::vector<std::string> names;
  for (std::size_t level = 0, at = 0; level < machine.levels.size(); ++level) {
    if (resource.nodes == Extent{} && match.nodes_level && level == 1) continue;
    const std::string& name = machine.level_name(static_cast<int>(level));
    if (name != own.level_name(static_cast<int>(at))) {
      names.push_back(fmt::format("{} is read as {}", name, own.level_name(static_cast<int>(at))));
    }
    ++at;
  }
  bool axes = false;
  for (const Level& level : machine.levels) {
    if (const auto* mesh = std::get_if<Mesh>(&level))
      axes = axes || mesh->axes[0].name != "h" || mesh->axes[1].name != "w";
  }
  if (axes) names.emplace_back("axes are read as h and w");
  if (!names.empty()) match.left_out.push_back("names of levels: " + comma_list(names));
  bool sources = !machine.source.empty() || !machine.notes.empty() || machine.name != own.name;
  for (const Level& level : machine.levels) {
    sources = sources || std::visit([](const auto& any) { return !any.source.empty(); }, level);
  }
  if (sources) match.left_out.emplace_back("name, sources and notes of the machine");
  return match;
}

}  // namespace einflow::tangram
