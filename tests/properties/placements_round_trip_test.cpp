// Placements read back as the nest they were written from, in DTensor's and in JAX's words.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <random>

#include "movement/movement.hpp"
#include "notation/placements/placements.hpp"
#include "notation/spec_writer.hpp"
#include "support/builders.hpp"
#include "support/for_random_specs.hpp"

namespace einflow {
namespace {

using testing::from_environment;

enum class Words { dtensor, jax };

Result<Writing> write(Words words, const Spec& spec) {
  const Document document = document_of(ReadSpec{spec, {}});
  return words == Words::dtensor ? write_dtensor(document) : write_jax(document);
}

Result<Document> read(Words words, const std::string& text, const ReadOptions& options) {
  const std::vector<SourceText> sources{SourceText{"text", text}};
  return words == Words::dtensor ? read_dtensor(sources, options) : read_jax(sources, options);
}

/// Nest text and einsum text: ranks may be declared in another order.
std::string shown(const Spec& spec) {
  std::string text = to_text(spec.einsum) + "\n";
  std::map<std::string, std::int64_t> extents;
  for (const Rank& rank : spec.einsum.ranks) extents[rank.name] = rank.extent;
  for (const auto& [name, extent] : extents) text += fmt::format("{} = {}\n", name, extent);
  for (const Tensor& tensor : spec.einsum.tensors) {
    text += tensor.name + " " + tensor.type.name;
    for (const Axis& axis : tensor.axes) text += axis.stored_size ? fmt::format(" {}", *axis.stored_size) : " -";
    text += "\n";
  }
  return text + to_text(spec.mapping, spec.einsum, spec.machine);
}

/// What is wrong with the text of a spec, or nothing.
std::string round_trip(Words words, const Spec& spec, const std::string& text) {
  const auto document = read(words, text, {});
  if (!document) return render(document.error(), {"text", text}) + "\n" + text;
  const auto again = spec_of(document->layers.front());
  if (!again) return render(again.error(), {});
  if (!(again->machine == spec.machine)) return "another machine:\n" + text;
  if (shown(*again) != shown(spec)) return "written:\n" + text + "from:\n" + shown(spec) + "read:\n" + shown(*again);
  const auto before = count_movement(spec);
  const auto after = count_movement(*again);
  if (!before || !after) return "not counted";
  if (!(*before == *after)) return "the counts differ:\n" + text;
  return {};
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <typename T>
  const T& one_of(const std::vector<T>& items) {
    return items[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(items.size()) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

struct Problem {
  const char* text;
  std::vector<const char*> ranks;       ///< all of them
  std::vector<const char*> splittable;  ///< those that no window has
};

const std::vector<Problem>& problems() {
  static const std::vector<Problem> all{
      {"Y[m,n] += X[m,k] * W[k,n]", {"m", "n", "k"}, {"m", "n", "k"}},
      {"Y[m,o] += X[m,i] * W[o,i]", {"m", "o", "i"}, {"m", "o", "i"}},
      {"Y[e,b,n] += X[e,b,k] * W[e,k,n]", {"e", "b", "n", "k"}, {"e", "b", "n", "k"}},
      {"Z[m,n] = X[m,n] + V[n]", {"m", "n"}, {"m", "n"}},
      {"M[m] max= X[m,k]", {"m", "k"}, {"m", "k"}},
      {"P[m] *= X[m,k]", {"m", "k"}, {"m", "k"}},
      {"O[n,k,p] += I[n,c,p+r] * F[k,c,r]", {"n", "k", "p", "c", "r"}, {"n", "k", "c"}}};
  return all;
}

struct Made {
  Spec spec;
  bool plain_machine = false;
  std::vector<std::string> features;
};

/// A spec whose par loops are shards of whole ranks, on a plain machine or one with meshes and memories of its own.
Made make(Random& random, Words words) {
  Made made;
  const Problem& problem = random.one_of(problems());
  const int axes = static_cast<int>(random.between(1, 4));
  std::vector<std::int64_t> sizes;
  std::vector<std::string> ranks;
  std::map<std::string, std::vector<std::int64_t>> cuts;
  for (int i = 0; i < axes; ++i) {
    sizes.push_back(random.between(1, 4));
    ranks.emplace_back(random.one_of(problem.splittable));
    cuts[ranks.back()].push_back(sizes.back());
  }
  std::map<std::string, std::int64_t> left;
  Einsum einsum = testing::einsum(problem.text, {});
  for (const char* name : problem.ranks) {
    std::int64_t extent = random.between(1, 6);
    std::int64_t devices = 1;
    for (const std::int64_t size : cuts[name]) devices *= size;
    // JAX wants equal shards; so does a second cut.
    if (devices > 1 && (words == Words::jax || cuts[name].size() > 1 || random.chance(50))) {
      extent = devices * random.between(1, 2);
    } else if (devices > 1 && extent % devices != 0) {
      made.features.emplace_back("uneven shards");
    }
    if (cuts[name].size() > 1) made.features.emplace_back("several axes on one rank");
    einsum.ranks[static_cast<std::size_t>(einsum.rank_named(name))].extent = extent;
    left[name] = extent;
  }
  for (Tensor& tensor : einsum.tensors) tensor.type = random.one_of(element_types());
  einsum.name = random.chance(50) ? "layer" : "";

  made.plain_machine = random.chance(40);
  std::vector<std::string> on;  // mesh and axis of each par loop
  std::string memory = "Device";
  if (made.plain_machine) {
    Storage shared;
    shared.name = "HBM";
    Mesh mesh;
    mesh.name = "devices";
    mesh.multicast = mesh.reduction = true;
    for (int i = 0; i < axes; ++i) {
      mesh.axes.push_back({fmt::format("x{}", i), sizes[static_cast<std::size_t>(i)]});
      on.push_back("devices." + mesh.axes.back().name);
    }
    Storage device;
    device.name = "Device";
    Compute compute;
    compute.name = "MAC";
    made.spec.machine = Machine{};
    made.spec.machine.name = "devices";
    made.spec.machine.levels = {shared, mesh, device, compute};
  } else {
    // Two meshes with memories between and inside; both may have an axis x.
    const int outer = axes > 1 && random.chance(60) ? static_cast<int>(random.between(1, axes - 1)) : axes;
    Mesh nodes = testing::mesh("nodes", 1, {});
    Mesh gpus = testing::mesh("gpus", 1, {});
    nodes.axes.clear();
    gpus.axes.clear();
    for (int i = 0; i < axes; ++i) {
      Mesh& mesh = i < outer ? nodes : gpus;
      mesh.axes.push_back({mesh.axes.empty() ? "x" : fmt::format("y{}", i), sizes[static_cast<std::size_t>(i)]});
      on.push_back(mesh.name + "." + mesh.axes.back().name);
    }
    if (gpus.axes.empty())
      gpus.axes.push_back({"x", 2});
    else
      made.features.emplace_back("several meshes");
    nodes.multicast = random.chance(50);
    nodes.reduction = random.chance(50);
    gpus.multicast = random.chance(50);
    memory = outer < axes ? "Local" : "Node";  // the first inside the meshes that have loops
    made.spec.machine =
        testing::machine({testing::storage("Host"), nodes, testing::storage("Node"), gpus, testing::storage("Local"),
                          testing::storage("Cache"), testing::compute("Core", {}, random.chance(30))});
    made.spec.machine.name = "cluster";
  }

  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < on.size(); ++i) order.push_back(i);
  if (made.plain_machine ? false : random.chance(50)) {
    std::swap(order.front(), order[static_cast<std::size_t>(random.between(0, axes - 1))]);
    made.features.emplace_back("axes in another order than the machine's");
  }
  std::string nest;
  for (const std::size_t i : order) {
    std::int64_t& size = left[ranks[i]];
    size = 1 + (size - 1) / sizes[i];
    nest += fmt::format("par {} by {} on {}\n", ranks[i], size, on[i]);
    if (einsum.rank_named(ranks[i]) >= 0 && !einsum.has_rank(einsum.output(), einsum.rank_named(ranks[i]))) {
      made.features.emplace_back("partial results");
    }
  }
  const bool own_nest = random.chance(60);
  if (own_nest) made.features.emplace_back("a nest of its own");
  std::vector<std::string> loops;
  for (const char* name : problem.ranks) {
    if (own_nest && left[name] > 2 && random.chance(50)) loops.push_back(fmt::format("for {} by 2\n", name));
  }
  if (!own_nest) {
    nest += "at " + memory + ":";
    for (const Tensor& tensor : einsum.tensors) nest += " " + tensor.name;
    nest += "\n";
  } else if (random.chance(70)) {
    nest += fmt::format("at {}: {}\n", memory, einsum.tensors.front().name);
  }
  for (const std::string& loop : loops) nest += loop;
  if (own_nest && !made.plain_machine && random.chance(50)) nest += "at Cache: " + einsum.tensors.back().name + "\n";
  for (const char* name : problem.ranks) {
    if (own_nest || left[name] > 1) nest += fmt::format("for {} by 1\n", name);
  }
  made.spec = testing::spec(einsum, made.spec.machine, nest);
  return made;
}

void expect_round_trips(Words words) {
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000));
  Random random(from_environment("EINFLOW_PROPERTY_SEED", 1) + (words == Words::jax ? 1000000 : 0));
  std::map<std::string, int> seen;
  for (int i = 0; i < cases; ++i) {
    const Made made = make(random, words);
    for (const std::string& feature : made.features) ++seen[feature];
    const auto writing = write(words, made.spec);
    ASSERT_TRUE(writing) << render(writing.error(), {}) << shown(made.spec);
    ++seen[made.plain_machine ? "the plain machine" : "a machine of its own"];
    if (writing->text.find("nest:") == std::string::npos) ++seen["no nest needed"];
    EXPECT_EQ(made.plain_machine, writing->text.find("machine:") == std::string::npos);
    EXPECT_TRUE(writing->left_out.empty());
    const std::string wrong = round_trip(words, made.spec, writing->text);
    ASSERT_EQ(wrong, "") << "case " << i;
  }
  std::vector<std::string> features{"several axes on one rank",
                                    "several meshes",
                                    "partial results",
                                    "a nest of its own",
                                    "axes in another order than the machine's",
                                    "the plain machine",
                                    "a machine of its own",
                                    "no nest needed"};
  if (words == Words::dtensor) features.emplace_back("uneven shards");
  for (const std::string& feature : features) EXPECT_TRUE(seen[feature] > 0 || cases < 500) << "never: " << feature;
  for (const auto& [feature, times] : seen) std::cout << fmt::format("{:>8}  {}\n", times, feature);
}

TEST(PlacementsProperty, DTensorReadsBackAsTheSpec) { expect_round_trips(Words::dtensor); }
TEST(PlacementsProperty, JaxReadsBackAsTheSpec) { expect_round_trips(Words::jax); }

TEST(PlacementsProperty, AnySpecIsWrittenRightOrRefusedWithAReason) {
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000));
  int written = 0;
  int refused = 0;
  testing::expect_for_random_specs("placements_property", cases, [&](const Spec& spec) -> std::string {
    for (const Words words : {Words::dtensor, Words::jax}) {
      const auto writing = write(words, spec);
      if (!writing) {
        ++refused;
        if (writing.error().front().message.empty()) return "refused without a reason";
        continue;
      }
      ++written;
      std::string wrong = round_trip(words, spec, writing->text);
      if (!wrong.empty()) return wrong;
    }
    const auto table = write_placements(document_of(ReadSpec{spec, {}}));
    if (!table) return render(table.error(), {});
    for (const Loop& loop : spec.mapping.loops) {
      if (!loop.spatial) continue;
      const std::string line =
          fmt::format("par {} by {} on {}.", spec.einsum.ranks[static_cast<std::size_t>(loop.rank)].name, loop.tile,
                      spec.machine.level_name(loop.mesh));
      if (table->text.find(line) == std::string::npos) return "the table lacks " + line;
    }
    return {};
  });
  std::cout << written << " written, " << refused << " refused\n";
  EXPECT_TRUE(cases < 500 || (written > 0 && refused > 0));
}

}  // namespace
}  // namespace einflow
