// Tensor parallelism on two and three axes.
#include <algorithm>

#include "cluster/schemes_build.hpp"

namespace einflow::cluster {

namespace {

/// The whole root, or 0.
std::int64_t root(std::int64_t value, int power) {
  for (std::int64_t q = 1;; ++q) {
    std::int64_t product = 1;
    for (int i = 0; i < power; ++i) product *= q;
    if (product == value) return q;
    if (product > value) return 0;
  }
}

const TimeLoop kPanels{"k", Delivery::broadcast};

void add_product(SchemeBuilder& builder, const std::vector<ParLoop>& par, const std::optional<TimeLoop>& time) {
  builder.product({"Y", "mn"}, {"X", "mk"}, {"W", "kn"}, par, time);
}

Result<Scheme> summa(SizeReader& sizes) {
  auto mesh = grid_of(sizes, {"i", "j"}, 4, "q x q", [](std::int64_t devices) {
    const std::int64_t q = root(devices, 2);
    return q == 0 ? std::vector<std::int64_t>{} : std::vector{q, q};
  });
  if (!mesh) return tl::unexpected(mesh.error());
  SchemeBuilder builder("summa", *mesh, sizes);
  add_product(builder, {{"m", "i"}, {"n", "j"}}, kPanels);
  builder.rest("X", {{"i", split("m")}, {"j", split("k")}}).rest("Y", {{"i", split("m")}, {"j", split("n")}});
  return builder.weight("W", {{"i", split("k")}, {"j", split("n")}}).done();
}

/// q x q x c with the smallest depth c above 1.
std::vector<std::int64_t> grid_with_depth(std::int64_t devices) {
  for (std::int64_t depth = 2; depth <= devices; ++depth) {
    if (devices % depth != 0) continue;
    if (const std::int64_t q = root(devices / depth, 2); q != 0) return {depth, q, q};
  }
  return {};
}

Result<Scheme> classic(SizeReader& sizes) {
  auto mesh = grid_of(sizes, {"l", "i", "j"}, 8, "c x q x q", grid_with_depth);
  if (!mesh) return tl::unexpected(mesh.error());
  SchemeBuilder builder("2.5d-classic", *mesh, sizes);
  add_product(builder, {{"k", "l"}, {"m", "i"}, {"n", "j"}}, kPanels);
  builder.rest("X", {{"l", split("k")}, {"i", split("m")}, {"j", split("k")}});
  return builder.weight("W", {{"l", split("k")}, {"i", split("k")}, {"j", split("n")}}).done();
}

Result<Scheme> tesseract(SizeReader& sizes) {
  auto mesh = grid_of(sizes, {"l", "i", "j"}, 8, "c x q x q", grid_with_depth);
  if (!mesh) return tl::unexpected(mesh.error());
  SchemeBuilder builder("2.5d-tesseract", *mesh, sizes);
  add_product(builder, {{"m", "l"}, {"m", "i"}, {"n", "j"}}, kPanels);
  builder.rest("X", {{"l", split("m")}, {"i", split("m")}, {"j", split("k")}});
  const StateList at_rest{{"i", split("k")}, {"j", split("n")}};
  return builder.weight("W", at_rest, {{"l", partial()}, {"i", split("k")}, {"j", split("n")}}, at_rest).done();
}

Result<Scheme> cube(SizeReader& sizes) {
  auto mesh = grid_of(sizes, {"i", "j", "l"}, 8, "q x q x q", [](std::int64_t devices) {
    const std::int64_t q = root(devices, 3);
    return q == 0 ? std::vector<std::int64_t>{} : std::vector{q, q, q};
  });
  if (!mesh) return tl::unexpected(mesh.error());
  SchemeBuilder builder("3d-tp", *mesh, sizes);
  add_product(builder, {{"m", "i"}, {"n", "j"}, {"k", "l"}}, {});
  builder.rest("X", {{"i", split("m")}, {"j", split("m")}, {"l", split("k")}})
      .rest("Y", {{"i", split("m")}, {"l", split("m")}, {"j", split("n")}});
  return builder.weight("W", {{"l", split("k")}, {"i", split("k")}, {"j", split("n")}}).done();
}

const char* const kFolded = "m is the batch and the sequence as one rank of tokens";

}  // namespace

std::vector<NamedScheme> grid_schemes() {
  return {
      {"summa",
       {"2D tensor parallel", "2D", "Optimus", "2D SUMMA", "Cannon"},
       "Every tensor is split on both axes; panels of X and W are broadcast step by step, Y stays where it is.",
       "m and n of the loops; X[m,k] over i, j, W[k,n] over i, j, Y[m,n] over i, j",
       "i x j",
       true,
       {kFolded,
        "k of X is on j and k of W on i: no static annotation of one einsum says that, it is a nest with a time loop",
        "Cannon's algorithm shifts in place of broadcasting: the same bytes"},
       {},
       summa},
      {"2.5d-classic",
       {"2.5D Solomonik", "Solomonik", "communication-avoiding"},
       "SUMMA on c layers that share the steps: k is split over the layers too, whose sums are added at the end.",
       "m, n, and k over l; Y is partial on l",
       "l x i x j",
       true,
       {kFolded, "X and W are already on their layers; the classic algorithm scatters them from one layer first"},
       {},
       classic},
      {"2.5d-tesseract",
       {"Tesseract"},
       "SUMMA on c layers that share the tokens: m is split over the layers too, W is whole on each.",
       "m over l and i, n over j; W is whole on l, its gradient partial",
       "l x i x j",
       true,
       {kFolded, "on l this is data parallelism around a 2-D grid"},
       {},
       tesseract},
      {"3d-tp",
       {"3D tensor parallel", "Agarwal", "Colossal-AI 3D"},
       "One index on each axis of a cube; each tensor lacks one axis and rests split on that one as well.",
       "m on i, n on j, k on l; at rest X also on j, W on i, Y on l",
       "i x j x l",
       true,
       {kFolded, "X rests with m over i, j and Y with m over i, l: the next layer exchanges the roles of j and l"},
       {},
       cube}};
}

}  // namespace einflow::cluster
