// A layer, its machine, its blocking and its partitioning in nn_dataflow's words, as values
// (docs/notations/tangram.md). Facts: nn_dataflow at commit 198a527; Gao et al., ASPLOS 2017 and 2019; row stationary:
// Chen, Emer, Sze, ISCA 2016.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "mapping/mapping.hpp"

namespace einflow::tangram {

/// Sizes of maps, filters, grids and factors are at most this.
constexpr std::int64_t kMaximumSize = std::int64_t{1} << 30;
/// Sides of the grid of nodes and of the PE array are at most this.
constexpr std::int64_t kMaximumSide = std::int64_t{1} << 15;

/// Height and width.
struct Extent {
  std::int64_t h = 1;
  std::int64_t w = 1;
  bool operator==(const Extent&) const = default;
};

enum class LayerType { conv, fc, pool, eltwise };

/// A layer as nn_dataflow builds one: inputs are as large as the filter needs, there is no padding.
struct Layer {
  LayerType type = LayerType::conv;
  std::int64_t nifm = 1;  ///< input channels (conv, fc)
  std::int64_t nofm = 1;  ///< output channels
  Extent sofm;            ///< output map (1 x 1 in fc)
  Extent sfil;            ///< filter (conv, fc), or region that is pooled (pool)
  Extent strd;            ///< stride (conv, pool)
  std::int64_t nreg = 1;  ///< maps that are combined (eltwise)
  std::int64_t batch = 1;
  bool operator==(const Layer&) const = default;

  bool has_filter() const { return type == LayerType::conv || type == LayerType::fc; }
};

/// The machine. Sizes of buffers are in words; absent = not stated, unbounded.
struct Resource {
  Extent nodes;  ///< grid of nodes, each with a GBUF and a PE array
  Extent array;  ///< PEs of a node
  std::optional<std::int64_t> size_gbuf;
  std::optional<std::int64_t> size_regf;  ///< of one PE
  int word = 16;                          ///< bits
  bool access_forwarding = false;         ///< what several nodes need leaves DRAM once
  bool operator==(const Resource&) const = default;
};

/// The loops that are blocked: input channels, output channels, batch (and slices of maps).
enum LoopKind { kIfm, kOfm, kBat };
/// The kinds of partitioning, in nn_dataflow's numbering.
enum PartKind { kOutp, kOfmp, kBatp, kInpp };
/// The tensors, in nn_dataflow's order.
enum DataKind { kFil, kIfmap, kOfmap };

/// Output and input channels that one pass over the array works on side by side.
struct ProcessingPass {
  std::int64_t ifms = 1;
  std::int64_t ofms = 1;
  bool operator==(const ProcessingPass&) const = default;
};

/// One layer on its machine. Factors are indexed by level (0 DRAM to GBUF, 1 GBUF to REGF, 2 inside REGF) and LoopKind.
struct Schedule {
  std::string name;
  Layer layer;
  Resource resource;
  std::optional<ProcessingPass> pass;  ///< absent = the one whose passes the factors' products are
  std::array<std::array<std::int64_t, 3>, 3> factors{{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}};
  std::array<std::array<int, 3>, 2> orders{{{0, 1, 2}, {0, 1, 2}}};  ///< by LoopKind: 0 = innermost
  std::array<int, 4> part_order{0, 1, 2, 3};                         ///< PartKinds, outermost first
  std::array<Extent, 4> parts;                                       ///< by PartKind
  std::array<bool, 3> bypass{true, true, true};  ///< by DataKind: GBUF may be skipped where it brings no reuse
};

/// The key that a message about a schedule is about.
enum class Key { ti, to, tb, part, pass };

/// What is wrong with a schedule.
struct Fault {
  Key key = Key::ti;
  std::string message;
  std::string hint;
};

/// How the 2-D convolutions of a node's layer are laid over the PE array: rows of the filter over its height, rows of
/// the output over its width; what is too large is folded, what is small is replicated.
struct RowStationary {
  std::int64_t fold_filter = 1;  ///< parts of the filter's rows, one after the other
  std::int64_t fold_maps = 1;    ///< slices of the output's rows, part of the batch loop
  std::int64_t stacked = 1;      ///< pieces of a slice that lie on top of each other
  Extent replicas;               ///< copies left for other channels
};
RowStationary row_stationary(const Extent& filter, std::int64_t output_rows, const Extent& array);

/// The layer of one node (the largest).
Layer node_layer(const Schedule& schedule);
/// The ways to give replicas to input and output channels, those with the fewest passes first.
std::vector<ProcessingPass> processing_passes(const Schedule& schedule);

/// The pass that the schedule's factors count, or what is wrong with the schedule.
tl::expected<ProcessingPass, std::vector<Fault>> check(const Schedule& schedule);

/// A batch factor as images and slices of maps, innermost level first choice of images: by level {images, slices}.
struct BatchFactors {
  std::array<std::int64_t, 3> images{1, 1, 1};
  std::array<std::int64_t, 3> slices{1, 1, 1};
};
BatchFactors batch_factors(const std::array<std::int64_t, 3>& factors, std::int64_t batch, std::int64_t slices);

/// How often a tensor is fetched through a level, as its blocking says (1 = once, outputs: reads not included).
Count fetches(const Schedule& schedule, int data, int level);

/// Ranks b k c p q r s (pool: no c; eltwise: n for the maps combined; fc: no p q), tensors IFM, FIL, OFM.
Einsum einsum_of(const Layer& layer, const std::string& name, int word);
/// DRAM, NODES where there are several, GBUF, ARRAY, REGF, PE.
Machine machine_of(const Resource& resource);
/// The whole. Requires check() to have passed.
Result<Spec> spec_of(const Schedule& schedule);

}  // namespace einflow::tangram
