#include "mapping/nest_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/message.hpp"
#include "mapping/atomic.hpp"

namespace einflow {
namespace {

constexpr std::size_t kMaximumLoops = 1000;
constexpr std::size_t kMaximumErrors = 100;

template <typename T>
std::vector<std::string> names_of(const std::vector<T>& items) {
  std::vector<std::string> names;
  for (const T& item : items) names.push_back(item.name);
  return names;
}

class NestBuilder {
 public:
  NestBuilder(const Einsum& einsum, const Machine& machine) : einsum_(einsum), machine_(machine) {
    for (const Rank& rank : einsum.ranks) left_.push_back(rank.extent);
    mapping_.holds.assign(einsum.tensors.size(), {Hold{0, 0, {}}});
    named_outermost_.assign(einsum.tensors.size(), false);
  }

  Result<Mapping> build(const std::vector<NestLine>& lines) {
    for (const NestLine& line : lines) {
      if (mapping_.loops.size() > kMaximumLoops) {
        error(line.span, fmt::format("more than {} loops", kMaximumLoops));
        break;
      }
      line.kind == NestLine::Kind::at ? add_hold_line(line) : add_loop_line(line);
    }
    check_fan_out();
    check_outermost_line();
    if (all_read_) check_coverage(lines);
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    const int depth = static_cast<int>(mapping_.loops.size());
    for (auto& holds : mapping_.holds) holds.push_back({machine_.compute_level(), depth, {}});
    return std::move(mapping_);
  }

 private:
  /// The holds of a level, or the loop over a mesh, that an order error names.
  struct Placed {
    int level = 0;
    Span span;
    std::string text;  // "at Buffer"
  };

  void error(const Span& span, std::string message, std::string hint = {}) {
    if (errors_.size() < kMaximumErrors) errors_.push_back({span, std::move(message), std::move(hint), {}});
  }

  /// Remembers the first line of each level.
  static void place(std::vector<Placed>& lines, Placed line) {
    for (const Placed& known : lines) {
      if (known.level == line.level) return;
    }
    lines.push_back(std::move(line));
  }

  std::vector<std::string> storage_names() const {
    std::vector<std::string> names;
    for (const Level& level : machine_.levels) {
      if (const auto* storage = std::get_if<Storage>(&level)) names.push_back(storage->name);
    }
    return names;
  }

  std::vector<std::string> mesh_axis_names() const {
    std::vector<std::string> names;
    for (const Level& level : machine_.levels) {
      const auto* mesh = std::get_if<Mesh>(&level);
      if (mesh == nullptr) continue;
      for (const MeshAxis& axis : mesh->axes) names.push_back(mesh->name + "." + axis.name);
    }
    return names;
  }

  int storage_level(const NestWord& word) {
    const int level = machine_.level_named(word.text);
    if (level >= 0 && machine_.storage(level) != nullptr) return level;
    if (level < 0) {
      error(word.span, fmt::format("unknown level {}", in_quotes(word.text)),
            name_hint(word.text, storage_names(), "storage levels"));
    } else if (machine_.mesh(level) != nullptr) {
      error(word.span, fmt::format("{} is a mesh and holds nothing", in_quotes(word.text)),
            "storage levels: " + comma_list(storage_names()));
    } else {
      error(word.span,
            fmt::format("{} is the compute level; it is the end of the nest and needs no line", in_quotes(word.text)),
            "storage levels: " + comma_list(storage_names()));
    }
    return -1;
  }

  void add_hold_line(const NestLine& line) {
    const int level = storage_level(line.level);
    if (level > 0 || (level == 0 && mapping_.loops.empty())) check_hold_order(level, line);
    for (const NestWord& word : line.tensors) {
      const int tensor = einsum_.tensor_named(word.text);
      if (tensor < 0) {
        error(word.span, fmt::format("unknown tensor {}", in_quotes(word.text)),
              name_hint(word.text, names_of(einsum_.tensors), "tensors"));
      } else if (level >= 0) {
        add_hold(level, tensor, word);
      }
    }
    const auto known = [&](const NestWord& word) { return einsum_.tensor_named(word.text) >= 0; };
    if (level == 0 && mapping_.loops.empty() && std::all_of(line.tensors.begin(), line.tensors.end(), known)) {
      outermost_line_ = &line;
    }
    if (level > 0) place(placed_holds_, {level, line.span, "at " + line.level.text});
  }

  void add_hold(int level, int tensor, const NestWord& word) {
    auto& holds = mapping_.holds[static_cast<std::size_t>(tensor)];
    const int depth = static_cast<int>(mapping_.loops.size());
    for (Hold& hold : holds) {
      if (hold.level != level) continue;
      const bool implied = level == 0 && !named_outermost_[static_cast<std::size_t>(tensor)];
      if (implied && depth == 0) {
        hold.span = word.span;
        named_outermost_[static_cast<std::size_t>(tensor)] = true;
      } else if (implied) {
        error(word.span,
              fmt::format("tensor {} is held in {} from the start; it cannot be put there inside a loop",
                          in_quotes(word.text), in_quotes(machine_.level_name(level))),
              "write the line before the first loop, or leave it out");
      } else {
        error(word.span, fmt::format("tensor {} is already held in {} (line {})", in_quotes(word.text),
                                     in_quotes(machine_.level_name(level)), hold.span.line));
      }
      return;
    }
    holds.push_back({level, depth, word.span});
  }

  /// An earlier line of a level further in, or a loop over a mesh further in, stands outside this hold.
  void check_hold_order(int level, const NestLine& line) {
    const std::string here = "at " + line.level.text;
    for (const auto* placed : {&placed_holds_, &placed_loops_}) {
      for (const Placed& outer : *placed) {
        if (outer.level < level) continue;
        if (outer.level == level && placed == &placed_holds_) continue;
        error(line.span,
              fmt::format("{} stands inside {} (line {}), but {} is outside {} in the machine", in_quotes(here),
                          in_quotes(outer.text), outer.span.line, in_quotes(line.level.text),
                          in_quotes(machine_.level_name(outer.level))),
              fmt::format("move {} above line {}", in_quotes(here), outer.span.line));
        return;
      }
    }
  }

  void add_loop_line(const NestLine& line) {
    Loop loop;
    loop.spatial = line.kind == NestLine::Kind::spatial;
    loop.span = line.span;
    const bool placed = !loop.spatial || find_axis(line, loop);
    all_read_ = all_read_ && placed;
    for (const NestWord& word : line.ranks) {
      loop.rank = einsum_.rank_named(word.text);
      if (loop.rank < 0) {
        all_read_ = false;
        error(word.span, fmt::format("unknown rank {}", in_quotes(word.text)),
              name_hint(word.text, names_of(einsum_.ranks), "ranks"));
        continue;
      }
      cut(line, word, loop);
      if (placed) mapping_.loops.push_back(loop);
    }
  }

  /// Sets the loop's tile and trips and takes the cut from what is left of its rank.
  void cut(const NestLine& line, const NestWord& word, Loop& loop) {
    std::int64_t& left = left_[static_cast<std::size_t>(loop.rank)];
    loop.tile = line.into ? 1 + (left - 1) / line.number : line.number;
    if (loop.tile > left) {
      error(
          line.number_span,
          fmt::format("the tile {} is larger than what is left of rank {}, {}", loop.tile, in_quotes(word.text), left),
          left == 1 ? "nothing is left to cut; remove the loop or write 'by 1'"
                    : fmt::format("expected 1 to {}", left));
      loop.tile = left;
      all_read_ = false;
    }
    loop.trips = 1 + (left - 1) / loop.tile;
    left = loop.tile;
  }

  /// Looks up MESH.AXIS; checks that no hold of a level inside the mesh stands outside the loop.
  bool find_axis(const NestLine& line, Loop& loop) {
    loop.mesh = machine_.level_named(line.mesh.text);
    const Mesh* mesh = loop.mesh < 0 ? nullptr : machine_.mesh(loop.mesh);
    if (mesh == nullptr) {
      error(line.mesh.span,
            loop.mesh < 0 ? fmt::format("unknown mesh {}", in_quotes(line.mesh.text))
                          : fmt::format("{} is not a mesh", in_quotes(line.mesh.text)),
            mesh_hint(line.mesh.text));
      return false;
    }
    const auto same = [&](const MeshAxis& axis) { return axis.name == line.axis.text; };
    const auto found = std::find_if(mesh->axes.begin(), mesh->axes.end(), same);
    if (found == mesh->axes.end()) {
      error(line.axis.span, fmt::format("the mesh {} has no axis {}", in_quotes(mesh->name), in_quotes(line.axis.text)),
            name_hint(line.axis.text, names_of(mesh->axes), "axes"));
      return false;
    }
    loop.axis = static_cast<int>(found - mesh->axes.begin());
    const std::string text = fmt::format("par ... on {}.{}", mesh->name, found->name);
    for (const Placed& hold : placed_holds_) {
      if (hold.level < loop.mesh) continue;
      error(line.span,
            fmt::format("{} stands inside {} (line {}), but the mesh {} is outside {} in the machine", in_quotes(text),
                        in_quotes(hold.text), hold.span.line, in_quotes(mesh->name),
                        in_quotes(machine_.level_name(hold.level))),
            fmt::format("move the par line above line {}", hold.span.line));
      break;
    }
    place(placed_loops_, {loop.mesh, line.span, text});
    return true;
  }

  std::string mesh_hint(const std::string& found) const {
    std::vector<std::string> meshes;
    for (const Level& level : machine_.levels) {
      if (const auto* mesh = std::get_if<Mesh>(&level)) meshes.push_back(mesh->name);
    }
    const std::string nearest = nearest_name(found, meshes);
    return nearest.empty() ? name_hint("", mesh_axis_names(), "mesh axes") : name_hint(found, meshes, "meshes");
  }

  /// The trips of all loops over one axis must fit its size.
  void check_fan_out() {
    for (int level = 0; level < machine_.compute_level(); ++level) {
      const Mesh* mesh = machine_.mesh(level);
      if (mesh == nullptr) continue;
      for (std::size_t axis = 0; axis < mesh->axes.size(); ++axis) {
        Count need = 1;
        const Loop* last = nullptr;
        std::string factors;
        for (const Loop& loop : mapping_.loops) {
          if (!loop.spatial || loop.mesh != level || loop.axis != static_cast<int>(axis)) continue;
          need *= Count(loop.trips);
          last = &loop;
          factors += fmt::format("{}{} of {}", factors.empty() ? "" : " x ", loop.trips,
                                 einsum_.ranks[static_cast<std::size_t>(loop.rank)].name);
        }
        const std::int64_t room = mesh->axes[axis].size;
        if (last == nullptr || (!need.overflowed() && need <= Count(room))) continue;
        error(last->span,
              fmt::format("the axis {}.{} has room for {} tiles, needed are {} ({})", mesh->name, mesh->axes[axis].name,
                          room, need.str(), factors),
              "larger tiles, or a 'for' loop outside, lower the need");
      }
    }
  }

  /// At the operation 1 is left of each rank, or what one of the atomic shape's layouts takes whole.
  void check_coverage(const std::vector<NestLine>& lines) {
    std::vector<Diagnostic> first_layout;
    const auto layouts = atomic_layouts(einsum_, machine_.compute());
    for (std::size_t k = 0; k < std::max<std::size_t>(layouts.size(), 1); ++k) {
      std::vector<Diagnostic> found = uncovered(layouts.empty() ? std::vector<AtomicRole>{} : layouts[k], lines);
      if (found.empty()) return;
      if (k == 0) first_layout = std::move(found);
    }
    for (Diagnostic& diagnostic : first_layout) error(diagnostic.span, diagnostic.message, diagnostic.hint);
  }

  std::vector<Diagnostic> uncovered(const std::vector<AtomicRole>& roles, const std::vector<NestLine>& lines) const {
    std::vector<Diagnostic> found;
    const Span end = lines.empty() ? Span{} : lines.back().span;
    std::vector<std::int64_t> room(roles.size());  // of each role, for the ranks still to come
    for (std::size_t k = 0; k < roles.size(); ++k) room[k] = roles[k].extent;
    for (std::size_t r = 0; r < left_.size(); ++r) {
      const std::string& rank = einsum_.ranks[r].name;
      const auto role = std::find_if(roles.begin(), roles.end(), [&](const AtomicRole& candidate) {
        return std::find(candidate.ranks.begin(), candidate.ranks.end(), static_cast<int>(r)) != candidate.ranks.end();
      });
      const std::int64_t atomic = role == roles.end() ? 1 : room[static_cast<std::size_t>(role - roles.begin())];
      if (left_[r] <= atomic) {
        if (role != roles.end()) room[static_cast<std::size_t>(role - roles.begin())] /= left_[r];
        continue;
      }
      const auto last = std::find_if(mapping_.loops.rbegin(), mapping_.loops.rend(),
                                     [&](const Loop& loop) { return loop.rank == static_cast<int>(r); });
      const std::string expected =
          atomic == 1 ? "1" : fmt::format("at most {}, the atomic shape of {}", atomic, machine_.compute().name);
      found.push_back({last == mapping_.loops.rend() ? end : last->span,
                       fmt::format("{} of rank {} is left at the end of the nest, expected {}", left_[r],
                                   in_quotes(rank), expected),
                       fmt::format("add 'for {} by {}'", rank, atomic),
                       {}});
    }
    return found;
  }

  /// Every tensor starts in the outermost storage: a line that names only some of them means something else.
  void check_outermost_line() {
    if (outermost_line_ == nullptr) return;
    std::vector<std::string> missing;
    for (std::size_t t = 0; t < mapping_.holds.size(); ++t) {
      if (!named_outermost_[t]) missing.push_back(in_quotes(einsum_.tensors[t].name));
    }
    if (missing.empty()) return;
    error(outermost_line_->level.span,
          fmt::format("every tensor starts in {}, the outermost storage; not named: {}",
                      in_quotes(outermost_line_->level.text), comma_list(missing)),
          "name all tensors, or leave the line out");
  }

  const Einsum& einsum_;
  const Machine& machine_;
  Mapping mapping_;
  std::vector<std::int64_t> left_;
  std::vector<Placed> placed_holds_;          // the first line `at` of each level but the outermost
  std::vector<Placed> placed_loops_;          // the first line `par` of each mesh
  std::vector<bool> named_outermost_;         // per tensor, whether a line put it into the outermost storage
  const NestLine* outermost_line_ = nullptr;  // `at` the outermost storage, where all its names are known
  bool all_read_ = true;                      // else what is left at the end is not what was meant
  Diagnostics errors_;
};

}  // namespace

Result<Mapping> build_mapping(const std::vector<NestLine>& lines, const Einsum& einsum, const Machine& machine) {
  return NestBuilder(einsum, machine).build(lines);
}

}  // namespace einflow
