#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/message.hpp"
#include "base/utf8.hpp"
#include "notation/timeloop/machine.hpp"
#include "notation/timeloop/machine_text.hpp"
#include "notation/timeloop/text.hpp"
#include "notation/timeloop/timeloop.hpp"

namespace einflow {

namespace timeloop {
namespace {

constexpr std::size_t kMostTensors = 5;  // Timeloop's MAX_DATA_SPACES
class Writer {
 public:
  Writer(const DocumentLayer& layer, const Spec& spec, bool nodes) : layer_(layer), spec_(spec), nodes_(nodes) {}

  Result<Writing> write() {
    check_problem();
    std::optional<Plan> plan;
    if (layer_.machine) {
      check_types();
      auto planned = plan_of(spec_, layer_.mapping.has_value(), writing_.left_out);
      if (planned) {
        plan = std::move(*planned);
      } else {
        errors_.insert(errors_.end(), planned.error().begin(), planned.error().end());
      }
      check_multipliers();
    }
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    write_problem();
    if (plan) {
      name_stages(*plan);
      const PlannedMachine planned{spec_.machine, *plan, names_, nodes_, bits_, operation_energy_};
      write_architecture(planned, writing_, errors_);
      if (layer_.mapping) write_mapping(*plan);
      write_energies(planned, writing_);
    } else {
      writing_.conventions.emplace_back("without a machine the text has no architecture");
    }
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    return std::move(writing_);
  }

 private:
  void error(std::string message, std::string hint = {}) {
    errors_.push_back({{}, std::move(message), std::move(hint), {}});
  }
  void left_out(std::string what) { writing_.left_out.push_back(std::move(what)); }
  const std::string& rank_name(int rank) const { return spec_.einsum.ranks[static_cast<std::size_t>(rank)].name; }

  void check_problem() {
    const Einsum& einsum = spec_.einsum;
    for (const Rank& rank : einsum.ranks) {
      const bool letter = rank.name.size() == 1 && rank.name[0] != '_' && !(rank.name[0] >= '0' && rank.name[0] <= '9');
      if (!letter) {
        error(fmt::format("the rank {}: Timeloop's dimensions are single letters", in_quotes(rank.name)));
      }
    }
    if (einsum.map != "*" || einsum.reduce != "+") {
      error(fmt::format("{}: Timeloop multiplies and adds; it has no other operation", to_text(einsum)));
    }
    if (!(einsum.executed.share == Ratio(Count(1)))) {
      error("a declared share of the operations; Timeloop counts all of them");
    }
    if (einsum.tensors.size() > kMostTensors) {
      error(fmt::format("{} tensors; Timeloop has at most {} data spaces", einsum.tensors.size(), kMostTensors));
    }
    for (const Tensor& tensor : einsum.tensors) {
      if (tensor.axes.empty())
        error(fmt::format("the scalar {}: a data space has at least one axis", in_quotes(tensor.name)));
      for (const Axis& axis : tensor.axes) {
        if (axis.constant != 0 || axis.stored_size) {
          error(fmt::format("the axis {} of {}: Timeloop has neither constants nor padding",
                            in_quotes(to_text(axis, einsum)), in_quotes(tensor.name)));
        } else if (axis.terms.empty()) {
          error(fmt::format("an axis of {} without a rank", in_quotes(tensor.name)));
        }
      }
    }
  }

  /// Timeloop counts words, all tensors have the same.
  void check_types() {
    bits_ = spec_.einsum.tensors.front().type.bits;
    std::set<std::string> other_names;
    for (const Tensor& tensor : spec_.einsum.tensors) {
      if (tensor.type.bits != bits_) {
        error(
            fmt::format("{} has elements of {} bit and {} of {}; Timeloop counts words of one width",
                        in_quotes(tensor.name), tensor.type.bits, in_quotes(spec_.einsum.tensors.front().name), bits_),
            "give all tensors one type, for example types: int16");
        return;
      }
      if (tensor.type.name != word_type(bits_).name) other_names.insert(tensor.type.name);
    }
    for (const std::string& name : other_names) {
      left_out(fmt::format("the element type {}: Timeloop has words of {} bit", name, bits_));
    }
  }

  void check_multipliers() {
    const Compute& compute = spec_.machine.compute();
    if (!compute.atomic.empty()) {
      error(fmt::format("the atomic shape of {}; Timeloop's multipliers do one operation", in_quotes(compute.name)),
            "write a mesh of multipliers in its place");
    }
    if (compute.operand_latches) {
      error(fmt::format("the operand latches of {}; Timeloop's multipliers keep nothing", in_quotes(compute.name)));
    }
    const ElementType* widest = nullptr;
    for (int t = 0; t < spec_.einsum.output(); ++t) {
      const ElementType& type = spec_.einsum.tensors[static_cast<std::size_t>(t)].type;
      if (widest == nullptr || type.bits > widest->bits) widest = &type;
    }
    const auto rate = figure_for(compute.rate, widest->name);
    if (!rate) {
      left_out(fmt::format("{}: that no rate is stated; in Timeloop it is 1 op/cycle", compute.name));
    } else if (!(*rate == Ratio(Count(1)))) {
      error(fmt::format("{} does not do one operation per cycle; Timeloop's multipliers do", in_quotes(compute.name)),
            "write a mesh of multipliers in its place");
    }
    operation_energy_ = figure_for(compute.energy, widest->name);
    const auto by_type = [](const auto& figures) {
      return figures.size() > 1 || (figures.size() == 1 && !figures.begin()->first.empty());
    };
    if (by_type(compute.rate) || by_type(compute.energy)) {
      left_out(fmt::format("{}: its figures for other types than {}", compute.name, widest->name));
    }
    if (!compute.source.empty()) left_out(fmt::format("{}: the source of its figures", compute.name));
  }

  void write_problem() {
    const Einsum& einsum = spec_.einsum;
    std::set<std::int64_t> coefficients;
    for (const Tensor& tensor : einsum.tensors) {
      for (const Axis& axis : tensor.axes) {
        for (const Term& term : axis.terms)
          if (term.coefficient != 1) coefficients.insert(term.coefficient);
      }
    }
    std::string& text = writing_.text;
    text += "problem:\n";
    if (nodes_) text += "  version: 0.4\n";
    text += "  shape:\n";
    if (!einsum.name.empty()) text += "    name: " + json_quoted(einsum.name) + "\n";
    std::vector<std::string> names, bounds;
    for (const Rank& rank : einsum.ranks) {
      names.push_back(rank.name);
      bounds.push_back(fmt::format("{}: {}", rank.name, rank.extent));
    }
    text += fmt::format("    dimensions: [{}]\n", joined(names, ", "));
    if (!coefficients.empty()) text += "    coefficients:\n";
    for (const std::int64_t value : coefficients)
      text += fmt::format("    - {{name: times{}, default: {}}}\n", value, value);
    text += "    data_spaces:\n";
    for (int t = 0; t < static_cast<int>(einsum.tensors.size()); ++t) {
      const Tensor& tensor = einsum.tensors[static_cast<std::size_t>(t)];
      std::vector<std::string> axes;
      for (const Axis& axis : tensor.axes) {
        std::vector<std::string> terms;
        for (const Term& term : axis.terms) {
          terms.push_back(term.coefficient == 1 ? fmt::format("[{}]", rank_name(term.rank))
                                                : fmt::format("[{}, times{}]", rank_name(term.rank), term.coefficient));
        }
        axes.push_back("[" + joined(terms, ", ") + "]");
      }
      text += fmt::format("    - name: {}\n      projection: [{}]\n", word(tensor.name), joined(axes, ", "));
      if (einsum.is_output(t)) text += "      read_write: true\n";
    }
    text += fmt::format("  instance: {{{}}}\n", joined(bounds, ", "));
  }

  /// Names of the stages: dummies have that of the mesh below them, or one of their own.
  void name_stages(Plan& plan) {
    std::vector<PlannedStage> stages;
    for (PlannedStage& stage : plan.stages) {
      const auto* mesh = std::get_if<PlannedMesh>(&stage);
      if (mesh != nullptr && !nodes_) {
        const auto* above = std::get_if<PlannedStorage>(&stages.back());
        const bool fits =
            above != nullptr && (above->storage == nullptr || above->storage->name + "_mesh" == mesh->mesh->name);
        // v0.3 has a fan-out below a storage: a mesh of another name gets a dummy of that name.
        if (!fits) {
          stages.emplace_back(PlannedStorage{nullptr, {}, std::vector<bool>(spec_.einsum.tensors.size(), false)});
        }
      }
      stages.push_back(std::move(stage));
    }
    plan.stages = std::move(stages);
    int number = 0;
    for (std::size_t i = 0; i < plan.stages.size(); ++i) {
      const auto* storage = std::get_if<PlannedStorage>(&plan.stages[i]);
      const auto* below = i + 1 < plan.stages.size() ? std::get_if<PlannedMesh>(&plan.stages[i + 1]) : nullptr;
      std::string name;
      if (storage == nullptr) {
        name = std::get<PlannedMesh>(plan.stages[i]).mesh->name;
      } else if (storage->storage != nullptr) {
        name = storage->storage->name;
      } else if (below != nullptr && !nodes_) {
        name = below->mesh->name;
      } else {
        do name = fmt::format("loops_{}", ++number);
        while (spec_.machine.level_named(name) >= 0);
      }
      names_.push_back(name);
    }
  }

  void write_mapping(const Plan& plan) {
    writing_.text += "mapping:\n";
    for (std::size_t i = 0; i < plan.stages.size(); ++i) {
      if (const auto* mesh = std::get_if<PlannedMesh>(&plan.stages[i])) {
        if (!mesh->loops.empty()) write_loops(names_[nodes_ ? i : i - 1], "spatial", mesh->loops);
        continue;
      }
      const auto& storage = std::get<PlannedStorage>(plan.stages[i]);
      write_loops(names_[i], "temporal", storage.loops);
      write_bypass(names_[i], storage.keeps);
    }
    if (plan.remainders && nodes_) {
      writing_.conventions.emplace_back("remainders (M=4,2): timeloop-model reads them, timeloopfe does not");
    }
  }

  void write_loops(const std::string& target, const char* type, const std::vector<PlannedLoop>& loops) {
    std::vector<std::string> factors, order;
    std::set<int> there;
    std::size_t split = 0;
    for (std::size_t i = loops.size(); i-- > 0;) {
      order.push_back(rank_name(loops[i].rank));
      there.insert(loops[i].rank);
      if (!loops[i].y) ++split;
    }
    for (int rank = 0; rank < static_cast<int>(spec_.einsum.ranks.size()); ++rank) {
      const auto found =
          std::find_if(loops.begin(), loops.end(), [&](const PlannedLoop& loop) { return loop.rank == rank; });
      std::string factor = rank_name(rank) + "=1";
      if (found == loops.end()) {
        order.push_back(rank_name(rank));
      } else if (found->bound == found->residual) {
        factor = fmt::format("{}={}", rank_name(rank), found->bound);
      } else {
        factor = fmt::format("{}={},{}", rank_name(rank), found->bound, found->residual);
        if (nodes_) factor = "\"" + factor + "\"";
      }
      factors.push_back(factor);
    }
    std::string& text = writing_.text;
    text += fmt::format("- target: {}\n  type: {}\n", word(target), type);
    text += nodes_ ? fmt::format("  factors: [{}]\n  permutation: [{}]\n", joined(factors, ", "), joined(order, ", "))
                   : fmt::format("  factors: {}\n  permutation: {}\n", joined(factors, " "), joined(order, ""));
    if (std::string_view(type) == "spatial") text += fmt::format("  split: {}\n", split);
  }

  void write_bypass(const std::string& target, const std::vector<bool>& keeps) {
    std::vector<std::string> kept, bypassed;
    for (std::size_t t = 0; t < keeps.size(); ++t) {
      (keeps[t] ? kept : bypassed).push_back(word(spec_.einsum.tensors[t].name));
    }
    if (bypassed.empty()) return;
    writing_.text += fmt::format("- target: {}\n  type: {}\n  keep: [{}]\n  bypass: [{}]\n", word(target),
                                 nodes_ ? "dataspace" : "bypass", joined(kept, ", "), joined(bypassed, ", "));
  }

  const DocumentLayer& layer_;
  const Spec& spec_;
  const bool nodes_;  // v0.4
  Writing writing_;
  Diagnostics errors_;
  std::int64_t bits_ = 16;
  std::optional<double> operation_energy_;
  std::vector<std::string> names_;  // of the plan's stages
};

Result<Writing> write_form(const Document& document, bool nodes) {
  const auto layer = choose_layer(document, {});
  if (!layer) return tl::unexpected(layer.error());
  DocumentLayer with_machine = **layer;
  // A problem alone is a part of its own.
  if (!with_machine.machine) with_machine.machine = Machine{};
  const auto spec = spec_of(with_machine);
  if (!spec) return tl::unexpected(spec.error());
  auto writing = Writer(**layer, *spec, nodes).write();
  if (!writing) return writing;
  if ((*layer)->repeat != 1)
    writing->left_out.push_back(fmt::format("that the layer occurs {} times", (*layer)->repeat));
  for (const Uncounted& operation : document.uncounted) {
    writing->left_out.push_back(fmt::format("{} x {}: {}", operation.repeat, operation.operation, operation.because));
  }
  for (const DocumentFigure& figure : document.figures) writing->left_out.push_back(figure.name);
  return writing;
}

}  // namespace
}  // namespace timeloop

Result<Writing> write_timeloop(const Document& document) { return timeloop::write_form(document, true); }

Result<Writing> write_timeloop_v03(const Document& document) { return timeloop::write_form(document, false); }

}  // namespace einflow
