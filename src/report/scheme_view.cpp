#include "report/scheme_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/scheme_words.hpp"

namespace einflow {

using namespace cluster;

namespace {

std::string mesh_words(const DeviceMesh& mesh) {
  std::string text;
  for (const MeshAxis& axis : mesh.axes)
    text += fmt::format("{}{} {}", text.empty() ? "" : " x ", axis.name, axis.size);
  return text;
}

std::string sizes_words(const Scheme& scheme) {
  std::vector<Rank> ranks;
  for (const ShardedEinsum& sharded : scheme.forward) {
    for (const Rank& rank : sharded.einsum.ranks) {
      if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
    }
  }
  std::string text;
  for (const Rank& rank : ranks) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", rank.name, rank.extent);
  return text + "; " + scheme.forward.front().einsum.tensors.front().type.name;
}

std::string joined(const std::vector<std::string>& texts, const std::string& between) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : between) + text;
  return all;
}

/// Pieces of an einsum's time loop: the devices of the axis on which they travel.
std::int64_t pieces_of(const SchemeFacts& facts, const ShardedEinsum& sharded) {
  for (const SchemeMove& move : facts.moves) {
    if (!move.collective.time || sharded.einsum.tensor_named(move.collective.tensor) < 0) continue;
    return facts.scheme.mesh.axes[static_cast<std::size_t>(move.collective.axis)].size;
  }
  return 1;
}

const char* part_name(SchemePart part) {
  switch (part) {
    case SchemePart::forward:
      return "forward";
    case SchemePart::backward:
      return "backward";
    case SchemePart::finish:
      return "step end";
  }
  return "";
}

/// Tensors whose spelling is of interest: inputs, outputs, and those that rest otherwise than they compute.
std::vector<const SchemeTensor*> spelled_tensors(const SchemeFacts& facts) {
  std::vector<const SchemeTensor*> tensors;
  for (const SchemeTensor& tensor : facts.tensors) {
    const bool outer = facts.program.inputs.count(tensor.name) != 0 || facts.program.outputs.count(tensor.name) != 0;
    const bool changes = tensor.computes.size() > 1 || tensor.computes.front() != tensor.rests;
    if (tensor.part == SchemePart::forward && (outer || changes)) tensors.push_back(&tensor);
  }
  return tensors;
}

/// The par loops that have words of their own: those of products with a weight, else of all products.
struct WordedLoop {
  const ShardedEinsum* sharded = nullptr;
  ParLoop loop;
  std::string weight;
};
std::vector<WordedLoop> worded_loops(const Scheme& scheme) {
  std::vector<WordedLoop> loops;
  for (const bool of_weights : {true, false}) {
    std::set<std::string> said;
    for (const ShardedEinsum& sharded : scheme.forward) {
      if (!sharded.einsum.is_mac()) continue;
      std::string weight;
      for (const Tensor& tensor : sharded.einsum.tensors) {
        if (scheme.weights.count(tensor.name) != 0) weight = tensor.name;
      }
      if (of_weights == weight.empty()) continue;
      for (const ParLoop& loop : sharded.par) {
        const LoopWords words = loop_words(sharded, loop, scheme.mesh, weight);
        if (said.insert(loop.axis + loop.rank + words.called).second) loops.push_back({&sharded, loop, weight});
      }
    }
    if (!loops.empty()) break;
  }
  return loops;
}

class TextView {
 public:
  TextView(const SchemeFacts& facts, const TextStyle& style) : facts_(facts), named_(*facts.named), style_(style) {}

  std::string write() {
    text_ = heading(named_.name, style_);
    line(named_.sentence);
    line("split: " + named_.split);
    line("mesh: " + mesh_words(mesh()) + "; " + sizes_words(facts_.scheme));
    line("also called: " + joined(named_.synonyms, ", "));
    loops();
    states();
    moves();
    schedules();
    words();
    notes();
    questions();
    return text_;
  }

 private:
  const DeviceMesh& mesh() const { return facts_.scheme.mesh; }
  void line(const std::string& words) { text_ += wrapped(words, style_.width, "  ", "    "); }
  void bullet(const std::string& words) { text_ += wrapped(words, style_.width, "  - ", "    "); }

  /// Einsums inside the loops that they share with their neighbours.
  void loops() {
    text_ += section("Loops", style_);
    std::vector<std::string> open;
    for (const ShardedEinsum& sharded : facts_.scheme.forward) add_nest(sharded, open);
    open.clear();
    int others = 0;
    bool any = false;
    for (const Step& step : facts_.program.backward) {
      const auto* const local = std::get_if<LocalEinsum>(&step);
      if (local == nullptr) continue;
      if (!local->work.einsum.is_mac()) {
        ++others;
        open.clear();
        continue;
      }
      if (!any) text_ += section("Loops of the backward pass", style_);
      any = true;
      add_nest(local->work, open);
    }
    if (others > 0) {
      line(fmt::format("and {} einsum{} of sums and functions, in the states of the table", others,
                       others == 1 ? "" : "s"));
    }
  }

  void add_nest(const ShardedEinsum& sharded, std::vector<std::string>& open) {
    std::vector<std::string> nest = nest_lines(sharded, mesh(), pieces_of(facts_, sharded));
    if (nest.empty()) nest.emplace_back("each device, all of it:");
    if (nest != open) {
      for (const std::string& loop : nest) line(loop);
    }
    open = sharded.time ? std::vector<std::string>{} : nest;  // its time loop is its own
    Einsum shown = sharded.einsum;
    for (Tensor& tensor : shown.tensors) tensor.name = shown_tensor_name(tensor.name);
    text_ += wrapped(to_text(shown), style_.width, "    ", "        ");
  }

  /// Whether the reader sees the same of another row: of its tensor, or of the weight before the update.
  bool is_alike(const SchemeTensor& tensor) const {
    if (tensor.computes.size() != 1 || tensor.computes.front() != tensor.rests) return false;
    for (const SchemeTensor& other : facts_.tensors) {
      if (other.name + "'" != tensor.name && "d" + other.name != tensor.name) continue;
      return other.rests == tensor.rests && other.computes.front() == tensor.rests;
    }
    return false;
  }

  void states() {
    constexpr std::size_t kFew = 10;
    text_ += section("States on " + mesh_words(mesh()) + ", and bytes of a device", style_);
    Table table({"tensor", "computes", "rests", "whole", "computing", "resting"}, 3);
    std::vector<std::string> orders;
    bool omitted = false;
    bool in_pieces = false;
    for (const SchemeTensor& tensor : facts_.tensors) {
      if (facts_.tensors.size() > kFew && is_alike(tensor)) {
        omitted = true;
        continue;
      }
      in_pieces = in_pieces || tensor.in_pieces;
      for (std::size_t i = 0; i < tensor.computes.size(); ++i) {
        const std::string computes = states_text(tensor.computes[i]);
        if (i > 0) {
          table.add({"", computes});
          continue;
        }
        table.add({tensor.name, computes, states_text(tensor.rests), grouped(tensor.whole_bytes),
                   grouped(tensor.computing_bytes) + (tensor.in_pieces ? "*" : ""), grouped(tensor.resting_bytes)});
      }
      std::vector<Placement> placements = tensor.computes;
      placements.push_back(tensor.rests);
      for (const Placement& placement : placements) {
        const std::string order = cut_order(placement, mesh());
        const std::string said = tensor.name + ": " + order;
        if (!order.empty() && std::find(orders.begin(), orders.end(), said) == orders.end()) orders.push_back(said);
      }
    }
    text_ += table.str(style_);
    line("S(r): each device has its slice of r. R: each has all. P(op): each has a term of full size.");
    if (in_pieces) line("* comes and goes piece by piece: the room of one piece");
    for (const std::string& order : orders) line(order);
    if (omitted) line("left out: gradients and updated weights in the one state of their tensor");
  }

  void moves() {
    text_ += section("What moves: bytes that each device sends", style_);
    Table table({"when", "what", "formula", "bytes"}, 3);
    for (const SchemeMove& move : facts_.moves) {
      if (move.collective.kind == CollectiveKind::slice) continue;
      table.add({part_name(move.part), move.words, move.formula, grouped(move.bytes)});
    }
    if (facts_.named->boundary) {
      const std::string& tensor = facts_.named->boundary->tensor;
      table.add({"forward", fmt::format("send {} to the next stage", tensor), facts_.boundary_text,
                 grouped(facts_.boundary_bytes)});
      table.add(
          {"backward", fmt::format("send d{} back", tensor), facts_.boundary_text, grouped(facts_.boundary_bytes)});
    }
    if (table.empty()) {
      line("nothing");
    } else {
      text_ += table.str(style_);
      if (!facts_.named->boundary) {
        line(
            "formulas: (p-1)/p x n, n the bytes of the tensor on that axis before it is split there; an all-reduce is "
            "twice that, an all-to-all has n/p");
      }
    }
    if (facts_.named->boundary) {
      line("the last stage sends nothing forward, the first nothing back");
      return;
    }
    std::string total = fmt::format("forward {} B", grouped(facts_.forward_bytes));
    if (named_.training) {
      total +=
          fmt::format(", backward {} B, step end {} B", grouped(facts_.backward_bytes), grouped(facts_.finish_bytes));
      const std::int64_t microbatches = facts_.program.microbatches;
      if (microbatches > 1)
        total += fmt::format("; a step of {} microbatches {} B", microbatches, grouped(facts_.step_bytes));
    }
    line("together: " + total);
  }

  void schedules() {
    if (facts_.schedules.empty()) return;
    text_ += section(fmt::format("Schedules of {} microbatches", facts_.program.microbatches), style_);
    Table table({"schedule", "chunks", "bubble / ideal", "bubble / total", "live microbatches"}, 1);
    for (const SchemeSchedule& schedule : facts_.schedules) {
      const std::int64_t bubble = schedule.total - schedule.ideal;
      const auto share = [&](std::int64_t of) {
        const Ratio ratio{Count(bubble), Count(of)};
        return fmt::format("{}/{} = {}", ratio.numerator().str(), ratio.denominator().str(),
                           percent(ratio.to_double()));
      };
      table.add({to_text(schedule.schedule), grouped(Count(schedule.chunks)), share(schedule.ideal),
                 share(schedule.total), grouped(schedule.live)});
    }
    text_ += table.str(style_);
    line(
        "executed with stages of equal time, backward twice as long as forward, sends in no time; live: on the first "
        "device, in microbatches of all its layers. Papers quote either column as the bubble.");
  }

  void words() {
    text_ += section("In other words", style_);
    const Spelling devices = spelling_of(mesh());
    line("DTensor: " + devices.dtensor);
    line("JAX: " + devices.jax);
    Table table({"tensor", "", "DTensor", "JAX"}, 4);
    bool partial_somewhere = false;
    for (const SchemeTensor* const tensor : spelled_tensors(facts_)) {
      std::string name = tensor->name;
      const auto add = [&](const char* when, const Placement& placement) {
        const Spelling spelling = spelling_of(tensor->ranks, placement, mesh());
        partial_somewhere = partial_somewhere || spelling.jax.empty();
        table.add({name, when, spelling.dtensor, spelling.jax.empty() ? "-" : spelling.jax});
        name.clear();
      };
      bool rests = false;
      for (const Placement& placement : tensor->computes) {
        rests = rests || placement == tensor->rests;
        add(placement == tensor->rests ? "computes, rests" : "computes", placement);
      }
      if (!rests) add("rests", tensor->rests);
    }
    text_ += table.str(style_);
    if (partial_somewhere) line("a PartitionSpec has no word for P: the partitioner has it inside, and reduces it");
    for (const WordedLoop& worded : worded_loops(facts_.scheme)) {
      const LoopWords said = loop_words(*worded.sharded, worded.loop, mesh(), worded.weight);
      line(fmt::format("par {} on devices.{} in {}", worded.loop.rank, worded.loop.axis,
                       to_text(worded.sharded->einsum)));
      const auto item = [&](const char* label, const std::string& what) {
        if (!what.empty()) text_ += wrapped(what, style_.width, fmt::format("    {:<9}", label), std::string(13, ' '));
      };
      // Between activations no one speaks of columns and rows.
      const bool of_activations = worded.weight.empty() && !said.called.starts_with("separate");
      if (!of_activations) item("called", said.called);
      item("MAESTRO", said.maestro);
      if (!of_activations) item("Tangram", said.tangram);
      item("torch", said.torch);
    }
  }

  void notes() {
    if (named_.notes.empty()) return;
    text_ += section("To know", style_);
    for (const std::string& note : named_.notes) bullet(note);
  }

  void questions() {
    for (const AmbiguousTerm* const term : questions_of(named_)) {
      std::vector<std::string> others;
      for (const auto& [name, who] : term->readings) {
        if (name != named_.name) others.push_back(name);
      }
      text_ += section(fmt::format("\"{}\" may also be {}", term->name, joined(others, ", ")), style_);
      line("ask: " + term->question);
    }
  }

  const SchemeFacts& facts_;
  const NamedScheme& named_;
  TextStyle style_;
  std::string text_;
};

}  // namespace

std::string scheme_text(const SchemeFacts& facts, const TextStyle& style) { return TextView(facts, style).write(); }

std::string term_text(const AmbiguousTerm& term, const SchemeSizes& sizes, const TextStyle& style) {
  std::string text = heading(term.name, style);
  text += wrapped("People mean different schemes. Ask: " + term.question, style.width, "  ", "  ");
  text += section("Readings", style);
  for (const auto& [name, who] : term.readings) {
    text += wrapped(who, style.width, fmt::format("  {:<20}", name), std::string(22, ' '));
  }
  text += section("Bytes that each device sends, as each reading's own einsums are", style);
  Table table({"scheme", "mesh", "forward", "backward", "step end"}, 2);
  std::string misfits;
  for (const auto& [name, who] : term.readings) {
    const NamedScheme& scheme = *find_scheme(name)->scheme;
    const auto facts = scheme_facts(scheme, sizes_for(scheme, sizes));
    if (!facts) {
      misfits += wrapped(name + ": " + facts.error().front().message, style.width, "  ", "    ");
      continue;
    }
    const bool training = scheme.training;
    table.add({name, mesh_words(facts->scheme.mesh), grouped(facts->forward_bytes + facts->boundary_bytes),
               training ? grouped(facts->backward_bytes + facts->boundary_bytes) : "",
               training ? grouped(facts->finish_bytes) : ""});
  }
  text += table.str(style) + misfits;
  text += wrapped("`einflow explain NAME` shows each of them", style.width, "  ", "  ");
  return text;
}

std::string schemes_text(const TextStyle& style) {
  std::string text = heading("Parallel schemes", style);
  for (const NamedScheme& scheme : named_schemes()) {
    text += wrapped(scheme.sentence, style.width, fmt::format("  {:<20}", scheme.name), std::string(22, ' '));
  }
  text += section("Names that people use for different things", style);
  for (const AmbiguousTerm& term : ambiguous_terms()) {
    std::vector<std::string> names;
    for (const auto& [name, who] : term.readings) names.push_back(name);
    text += wrapped(term.name + ": " + joined(names, ", "), style.width, "  ", "    ");
  }
  return text;
}

}  // namespace einflow
