#include "notation/placements/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/placements/names.hpp"
#include "notation/placements/spelling.hpp"

namespace einflow::placements {

namespace {

constexpr std::size_t kWidth = 80;

/// "  called   words of the text, in lines of at most 80 columns".
std::string labelled(std::string_view label, std::string_view text) {
  constexpr std::size_t kMargin = 11;
  std::string lines = fmt::format("  {:<{}}", label, kMargin - 2);
  std::size_t column = kMargin;
  bool first = true;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (!first && column + 1 + word.size() > kWidth) {
      lines += "\n" + std::string(kMargin, ' ');
      column = kMargin;
      first = true;
    }
    if (!first) lines += ' ';
    lines += word;
    column += word.size() + (first ? 0 : 1);
    first = false;
    text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
  }
  return lines + "\n";
}

/// Rows of cells, the columns as wide as they need to be.
std::string columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format(" {:<{}} ", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

class TableWriter {
 public:
  explicit TableWriter(const Spec& spec) : spec_(spec), einsum_(spec.einsum) {
    for (int level = 0; level < spec.machine.compute_level(); ++level) {
      if (spec.machine.mesh(level) != nullptr) meshes_.insert(level);
    }
  }

  std::string write() {
    std::string text = to_text(einsum_) + "\n";
    std::string sizes;
    for (const Rank& rank : einsum_.ranks)
      sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", rank.name, rank.extent);
    text += sizes + "\n";
    bool any = false;
    for (int i = 0; i < static_cast<int>(spec_.mapping.loops.size()); ++i) {
      if (!spec_.mapping.loops[static_cast<std::size_t>(i)].spatial) continue;
      text += "\n" + loop_text(i);
      any = true;
    }
    if (!any) return text + "\nno par loop: no tensor is placed on a mesh\n";
    return text + "\n" + mesh_section();
  }

 private:
  const Rank& rank_of(const Loop& loop) const { return einsum_.ranks[static_cast<std::size_t>(loop.rank)]; }
  const Tensor& tensor(int t) const { return einsum_.tensors[static_cast<std::size_t>(t)]; }
  int tensors() const { return static_cast<int>(einsum_.tensors.size()); }
  bool is_partial(int t, int rank) const { return einsum_.is_output(t) && !einsum_.has_rank(t, rank); }

  /// The largest piece of the loop's rank that it cuts.
  std::int64_t left_at(int index) const {
    return tile_at(spec_, index)[static_cast<std::size_t>(spec_.mapping.loops[static_cast<std::size_t>(index)].rank)];
  }

  std::string loop_text(int index) {
    const Loop& loop = spec_.mapping.loops[static_cast<std::size_t>(index)];
    const PlacedLoop placed = placed_loop(spec_, index, Words::dtensor, meshes_);
    const Mesh& mesh = *spec_.machine.mesh(loop.mesh);
    std::string text =
        fmt::format("par {} by {} on {}.{}: {} of {} coordinates\n", rank_of(loop).name, loop.tile, mesh.name,
                    mesh.axes[static_cast<std::size_t>(loop.axis)].name, loop.trips, placed.split.size);
    std::vector<std::vector<std::string>> rows{{"tensor", "state", "DTensor", "JAX"}};
    const Assignment alone{placed.split};
    const bool block_cyclic = is_block_cyclic(index);
    for (int t = 0; t < tensors(); ++t) {
      const bool has = einsum_.has_rank(t, loop.rank);
      const bool sayable = !has || (!block_cyclic && plain_axis(einsum_, t, loop.rank));
      rows.push_back({tensor(t).name, state(t, loop.rank), sayable ? tensor_text_of(Words::dtensor, t, alone) : "-",
                      sayable ? tensor_text_of(Words::jax, t, alone) : "-"});
    }
    text += columns(rows);
    text += labelled("called", parallelism_name(einsum_, loop.rank));
    text += labelled("Tangram", tangram_name(einsum_, loop.rank));
    text += labelled("MAESTRO", maestro_name(spec_, loop));
    const std::string weight = torch_weight(einsum_, loop.rank);
    if (!weight.empty() && !block_cyclic) text += labelled("torch", weight);
    for (const std::string& note : notes(index, placed)) text += labelled("note", note);
    return text;
  }

  std::string state(int t, int rank) const {
    if (einsum_.has_rank(t, rank)) return "S(" + einsum_.ranks[static_cast<std::size_t>(rank)].name + ")";
    if (!einsum_.is_output(t)) return "R";
    return "P(" + partial_operation(einsum_) + ")";
  }

  std::string tensor_text_of(Words words, int t, const Assignment& assignment) const {
    return tensor_text(words, einsum_, t, assignment);
  }

  /// Whether a temporal loop outside cuts the rank first.
  bool is_block_cyclic(int index) const {
    const auto& loops = spec_.mapping.loops;
    const int rank = loops[static_cast<std::size_t>(index)].rank;
    return std::any_of(loops.begin(), loops.begin() + index,
                       [&](const Loop& loop) { return !loop.spatial && loop.rank == rank; });
  }

  std::vector<std::string> notes(int index, const PlacedLoop& placed) const {
    const Loop& loop = spec_.mapping.loops[static_cast<std::size_t>(index)];
    std::vector<std::string> said;
    const std::int64_t left = left_at(index);
    if (loop.trips < placed.split.size && placed.faults.empty()) {
      said.push_back(fmt::format("{} coordinates are idle", placed.split.size - loop.trips));
    }
    if (left % loop.tile != 0) {
      said.push_back(fmt::format("{} of {} do not divide: the last shard has {}, the others {}", left,
                                 rank_of(loop).name, left % loop.tile, loop.tile));
    }
    for (const std::string& fault : placed.faults) said.push_back("no DTensor: " + fault);
    const PlacedLoop jax = placed_loop(spec_, index, Words::jax, meshes_);
    for (const std::string& fault : jax.faults) {
      if (std::find(placed.faults.begin(), placed.faults.end(), fault) != placed.faults.end()) continue;
      if (fault.find("JAX gives an axis") == std::string::npos) said.push_back("no JAX: " + fault);
    }
    for (int t = 0; t < einsum_.output(); ++t) {
      const std::string halo = halo_text(t, loop, left);
      if (!halo.empty()) said.push_back(halo);
    }
    if (is_partial(einsum_.output(), loop.rank)) {
      said.push_back(fmt::format(
          "a PartitionSpec has no word for P: {} is partial inside the partitioner (GSPMD, Shardy), which inserts "
          "an all-reduce, or a reduce-scatter where the next use is split",
          tensor(einsum_.output()).name));
    }
    return said;
  }

  /// "neighbours share 2 positions of p+r in I (a halo)".
  std::string halo_text(int t, const Loop& loop, std::int64_t left) const {
    if (left <= loop.tile) return {};
    for (const Axis& axis : tensor(t).axes) {
      Count window = 1;
      std::int64_t stride = 0;
      for (const Term& term : axis.terms) {
        if (term.rank == loop.rank) {
          stride = term.coefficient;
        } else {
          window += Count(term.coefficient) * (Count(einsum_.ranks[static_cast<std::size_t>(term.rank)].extent) - 1);
        }
      }
      if (stride == 0 || window == Count(1)) continue;
      if (window <= Count(stride)) {
        return fmt::format("neighbours share nothing of {} in {}: the window is no larger than the stride",
                           to_text(axis, einsum_), tensor(t).name);
      }
      return fmt::format("neighbours share {} positions of {} in {} (a halo)", (window - Count(stride)).str(),
                         to_text(axis, einsum_), tensor(t).name);
    }
    return {};
  }

  /// All axes together, or why they are not one DTensor or one sharding.
  std::string mesh_section() const {
    std::string text = "all axes together\n";
    const auto dtensor = assignment_of(spec_, Words::dtensor);
    const auto jax = assignment_of(spec_, Words::jax);
    if (dtensor) text += labelled("DTensor", mesh_text(Words::dtensor, *dtensor));
    if (jax) text += labelled("JAX", mesh_text(Words::jax, *jax));
    std::vector<std::vector<std::string>> rows{{"tensor"}};
    if (dtensor) rows.front().emplace_back("DTensor");
    if (jax) rows.front().emplace_back("JAX");
    for (int t = 0; t < tensors() && rows.front().size() > 1; ++t) {
      rows.push_back({tensor(t).name});
      if (dtensor) rows.back().push_back(tensor_text_of(Words::dtensor, t, *dtensor));
      if (jax) rows.back().push_back(tensor_text_of(Words::jax, t, *jax));
    }
    if (rows.size() > 1) text += columns(rows);
    if (!dtensor) text += labelled("DTensor", dtensor.error().front().message);
    if (!jax) text += labelled("JAX", jax.error().front().message);
    for (const int mesh : meshes_) {
      if (!dtensor || !has_loop(mesh)) continue;
      const bool taken =
          std::any_of(dtensor->begin(), dtensor->end(), [&](const SplitAxis& s) { return s.mesh == mesh; });
      if (!taken)
        text += labelled("note", fmt::format("the mesh {} is inside a device", spec_.machine.level_name(mesh)));
    }
    return text;
  }

  bool has_loop(int mesh) const {
    return std::any_of(spec_.mapping.loops.begin(), spec_.mapping.loops.end(),
                       [&](const Loop& loop) { return loop.spatial && loop.mesh == mesh; });
  }

  const Spec& spec_;
  const Einsum& einsum_;
  std::set<int> meshes_;
};

}  // namespace

Result<Writing> write_table(const Document& document) {
  const auto layer = choose_layer(document, {});
  if (!layer) return tl::unexpected(layer.error());
  const auto spec = spec_of(**layer);
  if (!spec) return tl::unexpected(spec.error());
  if (spec->mapping.holds.empty())
    return fail("placements are those of par loops, and there is no mapping", "--mapping FILE");
  return Writing{TableWriter(*spec).write(), {}, {}};
}

}  // namespace einflow::placements
