// A schedule as einsum, machine and nest.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "mapping/nest_builder.hpp"
#include "notation/tangram/schedule.hpp"

namespace einflow::tangram {

namespace {

ElementType word_type(int bits) {
  const std::string name = fmt::format("int{}", bits);
  return find_element_type(name).value_or(ElementType{fmt::format("{}-bit", bits), bits});
}

class EinsumMaker {
 public:
  explicit EinsumMaker(std::string name) { einsum_.name = std::move(name); }

  Term rank(const std::string& name, std::int64_t extent) {
    einsum_.ranks.push_back({name, extent});
    return {static_cast<int>(einsum_.ranks.size()) - 1, 1};
  }
  void tensor(const std::string& name, const std::vector<std::vector<Term>>& axes, const ElementType& type) {
    Tensor made{name, {}, type};
    for (const auto& terms : axes) made.axes.push_back({terms, 0, std::nullopt});
    einsum_.tensors.push_back(std::move(made));
  }
  Einsum finish(const std::string& reduce) {
    einsum_.reduce = reduce;
    return std::move(einsum_);
  }

 private:
  Einsum einsum_;
};

Term times(Term term, std::int64_t coefficient) { return {term.rank, coefficient}; }

class NestComposer {
 public:
  explicit NestComposer(const Schedule& schedule, const ProcessingPass& pass)
      : schedule_(schedule),
        node_(node_layer(schedule)),
        pass_(pass),
        layout_(row_stationary(node_.sfil, node_.sofm.h, schedule.resource.array)),
        batch_(batch_factors({schedule.factors[0][kBat], schedule.factors[1][kBat], schedule.factors[2][kBat]},
                             node_.batch, layout_.fold_maps)) {}

  std::vector<NestLine> compose(const Einsum& einsum) {
    for (const Rank& rank : einsum.ranks) left_[rank.name] = rank.extent;
    partition();
    // Filter folds go round the innermost loop that leaves something in place in REGF, or are innermost.
    const int fold_level = layout_.fold_filter == 1 ? -1 : level_of_filter_folds();
    blocked_loops(0, fold_level == 0);
    std::vector<std::string> in_gbuf;
    for (const auto& [data, name] : tensors()) {
      if (held_in_gbuf(data)) in_gbuf.push_back(name);
    }
    if (!in_gbuf.empty()) hold("GBUF", in_gbuf);
    blocked_loops(1, fold_level == 1);
    if (fold_level == 2) fold_filter();
    array_loops();
    regf();
    return std::move(lines_);
  }

 private:
  std::vector<std::pair<int, std::string>> tensors() const {
    if (!schedule_.layer.has_filter()) return {{kIfmap, "IFM"}, {kOfmap, "OFM"}};
    return {{kIfmap, "IFM"}, {kFil, "FIL"}, {kOfmap, "OFM"}};
  }

  bool held_in_gbuf(int data) const {
    return !schedule_.bypass[static_cast<std::size_t>(data)] ||
           fetches(schedule_, data, 0) < fetches(schedule_, data, 1);
  }

  static NestWord word(std::string text) { return {std::move(text), {}}; }

  void hold(const std::string& level, const std::vector<std::string>& names) {
    NestLine line;
    line.kind = NestLine::Kind::at;
    line.level = word(level);
    for (const std::string& name : names) line.tensors.push_back(word(name));
    lines_.push_back(std::move(line));
  }

  /// Cuts what is left of a rank into tiles; nothing where it is not larger than a tile, or there is no such rank.
  void cut(const std::string& rank, Count tile, const std::string& mesh = {}, const std::string& axis = {}) {
    const auto found = left_.find(rank);
    if (found == left_.end() || Count(found->second) <= tile) return;
    NestLine line;
    line.kind = mesh.empty() ? NestLine::Kind::temporal : NestLine::Kind::spatial;
    line.ranks.push_back(word(rank));
    line.number = *tile.to_int64();
    line.mesh = word(mesh);
    line.axis = word(axis);
    found->second = line.number;
    lines_.push_back(std::move(line));
    if (mesh.empty()) last_loop_ = rank;
  }

  std::int64_t left(const std::string& rank) const {
    const auto found = left_.find(rank);
    return found == left_.end() ? 1 : found->second;
  }

  /// Cuts into so many pieces, as even as they can be.
  void spread(const std::string& rank, std::int64_t pieces, const std::string& mesh, const std::string& axis) {
    cut(rank, ceil_div(Count(left(rank)), Count(pieces)), mesh, axis);
  }

  void partition() {
    static const std::array<std::pair<const char*, const char*>, 4> ranks{
        {{"k", "k"}, {"p", "q"}, {"b", "b"}, {"c", "c"}}};
    for (const int kind : schedule_.part_order) {
      const auto at = static_cast<std::size_t>(kind);
      spread(ranks[at].first, schedule_.parts[at].h, "NODES", "h");
      spread(ranks[at].second, schedule_.parts[at].w, "NODES", "w");
    }
  }

  Count factor(std::size_t level, LoopKind loop) const { return Count(schedule_.factors[level][loop]); }

  /// The loops of a level (0 or 1), outermost first: those of which its order gives the largest number.
  void blocked_loops(std::size_t level, bool folds_before_innermost) {
    const auto& order = schedule_.orders[level];
    std::array<int, 3> loops{kIfm, kOfm, kBat};
    std::sort(loops.begin(), loops.end(),
              [&](int a, int b) { return order[static_cast<std::size_t>(a)] > order[static_cast<std::size_t>(b)]; });
    int innermost = -1;
    for (const int loop : loops) {
      if (schedule_.factors[level][static_cast<std::size_t>(loop)] > 1) innermost = loop;
    }
    for (const int loop : loops) {
      if (folds_before_innermost && loop == innermost) fold_filter();
      blocked_loop(level, static_cast<LoopKind>(loop));
    }
  }

  void blocked_loop(std::size_t level, LoopKind loop) {
    const bool outer = level == 0;
    if (loop == kBat) {
      const Count slice = ceil_div(Count(node_.sofm.h), Count(layout_.fold_maps));
      if (layout_.fold_maps > 1) {
        cut("p", slice * Count(batch_.slices[2]) * (outer ? Count(batch_.slices[1]) : Count(1)));
      }
      cut("b", Count(batch_.images[2]) * (outer ? Count(batch_.images[1]) : Count(1)));
      return;
    }
    const Count unit(loop == kIfm ? pass_.ifms : pass_.ofms);
    cut(loop == kIfm ? "c" : "k", unit * factor(2, loop) * (outer ? factor(1, loop) : Count(1)));
  }

  int level_of_filter_folds() const {
    const auto trivial = [&](std::size_t level) {
      return std::all_of(schedule_.factors[level].begin(), schedule_.factors[level].end(),
                         [](std::int64_t factor) { return factor == 1; });
    };
    if (!trivial(1)) return 1;
    const auto all = tensors();
    const bool nothing_held =
        std::none_of(all.begin(), all.end(), [&](const auto& t) { return held_in_gbuf(t.first); });
    return nothing_held && !trivial(0) ? 0 : 2;
  }

  void fold_filter() { spread("r", layout_.fold_filter, "", ""); }

  void array_loops() {
    cut("r", Count(1), "ARRAY", "h");
    // A PE has a row of every slice in REGF; rows side by side, where nn_dataflow takes one from each slice.
    const Count rows(batch_.slices[2]);
    if (layout_.stacked > 1)
      cut("p", ceil_div(ceil_div(Count(left("p")), rows), Count(layout_.stacked)) * rows, "ARRAY", "h");
    spread("c", pass_.ifms, "ARRAY", "h");
    const std::int64_t wide = std::min(layout_.replicas.w, pass_.ofms);
    spread("k", 1 + (pass_.ofms - 1) / wide, "ARRAY", "h");
    cut("p", rows, "ARRAY", "w");
    spread("k", wide, "ARRAY", "w");
  }

  /// Whether the innermost loop outside brings another tile of the tensor; folds of the filter start outputs anew.
  bool stays(int data) const {
    if (last_loop_.empty()) return false;
    const std::string moving = data == kOfmap ? "bkpr" : schedule_.layer.has_filter() ? "bcpr" : "bkpr";
    return moving.find(last_loop_) == std::string::npos;
  }

  /// Inside a PE: filter rows stay; rows of maps stream past, a window of inputs and one output at a time, unless the
  /// loops outside leave them in place: then they are kept whole.
  void regf() {
    std::vector<std::string> whole;
    std::vector<std::string> streamed;
    for (const auto& [data, name] : tensors()) {
      (data == kFil || stays(data) || left("q") == 1 ? whole : streamed).push_back(name);
    }
    if (!whole.empty()) hold("REGF", whole);
    cut("q", Count(1));
    if (!streamed.empty()) hold("REGF", streamed);
    for (const char* const rank : {"b", "p", "k", "c", "n", "s"}) cut(rank, Count(1));
  }

  const Schedule& schedule_;
  const Layer node_;
  const ProcessingPass pass_;
  const RowStationary layout_;
  const BatchFactors batch_;
  std::map<std::string, std::int64_t> left_;
  std::string last_loop_;  // the innermost temporal loop so far
  std::vector<NestLine> lines_;
};

}  // namespace

Einsum einsum_of(const Layer& layer, const std::string& name, int word) {
  EinsumMaker maker(name);
  const ElementType type = word_type(word);
  const Term b = maker.rank("b", layer.batch);
  const Term k = maker.rank("k", layer.nofm);
  if (layer.type == LayerType::fc) {
    const Term c = maker.rank("c", layer.nifm);
    std::vector<std::vector<Term>> inputs{{b}, {c}};
    std::vector<std::vector<Term>> filters{{k}, {c}};
    if (!(layer.sfil == Extent{})) {
      const Term r = maker.rank("r", layer.sfil.h);
      const Term s = maker.rank("s", layer.sfil.w);
      for (auto* axes : {&inputs, &filters}) {
        axes->push_back({r});
        axes->push_back({s});
      }
    }
    maker.tensor("IFM", inputs, type);
    maker.tensor("FIL", filters, type);
    maker.tensor("OFM", {{b}, {k}}, type);
    return maker.finish("+");
  }
  if (layer.type == LayerType::eltwise) {
    const Term p = maker.rank("p", layer.sofm.h);
    const Term q = maker.rank("q", layer.sofm.w);
    const Term n = maker.rank("n", layer.nreg);
    maker.tensor("IFM", {{b}, {k}, {n}, {p}, {q}}, type);
    maker.tensor("OFM", {{b}, {k}, {p}, {q}}, type);
    return maker.finish("+");
  }
  const bool pool = layer.type == LayerType::pool;
  const Term c = pool ? k : maker.rank("c", layer.nifm);
  const Term p = maker.rank("p", layer.sofm.h);
  const Term q = maker.rank("q", layer.sofm.w);
  const Term r = maker.rank("r", layer.sfil.h);
  const Term s = maker.rank("s", layer.sfil.w);
  maker.tensor("IFM", {{b}, {c}, {times(p, layer.strd.h), r}, {times(q, layer.strd.w), s}}, type);
  if (!pool) maker.tensor("FIL", {{k}, {c}, {r}, {s}}, type);
  maker.tensor("OFM", {{b}, {k}, {p}, {q}}, type);
  return maker.finish(pool ? "max" : "+");
}

Machine machine_of(const Resource& resource) {
  Machine machine;
  machine.name = "nn_dataflow";
  const auto storage = [&](const char* name, const std::optional<std::int64_t>& words) {
    Storage level;
    level.name = name;
    if (words) level.capacity_bits = Count(*words) * Count(resource.word);
    return level;
  };
  const auto mesh = [](const char* name, const Extent& size, bool shares) {
    Mesh level;
    level.name = name;
    level.axes = {{"h", size.h}, {"w", size.w}};
    level.multicast = shares;
    level.reduction = shares;
    return level;
  };
  machine.levels.push_back(storage("DRAM", std::nullopt));
  if (!(resource.nodes == Extent{})) {
    machine.levels.push_back(mesh("NODES", resource.nodes, resource.access_forwarding));
  }
  machine.levels.push_back(storage("GBUF", resource.size_gbuf));
  machine.levels.push_back(mesh("ARRAY", resource.array, true));
  machine.levels.push_back(storage("REGF", resource.size_regf));
  Compute compute;
  compute.name = "PE";
  compute.rate[""] = Ratio(Count(1));
  machine.levels.push_back(compute);
  return machine;
}

Result<Spec> spec_of(const Schedule& schedule) {
  const auto pass = check(schedule);
  if (!pass) return fail(pass.error().front().message, pass.error().front().hint);
  Spec spec{einsum_of(schedule.layer, schedule.name, schedule.resource.word), machine_of(schedule.resource), {}};
  auto mapping = build_mapping(NestComposer(schedule, *pass).compose(spec.einsum), spec.einsum, spec.machine);
  if (!mapping) return tl::unexpected(std::move(mapping.error()));
  spec.mapping = std::move(*mapping);
  return spec;
}

}  // namespace einflow::tangram
