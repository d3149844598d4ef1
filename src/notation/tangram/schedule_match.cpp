// Which blocking and partitioning a nest is: candidates are made from its loops, and the one whose own nest is this
// nest is the answer. So nothing is ever written that reads back as something else.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/message.hpp"
#include "notation/tangram/spec_match.hpp"

namespace einflow::tangram {

namespace {

/// A temporal loop outside REGF.
struct OuterLoop {
  char rank = 'b';
  std::int64_t trips = 1;
  bool inside_gbuf = false;  ///< stands inside the hold of GBUF
  std::string text;          ///< for messages
};

/// The spec in this notation's own names, loops of one trip left out.
Spec in_own_words(const Spec& spec, const LayerMatch& layer, const ResourceMatch& machine, const std::string& name) {
  Spec own{einsum_of(layer.layer, name, layer.word), machine_of(machine.resource), {}};
  const bool drop_nodes = machine.nodes_level && machine.resource.nodes == Extent{};
  const auto level_of = [&](int level) { return drop_nodes && level > 1 ? level - 1 : level; };
  std::vector<int> rank_of(layer.ranks.size());
  for (std::size_t at = 0; at < layer.ranks.size(); ++at) {
    rank_of[static_cast<std::size_t>(layer.ranks[at])] = static_cast<int>(at);
  }
  std::vector<int> depth_of{0};
  for (const Loop& loop : spec.mapping.loops) {
    if (loop.trips > 1) {
      Loop kept = loop;
      kept.rank = rank_of[static_cast<std::size_t>(loop.rank)];
      if (loop.spatial) kept.mesh = level_of(loop.mesh);
      kept.span = {};
      own.mapping.loops.push_back(kept);
    }
    depth_of.push_back(static_cast<int>(own.mapping.loops.size()));
  }
  for (const int tensor : layer.tensors) {
    std::vector<Hold> holds;
    for (const Hold& hold : spec.mapping.holds[static_cast<std::size_t>(tensor)]) {
      holds.push_back({level_of(hold.level), depth_of[static_cast<std::size_t>(hold.depth)], {}});
    }
    own.mapping.holds.push_back(std::move(holds));
  }
  return own;
}

class ScheduleMatcher {
 public:
  ScheduleMatcher(const Spec& own, const LayerMatch& layer, const ResourceMatch& machine) : own_(own) {
    schedule_.name = own.einsum.name;
    schedule_.layer = layer.layer;
    schedule_.resource = machine.resource;
  }

  Result<Schedule> match() {
    find_levels();
    if (auto reason = read_parts(); !reason.empty()) return fail(std::move(reason));
    if (auto reason = read_holds(); !reason.empty()) return fail(std::move(reason));
    if (auto reason = read_loops(); !reason.empty())
      return fail(std::move(reason), "ti, to and tb block channels and batch");
    for (std::size_t boundary = 0; boundary <= outer_.size(); ++boundary) {
      if (!boundary_allowed(boundary)) continue;
      if (auto found = try_boundary(boundary)) return *found;
    }
    return fail(why_not(), hint_);
  }

 private:
  void find_levels() {
    gbuf_ = own_.machine.level_named("GBUF");
    regf_ = own_.machine.level_named("REGF");
    nodes_ = own_.machine.level_named("NODES");
  }

  char rank(const Loop& loop) const { return own_.einsum.ranks[static_cast<std::size_t>(loop.rank)].name[0]; }

  std::string text(const Loop& loop) const {
    return fmt::format("'{} {} by {}'", loop.spatial ? "par" : "for", rank(loop), loop.tile);
  }

  std::string read_parts() {
    std::vector<int> order;
    for (const Loop& loop : own_.mapping.loops) {
      if (!loop.spatial || loop.mesh != nodes_) continue;
      const char split = rank(loop);
      const bool on_h = loop.axis == 0;
      const int kind = split == 'k'                   ? kOutp
                       : split == 'b'                 ? kBatp
                       : split == 'c'                 ? kInpp
                       : split == 'p' || split == 'q' ? kOfmp
                                                      : -1;
      if (kind < 0 || (split == 'p' && !on_h) || (split == 'q' && on_h)) {
        return fmt::format("{} on NODES.{} is none of OUTP, OFMP (rows over h, columns over w), BATP and INPP",
                           text(loop), on_h ? "h" : "w");
      }
      Extent& part = schedule_.parts[static_cast<std::size_t>(kind)];
      std::int64_t& side = on_h ? part.h : part.w;
      if (side > 1) return fmt::format("{} splits over NODES.{} a second time", text(loop), on_h ? "h" : "w");
      side = loop.trips;
      if (std::find(order.begin(), order.end(), kind) == order.end()) order.push_back(kind);
    }
    std::size_t place = 0;
    for (int kind = 0; kind < 4; ++kind) {
      if (std::find(order.begin(), order.end(), kind) == order.end()) schedule_.part_order[place++] = kind;
    }
    for (const int kind : order) schedule_.part_order[place++] = kind;
    return {};
  }

  std::string read_holds() {
    const bool filter = schedule_.layer.has_filter();
    regf_depth_ = static_cast<int>(own_.mapping.loops.size());
    for (std::size_t t = 0; t < own_.mapping.holds.size(); ++t) {
      const int data = t == 0 ? kIfmap : filter && t == 1 ? kFil : kOfmap;
      bool in_regf = false;
      for (const Hold& hold : own_.mapping.holds[t]) {
        if (hold.level == gbuf_) {
          schedule_.bypass[static_cast<std::size_t>(data)] = false;
          gbuf_depth_ = hold.depth;
        }
        if (hold.level == regf_) {
          in_regf = true;
          regf_depth_ = std::min(regf_depth_, hold.depth);
        }
      }
      if (!in_regf)
        return fmt::format("{} is not held in REGF; nn_dataflow holds every tensor there", own_.einsum.tensors[t].name);
    }
    return {};
  }

  std::string read_loops() {
    int depth = 0;
    bool array_begun = false;
    std::string columns;
    const Layer node = node_layer(schedule_);
    const bool folds = row_stationary(node.sfil, node.sofm.h, schedule_.resource.array).fold_filter > 1;
    for (const Loop& loop : own_.mapping.loops) {
      ++depth;
      if (loop.spatial) {
        array_begun = array_begun || loop.mesh != nodes_;
        continue;
      }
      const char name = rank(loop);
      if (array_begun || depth > regf_depth_) {
        inner_[name] *= loop.trips;
        continue;
      }
      if (name == 'r' && folds) continue;  // part of the unit pass
      if (name == 'r' || name == 's') {
        return fmt::format("{} loops over filter taps outside the unit pass", text(loop));
      }
      if (name == 'q' && columns.empty()) {  // of the unit pass, where it is the last of these
        columns = text(loop);
        continue;
      }
      if (!columns.empty()) return fmt::format("{} loops over columns of a map outside the unit pass", columns);
      if (name == 'n') return fmt::format("{} loops over the maps that are combined outside the unit pass", text(loop));
      outer_.push_back({name, loop.trips, gbuf_depth_ && depth > *gbuf_depth_, text(loop)});
      if (outer_.size() > 8)
        return fmt::format("{} is one blocking level too many outside REGF: there are two", text(loop));
    }
    for (const char name : {'c', 'k'}) {
      const auto levels =
          std::count_if(outer_.begin(), outer_.end(), [&](const OuterLoop& l) { return l.rank == name; });
      if (levels > 2) return fmt::format("{} has {} blocking levels outside REGF, expected at most 2", name, levels);
    }
    return {};
  }

  bool boundary_allowed(std::size_t boundary) const {
    if (!gbuf_depth_) return true;
    for (std::size_t at = 0; at < outer_.size(); ++at) {
      if (outer_[at].inside_gbuf != (at >= boundary)) return false;
    }
    return true;
  }

  std::optional<Schedule> try_boundary(std::size_t boundary) {
    Schedule candidate = schedule_;
    for (std::size_t level = 0; level < 2; ++level) {
      const std::size_t first = level == 0 ? 0 : boundary;
      const std::size_t last = level == 0 ? boundary : outer_.size();
      std::vector<int> nest;  // LoopKinds, outermost first
      for (std::size_t at = first; at < last; ++at) {
        const OuterLoop& loop = outer_[at];
        const int kind = loop.rank == 'c' ? kIfm : loop.rank == 'k' ? kOfm : kBat;
        const bool slice_of_batch =
            !nest.empty() && nest.back() == kBat && outer_[at - 1].rank == 'p' && loop.rank == 'b';
        if (!slice_of_batch && std::find(nest.begin(), nest.end(), kind) != nest.end()) return std::nullopt;
        if (!slice_of_batch) nest.push_back(kind);
        auto& factor = candidate.factors[level][static_cast<std::size_t>(kind)];
        const auto product = (Count(factor) * Count(loop.trips)).to_int64();
        if (!product || *product > kMaximumSize) return std::nullopt;
        factor = *product;
      }
      for (int kind = 2; kind >= 0; --kind) {  // loops of one trip go outside, IFM outermost
        if (std::find(nest.begin(), nest.end(), kind) == nest.end()) nest.insert(nest.begin(), kind);
      }
      for (std::size_t place = 0; place < 3; ++place) {
        candidate.orders[level][static_cast<std::size_t>(nest[place])] = static_cast<int>(2 - place);
      }
    }
    const auto inner = [&](char name) {
      const auto found = inner_.find(name);
      return found == inner_.end() ? std::int64_t{1} : found->second;
    };
    candidate.factors[2] = {inner('c'), inner('k'), 1};
    const auto batch = (Count(inner('b')) * Count(inner('p'))).to_int64();
    if (!batch || *batch > kMaximumSize) return std::nullopt;
    candidate.factors[2][kBat] = *batch;
    for (const ProcessingPass& pass : processing_passes(candidate)) {
      candidate.pass = pass;
      if (const auto checked = check(candidate); !checked) {
        if (fault_.empty()) fault_ = checked.error().front().message;
        continue;
      }
      const auto spec = spec_of(candidate);
      if (!spec) continue;
      if (spec->mapping == own_.mapping) return candidate;
      if (!nearest_ || common_lines(*spec) > common_lines(*nearest_)) nearest_ = *spec;
    }
    return std::nullopt;
  }

  static std::vector<std::string> lines_of(const Spec& spec) {
    std::vector<std::string> lines;
    const std::string text = to_text(spec.mapping, spec.einsum, spec.machine);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      lines.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return lines;
  }

  std::size_t common_lines(const Spec& candidate) const {
    const auto mine = lines_of(own_);
    const auto theirs = lines_of(candidate);
    std::size_t same = 0;
    while (same < mine.size() && same < theirs.size() && mine[same] == theirs[same]) ++same;
    return same;
  }

  std::string why_not() {
    if (!nearest_) {
      hint_ = fault_;
      return "no factors ti, to, tb on this array give the nest";
    }
    const auto mine = lines_of(own_);
    const auto theirs = lines_of(*nearest_);
    const std::size_t same = common_lines(*nearest_);
    const auto line = [&](const std::vector<std::string>& lines) {
      return same < lines.size() ? in_quotes(lines[same]) : std::string("the end of the nest");
    };
    hint_ = "in nn_dataflow's words a nest is blocked channels and batch around the row-stationary pass over the array";
    return fmt::format("the nest has {} where nn_dataflow's nearest has {}", line(mine), line(theirs));
  }

  const Spec& own_;
  Schedule schedule_;
  int gbuf_ = -1;
  int regf_ = -1;
  int nodes_ = -1;
  std::optional<int> gbuf_depth_;
  int regf_depth_ = 0;
  std::vector<OuterLoop> outer_;
  std::map<char, std::int64_t> inner_{{'b', 1}, {'p', 1}, {'k', 1}, {'c', 1}, {'n', 1}, {'q', 1}, {'r', 1}, {'s', 1}};
  std::optional<Spec> nearest_;
  std::string fault_;
  std::string hint_;
};

}  // namespace

Result<Match> match_schedule(const Spec& spec, const std::string& name) {
  if (spec.mapping.holds.empty()) return fail("the layer has no mapping; a schedule is one", "a spec with `mapping`");
  const auto layer = match_layer(spec.einsum);
  if (!layer) return tl::unexpected(layer.error());
  const auto machine = match_resource(spec.machine, layer->word);
  if (!machine) return tl::unexpected(machine.error());
  const Spec own = in_own_words(spec, *layer, *machine, name);
  auto schedule = ScheduleMatcher(own, *layer, *machine).match();
  if (!schedule) return tl::unexpected(schedule.error());
  Match match{std::move(*schedule), layer->left_out};
  match.left_out.insert(match.left_out.end(), machine->left_out.begin(), machine->left_out.end());
  const auto one_trip = [](const Loop& loop) { return loop.trips == 1; };
  if (std::any_of(spec.mapping.loops.begin(), spec.mapping.loops.end(), one_trip)) {
    match.left_out.emplace_back("loops of one trip");
  }
  return match;
}

}  // namespace einflow::tangram
