#include "support/random_scheme.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>

namespace einflow::testing {

namespace {

using cluster::Delivery;
using cluster::ParLoop;
using cluster::Placement;
using cluster::Scheme;
using cluster::ShardedEinsum;
using cluster::TimeLoop;

constexpr std::int64_t kMostOperations = 1500;

/// Numbers that are the same with every standard library.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15U + 1) {}
  /// 0 .. n-1.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1)));
  }
  bool once_in(std::int64_t n) { return below(n) == 0; }
  template <typename T>
  const T& one_of(const std::vector<T>& options) {
    return options[static_cast<std::size_t>(below(static_cast<std::int64_t>(options.size())))];
  }
  /// Between 0 and 1.
  double share() { return static_cast<double>(below(1 << 20)) / (1 << 20); }
  template <typename T>
  void shuffle(std::vector<T>& list) {
    for (std::size_t i = list.size(); i > 1; --i) {
      std::swap(list[i - 1], list[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
    }
  }

 private:
  std::mt19937_64 engine_;
};

using Names = std::vector<std::string>;

/// A tensor by its name and its ranks, each a letter.
struct Shaped {
  std::string name;
  std::string ranks;
};

struct Sizes {
  std::map<char, std::int64_t> extents;
};

Einsum einsum_of(const Sizes& sizes, const std::vector<Shaped>& tensors, const std::string& map,
                 const std::string& reduce) {
  Einsum einsum;
  einsum.map = map;
  for (const Shaped& shaped : tensors) {
    Tensor tensor;
    tensor.name = shaped.name;
    for (const char letter : shaped.ranks) {
      const std::string name(1, letter);
      if (einsum.rank_named(name) < 0) einsum.ranks.push_back({name, sizes.extents.at(letter)});
      tensor.axes.push_back(Axis{{Term{einsum.rank_named(name), 1}}, 0, {}});
    }
    einsum.tensors.push_back(std::move(tensor));
  }
  bool reduces = false;
  for (std::size_t rank = 0; rank < einsum.ranks.size(); ++rank) {
    reduces = reduces || !einsum.has_rank(einsum.output(), static_cast<int>(rank));
  }
  einsum.reduce = reduces ? reduce : "";
  return einsum;
}

// ---- einsums

/// No extremum, and no sum over a rank of terms one of which does not have it (its gradient would be a multiple).
bool has_gradients(const Einsum& einsum) {
  if (einsum.reduce == "max" || einsum.reduce == "min") return false;
  if (einsum.map != "+" && einsum.map != "-") return true;
  for (std::size_t rank = 0; rank < einsum.ranks.size(); ++rank) {
    if (einsum.has_rank(einsum.output(), static_cast<int>(rank))) continue;
    for (int operand = 0; operand < einsum.output(); ++operand) {
      if (!einsum.has_rank(operand, static_cast<int>(rank))) return false;
    }
  }
  return true;
}

/// Einsums over up to five ranks, each from earlier tensors and new ones.
class RandomCascade {
 public:
  RandomCascade(Draw& draw, SchemeCase& scheme_case) : draw_(draw), case_(scheme_case) {
    static const std::vector<std::int64_t> kExtents{1, 2, 3, 4, 5, 6, 7, 8, 9, 4, 6, 8};
    const std::int64_t ranks = 1 + draw.below(5);
    for (std::int64_t i = 0; i < ranks; ++i) letters_ += static_cast<char>('a' + i);
    for (const char letter : letters_) sizes_.extents[letter] = draw.one_of(kExtents);
    while (operations() > kMostOperations) {
      std::int64_t& extent = sizes_.extents[letters_[static_cast<std::size_t>(draw.below(ranks))]];
      extent = std::max<std::int64_t>(1, extent - 1);
    }
  }

  void fill() {
    const std::int64_t einsums = 1 + draw_.below(4);
    for (std::int64_t i = 0; i < einsums; ++i) add();
  }

 private:
  std::int64_t operations() const {
    std::int64_t product = 1;
    for (const auto& [letter, extent] : sizes_.extents) product *= extent;
    return product;
  }

  std::string some_ranks(const std::string& of) {
    std::string result;
    for (const char letter : of) result += draw_.below(3) != 0 ? std::string(1, letter) : std::string();
    return result;
  }

  Shaped fresh(bool positive) {
    Shaped shaped{fmt::format("X{}", inputs_++), some_ranks(letters_)};
    if (positive) {
      case_.positive.insert(shaped.name);
    } else {
      known_.push_back(shaped);
    }
    return shaped;
  }

  /// An earlier tensor, mostly a result that nothing has read.
  Shaped operand(const std::vector<Shaped>& others) {
    const auto is_other = [&](const Shaped& shaped) {
      return std::any_of(others.begin(), others.end(), [&](const Shaped& o) { return o.name == shaped.name; });
    };
    if (!unread_.empty() && draw_.below(3) != 0) {
      Shaped shaped = unread_.back();
      if (!is_other(shaped)) {
        unread_.pop_back();
        return shaped;
      }
    }
    if (!known_.empty() && draw_.once_in(3)) {
      Shaped shaped = draw_.one_of(known_);
      if (!is_other(shaped)) {
        std::erase_if(unread_, [&](const Shaped& o) { return o.name == shaped.name; });
        return shaped;
      }
    }
    return fresh(false);
  }

  void add() {
    static const std::vector<std::string> kFunctions{"gelu", "silu", "tanh", "sigmoid", "square", "relu", "negate"};
    const std::int64_t kind = draw_.below(10);
    std::vector<Shaped> tensors{operand({})};
    std::string map = "*";
    if (kind < 6) {
      tensors.push_back(operand(tensors));
      if (draw_.once_in(5)) tensors.push_back(operand(tensors));
      if (kind == 4) map = "+";
      if (kind == 5 && tensors.size() == 2) map = "-";
    } else if (kind == 6) {
      tensors.push_back(fresh(true));
      map = "/";
    } else if (kind < 9) {
      map = draw_.one_of(kFunctions);
    }
    std::string all;
    for (const Shaped& shaped : tensors) {
      for (const char letter : shaped.ranks) all += all.find(letter) == std::string::npos ? std::string(1, letter) : "";
    }
    // A reduced quotient has no gradient by its divisor.
    Shaped output{fmt::format("Y{}", results_++), map == "/" ? all : some_ranks(all)};
    if (draw_.once_in(3)) std::reverse(output.ranks.begin(), output.ranks.end());
    tensors.push_back(output);
    std::string reduce = "+";
    if (draw_.once_in(16)) reduce = draw_.once_in(2) ? "max" : "min";
    ShardedEinsum sharded;
    sharded.einsum = einsum_of(sizes_, tensors, map, reduce);
    case_.trains = case_.trains && has_gradients(sharded.einsum);
    case_.scheme.forward.push_back(std::move(sharded));
    known_.push_back(output);
    unread_.push_back(output);
  }

  Draw& draw_;
  SchemeCase& case_;
  std::string letters_;
  Sizes sizes_;
  std::vector<Shaped> known_;
  std::vector<Shaped> unread_;
  int inputs_ = 0;
  int results_ = 0;
};

void add_softmax(const Sizes& sizes, const std::string& ranks, char along, std::vector<Einsum>& einsums) {
  std::string rows = ranks;
  rows.erase(rows.find(along), 1);
  einsums.push_back(einsum_of(sizes, {{"S", ranks}, {"M", rows}}, "*", "max"));
  einsums.push_back(einsum_of(sizes, {{"S", ranks}, {"M", rows}, {"D", ranks}}, "-", ""));
  einsums.push_back(einsum_of(sizes, {{"D", ranks}, {"E", ranks}}, "exp", ""));
  einsums.push_back(einsum_of(sizes, {{"E", ranks}, {"L", rows}}, "*", "+"));
  einsums.push_back(einsum_of(sizes, {{"E", ranks}, {"L", rows}, {"P", ranks}}, "/", ""));
}

/// Attention with g KV heads, each of u query heads: K and V have no rank u. Sometimes with its projections.
std::vector<Einsum> attention(Draw& draw) {
  Sizes sizes;
  for (const char letter : std::string("bsgutdfh")) sizes.extents[letter] = 1 + draw.below(letter == 'b' ? 2 : 4);
  std::vector<Einsum> einsums;
  if (draw.once_in(2)) {
    einsums.push_back(einsum_of(sizes, {{"X", "bsh"}, {"WQ", "hgud"}, {"Q", "bsgud"}}, "*", "+"));
    einsums.push_back(einsum_of(sizes, {{"C", "bth"}, {"WK", "hgd"}, {"K", "btgd"}}, "*", "+"));
    einsums.push_back(einsum_of(sizes, {{"C", "bth"}, {"WV", "hgf"}, {"V", "btgf"}}, "*", "+"));
  }
  einsums.push_back(einsum_of(sizes, {{"Q", "bsgud"}, {"K", "btgd"}, {"S", "bsgut"}}, "*", "+"));
  add_softmax(sizes, "bsgut", 't', einsums);
  einsums.push_back(einsum_of(sizes, {{"P", "bsgut"}, {"V", "btgf"}, {"O", "bsguf"}}, "*", "+"));
  if (draw.once_in(2)) einsums.push_back(einsum_of(sizes, {{"O", "bsguf"}, {"WO", "gufh"}, {"Y", "bsh"}}, "*", "+"));
  return einsums;
}

/// RMS norm, two products with a function (or a gate) between, and a residual sum.
std::vector<Einsum> network(Draw& draw, SchemeCase& scheme_case) {
  Sizes sizes;
  for (const char letter : std::string("bshf")) sizes.extents[letter] = 1 + draw.below(letter == 'b' ? 3 : 7);
  std::vector<Einsum> einsums;
  std::string input = "X";
  if (draw.once_in(2)) {
    // The sum of squares must be away from 0.
    scheme_case.positive.insert("X");
    einsums.push_back(einsum_of(sizes, {{"X", "bsh"}, {"X2", "bsh"}}, "square", ""));
    einsums.push_back(einsum_of(sizes, {{"X2", "bsh"}, {"V", "bs"}}, "*", "+"));
    einsums.push_back(einsum_of(sizes, {{"V", "bs"}, {"R", "bs"}}, "rsqrt", ""));
    einsums.push_back(einsum_of(sizes, {{"X", "bsh"}, {"R", "bs"}, {"gamma", "h"}, {"N", "bsh"}}, "*", ""));
    input = "N";
  }
  einsums.push_back(einsum_of(sizes, {{input, "bsh"}, {"A", "hf"}, {"H", "bsf"}}, "*", "+"));
  einsums.push_back(einsum_of(sizes, {{"H", "bsf"}, {"G", "bsf"}}, draw.once_in(2) ? "gelu" : "silu", ""));
  std::string hidden = "G";
  if (draw.once_in(2)) {
    einsums.push_back(einsum_of(sizes, {{input, "bsh"}, {"B", "hf"}, {"U", "bsf"}}, "*", "+"));
    einsums.push_back(einsum_of(sizes, {{"G", "bsf"}, {"U", "bsf"}, {"T", "bsf"}}, "*", ""));
    hidden = "T";
  }
  einsums.push_back(einsum_of(sizes, {{hidden, "bsf"}, {"C", "fh"}, {"Y", "bsh"}}, "*", "+"));
  if (draw.once_in(2)) {
    einsums.push_back(einsum_of(sizes, {{"Y", "bsh"}, {"bias", "h"}, {"YB", "bsh"}}, "+", ""));
    einsums.push_back(einsum_of(sizes, {{"YB", "bsh"}, {"X", "bsh"}, {"Z", "bsh"}}, "+", ""));
  }
  return einsums;
}

// ---- mesh, loops, storage

Placement draw_placement(Draw& draw, const cluster::DeviceMesh& mesh, const Names& ranks) {
  Placement placement = cluster::everywhere(mesh);
  std::vector<std::size_t> order;
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) order.push_back(axis);
  draw.shuffle(order);
  std::map<std::string, int> depth;
  for (const std::size_t axis : order) {
    if (ranks.empty() || draw.once_in(3)) continue;
    const std::string& rank = draw.one_of(ranks);
    placement.states[axis] = cluster::split(rank, depth[rank]++);
  }
  return placement;
}

Names ranks_of(const Einsum& einsum, std::size_t tensor) {
  Names names;
  for (const Axis& axis : einsum.tensors[tensor].axes) {
    names.push_back(einsum.ranks[static_cast<std::size_t>(axis.terms.front().rank)].name);
  }
  return names;
}

void draw_loops(Draw& draw, Scheme& scheme) {
  // Mostly an axis cuts the same rank in all einsums that have it, as real schemes do.
  std::map<std::string, std::string> usual;
  for (ShardedEinsum& sharded : scheme.forward) {
    for (const MeshAxis& axis : scheme.mesh.axes) {
      if (sharded.einsum.ranks.empty() || draw.once_in(5)) continue;
      std::string rank = draw.one_of(sharded.einsum.ranks).name;
      std::string& first = usual.try_emplace(axis.name, rank).first->second;
      if (sharded.einsum.rank_named(first) >= 0 && draw.below(3) != 0) rank = first;
      sharded.par.push_back({rank, axis.name});
    }
    draw.shuffle(sharded.par);
    if (sharded.einsum.ranks.empty() || draw.below(3) != 0) continue;
    sharded.time =
        TimeLoop{draw.one_of(sharded.einsum.ranks).name, draw.once_in(2) ? Delivery::broadcast : Delivery::shift};
  }
}

std::map<std::string, Names> ranks_by_tensor(const Scheme& scheme) {
  std::map<std::string, Names> ranks;
  for (const ShardedEinsum& sharded : scheme.forward) {
    for (std::size_t t = 0; t < sharded.einsum.tensors.size(); ++t) {
      ranks[sharded.einsum.tensors[t].name] = ranks_of(sharded.einsum, t);
    }
  }
  return ranks;
}

/// The gradient's state where its first reader computes it, so that it may stay partial, or any other.
Placement draw_gradient_placement(Draw& draw, const Scheme& scheme, const std::string& weight, const Names& ranks) {
  if (draw.once_in(2)) return draw_placement(draw, scheme.mesh, ranks);
  for (const ShardedEinsum& sharded : scheme.forward) {
    if (sharded.einsum.tensor_named(weight) < 0) continue;
    Placement placement = cluster::everywhere(scheme.mesh);
    std::map<std::string, int> depth;
    for (const ParLoop& loop : sharded.par) {
      const auto axis = static_cast<std::size_t>(scheme.mesh.axis_named(loop.axis));
      const bool has = std::find(ranks.begin(), ranks.end(), loop.rank) != ranks.end();
      placement.states[axis] = has ? cluster::split(loop.rank, depth[loop.rank]++) : cluster::partial();
    }
    return placement;
  }
  return cluster::everywhere(scheme.mesh);
}

void draw_storage(Draw& draw, Scheme& scheme) {
  const std::map<std::string, Names> ranks = ranks_by_tensor(scheme);
  for (const auto& [name, count] : inputs_of(scheme)) {
    if (!draw.once_in(2)) continue;
    if (draw.once_in(6)) {
      scheme.constant.insert(name);
      continue;
    }
    scheme.weights[name] = {draw_placement(draw, scheme.mesh, ranks.at(name)),
                            draw_gradient_placement(draw, scheme, name, ranks.at(name)),
                            draw_placement(draw, scheme.mesh, ranks.at(name))};
  }
  for (const auto& [name, list] : ranks) {
    if (scheme.weights.count(name) != 0 || draw.below(3) != 0) continue;
    scheme.storage[name] = draw_placement(draw, scheme.mesh, list);
  }
}

/// SUMMA: each tensor is split on both axes, the contracted rank comes in pieces.
void make_summa(Draw& draw, Scheme& scheme) {
  const std::int64_t q = 1 + draw.below(4);
  const bool with_depth = draw.once_in(3);
  scheme.mesh.axes = {{"i", q}, {"j", q}};
  if (with_depth) scheme.mesh.axes.push_back({"l", 2});
  Sizes sizes;
  for (const char letter : std::string("mkn")) sizes.extents[letter] = 1 + draw.below(9);
  ShardedEinsum sharded;
  sharded.einsum = einsum_of(sizes, {{"X", "mk"}, {"W", "kn"}, {"Y", "mn"}}, "*", "+");
  sharded.par = {{"m", "i"}, {"n", "j"}};
  sharded.time = TimeLoop{"k", draw.below(3) != 0 ? Delivery::broadcast : Delivery::shift};
  scheme.storage["X"] = {{cluster::split("m"), cluster::split("k")}};
  scheme.storage["W"] = {{cluster::split("k"), cluster::split("n")}};
  scheme.storage["Y"] = {{cluster::split("m"), cluster::split("n")}};
  if (with_depth) {
    sharded.par.push_back({"k", "l"});
    scheme.storage["X"] = {{cluster::split("m"), cluster::split("k", 1), cluster::split("k")}};
    scheme.storage["W"] = {{cluster::split("k", 1), cluster::split("n"), cluster::split("k")}};
    scheme.storage["Y"].states.push_back(cluster::replicated());
  }
  scheme.forward.push_back(std::move(sharded));
}

/// Keys and values that shift around the axis that splits queries and keys.
void make_ring(Draw& draw, SchemeCase& scheme_case) {
  Scheme& scheme = scheme_case.scheme;
  const bool heads = draw.once_in(2);
  scheme.mesh.axes = {{"cp", 1 + draw.below(4)}};
  if (heads) scheme.mesh.axes.push_back({"tp", 1 + draw.below(4)});
  for (Einsum& einsum : attention(draw)) {
    ShardedEinsum sharded;
    const bool has_queries = einsum.rank_named("s") >= 0;
    const bool reads_keys = einsum.tensor_named("K") >= 0 || einsum.tensor_named("V") >= 0;
    sharded.par.push_back({has_queries ? "s" : "t", "cp"});
    if (heads && einsum.rank_named("g") >= 0) {
      const bool by_group = draw.once_in(2) || einsum.rank_named("u") < 0;
      sharded.par.push_back({by_group ? "g" : "u", "tp"});
    }
    if (has_queries && reads_keys) {
      sharded.time = TimeLoop{"t", draw.below(3) != 0 ? Delivery::shift : Delivery::broadcast};
    }
    sharded.einsum = std::move(einsum);
    scheme.forward.push_back(std::move(sharded));
  }
  for (const char* const name : {"K", "V"}) {
    scheme.storage[name] = cluster::everywhere(scheme.mesh);
    scheme.storage[name].states[0] = cluster::split("t");
  }
}

void draw_mesh(Draw& draw, Scheme& scheme) {
  static const Names kNames{"x", "y", "z"};
  const std::int64_t axes = 1 + draw.below(3);
  for (std::int64_t i = 0; i < axes; ++i) {
    const std::int64_t size = axes == 3 ? 1 + draw.below(3) : 1 + draw.below(4);
    scheme.mesh.axes.push_back({kNames[static_cast<std::size_t>(i)], size});
  }
}

std::vector<std::pair<std::string, std::int64_t>> tensors_where(const Scheme& scheme, bool written, bool read) {
  std::set<std::string> writes;
  std::set<std::string> reads;
  for (const ShardedEinsum& sharded : scheme.forward) {
    for (const Tensor& tensor : sharded.einsum.tensors) {
      (&tensor == &sharded.einsum.tensors.back() ? writes : reads).insert(tensor.name);
    }
  }
  std::map<std::string, std::int64_t> found;
  for (const ShardedEinsum& sharded : scheme.forward) {
    for (const Tensor& tensor : sharded.einsum.tensors) {
      if ((writes.count(tensor.name) != 0) != written || (reads.count(tensor.name) != 0) != read) continue;
      std::int64_t count = 1;
      for (const Axis& axis : tensor.axes) {
        count *= sharded.einsum.ranks[static_cast<std::size_t>(axis.terms.front().rank)].extent;
      }
      found[tensor.name] = count;
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace

SchemeCase random_scheme(std::uint64_t seed) {
  Draw draw(seed);
  SchemeCase result;
  Scheme& scheme = result.scheme;
  scheme.name = fmt::format("seed {}", seed);
  scheme.microbatches = draw.once_in(3) ? 1 + draw.below(3) : 1;
  const std::int64_t kind = draw.below(12);
  if (kind == 0) {
    make_summa(draw, scheme);
  } else if (kind == 1) {
    make_ring(draw, result);
  } else {
    draw_mesh(draw, scheme);
    if (kind < 4) {
      for (Einsum& einsum : attention(draw)) scheme.forward.push_back({std::move(einsum), {}, {}});
    } else if (kind < 6) {
      for (Einsum& einsum : network(draw, result)) scheme.forward.push_back({std::move(einsum), {}, {}});
    } else {
      RandomCascade(draw, result).fill();
    }
    draw_loops(draw, scheme);
  }
  if (kind > 1) draw_storage(draw, scheme);
  return result;
}

std::vector<std::pair<std::string, std::int64_t>> inputs_of(const Scheme& scheme) {
  return tensors_where(scheme, false, true);
}

std::vector<std::pair<std::string, std::int64_t>> outputs_of(const Scheme& scheme) {
  return tensors_where(scheme, true, false);
}

cluster::devices::Inputs random_inputs(const SchemeCase& scheme_case, std::uint64_t seed, bool gradients) {
  Draw draw(seed + 0x5eed);
  const Scheme& scheme = scheme_case.scheme;
  const auto values = [&](const std::string& name, std::int64_t count) {
    const bool positive = scheme_case.positive.count(name) != 0;
    cluster::devices::Values result;
    for (std::int64_t i = 0; i < count; ++i) result.push_back(positive ? 1 + draw.share() : 2 * draw.share() - 1);
    return result;
  };
  cluster::devices::Inputs inputs;
  inputs.microbatch.resize(static_cast<std::size_t>(scheme.microbatches));
  for (const auto& [name, count] : inputs_of(scheme)) {
    if (scheme.weights.count(name) != 0 || scheme.constant.count(name) != 0) {
      inputs.shared[name] = values(name, count);
      continue;
    }
    for (cluster::devices::Tensors& microbatch : inputs.microbatch) microbatch[name] = values(name, count);
  }
  for (const auto& [name, count] : outputs_of(scheme)) {
    if (!gradients) break;
    for (cluster::devices::Tensors& microbatch : inputs.microbatch) microbatch["d" + name] = values("", count);
  }
  return inputs;
}

}  // namespace einflow::testing
