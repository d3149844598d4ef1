// Experts and layers over devices.
#include <fmt/format.h>

#include "cluster/schemes_build.hpp"

namespace einflow::cluster {

namespace {

/// GShard's einsums: groups g of tokens s, experts e with room for c tokens of each group.
Result<Scheme> expert(SizeReader& sizes) {
  auto mesh = line_of(sizes, "ep");
  if (!mesh) return tl::unexpected(mesh.error());
  sizes.by_default("g", mesh->devices());
  SchemeBuilder builder("expert", *mesh, sizes);
  const std::vector<ParLoop> tokens{{"g", "ep"}};
  const std::vector<ParLoop> experts{{"e", "ep"}};
  builder.product({"D", "egch"}, {"choice", "gsec"}, {"X", "gsh"}, tokens)
      .product({"Z", "egcf"}, {"D", "egch"}, {"A", "ehf"}, experts)
      .add({"G", "egcf"}, "gelu", {{"Z", "egcf"}}, experts)
      .product({"O", "egch"}, {"G", "egcf"}, {"C", "efh"}, experts)
      .product({"Y", "gsh"}, {"share", "gsec"}, {"O", "egch"}, tokens);
  builder.constant("choice").constant("share");
  builder.rest("D", {{"ep", split("e")}}).rest("O", {{"ep", split("g")}});
  builder.weight("A", {{"ep", split("e")}}).weight("C", {{"ep", split("e")}});
  return builder.done();
}

Result<Scheme> pipeline(SizeReader& sizes) {
  auto mesh = line_of(sizes, "pp");
  if (!mesh) return tl::unexpected(mesh.error());
  const std::int64_t layers = sizes.size("l");
  if (mesh->devices() > layers) {
    return fail(fmt::format("{} stages for {} layers: some would have none", mesh->devices(), layers));
  }
  const std::int64_t hidden = sizes.size("h");
  sizes.by_default("o", hidden);
  if (sizes.size("o") != hidden) {
    return fail(
        fmt::format("h is {} and o is {}: the output of a layer is the input of the next", hidden, sizes.size("o")));
  }
  SchemeBuilder builder("pipeline", *mesh, sizes);
  builder.scheme().microbatches = sizes.microbatches(8);
  builder.product({"Y", "lbso"}, {"X", "lbsh"}, {"W", "lho"}, {{"l", "pp"}});
  return builder.weight("W", {{"pp", split("l")}}).done();
}

}  // namespace

std::vector<NamedScheme> layer_schemes() {
  return {
      {"expert",
       {"EP", "expert parallel", "MoE", "mixture of experts", "GShard", "experts"},
       "Each device has some experts; tokens are sent to the devices of theirs and back.",
       "e of A, C and what the experts compute; g (tokens) of X and Y, and of the dispatched tokens before and after",
       "ep",
       true,
       {"choice and share are the router's 0/1 and weighted assignments; the router's weight is whole",
        "every expert has room for c tokens of each group (c = capacity): balanced load, or dropped tokens",
        "experts' gradients are reduced over other devices than those of the rest: (dp x cp) / ep"},
       {},
       expert},
      {"pipeline",
       {"PP", "pipeline parallel", "GPipe", "1F1B", "PipeDream", "interleaved pipeline", "interleaved", "zero bubble",
        "inter-layer", "layer pipeline", "stages"},
       "Each device has some layers; microbatches pass from stage to stage.",
       "l of W, X and Y: the rank of layers",
       "pp",
       true,
       {"X of a layer is Y of the one before: an einsum says each layer, a time loop over microbatches the order"},
       StageBoundary{"pp", "Y", "l"},
       pipeline}};
}

}  // namespace einflow::cluster
