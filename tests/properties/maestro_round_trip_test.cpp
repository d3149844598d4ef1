// What MAESTRO can say comes back as it was; what it cannot say is refused with a reason, never written wrongly.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <tuple>

#include "movement/movement.hpp"
#include "notation/maestro/maestro.hpp"
#include "notation/spec_writer.hpp"
#include "problem/constructors.hpp"
#include "support/for_random_specs.hpp"
#include "support/random_spec.hpp"

namespace einflow {
namespace {

using testing::from_environment;

/// A spec on a machine of MAESTRO's shape, what it exercises, and whether its parallel loops stand where a reader
/// puts them.
struct Generated {
  Spec spec;
  std::vector<std::string> features;
  bool canonical = true;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Generated make() {
    made_ = {};
    make_einsum();
    make_machine();
    for (std::size_t part = 0; part < parts_.size(); ++part) make_part(part);
    make_pe();
    const int depth = static_cast<int>(made_.spec.mapping.loops.size());
    holds_.push_back({made_.spec.machine.compute_level(), depth, {}});
    made_.spec.mapping.holds.assign(made_.spec.einsum.tensors.size(), holds_);
    return made_;
  }

 private:
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool once_in(int n) { return between(1, n) == 1; }
  void feature(const std::string& name) { made_.features.push_back(name); }
  std::int64_t& left(int rank) { return left_[static_cast<std::size_t>(rank)]; }
  const std::string& name(int rank) const { return made_.spec.einsum.ranks[static_cast<std::size_t>(rank)].name; }
  bool is_tap(int rank) const { return name(rank) == "r" || name(rank) == "s"; }
  int outputs_of(int tap) const { return made_.spec.einsum.rank_named(name(tap) == "r" ? "p" : "q"); }

  void make_einsum() {
    Result<Einsum> einsum;
    const std::int64_t type = between(0, 3);
    if (type == 0) {
      feature("GEMM");
      einsum = matmul(between(1, 9), between(1, 9), between(1, 9));
    } else {
      Convolution convolution;
      convolution.batch = once_in(3) ? 2 : 1;
      for (int axis = 0; axis < 2; ++axis) {
        const std::int64_t stride = once_in(3) ? between(2, 3) : 1;
        const std::int64_t kernel = between(1, 3);
        if (stride > 1) feature(stride > kernel ? "stride above the filter" : "stride");
        convolution.axes.push_back({(between(1, 5) - 1) * stride + kernel, kernel, stride, 0, 1, 0});
      }
      convolution.groups = type == 3 ? between(2, 3) : 1;
      convolution.in_channels = between(1, 4) * convolution.groups;
      convolution.out_channels = type == 2 ? convolution.in_channels : between(1, 4) * convolution.groups;
      feature(type == 1 ? "CONV" : type == 2 ? "DSCONV" : "NGCONV");
      einsum = type == 2 ? depthwise_convolution(convolution) : einflow::convolution(convolution);
    }
    made_.spec.einsum = *einsum;
    made_.spec.einsum.name = "L1";
    for (Tensor& tensor : made_.spec.einsum.tensors) tensor.type = {"int8", 8};
    left_.clear();
    for (const Rank& rank : made_.spec.einsum.ranks) left_.push_back(rank.extent);
  }

  void make_machine() {
    parts_.assign(static_cast<std::size_t>(once_in(3) ? 2 : 1), {});
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      const bool last = part + 1 == parts_.size();
      const std::int64_t fewest = last && part > 0 ? 1 : 0;
      for (std::int64_t meshes = between(fewest, 2); meshes > 0; --meshes) parts_[part].push_back(between(2, 4));
    }
    Machine& machine = made_.spec.machine;
    std::int64_t pes = 1;
    int meshes = 0;
    const auto add_storage = [&](const std::string& storage_name, bool outermost) {
      Storage storage;
      storage.name = storage_name;
      storage.double_buffered = !outermost;
      machine.levels.emplace_back(storage);
    };
    add_storage("L2", true);
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      for (const std::int64_t units : parts_[part]) {
        Mesh mesh;
        mesh.name = fmt::format("array{}", meshes++);
        mesh.axes = {{"unit", units}};
        mesh.multicast = mesh.reduction = true;
        machine.levels.emplace_back(mesh);
        pes *= units;
      }
      add_storage(part + 1 == parts_.size() ? "L1" : fmt::format("C{}", part + 1), false);
    }
    Compute compute;
    compute.name = "MAC";
    compute.rate[""] = Ratio(Count(1));
    machine.levels.emplace_back(compute);
    machine.name = fmt::format("maestro-{}", pes);
    if (once_in(4)) {
      feature("bandwidth");
      const Ratio bandwidth(Count(between(1, 64)));
      for (std::size_t level = 0; level + 2 < machine.levels.size(); ++level) {
        if (auto* storage = std::get_if<Storage>(&machine.levels[level])) {
          storage->read_bandwidth = storage->write_bandwidth = bandwidth;
        }
      }
    }
    if (once_in(4)) {
      feature("capacity of L1");
      std::get<Storage>(machine.levels[machine.levels.size() - 2]).capacity_bits = Count(8 * between(1, 4096));
    }
    feature(fmt::format("{} storages", parts_.size() + 1));
    feature(pes == 1 ? "one PE" : fmt::format("{} meshes", meshes));
    level_ = 0;
    holds_ = {{0, 0, {}}};
  }

  /// Any rank that may be cut in time outside the PE's memory, or -1.
  int rank_to_cut(bool taps) {
    std::vector<int> ranks;
    for (int rank = 0; rank < static_cast<int>(left_.size()); ++rank) {
      if (left(rank) < 2) continue;
      if (is_tap(rank) && (!taps || left(outputs_of(rank)) != 1)) continue;
      ranks.push_back(rank);
    }
    return ranks.empty() ? -1
                         : ranks[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(ranks.size()) - 1))];
  }

  /// The loops of a part, with tiles; trips are set when they are placed.
  void make_part(std::size_t part) {
    std::vector<Loop> loops;
    std::vector<std::int64_t> rest = left_;
    const auto at = [&rest](int rank) -> std::int64_t& { return rest[static_cast<std::size_t>(rank)]; };
    // Loops of time over different ranks, in any order.
    std::vector<int> order;
    for (int rank = 0; rank < static_cast<int>(rest.size()); ++rank) {
      if (!is_tap(rank) && at(rank) > 1 && (once_in(3) || (part > 0 && order.empty()))) order.push_back(rank);
    }
    std::shuffle(order.begin(), order.end(), random_);
    const std::size_t meshes = parts_[part].size();
    const std::int64_t first_units = meshes == 0 ? 1 : parts_[part].front();
    int folded = -1;
    for (const int rank : order) {
      std::int64_t tile = between(1, at(rank) - 1);
      if (first_units > 1 && folded < 0 && first_units < at(rank) && once_in(2)) {
        folded = rank;
        tile = first_units * between(1, (at(rank) - 1) / first_units);
      }
      loops.push_back({false, rank, tile, 0, -1, -1, {}});
      at(rank) = tile;
    }
    for (std::size_t mesh = 0; mesh < meshes; ++mesh) {
      const std::int64_t units = parts_[part][mesh];
      const int level = level_ + 1 + static_cast<int>(mesh);
      std::swap(left_, rest);
      int rank = mesh == 0 && folded >= 0 ? folded : rank_to_cut(true);
      std::swap(left_, rest);
      if (rank < 0 || (rank != folded && once_in(6))) {
        feature("unused mesh");
        continue;
      }
      const bool folds = mesh == 0 && rank == folded;
      const std::int64_t tile =
          folds ? at(rank) / units : std::min(at(rank) - 1, 1 + (at(rank) - 1) / units + between(0, 1));
      const bool folds_exactly = mesh == 0 && std::any_of(loops.begin(), loops.end(), [&](const Loop& loop) {
                                   return loop.rank == rank && loop.tile == units * tile;
                                 });
      place(loops, {true, rank, tile, 0, level, 0, {}}, mesh, folds_exactly);
      at(rank) = tile;
    }
    for (Loop loop : loops) {
      loop.trips = 1 + (left(loop.rank) - 1) / loop.tile;
      left(loop.rank) = loop.tile;
      if (loop.trips > 1) made_.spec.mapping.loops.push_back(loop);
    }
    level_ += static_cast<int>(meshes) + 1;
    holds_.push_back({level_, static_cast<int>(made_.spec.mapping.loops.size()), {}});
  }

  void place(std::vector<Loop>& loops, const Loop& loop, std::size_t mesh, bool folds) {
    std::size_t earliest = 0;
    bool cut_before = false;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      if (loops[i].rank == loop.rank) earliest = i + 1;
      if (loops[i].spatial && mesh > 0) earliest = std::max(earliest, i + 1);
      cut_before = cut_before || loops[i].rank == loop.rank;
    }
    std::size_t where = loops.size();
    if (is_tap(loop.rank)) {
      feature("filter in parallel");
      // With the loops of time only where the level above leaves one output.
      if (mesh == 0 && left(outputs_of(loop.rank)) == 1)
        where = static_cast<std::size_t>(between(0, static_cast<std::int64_t>(loops.size())));
    } else if (folds) {
      feature("fold");
      where = earliest;
    } else if (mesh == 0 && !cut_before) {
      where = static_cast<std::size_t>(between(0, static_cast<std::int64_t>(loops.size())));
    } else if (cut_before) {
      feature("parallel part of a loop's tile");
    }
    if (once_in(8) && earliest < loops.size()) {
      const std::size_t moved = static_cast<std::size_t>(
          between(static_cast<std::int64_t>(earliest), static_cast<std::int64_t>(loops.size())));
      if (moved != where) {
        made_.canonical = false;
        feature("parallel loop elsewhere");
      }
      where = moved;
    }
    loops.insert(loops.begin() + static_cast<std::ptrdiff_t>(where), loop);
  }

  void make_pe() {
    const auto add = [&](int rank, std::int64_t tile) {
      made_.spec.mapping.loops.push_back({false, rank, tile, 1 + (left(rank) - 1) / tile, -1, -1, {}});
      left(rank) = tile;
    };
    for (std::int64_t tries = once_in(2) ? between(1, 3) : 0; tries > 0; --tries) {
      const int rank = rank_to_cut(false);
      if (rank < 0) break;
      feature("order inside a PE");
      add(rank, between(1, left(rank) - 1));
    }
    for (int rank = 0; rank < static_cast<int>(left_.size()); ++rank) {
      if (left(rank) > 1) add(rank, 1);
    }
  }

  std::mt19937_64 random_;
  Generated made_;
  std::vector<std::vector<std::int64_t>> parts_;
  std::vector<std::int64_t> left_;
  std::vector<Hold> holds_;
  int level_ = 0;
};

Document document_with(const Spec& spec) {
  ReadSpec read;
  read.spec = spec;
  return document_of(read);
}

/// Parallel loops behind the loops of time of their part, in the machine's order: where they stand among loops over
/// other ranks changes nothing.
Mapping settled(Mapping mapping) {
  const std::vector<Hold>& holds = mapping.holds.front();
  for (std::size_t hold = 1; hold < holds.size(); ++hold) {
    const auto begin = mapping.loops.begin() + holds[hold - 1].depth;
    const auto end = mapping.loops.begin() + holds[hold].depth;
    std::stable_sort(begin, end, [](const Loop& a, const Loop& b) {
      return std::tuple(a.spatial, a.mesh) < std::tuple(b.spatial, b.mesh);
    });
  }
  return mapping;
}

/// Counts whatever the order of the inputs.
auto sorted_counts(const Counts& counts) {
  std::vector<std::string> holds;
  for (const HoldCounts& h : counts.holds) {
    holds.push_back(fmt::format("{} {} {} {} {} {} {} {} {}", h.hold, h.instances.str(), h.tile_elements.str(),
                                h.fills.str(), h.parent_reads.str(), h.forwarded.str(), h.drains.str(),
                                h.parent_updates.str(), h.parent_rmw_reads.str()));
  }
  std::sort(holds.begin(), holds.end());
  return std::tuple(holds, counts.operations, counts.steps);
}

std::string show(const Spec& spec) { return spec_text(spec).value_or("(no text)"); }

TEST(MaestroRoundTripProperty, WhatItCanSayComesBack) {
  const std::uint64_t cases = from_environment("EINFLOW_PROPERTY_CASES", 5000);
  Generator generator(from_environment("EINFLOW_PROPERTY_SEED", 1));
  std::map<std::string, int> seen;
  std::uint64_t written = 0;
  for (std::uint64_t tries = 0; written < cases && tries < 4 * cases; ++tries) {
    const Generated made = generator.make();
    const Result<Writing> writing = write_maestro(document_with(made.spec));
    if (!writing) {
      const std::string& reason = writing.error().front().message;
      const bool expected = reason.find("levels of directives") != std::string::npos ||
                            reason.find("keeps nothing longer") != std::string::npos ||
                            reason.find("a loop over") != std::string::npos;
      ASSERT_TRUE(expected) << reason << "\n" << show(made.spec);
      ++seen["refused: " + reason.substr(reason.find(':') + 2, 12)];
      continue;
    }
    ++written;
    for (const std::string& feature : made.features) ++seen[feature];
    seen["clusters"] += writing->text.find("Cluster(") != std::string::npos ? 1 : 0;
    seen["three clusters"] += std::count(writing->text.begin(), writing->text.end(), 'P') >= 3 ? 1 : 0;
    seen["Cluster(1,P)"] += writing->text.find("Cluster(1,P)") != std::string::npos ? 1 : 0;
    const SourceText source{"written.m", writing->text};
    const Result<Document> document = read_maestro({source}, {});
    ASSERT_TRUE(document) << render(document.error(), source) << writing->text << show(made.spec);
    ASSERT_EQ(document->layers.size(), 1U);
    const Result<Spec> read = spec_of(document->layers.front());
    ASSERT_TRUE(read);
    ASSERT_EQ(writing->left_out, std::vector<std::string>{}) << writing->text << show(made.spec);
    ASSERT_EQ(read->einsum, made.spec.einsum) << writing->text;
    ASSERT_EQ(read->machine, made.spec.machine) << writing->text << show(made.spec) << show(*read);
    ASSERT_EQ(settled(read->mapping), settled(made.spec.mapping)) << writing->text << show(made.spec) << show(*read);
    if (made.canonical) {
      ++seen["exactly the same"];
      ASSERT_EQ(read->mapping, made.spec.mapping) << writing->text << show(made.spec) << show(*read);
    }
    const auto before = count_movement(made.spec);
    const auto after = count_movement(*read);
    ASSERT_TRUE(before && after);
    ASSERT_EQ(*before, *after) << writing->text << show(made.spec);
  }
  EXPECT_EQ(written, cases);
  for (const auto& [feature, count] : seen) std::cout << fmt::format("{:>8}  {}\n", count, feature);
  for (const char* const feature : {"GEMM",
                                    "CONV",
                                    "DSCONV",
                                    "NGCONV",
                                    "stride",
                                    "stride above the filter",
                                    "fold",
                                    "unused mesh",
                                    "filter in parallel",
                                    "parallel part of a loop's tile",
                                    "parallel loop elsewhere",
                                    "order inside a PE",
                                    "one PE",
                                    "1 meshes",
                                    "2 meshes",
                                    "3 meshes",
                                    "2 storages",
                                    "3 storages",
                                    "bandwidth",
                                    "capacity of L1",
                                    "clusters",
                                    "Cluster(1,P)",
                                    "exactly the same"}) {
    EXPECT_TRUE(seen[feature] > 0 || cases < 1000) << "never generated: " << feature;
  }
}

/// The same computation with other names, ranks in another order and the inputs exchanged.
Spec renamed(const Spec& spec, std::mt19937_64& random) {
  Spec other = spec;
  std::vector<int> new_index(spec.einsum.ranks.size());
  for (std::size_t rank = 0; rank < new_index.size(); ++rank) new_index[rank] = static_cast<int>(rank);
  std::shuffle(new_index.begin(), new_index.end(), random);
  const auto moved = [&new_index](int rank) { return new_index[static_cast<std::size_t>(rank)]; };
  for (std::size_t rank = 0; rank < new_index.size(); ++rank) {
    Rank& target = other.einsum.ranks[static_cast<std::size_t>(new_index[rank])];
    target = {fmt::format("i{}", rank), spec.einsum.ranks[rank].extent};
  }
  for (Tensor& tensor : other.einsum.tensors) {
    tensor.name = "T" + tensor.name;
    for (Axis& axis : tensor.axes) {
      for (Term& term : axis.terms) term.rank = moved(term.rank);
      if (random() % 2 == 0) std::reverse(axis.terms.begin(), axis.terms.end());
    }
  }
  for (Loop& loop : other.mapping.loops) loop.rank = moved(loop.rank);
  std::swap(other.einsum.tensors[0], other.einsum.tensors[1]);
  for (Level& level : other.machine.levels) {
    std::visit([](auto& part) { part.name += "_"; }, level);
  }
  return other;
}

TEST(MaestroRoundTripProperty, OtherNamesAndOrdersAreTold) {
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000)) / 5;
  Generator generator(from_environment("EINFLOW_PROPERTY_SEED", 1) + 1);
  std::mt19937_64 random(7);
  int written = 0;
  for (int tries = 0; tries < cases; ++tries) {
    const Spec spec = generator.make().spec;
    const Spec other = renamed(spec, random);
    const Result<Writing> writing = write_maestro(document_with(other));
    if (!writing) continue;
    ++written;
    EXPECT_GE(writing->left_out.size(), 2U);
    const SourceText source{"written.m", writing->text};
    const Result<Document> document = read_maestro({source}, {});
    ASSERT_TRUE(document) << render(document.error(), source) << writing->text;
    const auto before = count_movement(other);
    const auto after = count_movement(*spec_of(document->layers.front()));
    ASSERT_TRUE(before && after);
    ASSERT_EQ(sorted_counts(*before), sorted_counts(*after)) << writing->text << show(other);
  }
  EXPECT_GT(written, cases / 4);
}

/// What MAESTRO's machine has not, one thing at a time.
TEST(MaestroRoundTripProperty, OtherMachinesAreRefused) {
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000)) / 5;
  Generator generator(from_environment("EINFLOW_PROPERTY_SEED", 1) + 2);
  std::map<std::string, int> refused;
  for (int tries = 0; tries < cases; ++tries) {
    const Spec spec = generator.make().spec;
    if (!write_maestro(document_with(spec))) continue;
    const auto expect_refused = [&](const char* what, auto change) {
      Spec other = spec;
      if (!change(other)) return;
      ++refused[what];
      EXPECT_FALSE(write_maestro(document_with(other))) << what << "\n" << show(other);
    };
    const auto of_a_mesh = [](Spec& other, auto change) {
      for (Level& level : other.machine.levels) {
        if (auto* mesh = std::get_if<Mesh>(&level)) {
          change(*mesh);
          return true;
        }
      }
      return false;
    };
    expect_refused("unicast", [&](Spec& o) { return of_a_mesh(o, [](Mesh& mesh) { mesh.multicast = false; }); });
    expect_refused("no reduction", [&](Spec& o) { return of_a_mesh(o, [](Mesh& mesh) { mesh.reduction = false; }); });
    expect_refused("forwarding", [&](Spec& o) { return of_a_mesh(o, [](Mesh& mesh) { mesh.forwarding = true; }); });
    expect_refused("latches",
                   [](Spec& o) { return std::get<Compute>(o.machine.levels.back()).operand_latches = true; });
    expect_refused("bypass", [](Spec& o) {
      o.mapping.holds[1].erase(o.mapping.holds[1].begin() + 1);
      return true;
    });
    expect_refused("a place of its own", [](Spec& o) {
      Hold& hold = o.mapping.holds[0][o.mapping.holds[0].size() - 2];
      if (hold.depth == static_cast<int>(o.mapping.loops.size())) return false;
      ++hold.depth;
      return true;
    });
    expect_refused("padding", [](Spec& o) {
      o.einsum.tensors[0].axes[0].stored_size = 64;
      return true;
    });
  }
  EXPECT_EQ(refused.size(), 7U);
}

TEST(MaestroRoundTripProperty, WhatItCannotSayIsRefused) {
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000));
  std::map<std::string, int> seen;
  testing::expect_for_random_specs("maestro_outside", cases, [&seen](const Spec& spec) -> std::string {
    const Result<Writing> writing = write_maestro(document_with(spec));
    if (!writing) {
      ++seen["refused"];
      return writing.error().front().message.empty() ? "refused without a reason" : "";
    }
    ++seen["written"];
    const SourceText source{"written.m", writing->text};
    const Result<Document> document = read_maestro({source}, {});
    if (!document) return render(document.error(), source) + writing->text;
    const Result<Spec> read = spec_of(document->layers.front());
    if (!read) return "no spec";
    const auto before = count_movement(spec);
    const auto after = count_movement(*read);
    if (!before || !after) return "not counted";
    if (sorted_counts(*before) == sorted_counts(*after)) return "";
    return "other counts:\n" + writing->text + show(spec) + show(*read);
  });
  std::cout << fmt::format("{} refused, {} written\n", seen["refused"], seen["written"]);
  EXPECT_TRUE(seen["written"] > 0 || cases < 2000);
}

}  // namespace
}  // namespace einflow
