// Data parallelism and its relatives: they differ in where weights, gradients and optimizer state rest.
#include "cluster/schemes_build.hpp"

namespace einflow::cluster {

namespace {

/// Y = X W with the batch over the axes `dp`.
SchemeBuilder product_over_batch(const std::string& name, const DeviceMesh& mesh, SizeReader& sizes,
                                 const std::string& rank = "b") {
  SchemeBuilder builder(name, mesh, sizes);
  std::vector<ParLoop> par;
  for (const MeshAxis& axis : mesh.axes) par.push_back({rank, axis.name});
  builder.product({"Y", "bsn"}, {"X", "bsk"}, {"W", "kn"}, par);
  return builder;
}

/// A builder function for one axis dp and these states of W, its gradient and the optimizer's state.
std::function<Result<Scheme>(SizeReader&)> over_dp(const std::string& name, const State& stored, const State& gradient,
                                                   const State& optimizer, bool keep = false) {
  return [=](SizeReader& sizes) -> Result<Scheme> {
    auto mesh = line_of(sizes, "dp");
    if (!mesh) return tl::unexpected(mesh.error());
    SchemeBuilder builder = product_over_batch(name, *mesh, sizes);
    builder.weight("W", {{"dp", stored}}, {{"dp", gradient}}, {{"dp", optimizer}});
    if (keep) builder.keep("W");
    return builder.done();
  };
}

Result<Scheme> token(SizeReader& sizes) {
  auto mesh = line_of(sizes, "sp");
  if (!mesh) return tl::unexpected(mesh.error());
  SchemeBuilder builder = product_over_batch("token", *mesh, sizes, "s");
  return builder.weight("W", {}, {{"sp", partial()}}, {}).done();
}

Result<Scheme> hybrid(SizeReader& sizes) {
  auto mesh = grid_of(sizes, {"replica", "shard"}, 4, "2 x p", [](std::int64_t devices) {
    return devices % 2 == 0 ? std::vector{std::int64_t{2}, devices / 2} : std::vector<std::int64_t>{};
  });
  if (!mesh) return tl::unexpected(mesh.error());
  SchemeBuilder builder = product_over_batch("hsdp", *mesh, sizes);
  const StateList shards{{"shard", split("k")}};
  return builder.weight("W", shards, {{"replica", partial()}, {"shard", split("k")}}, shards).done();
}

const char* const kSlice =
    "FSDP1 splits a flat buffer of a whole unit; FSDP2 the first axis of each weight, which is n "
    "in nn.Linear's [out, in]: the same bytes where it divides";

}  // namespace

std::vector<NamedScheme> data_schemes() {
  return {
      {"data",
       {"DP", "DDP", "distributed data parallel", "NO_SHARD", "FSDP NO_SHARD", "ZeRO-0", "batch parallel"},
       "Each device has all weights and a part of the batch; gradients are added once a step.",
       "b of X and Y; W is whole, its gradient a partial sum",
       "dp",
       true,
       {"DDP without no_sync() adds the gradients in every microbatch; here each device keeps its own sum until the "
        "step ends"},
       {},
       over_dp("data", replicated(), partial(), replicated())},
      {"token",
       {"token split", "sequence sharding"},
       "Each device has all weights and a part of every sequence, for layers that do not mix tokens.",
       "s of X and Y; W is whole, its gradient a partial sum",
       "sp",
       true,
       {"attention mixes tokens: how it is split then is a scheme of its own (ring, ulysses, all-gather-cp)"},
       {},
       token},
      {"zero-1",
       {"ZeRO stage 1", "distributed optimizer", "ZeroRedundancyOptimizer", "optimizer state sharding"},
       "Data parallelism whose optimizer state is split: each device updates its slice of the weights.",
       "b of X and Y; of W nothing while it computes, k of its optimizer state",
       "dp",
       true,
       {},
       {},
       over_dp("zero-1", replicated(), partial(), split("k"))},
      {"zero-2",
       {"ZeRO stage 2"},
       "ZeRO-1 whose gradients are split too: each microbatch scatters its own.",
       "b of X and Y; k of W's gradient and optimizer state",
       "dp",
       true,
       {"where a framework adds microbatches in whole gradients first, their traffic is that of ZeRO-1"},
       {},
       over_dp("zero-2", replicated(), split("k"), split("k"))},
      {"shard-grad-op",
       {"SHARD_GRAD_OP", "FSDP SHARD_GRAD_OP", "FSDP ZeRO-2", "reshard_after_forward=False"},
       "FSDP that keeps the gathered weights from forward to backward.",
       "b of X and Y; k of W at rest, of its gradient and optimizer state",
       "dp",
       true,
       {"called ZeRO-2, but the weights rest split too", kSlice},
       {},
       over_dp("shard-grad-op", split("k"), split("k"), split("k"), true)},
      {"zero-3",
       {"ZeRO stage 3", "FSDP", "FSDP2", "fully sharded data parallel", "FULL_SHARD", "fully_shard", "FSDP FULL_SHARD",
        "sharded data", "weight sharding"},
       "Data parallelism whose weights rest split: they are gathered for forward and again for backward.",
       "b of X and Y; k of W at rest, of its gradient and optimizer state",
       "dp",
       true,
       {kSlice},
       {},
       over_dp("zero-3", split("k"), split("k"), split("k"))},
      {"hsdp",
       {"hybrid sharded data parallel", "HYBRID_SHARD", "FSDP HYBRID_SHARD", "hybrid FSDP", "MiCS"},
       "ZeRO-3 inside groups of devices, data parallelism between the groups.",
       "b of X and Y on both axes; k of W at rest on shard, nothing of it on replica",
       "replica x shard",
       true,
       {"gradients are added between the groups once a step; FSDP does it in every backward unless it is told not to",
        kSlice},
       {},
       hybrid}};
}

}  // namespace einflow::cluster
