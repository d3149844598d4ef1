#include "support/random_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "mapping/atomic.hpp"
#include "support/builders.hpp"

namespace einflow::testing {

namespace {

constexpr std::int64_t kMaximumOperations = 600;
constexpr std::int64_t kMaximumCoordinates = 64;

/// Takes the numbers of a recipe one after the other; zeros when they are used up.
class Choices {
 public:
  explicit Choices(const std::vector<std::uint8_t>& numbers) : numbers_(numbers) {}
  /// 0 .. n-1.
  int below(std::int64_t n) {
    const int number = at_ < numbers_.size() ? numbers_[at_++] : 0;
    return static_cast<int>(number % std::max<std::int64_t>(n, 1));
  }
  /// True once in n; false where the recipe says zero.
  bool once_in(int n) { return below(n) == n - 1; }
  template <typename T>
  const T& one_of(const std::vector<T>& options) {
    return options[static_cast<std::size_t>(below(static_cast<std::int64_t>(options.size())))];
  }

 private:
  const std::vector<std::uint8_t>& numbers_;
  std::size_t at_ = 0;
};

// ---- problem

/// "p", "2*p+r", "p+3*r+1".
std::string axis_text(Choices& choices, std::vector<std::string> ranks) {
  std::string text;
  for (const std::string& rank : ranks) {
    const int coefficient = choices.below(5) < 3 ? 1 : 2 + choices.below(2);
    if (!text.empty()) text += "+";
    text += coefficient == 1 ? rank : fmt::format("{}*{}", coefficient, rank);
  }
  return text;
}

/// Up to three inputs, each with some of up to four ranks in axes of one to three terms; the output some ranks.
std::string arbitrary_einsum(Choices& choices) {
  const std::vector<std::string> names{"a", "b", "c", "d"};
  const int ranks = 1 + choices.below(4);
  std::vector<char> used(static_cast<std::size_t>(ranks), 0);
  std::string output;
  for (int r = 0; r < ranks; ++r) {
    if (choices.below(2) == 0) continue;
    output += (output.empty() ? "" : ",") + names[static_cast<std::size_t>(r)];
  }
  const int inputs = 1 + choices.below(3);
  std::string text;
  for (int i = 0; i < inputs; ++i) {
    std::vector<std::vector<std::string>> axes;
    for (int r = 0; r < ranks; ++r) {
      const bool last_chance = i + 1 == inputs && !used[static_cast<std::size_t>(r)];
      const int where = choices.below(4);  // 0: not in this tensor, 1: own axis, others: joins the axis before
      if (where == 0 && !last_chance) continue;
      used[static_cast<std::size_t>(r)] = 1;
      if (where <= 1 || axes.empty()) axes.emplace_back();
      axes.back().push_back(names[static_cast<std::size_t>(r)]);
    }
    std::string tensor;
    for (const auto& axis : axes) tensor += (tensor.empty() ? "" : ",") + axis_text(choices, axis);
    text += fmt::format("{}{}[{}]", i ? " * " : "", std::string(1, static_cast<char>('A' + i)), tensor);
  }
  return fmt::format("Z[{}] {} {}", output, choices.one_of<std::string>({"+=", "max=", "min=", "*="}), text);
}

std::string einsum_text(Choices& choices) {
  switch (choices.below(14)) {
    case 0:
      return "Y[m] += X[m,k]";
    case 1:
      return "Y[m,n] += X[m,k] * W[k,n]";
    case 2:
      return "Y[m,n] = exp(X[m,n])";
    case 3:
      return "Y[m,n] = " + choices.one_of<std::string>({"X[m,n] + B[n]", "X[m,n] - B[m,n]", "X[m,n] / B[m]",
                                                        "max(X[m,n], B[n])", "min(X[m,n], B[m])"});
    case 4:
      return fmt::format("Y[m] {} X[m,k]", choices.one_of<std::string>({"max=", "min=", "*="}));
    case 5:
      return "Y[b,m,n] += X[b,m,k] * W[b,k,n]";
    case 6:
      return "Y[i,r] += T[i,j,k] * B[j,r] * C[k,r]";
    case 7:
      return fmt::format("O[k,p] += I[c,{}] * F[k,c,r]", axis_text(choices, {"p", "r"}));
    case 8: {
      const std::string rows = axis_text(choices, {"p", "r"});
      return fmt::format("O[k,p,q] += I[{},{}] * F[k,r,s]", rows, axis_text(choices, {"q", "s"}));
    }
    case 9:
      return fmt::format("O[c,p] += I[c,{}] * F[c,r]", axis_text(choices, {"p", "r"}));
    case 10:
      return fmt::format("O[p] max= I[{}]", axis_text(choices, {"p", "r"}));
    case 11:
      return "S[] += A[m,k] * B[k]";
    default:
      return arbitrary_einsum(choices);
  }
}

void choose_extents(Choices& choices, Einsum& einsum) {
  const std::vector<std::int64_t> largest{1, 24, 14, 9, 7, 5, 4};
  const std::int64_t most = einsum.ranks.size() < largest.size() ? largest[einsum.ranks.size()] : 3;
  for (Rank& rank : einsum.ranks) rank.extent = 1 + choices.below(most);
  while (einsum.operations() > Count(kMaximumOperations)) {
    const auto larger = [](const Rank& a, const Rank& b) { return a.extent < b.extent; };
    --std::max_element(einsum.ranks.begin(), einsum.ranks.end(), larger)->extent;
  }
}

/// Shifts an input's axes; declares what is stored where it is padded.
void choose_shifts(Choices& choices, Einsum& einsum, Tensor& tensor) {
  const int kind = choices.below(5);  // 4: padded, 3: shifted, others: plain
  if (kind < 3) return;
  for (Axis& axis : tensor.axes) {
    std::int64_t reach = 0;
    for (const Term& term : axis.terms) {
      reach += term.coefficient * (einsum.ranks[static_cast<std::size_t>(term.rank)].extent - 1);
    }
    const int shift = choices.below(3);
    if (kind == 3) {
      axis.constant = shift;
      continue;
    }
    // Stored are 0 .. size-1; the axis goes from -shift to reach-shift and touches at least one of them.
    axis.constant = -std::min<std::int64_t>(shift, reach);
    axis.stored_size = std::max<std::int64_t>(1, reach + axis.constant + 2 - choices.below(4));
  }
}

Einsum choose_problem(Choices choices) {
  Einsum problem = einsum(einsum_text(choices), {});
  choose_extents(choices, problem);
  const std::vector<ElementType> types{{"bf16", 16}, {"int8", 8}, {"fp32", 32}};
  for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
    problem.tensors[t].type = choices.one_of(types);
    if (t + 1 < problem.tensors.size()) choose_shifts(choices, problem, problem.tensors[t]);
  }
  return problem;
}

// ---- machine

std::optional<Ratio> choose_bandwidth(Choices& choices) {
  const int number = choices.below(6);
  if (number == 0) return std::nullopt;
  return Ratio(Count(number), Count(2));
}

/// One to three storages, up to three meshes anywhere between the outermost storage and the compute level.
Machine choose_machine(Choices choices, const Einsum& einsum) {
  const int storages = 1 + choices.below(3);
  std::vector<std::vector<Level>> meshes_after(static_cast<std::size_t>(storages));
  const int meshes = choices.below(4);
  for (int m = 0; m < meshes; ++m) {
    Mesh next = mesh(std::string(1, static_cast<char>('A' + m)), 1, {});
    if (choices.below(2)) next.axes.push_back({"y", 1});
    const int network = choices.below(4);  // nothing, multicast, and twice multicast with forwarding
    next.multicast = network > 0;
    next.forwarding = network > 1;
    next.reduction = choices.below(2);
    // Between two storages more often than in front of the compute level, where nothing is forwarded.
    int after = choices.below(storages);
    if (after == storages - 1) after = choices.below(storages);
    meshes_after[static_cast<std::size_t>(after)].push_back(next);
  }
  std::vector<Level> levels;
  int mesh_number = 0;
  for (int s = 0; s < storages; ++s) {
    Storage next = storage(s == 0 ? "DRAM" : fmt::format("L{}", s));
    next.read_bandwidth = choose_bandwidth(choices);
    next.write_bandwidth = choose_bandwidth(choices);
    next.double_buffered = choices.below(2);
    if (choices.once_in(4) && next.read_bandwidth) {
      next.shared_port = true;
      next.write_bandwidth.reset();
    }
    if (choices.once_in(4)) next.access_bits = Count(8 * (1 + choices.below(12)));
    levels.push_back(next);
    for (Level& level : meshes_after[static_cast<std::size_t>(s)]) {
      std::get<Mesh>(level).name = std::string(1, static_cast<char>('A' + mesh_number++));
      levels.push_back(level);
    }
  }
  Compute last = compute("MAC", {}, choices.once_in(3));
  if (choices.once_in(4)) {
    const bool matrix = choices.below(2) > 0;  // laid over two inputs of any names: mapping/atomic.hpp
    for (const std::string name : {"m", "n", "k"}) {
      if (matrix && einsum.tensors.size() == 3) last.atomic.emplace_back(name, 1 + choices.below(3));
    }
    for (const Rank& rank : einsum.ranks) {
      const std::int64_t most = std::min<std::int64_t>(rank.extent, 4);
      if (!matrix && choices.below(2)) last.atomic.emplace_back(rank.name, 1 + choices.below(most));
    }
  }
  levels.push_back(last);
  return machine(std::move(levels));
}

// ---- mapping

/// Writes a nest from the outermost line to the innermost.
class NestWriter {
 public:
  NestWriter(Choices choices, Spec& spec) : choices_(choices), spec_(spec) {
    for (const Rank& rank : spec.einsum.ranks) left_.push_back(rank.extent);
    atomic_.assign(left_.size(), 1);
    // Of the ranks that share an extent of the atomic shape one takes it whole.
    const auto layouts = atomic_layouts(spec.einsum, spec.machine.compute());
    if (!layouts.empty()) {
      for (const AtomicRole& role : choices_.one_of(layouts)) {
        if (!role.ranks.empty()) atomic_[static_cast<std::size_t>(choices_.one_of(role.ranks))] = role.extent;
      }
    }
    spec.mapping.holds.assign(spec.einsum.tensors.size(), {Hold{0, 0, {}}});
  }

  void write() {
    std::vector<int> meshes;  // whose par lines may stand here
    for (int level = 1; level < spec_.machine.compute_level(); ++level) {
      if (spec_.machine.mesh(level)) {
        meshes.push_back(level);
        continue;
      }
      // Tensors by the line that holds them; tensors of line 0 bypass the level.
      std::vector<std::vector<std::size_t>> lines(4);
      for (std::size_t t = 0; t < spec_.einsum.tensors.size(); ++t) {
        lines[static_cast<std::size_t>(choices_.below(5) % 4)].push_back(t);
      }
      if (lines[1].empty() && lines[2].empty() && lines[3].empty()) continue;
      loops(meshes);
      meshes.clear();
      for (std::size_t line = 1; line < lines.size(); ++line) {
        if (line > 1 && !lines[line].empty()) loops({});
        for (std::size_t t : lines[line]) hold(t, level);
      }
    }
    loops(meshes);
    finish_ranks();
    for (std::size_t t = 0; t < spec_.einsum.tensors.size(); ++t) hold(t, spec_.machine.compute_level());
  }

 private:
  void hold(std::size_t tensor, int level) {
    spec_.mapping.holds[tensor].push_back({level, static_cast<int>(spec_.mapping.loops.size()), {}});
  }

  /// Some loops, spatial ones over any of the meshes.
  void loops(const std::vector<int>& meshes) {
    const int count = choices_.below(meshes.empty() ? 3 : 4 + 2 * static_cast<std::int64_t>(meshes.size()));
    for (int i = 0; i < count; ++i) {
      if (!meshes.empty() && choices_.below(3) > 0)
        spatial_loop(meshes);
      else
        temporal_loop();
    }
  }

  /// A loop over some rank. What is left of the rank is mostly cut, sometimes cut into a single tile.
  Loop loop() {
    Loop loop;
    const auto ranks = static_cast<std::int64_t>(left_.size());
    loop.rank = choices_.below(ranks);
    for (std::int64_t i = 0; i < ranks && left(loop) == 1; ++i) loop.rank = static_cast<int>((loop.rank + 1) % ranks);
    switch (choices_.below(8)) {
      case 0:
      case 1:
        loop.tile = 1;
        break;
      case 2:
      case 3:
        loop.tile = (left(loop) + 1) / 2;
        break;
      case 4:
      case 5:
        loop.tile = 1 + choices_.below(left(loop));
        break;
      case 6:
        loop.tile = std::max<std::int64_t>(1, left(loop) - 1);
        break;
      default:
        loop.tile = left(loop);
    }
    loop.trips = (left(loop) + loop.tile - 1) / loop.tile;
    return loop;
  }

  void temporal_loop() {
    if (!left_.empty()) place(loop());
  }

  void spatial_loop(const std::vector<int>& meshes) {
    if (left_.empty()) return;
    Loop next = loop();
    if (coordinates_ * next.trips > kMaximumCoordinates) return place(next);
    next.spatial = true;
    next.mesh = choices_.one_of(meshes);
    std::vector<MeshAxis>& axes = std::get<Mesh>(spec_.machine.levels[static_cast<std::size_t>(next.mesh)]).axes;
    next.axis = choices_.below(static_cast<std::int64_t>(axes.size()));
    axes[static_cast<std::size_t>(next.axis)].size *= next.trips;
    coordinates_ *= next.trips;
    place(next);
  }

  void place(const Loop& loop) {
    left_[static_cast<std::size_t>(loop.rank)] = loop.tile;
    spec_.mapping.loops.push_back(loop);
  }

  /// Temporal loops, in some order, until what is left is within the atomic shape.
  void finish_ranks() {
    for (bool done = false; !done;) {
      done = true;
      const auto ranks = static_cast<std::int64_t>(left_.size());
      const std::int64_t first = choices_.below(ranks);
      for (std::int64_t i = 0; i < ranks; ++i) {
        Loop next;
        next.rank = static_cast<int>((first + i) % ranks);
        const std::int64_t atomic = atomic_[static_cast<std::size_t>(next.rank)];
        if (left(next) <= atomic) continue;
        next.tile = atomic;
        next.trips = (left(next) + atomic - 1) / atomic;
        place(next);
        done = false;
        break;
      }
    }
  }

  std::int64_t left(const Loop& loop) const { return left_[static_cast<std::size_t>(loop.rank)]; }

  Choices choices_;
  Spec& spec_;
  std::vector<std::int64_t> left_;
  std::vector<std::int64_t> atomic_;  ///< what may be left of each rank at the end of the nest
  std::int64_t coordinates_ = 1;
};

}  // namespace

rc::Gen<Recipe> recipes() {
  const auto numbers = [](std::size_t count) {
    return rc::gen::resize(
        rc::kNominalSize, rc::gen::container<std::vector<std::uint8_t>>(count, rc::gen::inRange<std::uint8_t>(0, 240)));
  };
  return rc::gen::build<Recipe>(rc::gen::set(&Recipe::problem, numbers(40)),
                                rc::gen::set(&Recipe::machine, numbers(36)),
                                rc::gen::set(&Recipe::mapping, numbers(90)));
}

Spec decode(const Recipe& recipe) {
  Spec spec;
  spec.einsum = choose_problem(Choices(recipe.problem));
  spec.machine = choose_machine(Choices(recipe.machine), spec.einsum);
  NestWriter(Choices(recipe.mapping), spec).write();
  return spec;
}

void showValue(const Recipe& recipe, std::ostream& out) {
  const auto show = [&out](const char* name, const std::vector<std::uint8_t>& numbers) {
    out << name;
    for (std::uint8_t number : numbers) out << ' ' << int{number};
    out << '\n';
  };
  show("problem", recipe.problem);
  show("machine", recipe.machine);
  show("mapping", recipe.mapping);
}

}  // namespace einflow::testing
