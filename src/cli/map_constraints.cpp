#include "cli/map_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/message.hpp"
#include "base/quantity.hpp"

namespace einflow {

namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    words.push_back(trimmed(text.substr(from, end - from)));
    from = end + 1;
  }
  return words;
}

/// The divisors of `extent` next to `near`: "20 and 25".
std::string divisors_near(std::int64_t extent, std::int64_t near) {
  if (extent > std::int64_t{1} << 48) return {};  // too many candidates to try
  std::int64_t below = 1, above = extent;
  for (std::int64_t small = 1; small <= extent / small; ++small) {
    if (extent % small != 0) continue;
    for (const std::int64_t divisor : {small, extent / small}) {
      if (divisor < near) below = std::max(below, divisor);
      if (divisor > near) above = std::min(above, divisor);
    }
  }
  if (near >= extent) return fmt::format("the largest divisor of {} is {} itself", extent, extent);
  return fmt::format("the divisors of {} next to it: {} and {}", extent, below, above);
}

/// Fills the constraints, flag by flag.
class ConstraintReader {
 public:
  ConstraintReader(const Einsum& einsum, const Machine& machine) : einsum_(einsum), machine_(machine) {
    for (const Tensor& tensor : einsum.tensors) tensors_.push_back(tensor.name);
    for (const Rank& rank : einsum.ranks) ranks_.push_back(rank.name);
    const std::size_t levels = machine.levels.size();
    constraints_.holding.assign(levels, std::vector<Holding>(tensors_.size(), Holding::free));
    constraints_.tile.assign(levels, std::vector<std::int64_t>(ranks_.size(), 0));
    constraints_.stationary.assign(levels, -1);
    constraints_.spread.resize(levels);
    for (std::size_t level = 0; level < levels; ++level) {
      if (machine.storage(static_cast<int>(level)) != nullptr) storages_.push_back(machine.level_name(int(level)));
      const Mesh* mesh = machine.mesh(static_cast<int>(level));
      if (mesh == nullptr) continue;
      constraints_.spread[level].assign(mesh->axes.size(), std::vector<std::int64_t>(ranks_.size(), 0));
      for (const MeshAxis& axis : mesh->axes) axes_.push_back(mesh->name + "." + axis.name);
    }
  }

  Result<MapConstraints> read(const MapFlags& flags) {
    for (const std::string& text : flags.hold) hold("--hold", text, Holding::held, true);
    for (const std::string& text : flags.keep) hold("--keep", text, Holding::held, false);
    for (const std::string& text : flags.bypass) hold("--bypass", text, Holding::bypassed, false);
    for (const std::string& text : flags.tile) tile(text);
    for (const std::string& text : flags.stationary) stationary(text);
    for (const std::string& text : flags.spread) spread(text);
    for (const std::string& text : flags.no_spread) no_spread(text);
    if (!flags.utilization.empty()) utilization(flags.utilization);
    if (errors_.empty()) check_together();
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    return std::move(constraints_);
  }

 private:
  void add(std::string message, std::string hint = {}) {
    errors_.push_back({{}, std::move(message), std::move(hint), {}});
  }

  int tensor_named(const std::string& flag, const std::string& name) {
    const int tensor = einsum_.tensor_named(name);
    if (tensor < 0)
      add(fmt::format("{}: there is no tensor {}", flag, in_quotes(name)), name_hint(name, tensors_, "tensors"));
    return tensor;
  }

  int rank_named(const std::string& flag, const std::string& name) {
    const int rank = einsum_.rank_named(name);
    if (rank < 0) add(fmt::format("{}: there is no rank {}", flag, in_quotes(name)), name_hint(name, ranks_, "ranks"));
    return rank;
  }

  int storage_named(const std::string& flag, const std::string& name) {
    const int level = machine_.level_named(name);
    if (level >= 0 && machine_.storage(level) != nullptr) return level;
    if (level >= 0) {
      add(fmt::format("{}: {} is {} and holds nothing", flag, in_quotes(name),
                      machine_.mesh(level) != nullptr ? "a mesh" : "the compute level"),
          "storage levels: " + comma_list(storages_));
    } else {
      add(fmt::format("{}: there is no storage level {}", flag, in_quotes(name)),
          name_hint(name, storages_, "storage levels"));
    }
    return -1;
  }

  /// "NAME:REST"; an error where there is no ':' with something on both sides.
  std::optional<std::pair<std::string, std::string>> split(const std::string& flag, const std::string& text,
                                                           const char* form, const char* example) {
    const std::size_t colon = text.find(':');
    if (colon != std::string::npos) {
      std::pair<std::string, std::string> parts{trimmed(text.substr(0, colon)), trimmed(text.substr(colon + 1))};
      if (!parts.first.empty() && !parts.second.empty()) return parts;
    }
    add(fmt::format("{}: found {}, expected {}", flag, in_quotes(text), form), example);
    return std::nullopt;
  }

  void hold(const std::string& flag, const std::string& text, Holding asked, bool no_others) {
    const auto parts = split(flag, text, "LEVEL:TENSOR,...", "for example: --hold Buffer:W,X");
    if (!parts) return;
    const int level = storage_named(flag, parts->first);
    std::vector<bool> named(tensors_.size(), false);
    for (const std::string& name : words_of(parts->second)) {
      const int tensor = tensor_named(flag, name);
      if (tensor >= 0) named[static_cast<std::size_t>(tensor)] = true;
    }
    if (level < 0) return;
    for (std::size_t tensor = 0; tensor < named.size(); ++tensor) {
      if (!named[tensor] && !no_others) continue;
      const Holding wanted = named[tensor] ? asked : Holding::bypassed;
      if (level == 0 && wanted == Holding::bypassed) {
        add(fmt::format("{} {}: {} starts in {}, the outermost storage, and cannot bypass it", flag, text,
                        tensors_[tensor], parts->first));
        continue;
      }
      Holding& holding = constraints_.holding[static_cast<std::size_t>(level)][tensor];
      if (holding != Holding::free && holding != wanted) {
        add(fmt::format("{} is held and bypassed at {}", tensors_[tensor], parts->first),
            "--hold LEVEL:TENSORS bypasses all others there; --keep LEVEL:TENSOR leaves them free");
        continue;
      }
      holding = wanted;
    }
  }

  /// "k=16,m=8", each number at least 1 and a divisor of the rank's extent.
  std::vector<std::pair<int, std::int64_t>> sizes(const std::string& flag, const std::string& text) {
    std::vector<std::pair<int, std::int64_t>> found;
    for (const std::string& word : words_of(text)) {
      const std::size_t equals = word.find('=');
      const auto number = equals == std::string::npos ? std::nullopt : parse_count(trimmed(word.substr(equals + 1)));
      const auto size = number ? number->to_int64() : std::nullopt;
      if (!size || *size < 1) {
        add(fmt::format("{}: found {}, expected RANK=NUMBER", flag, in_quotes(word)), "for example: k=16");
        continue;
      }
      const int rank = rank_named(flag, trimmed(word.substr(0, equals)));
      if (rank < 0) continue;
      const std::int64_t extent = einsum_.ranks[static_cast<std::size_t>(rank)].extent;
      if (extent % *size != 0) {
        add(fmt::format("{}: {} does not divide the {} of rank {}", flag, *size, extent,
                        ranks_[static_cast<std::size_t>(rank)]),
            divisors_near(extent, *size));
        continue;
      }
      found.emplace_back(rank, *size);
    }
    return found;
  }

  void set_once(std::int64_t& place, std::int64_t value, const std::string& what) {
    if (place != 0 && place != value) {
      add(fmt::format("{} is given as {} and as {}", what, place, value));
    } else {
      place = value;
    }
  }

  void tile(const std::string& text) {
    const auto parts = split("--tile", text, "LEVEL:RANK=NUMBER,...", "for example: --tile Buffer:k=16,m=8");
    if (!parts) return;
    const int level = storage_named("--tile", parts->first);
    for (const auto& [rank, size] : sizes("--tile", parts->second)) {
      if (level < 0) continue;
      const auto r = static_cast<std::size_t>(rank);
      if (level == 0 && size != einsum_.ranks[r].extent) {
        add(fmt::format("--tile: {} is the outermost storage, where all {} of rank {} are left", parts->first,
                        einsum_.ranks[r].extent, ranks_[r]));
        continue;
      }
      set_once(constraints_.tile[static_cast<std::size_t>(level)][r], size,
               fmt::format("the tile of rank {} at {}", ranks_[r], parts->first));
    }
  }

  void stationary(const std::string& text) {
    std::size_t at = text.find('@'), width = 1;
    if (at == std::string::npos) at = text.find(" at "), width = 4;
    const std::string name = at == std::string::npos ? "" : trimmed(text.substr(0, at));
    const std::string place = at == std::string::npos ? "" : trimmed(text.substr(at + width));
    if (name.empty() || place.empty()) {
      add(fmt::format("--stationary: found {}, expected TENSOR@LEVEL", in_quotes(text)),
          "for example: --stationary W@RF, or \"W at RF\"");
      return;
    }
    const int tensor = tensor_named("--stationary", name);
    const int level = storage_named("--stationary", place);
    if (tensor < 0 || level < 0) return;
    if (level == 0) {
      add(fmt::format("--stationary: no loop stands outside {}, the outermost storage", place));
      return;
    }
    int& stays = constraints_.stationary[static_cast<std::size_t>(level)];
    if (stays >= 0 && stays != tensor) {
      add(fmt::format("{} and {} are both to be stationary at {}", tensors_[static_cast<std::size_t>(stays)], name,
                      place),
          "one loop is the innermost outside a level; it leaves what it does not index");
      return;
    }
    stays = tensor;
  }

  /// Every (mesh level, axis) that "array.x", "array" (with `whole_meshes`) or an axis of one mesh names.
  std::vector<std::pair<int, int>> axes_named(const std::string& flag, const std::string& name, bool whole_meshes) {
    std::vector<std::pair<int, int>> found;
    std::vector<std::string> full_names;
    for (int pass = 0; pass < 2 && found.empty(); ++pass) {
      for (int level = 0; level < machine_.compute_level(); ++level) {
        const Mesh* mesh = machine_.mesh(level);
        for (int axis = 0; mesh != nullptr && axis < static_cast<int>(mesh->axes.size()); ++axis) {
          const std::string& short_name = mesh->axes[static_cast<std::size_t>(axis)].name;
          const std::string full = mesh->name + "." + short_name;
          const bool named = pass == 0 ? name == full || (whole_meshes && name == mesh->name) : name == short_name;
          if (!named) continue;
          found.emplace_back(level, axis);
          full_names.push_back(full);
        }
      }
      if (pass == 1 && found.size() > 1) {
        add(fmt::format("{}: several meshes have an axis {}", flag, in_quotes(name)),
            "axes: " + comma_list(full_names));
        return {};
      }
    }
    if (found.empty()) {
      std::vector<std::string> valid = axes_;
      if (whole_meshes) {
        for (int level = 0; level < machine_.compute_level(); ++level) {
          if (machine_.mesh(level) != nullptr) valid.push_back(machine_.level_name(level));
        }
      }
      add(fmt::format("{}: there is no {} {}", flag, whole_meshes ? "mesh or axis" : "axis", in_quotes(name)),
          name_hint(name, valid, whole_meshes ? "meshes and axes" : "axes"));
    }
    return found;
  }

  std::int64_t& ways(const std::pair<int, int>& axis, int rank) {
    return constraints_.spread[static_cast<std::size_t>(axis.first)][static_cast<std::size_t>(axis.second)]
                              [static_cast<std::size_t>(rank)];
  }

  std::string axis_name(const std::pair<int, int>& axis) const {
    const Mesh& mesh = *machine_.mesh(axis.first);
    return mesh.name + "." + mesh.axes[static_cast<std::size_t>(axis.second)].name;
  }

  void spread(const std::string& text) {
    const auto parts = split("--spread", text, "AXIS:RANK=NUMBER,...", "for example: --spread array.x:k=16");
    if (!parts) return;
    const auto axes = axes_named("--spread", parts->first, false);
    for (const auto& [rank, trips] : sizes("--spread", parts->second)) {
      if (axes.empty()) continue;
      set_once(
          ways(axes.front(), rank), trips,
          fmt::format("the spread of rank {} on {}", ranks_[static_cast<std::size_t>(rank)], axis_name(axes.front())));
    }
  }

  void no_spread(const std::string& text) {
    const std::size_t at = text.find('@');
    const int rank = rank_named("--no-spread", trimmed(text.substr(0, at)));
    std::vector<std::pair<int, int>> axes;
    if (at != std::string::npos) {
      axes = axes_named("--no-spread", trimmed(text.substr(at + 1)), true);
    } else {
      for (const std::string& name : axes_) axes.push_back(axes_named("--no-spread", name, false).front());
    }
    for (const auto& axis : axes) {
      if (rank < 0) continue;
      std::int64_t& trips = ways(axis, rank);
      if (trips > 1) {
        add(fmt::format("rank {} is spread {} ways on {}, and not to be spread there",
                        ranks_[static_cast<std::size_t>(rank)], trips, axis_name(axis)));
      }
      trips = 1;
    }
  }

  void utilization(const std::string& text) {
    const auto share = parse_share(text);
    const double value = share ? share->to_double() : -1;
    if (value < 0 || value > 1) {
      add(fmt::format("--utilization: found {}, expected a share from 0 to 1", in_quotes(text)),
          "for example: --utilization 0.8, or 80%");
      return;
    }
    constraints_.least_utilization = value;
  }

  /// What only several flags together can violate.
  void check_together() {
    check_tiles();
    check_ways();
    for (std::size_t level = 0; level < constraints_.stationary.size(); ++level) {
      const int tensor = constraints_.stationary[level];
      if (tensor < 0) continue;
      if (constraints_.holding[level][static_cast<std::size_t>(tensor)] == Holding::bypassed) {
        add(fmt::format("{} is to be stationary at {}, which it bypasses", tensors_[static_cast<std::size_t>(tensor)],
                        machine_.level_name(static_cast<int>(level))));
      }
    }
  }

  /// A tile divides those further out.
  void check_tiles() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      std::int64_t outer = einsum_.ranks[rank].extent;
      std::string outer_level;
      for (std::size_t level = 0; level < constraints_.tile.size(); ++level) {
        const std::int64_t tile = constraints_.tile[level][rank];
        if (tile == 0) continue;
        const std::string& name = machine_.level_name(static_cast<int>(level));
        if (outer % tile != 0) {
          add(fmt::format("--tile: {}={} at {} does not divide the {} left at {}", ranks_[rank], tile, name, outer,
                          outer_level),
              divisors_near(outer, tile));
        }
        outer = tile;
        outer_level = name;
      }
    }
  }

  /// The ways of an axis fit its size; those of a rank divide its extent.
  void check_ways() {
    std::vector<Count> of_rank(ranks_.size(), Count(1));
    for (std::size_t level = 0; level < constraints_.spread.size(); ++level) {
      for (std::size_t axis = 0; axis < constraints_.spread[level].size(); ++axis) {
        Count product(1);
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
          const std::int64_t trips = std::max<std::int64_t>(constraints_.spread[level][axis][rank], 1);
          product *= trips;
          of_rank[rank] *= trips;
        }
        const std::int64_t size = machine_.mesh(static_cast<int>(level))->axes[axis].size;
        if (Count(size) < product || product.overflowed()) {
          add(fmt::format("--spread: {} ways on {}, which has {}", product.str(),
                          axis_name({static_cast<int>(level), static_cast<int>(axis)}), size));
        }
      }
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const std::int64_t extent = einsum_.ranks[rank].extent;
      if (of_rank[rank].overflowed() || extent % of_rank[rank].value() != 0) {
        add(fmt::format("--spread: {} ways in all do not divide the {} of rank {}", of_rank[rank].str(), extent,
                        ranks_[rank]));
      }
    }
  }

  const Einsum& einsum_;
  const Machine& machine_;
  std::vector<std::string> tensors_, ranks_, storages_, axes_;
  MapConstraints constraints_;
  Diagnostics errors_;
};

}  // namespace

Result<MapConstraints> map_constraints(const MapFlags& flags, const Einsum& einsum, const Machine& machine) {
  if (flags.written().empty()) return MapConstraints{};
  return ConstraintReader(einsum, machine).read(flags);
}

}  // namespace einflow
