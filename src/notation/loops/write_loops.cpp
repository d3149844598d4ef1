#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/message.hpp"
#include "base/utf8.hpp"
#include "notation/loops/loops.hpp"
#include "notation/loops/nest_view.hpp"

namespace einflow {

namespace {

using loops::NestView;
using loops::ShownHold;
using loops::ShownLoop;
using Kind = loops::WrittenLoop::Kind;

constexpr std::size_t kMaximumText = std::size_t{8} << 20;

bool is_level_name(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto plain = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && letter(name.front()) && std::all_of(name.begin(), name.end(), plain);
}

bool is_name(const std::string& name) { return is_level_name(name) && name.find('-') == std::string::npos; }

/// Words that open or close something where a line starts.
bool opens_a_line(const std::string& name) {
  static const std::set<std::string> kWords{
      "for",  "if",      "while",  "else",        "end",          "done",        "endfor",       "parfor",
      "pfor", "par_for", "forall", "parallelfor", "parallel_for", "spatial_for", "temporal_for", "atomic_for"};
  return kWords.contains(name);
}

/// What the text cannot name.
Diagnostics unnameable(const Spec& spec) {
  Diagnostics errors;
  const auto refuse = [&](const std::string& what, const std::string& name) {
    errors.push_back({{},
                      fmt::format("the {} {} cannot stand in a loop nest: a name has letters, digits and '_'", what,
                                  in_quotes(name)),
                      {},
                      {}});
  };
  for (const Rank& rank : spec.einsum.ranks) {
    if (!is_name(rank.name)) refuse("rank", rank.name);
  }
  for (const Tensor& tensor : spec.einsum.tensors) {
    if (!is_name(tensor.name)) refuse("tensor", tensor.name);
    const auto type = find_element_type(tensor.type.name);
    if (!type || *type != tensor.type) {
      errors.push_back({{},
                        fmt::format("the type {} of {}, {} bits, has no name here", in_quotes(tensor.type.name),
                                    in_quotes(tensor.name), tensor.type.bits),
                        {},
                        {}});
    }
  }
  if (opens_a_line(spec.einsum.tensors.back().name)) {
    errors.push_back(
        {{},
         fmt::format("the output is named {}, a word of the notation", in_quotes(spec.einsum.tensors.back().name)),
         "rename the tensor",
         {}});
  }
  for (const auto& holds : spec.mapping.holds) {
    for (const Hold& hold : holds) {
      const std::string& name = spec.machine.level_name(hold.level);
      if (hold.level != spec.machine.compute_level() && !is_level_name(name)) refuse("level", name);
    }
  }
  for (const Loop& loop : spec.mapping.loops) {
    if (!loop.spatial) continue;
    const Mesh& mesh = *spec.machine.mesh(loop.mesh);
    if (!is_level_name(mesh.name)) refuse("mesh", mesh.name);
    const std::string& axis = mesh.axes[static_cast<std::size_t>(loop.axis)].name;
    if (!is_level_name(axis)) refuse("mesh axis", axis);
  }
  return errors;
}

std::string header_text(const Einsum& einsum) {
  std::string text;
  if (!einsum.name.empty()) text += "name: " + json_quoted(einsum.name) + "\n";
  text += "einsum: " + to_text(einsum) + "\n";
  std::string ranks;
  for (const Rank& rank : einsum.ranks)
    ranks += fmt::format("{}{} = {}", ranks.empty() ? "" : ", ", rank.name, rank.extent);
  if (!ranks.empty()) text += "ranks: " + ranks + "\n";
  std::string types;
  std::string shapes;
  for (const Tensor& tensor : einsum.tensors) {
    types += fmt::format("{}{} {}", types.empty() ? "" : ", ", tensor.name, tensor.type.name);
    if (std::none_of(tensor.axes.begin(), tensor.axes.end(), [](const Axis& axis) { return axis.stored_size; }))
      continue;
    std::string sizes;
    for (const Axis& axis : tensor.axes) {
      sizes += (sizes.empty() ? "" : ", ") + (axis.stored_size ? std::to_string(*axis.stored_size) : "-");
    }
    shapes += fmt::format("{}{}[{}]", shapes.empty() ? "" : ", ", tensor.name, sizes);
  }
  text += "types: " + types + "\n";
  if (!shapes.empty()) text += "shapes: " + shapes + "  // zero outside\n";
  const ExecutedShare& executed = einsum.executed;
  if (!(executed == ExecutedShare{})) {
    text += fmt::format("executes: {}/{}", executed.share.numerator().str(), executed.share.denominator().str());
    if (!executed.because.empty()) text += " because " + json_quoted(executed.because);
    text += "\n";
  }
  return text;
}

/// What counts depend on of the machine's networks, where it is not to multicast and to reduce.
std::string networks_text(const Spec& spec) {
  std::set<int> used;
  for (const Loop& loop : spec.mapping.loops) used.insert(loop.mesh);
  std::string networks;
  for (int number = 0; number < spec.machine.compute_level(); ++number) {
    const Mesh* const mesh = spec.machine.mesh(number);
    if (mesh == nullptr || !used.contains(number) || (mesh->multicast && mesh->reduction && !mesh->forwarding))
      continue;
    std::string abilities;
    if (mesh->multicast) abilities += " multicast";
    if (mesh->reduction) abilities += " reduction";
    if (mesh->forwarding) abilities += " forwarding";
    networks += (networks.empty() ? "" : ", ") + mesh->name + (abilities.empty() ? " none" : abilities);
  }
  std::string text = networks.empty() ? "" : "networks: " + networks + "\n";
  if (spec.machine.compute().operand_latches) text += "latches: true\n";
  return text;
}

std::string range_text(const NestView& view, const ShownLoop& loop) {
  if (loop.bound.is_constant()) return std::to_string(loop.bound.trips);
  std::string terms;
  for (const loops::Affine& term : loop.bound.terms) terms += (terms.empty() ? "" : ", ") + term_text(view, term);
  const std::string least = "min(" + terms + ")";
  return loop.bound.tile == 1 ? least : fmt::format("ceil({} / {})", least, loop.bound.tile);
}

std::string loop_text(const NestView& view, const ShownLoop& loop) {
  const char* const word = loop.kind == Kind::spatial  ? "parallel-for"
                           : loop.kind == Kind::atomic ? "atomic-for"
                                                       : "for";
  std::string text = fmt::format("{} {} in [0, {}):", word, loop.variable, range_text(view, loop));
  if (loop.kind == Kind::spatial) {
    // A mesh that is named like the word before an axis keeps it.
    text += fmt::format("  // {}{}: {}", loop.axis.substr(0, 3) == "on." ? "on " : "", loop.axis, loop.note);
  } else if (!loop.note.empty()) {
    text += "  // " + loop.note;
  }
  return text;
}

std::string hold_text(const ShownHold& hold) {
  std::string text = "// ";
  if (hold.level == "level") text += "level: ";
  text += hold.level + ": " + hold.tensors;
  if (!hold.note.empty()) text += " (" + hold.note + ")";
  return text;
}

std::string statement_text(const NestView& view, const Einsum& einsum) {
  const auto tensor_text = [&](const Tensor& tensor) {
    std::string axes;
    for (const Axis& axis : tensor.axes) axes += (axes.empty() ? "" : ", ") + index_text(view, axis);
    return tensor.name + "[" + axes + "]";
  };
  const bool infix = einsum.map == "*" || einsum.map == "+" || einsum.map == "-" || einsum.map == "/";
  std::string operands;
  for (std::size_t t = 0; t + 1 < einsum.tensors.size(); ++t) {
    if (t > 0) operands += infix ? fmt::format(" {} ", einsum.map) : ", ";
    operands += tensor_text(einsum.tensors[t]);
  }
  if (!infix) operands = fmt::format("{}({})", einsum.map, operands);
  return fmt::format("{} {}= {}", tensor_text(einsum.tensors.back()), einsum.reduce, operands);
}

// ---- what the text does not carry

std::vector<std::string> figures_of(const Storage& level) {
  std::vector<std::string> figures;
  if (level.capacity_bits) figures.emplace_back("capacity");
  if (level.read_bandwidth || level.write_bandwidth) figures.emplace_back("bandwidth");
  if (level.read_energy || level.write_energy) figures.emplace_back("energy");
  if (level.access_bits) figures.emplace_back("width of an access");
  if (level.double_buffered) figures.emplace_back("double buffering");
  return figures;
}

std::vector<std::string> figures_of(const Mesh& level, const Spec& spec, int number) {
  std::vector<std::string> figures;
  for (std::size_t a = 0; a < level.axes.size(); ++a) {
    Count used = 1;
    for (const Loop& loop : spec.mapping.loops) {
      if (loop.spatial && loop.mesh == number && loop.axis == static_cast<int>(a)) used *= loop.trips;
    }
    if (used == Count(level.axes[a].size)) continue;
    figures.push_back(fmt::format("size {} of axis {}", level.axes[a].size, level.axes[a].name));
  }
  if (level.systolic != SystolicTiming::none) figures.emplace_back("systolic timing");
  if (level.hop_energy) figures.emplace_back("energy of a hop");
  return figures;
}

std::vector<std::string> figures_of(const Compute& level) {
  std::vector<std::string> figures;
  if (!level.rate.empty()) figures.emplace_back("rate");
  if (!level.energy.empty()) figures.emplace_back("energy");
  if (!level.atomic.empty()) figures.emplace_back("atomic shape, but for what this nest leaves whole");
  return figures;
}

std::vector<std::string> machine_left_out(const Spec& spec) {
  std::set<int> used{0, spec.machine.compute_level()};
  for (const auto& holds : spec.mapping.holds) {
    for (const Hold& hold : holds) used.insert(hold.level);
  }
  for (const Loop& loop : spec.mapping.loops) used.insert(loop.mesh);
  std::vector<std::string> left_out;
  if (spec.machine.clock_stated) left_out.emplace_back("the machine's clock");
  for (int number = 0; number <= spec.machine.compute_level(); ++number) {
    const std::string& name = spec.machine.level_name(number);
    if (!used.contains(number)) {
      left_out.push_back(fmt::format("{}: the level; this nest does not use it", name));
      continue;
    }
    const Level& level = spec.machine.levels[static_cast<std::size_t>(number)];
    std::vector<std::string> figures;
    if (const auto* storage = std::get_if<Storage>(&level)) figures = figures_of(*storage);
    if (const auto* mesh = std::get_if<Mesh>(&level)) figures = figures_of(*mesh, spec, number);
    if (const auto* compute = std::get_if<Compute>(&level)) figures = figures_of(*compute);
    if (!figures.empty()) left_out.push_back(fmt::format("{}: {}", name, comma_list(figures)));
  }
  return left_out;
}

}  // namespace

Result<Writing> write_loops(const Document& document) {
  const auto spec = loops::spec_to_write(document);
  if (!spec) return tl::unexpected(spec.error());
  if (Diagnostics errors = unnameable(*spec); !errors.empty()) return tl::unexpected(std::move(errors));
  const auto view = loops::view_nest(*spec, {});
  if (!view) return tl::unexpected(view.error());
  std::string text = header_text(spec->einsum) + networks_text(*spec) + "\n";
  std::string margin;
  for (std::size_t i = 0; i <= view->loops.size(); ++i) {
    for (const ShownHold& hold : view->holds[i]) text += margin + hold_text(hold) + "\n";
    if (i < view->loops.size()) text += margin + loop_text(*view, view->loops[i]) + "\n";
    if (text.size() > kMaximumText) return fail("the ranges of this nest's last tiles are too long to be written out");
    if (i < view->loops.size()) margin += "  ";
  }
  text += margin + statement_text(*view, spec->einsum) + "\n";
  Writing writing;
  writing.text = std::move(text);
  writing.left_out = loops::beside_the_spec(document);
  for (std::string& figure : machine_left_out(*spec)) writing.left_out.push_back(std::move(figure));
  writing.conventions.emplace_back("the machine's figures are not in the text: --on NAME reads it on that machine");
  return writing;
}

}  // namespace einflow
