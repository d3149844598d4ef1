// What is written in Timeloop's form reads back as itself, with the same counts; what the form cannot say is an error.
// EINFLOW_PROPERTY_CASES and EINFLOW_PROPERTY_SEED choose how many specs and which.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <random>
#include <set>

#include "mapping/nest_builder.hpp"
#include "movement/movement.hpp"
#include "notation/timeloop/machine.hpp"
#include "notation/timeloop/timeloop.hpp"
#include "support/builders.hpp"
#include "support/counts_text.hpp"
#include "support/for_random_specs.hpp"

namespace einflow {
namespace {

using testing::from_environment;

/// Random specs that Timeloop's form can say, built from the innermost loop outwards so that tiles divide but in the
/// last round of each rank.
class TimeloopSpecs {
 public:
  explicit TimeloopSpecs(std::uint64_t seed) : random_(seed) {}

  Spec next() {
    features.clear();
    Spec spec;
    spec.einsum = problem();
    const ElementType type = timeloop::word_type(one_of<std::int64_t>({8, 16, 16, 24, 32, 5}));
    for (Tensor& tensor : spec.einsum.tensors) tensor.type = type;
    if (!type.name.starts_with("int")) features.insert("a word of a width without a name");
    spec.machine = machine(type.bits);
    const std::vector<NestLine> nest = mapping(spec);
    auto built = build_mapping(nest, spec.einsum, spec.machine);
    if (!built) throw std::runtime_error(render(built.error(), {}));
    spec.mapping = std::move(*built);
    return spec;
  }

  std::set<std::string> features;  ///< of the last spec

 private:
  int below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }
  bool chance(int in) { return below(in) == 0; }
  template <typename T>
  T one_of(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(below(static_cast<int>(choices.size())))];
  }

  Einsum problem() {
    const int chosen = below(7);
    Einsum einsum = shape(chosen);
    einsum.name = one_of<std::string>({"", "gemm", "a \"quoted\" name: #1"});
    if (chosen == 1 || chosen == 2) features.insert("coefficients");
    if (chosen == 5) features.insert("a single input");
    return einsum;
  }

  static Einsum shape(int chosen) {
    switch (chosen) {
      case 0:
        return testing::einsum("Z[M,N] += A[M,K] * B[K,N]", {{"M", 1}, {"N", 1}, {"K", 1}});
      case 1:
        return testing::einsum("O[k,p] += I[c,2*p+r] * F[k,c,r]", {{"k", 1}, {"p", 1}, {"c", 1}, {"r", 1}});
      case 2:
        return testing::einsum("O[N,K,Q,P] += I[N,C,R+3*P,2*S+3*Q] * F[C,K,R,S]",
                               {{"N", 1}, {"K", 1}, {"Q", 1}, {"P", 1}, {"C", 1}, {"R", 1}, {"S", 1}});
      case 3:
        return testing::einsum("Z[I,J] += T[I,K,L] * B[K,J] * C[L,J]", {{"I", 1}, {"J", 1}, {"K", 1}, {"L", 1}});
      case 4:
        return testing::einsum("S[g,u,q,t] += Q[g,u,q,e] * K[g,t,e]",
                               {{"g", 1}, {"u", 1}, {"q", 1}, {"t", 1}, {"e", 1}});
      case 5:
        return testing::einsum("Z[M] += X[M,K]", {{"M", 1}, {"K", 1}});
      default:
        return testing::einsum("null[M,N] += X[M,N] * true[N,M]", {{"M", 1}, {"N", 1}});
    }
  }

  AccessEnergy energy() { return {one_of<double>({0, 0.1, 0.5, 1.25, 27.5, 100, 3.0303}), AccessEnergy::Per::element}; }

  Level storage(const std::string& name, int bits) {
    Storage level;
    level.name = name;
    const auto words = [&](std::int64_t quarters) { return Ratio(Count(quarters * bits), Count(32)); };
    if (!chance(4))
      level.capacity_bits = one_of<Count>({Count(1), Count(96), Count(4096), Count(Count::Int{1} << 33)}) * bits;
    if (level.capacity_bits && *level.capacity_bits > Count(Count::Int{1} << 32) && bits == 5)
      level.capacity_bits.reset();
    if (level.capacity_bits && *level.capacity_bits > Count(Count::Int{1} << 32))
      features.insert("more than 2^32 words");
    switch (below(5)) {
      case 0:
        level.shared_port = true;
        level.read_bandwidth = words(1 + below(9));
        features.insert("a shared port");
        break;
      case 1:
        level.read_bandwidth = level.write_bandwidth = words(1 + below(9));
        break;
      case 2:
        level.write_bandwidth = words(1 + below(9));
        features.insert("bandwidth in one direction");
        break;
      default:
        break;
    }
    if (chance(2)) level.read_energy = energy();
    if (chance(2)) level.write_energy = energy();
    level.double_buffered = chance(4);
    if (level.double_buffered) features.insert("a double buffer");
    return level;
  }

  Machine machine(int bits) {
    Machine machine;
    machine.name = one_of<std::string>({"System", "toy-1", "null"});
    machine.clock_stated = true;
    machine.clock_hz = Ratio(Count(one_of<std::int64_t>({1000000000, 2000000000, 500000000})));
    const std::vector<std::string> names{"DRAM", "GLB", "RF", "true"};
    const int storages = 1 + below(4);
    for (int i = 0; i < storages; ++i) {
      const std::string name = names[static_cast<std::size_t>(i)];
      machine.levels.push_back(storage(name, bits));
      const int meshes = below(3);
      if (meshes == 2) features.insert("a mesh below a mesh");
      for (int k = 0; k < meshes; ++k) machine.levels.emplace_back(mesh(name, i, k));
    }
    Compute compute;
    compute.name = "MAC";
    compute.rate[""] = Ratio(Count(1));
    if (chance(2)) compute.energy[""] = energy().picojoules;
    machine.levels.emplace_back(compute);
    return machine;
  }

  Mesh mesh(const std::string& above, int number, int place) {
    Mesh mesh;
    const bool after_storage = place == 0 && chance(2);
    mesh.name = after_storage ? above + "_mesh" : fmt::format("array_{}_{}", number, place);
    features.insert(after_storage ? "a mesh called after its storage" : "a mesh of its own name");
    mesh.multicast = mesh.reduction = true;
    const int axes = below(3);
    if (axes != 1) mesh.axes.push_back({"x", 2 + below(4)});
    if (axes != 0) mesh.axes.push_back({"y", 2 + below(4)});
    if (axes == 1) features.insert("Y alone");
    return mesh;
  }

  /// From the innermost level out; sets the extents of the einsum's ranks.
  std::vector<NestLine> mapping(Spec& spec) {
    std::vector<NestLine> inside_out;
    std::vector<std::int64_t> inside(spec.einsum.ranks.size(), 1), outer_tile(spec.einsum.ranks.size(), 1);
    const auto add = [&](int rank, std::int64_t bound, const Mesh* on, const std::string& axis) {
      NestLine line;
      line.kind = on != nullptr ? NestLine::Kind::spatial : NestLine::Kind::temporal;
      line.ranks.push_back({spec.einsum.ranks[static_cast<std::size_t>(rank)].name, {}});
      line.number = outer_tile[static_cast<std::size_t>(rank)] = inside[static_cast<std::size_t>(rank)];
      if (on != nullptr) {
        line.mesh = {on->name, {}};
        line.axis = {axis, {}};
      }
      inside[static_cast<std::size_t>(rank)] *= bound;
      inside_out.push_back(line);
    };
    const auto loops_in_time = [&](bool below_mesh) {
      std::set<int> ranks;
      for (int i = below(3); i > 0; --i) {
        const int rank = below(static_cast<int>(spec.einsum.ranks.size()));
        if (inside[static_cast<std::size_t>(rank)] > 40) continue;
        if (below_mesh) features.insert("loops in time between meshes or below them");
        if (!ranks.insert(rank).second) features.insert("a rank twice at one level");
        add(rank, 2 + below(3), nullptr, {});
      }
    };
    for (int level = spec.machine.compute_level() - 1; level >= 0; --level) {
      if (const Mesh* mesh = spec.machine.mesh(level)) {
        std::set<int> ranks;
        for (auto axis = mesh->axes.begin(); axis != mesh->axes.end(); ++axis) {
          std::int64_t room = axis->size;
          for (int i = below(3); i > 0 && room >= 2; --i) {
            const int rank = below(static_cast<int>(spec.einsum.ranks.size()));
            if (!ranks.insert(rank).second) continue;
            const std::int64_t bound = 2 + below(static_cast<int>(room - 1));
            room /= bound;
            add(rank, bound, mesh, axis->name);
            features.insert(axis->name == "y" ? "loops along Y" : "loops along X");
          }
        }
        if (spec.machine.mesh(level - 1) != nullptr) loops_in_time(true);
        continue;
      }
      loops_in_time(false);
      if (level == 0) break;
      NestLine hold;
      hold.kind = NestLine::Kind::at;
      hold.level = {spec.machine.level_name(level), {}};
      for (const Tensor& tensor : spec.einsum.tensors) {
        if (!chance(3)) hold.tensors.push_back({tensor.name, {}});
      }
      if (hold.tensors.size() < spec.einsum.tensors.size()) features.insert("a bypass");
      if (hold.tensors.empty()) {
        features.insert("a storage that keeps nothing");
      } else {
        inside_out.push_back(hold);
      }
      if (spec.machine.mesh(level - 1) != nullptr) loops_in_time(true);
    }
    for (std::size_t rank = 0; rank < spec.einsum.ranks.size(); ++rank) {
      const std::int64_t tile = outer_tile[rank], full = inside[rank];
      const bool short_round = full > tile + 1 && chance(2);
      spec.einsum.ranks[rank].extent = short_round ? tile + 1 + below(static_cast<int>(full - tile)) : full;
      if (spec.einsum.ranks[rank].extent % tile != 0) features.insert("a remainder");
    }
    return {inside_out.rbegin(), inside_out.rend()};
  }

  std::mt19937_64 random_;
};

Document document_of(const Spec& spec) {
  Document document;
  DocumentLayer layer;
  layer.name = document.name = spec.einsum.name;
  layer.cascade.einsums.push_back(spec.einsum);
  layer.machine = spec.machine;
  layer.mapping = spec.mapping;
  document.layers.push_back(layer);
  return document;
}

struct Version {
  const char* name;
  Result<Writing> (*write)(const Document&);
};
const std::vector<Version> kVersions{{"v0.4", write_timeloop}, {"v0.3", write_timeloop_v03}};

/// What is wrong with a text, or nothing: the counts of what it says are those of the spec; with nothing left out it is
/// the spec.
std::string wrong_text(const Spec& spec, const Writing& writing) {
  const std::vector<SourceText> sources{{"written.yaml", writing.text}};
  const auto read = read_timeloop(sources, ReadOptions{});
  if (!read) return render_in(read.error(), sources) + writing.text;
  const auto again = spec_of(read->layers.front());
  if (!again) return render(again.error(), {});
  if (!(again->einsum.ranks == spec.einsum.ranks)) return "the ranks differ\n" + writing.text;
  if (writing.left_out.empty()) {
    if (!(again->einsum == spec.einsum)) return "the einsum differs\n" + writing.text;
    if (!(again->machine == spec.machine)) return "the machine differs\n" + writing.text;
    if (!(again->mapping == spec.mapping)) {
      return fmt::format("the mapping differs:\n{}is\n{}{}", to_text(spec.mapping, spec.einsum, spec.machine),
                         to_text(again->mapping, again->einsum, again->machine), writing.text);
    }
  }
  const auto expected = count_movement(spec), found = count_movement(*again);
  if (!expected || !found) return expected.has_value() == found.has_value() ? "" : "only one of them is counted";
  return *expected == *found ? "" : testing::difference(*found, *expected, spec) + writing.text;
}

TEST(TimeloopFormProperty, ReadsBackAsItself) {
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000));
  TimeloopSpecs specs(from_environment("EINFLOW_PROPERTY_SEED", 1));
  std::map<std::string, int> seen;
  for (int i = 0; i < cases; ++i) {
    const Spec spec = specs.next();
    for (const std::string& feature : specs.features) ++seen[feature];
    for (const Version& version : kVersions) {
      const auto writing = version.write(document_of(spec));
      ASSERT_TRUE(writing) << version.name << ", case " << i << ": " << render(writing.error(), {}) << "\n"
                           << to_text(spec.mapping, spec.einsum, spec.machine);
      ASSERT_TRUE(writing->left_out.empty()) << writing->left_out.front();
      ASSERT_EQ(wrong_text(spec, *writing), "") << version.name << ", case " << i;
    }
  }
  for (const char* feature :
       {"a word of a width without a name", "coefficients", "a single input", "more than 2^32 words", "a shared port",
        "bandwidth in one direction", "a double buffer", "a mesh below a mesh", "a mesh called after its storage",
        "a mesh of its own name", "Y alone", "loops in time between meshes or below them", "a rank twice at one level",
        "loops along Y", "loops along X", "a bypass", "a storage that keeps nothing", "a remainder"}) {
    std::cout << fmt::format("{:>8}  {}\n", seen[feature], feature);
    EXPECT_TRUE(seen[feature] > 0 || cases < 1000) << "never generated: " << feature;
  }
  EXPECT_LE(seen.size(), 18u) << "a feature is missing in the list";
}

TEST(TimeloopFormProperty, OtherSpecsAreAnErrorOrTheSameCounts) {
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000));
  int written = 0;
  testing::expect_for_random_specs("timeloop_form_property", cases, [&](const Spec& spec) -> std::string {
    for (const Version& version : kVersions) {
      const auto writing = version.write(document_of(spec));
      if (!writing) {
        if (writing.error().empty() || writing.error().front().message.empty()) return "an error without a reason";
        continue;
      }
      ++written;
      if (auto wrong = wrong_text(spec, *writing); !wrong.empty()) return wrong;
    }
    return {};
  });
  std::cout << "written: " << written << " of " << 2 * cases << "\n";
}

/// The spec without what Timeloop has no word for in problem and machine; its mapping stays.
Spec made_to_fit(Spec spec) {
  spec.einsum.map = "*";
  spec.einsum.reduce = "+";
  spec.einsum.executed = {};
  for (Tensor& tensor : spec.einsum.tensors) {
    tensor.type = ElementType{};
    for (Axis& axis : tensor.axes) {
      axis.constant = 0;
      axis.stored_size.reset();
    }
  }
  for (Level& level : spec.machine.levels) {
    if (auto* mesh = std::get_if<Mesh>(&level)) {
      mesh->multicast = mesh->reduction = true;
      mesh->forwarding = false;
      mesh->systolic = SystolicTiming::none;
    } else if (auto* compute = std::get_if<Compute>(&level)) {
      compute->operand_latches = false;
      compute->rate = {{"", Ratio(Count(1))}};
    } else {
      auto& storage = std::get<Storage>(level);
      storage.capacity_bits.reset();
      storage.read_bandwidth.reset();
      storage.write_bandwidth.reset();
      storage.shared_port = false;
    }
  }
  return spec;
}

TEST(TimeloopFormProperty, MappingsOfAnyKindAreAnErrorOrTheSameCounts) {
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000));
  int written = 0;
  testing::expect_for_random_specs("timeloop_mapping_property", cases, [&](const Spec& random) -> std::string {
    const Spec spec = made_to_fit(random);
    for (const Version& version : kVersions) {
      const auto writing = version.write(document_of(spec));
      if (!writing) {
        EXPECT_FALSE(writing.error().front().message.empty());
        continue;
      }
      ++written;
      if (auto wrong = wrong_text(spec, *writing); !wrong.empty()) return wrong;
    }
    return {};
  });
  std::cout << "written: " << written << " of " << 2 * cases << "\n";
  EXPECT_GT(written, cases / 4);
}

}  // namespace
}  // namespace einflow
