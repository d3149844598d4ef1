#include "notation/tangram/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace einflow::tangram {

namespace {

std::int64_t ceil_divide(std::int64_t dividend, std::int64_t divisor) { return 1 + (dividend - 1) / divisor; }

/// The loops that a tensor depends on.
std::array<bool, 3> loops_of(const Layer& layer, int data) {
  if (!layer.has_filter()) return {false, data != kFil, data != kFil};
  if (data == kFil) return {true, true, false};
  if (data == kIfmap) return {true, false, true};
  return {false, true, true};
}

/// Trips of the three levels where `size` things are cut into units: those that the tiles give.
std::array<Count, 3> trips_of(const std::array<std::int64_t, 3>& factors, Count unit, Count size) {
  const Count regf = unit * Count(factors[2]);
  const Count gbuf = regf * Count(factors[1]);
  return {ceil_div(size, gbuf), ceil_div(std::min(size, gbuf), regf), ceil_div(std::min(size, regf), unit)};
}

std::array<std::int64_t, 3> factors_of(const Schedule& schedule, int loop) {
  const auto at = static_cast<std::size_t>(loop);
  return {schedule.factors[0][at], schedule.factors[1][at], schedule.factors[2][at]};
}

Count product(const std::array<std::int64_t, 3>& factors) {
  return Count(factors[0]) * Count(factors[1]) * Count(factors[2]);
}

bool fits(const std::array<std::int64_t, 3>& factors, std::int64_t unit, std::int64_t size) {
  const auto trips = trips_of(factors, Count(unit), Count(size));
  return trips[0] == Count(factors[0]) && trips[1] == Count(factors[1]) && trips[2] == Count(factors[2]);
}

std::string shown(const std::array<std::int64_t, 3>& factors) {
  return fmt::format("{} x {} x {} = {}", factors[0], factors[1], factors[2], product(factors).str());
}

Count passes(const Layer& layer, const ProcessingPass& pass) {
  return Count(ceil_divide(layer.nifm, pass.ifms)) * Count(ceil_divide(layer.nofm, pass.ofms));
}

void check_parts(const Schedule& schedule, std::vector<Fault>& faults) {
  Count h = 1;
  Count w = 1;
  for (const Extent& part : schedule.parts) {
    h *= Count(part.h);
    w *= Count(part.w);
  }
  const Extent& nodes = schedule.resource.nodes;
  if (h.overflowed() || w.overflowed() || h > Count(nodes.h) || w > Count(nodes.w)) {
    faults.push_back(
        {Key::part,
         fmt::format("the parts make a grid of {} x {} nodes, the machine has {} x {}", h.str(), w.str(), nodes.h,
                     nodes.w),
         "the factors (h, w) of OUTP, OFMP, BATP and INPP multiply to dim_nodes (or less: the rest is idle)"});
  }
  if (!schedule.layer.has_filter() && !(schedule.parts[kInpp] == Extent{})) {
    faults.push_back({Key::part, "INPP splits input channels; this layer has none of its own", "OUTP splits its maps"});
  }
}

}  // namespace

RowStationary row_stationary(const Extent& filter, std::int64_t output_rows, const Extent& array) {
  RowStationary layout;
  if (filter.h > array.h) {
    layout.fold_filter = ceil_divide(filter.h, array.h);
  } else {
    layout.replicas.h = array.h / filter.h;
  }
  if (output_rows > array.w) {
    layout.fold_maps = ceil_divide(output_rows, array.w);
  } else {
    layout.replicas.w = array.w / output_rows;
  }
  // Copies along the height first take slices that the width has no room for.
  layout.stacked = std::min(layout.replicas.h, layout.fold_maps);
  layout.fold_maps = ceil_divide(layout.fold_maps, layout.stacked);
  layout.replicas.h /= layout.stacked;
  return layout;
}

Layer node_layer(const Schedule& schedule) {
  Layer layer = schedule.layer;
  const auto pieces = [&](int kind) {
    const Extent& part = schedule.parts[static_cast<std::size_t>(kind)];
    return part.h * part.w;
  };
  layer.nifm = ceil_divide(layer.nifm, pieces(kInpp));
  layer.nofm = ceil_divide(layer.nofm, pieces(kOutp));
  layer.batch = ceil_divide(layer.batch, pieces(kBatp));
  layer.sofm = {ceil_divide(layer.sofm.h, schedule.parts[kOfmp].h), ceil_divide(layer.sofm.w, schedule.parts[kOfmp].w)};
  return layer;
}

std::vector<ProcessingPass> processing_passes(const Schedule& schedule) {
  const Layer layer = node_layer(schedule);
  const RowStationary layout = row_stationary(layer.sfil, layer.sofm.h, schedule.resource.array);
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d * d <= layout.replicas.h; ++d) {
    if (layout.replicas.h % d == 0) divisors.insert(divisors.end(), {d, layout.replicas.h / d});
  }
  std::sort(divisors.begin(), divisors.end());
  std::vector<ProcessingPass> found;
  for (const std::int64_t ifms : divisors) {
    if (ifms > 1 && !layer.has_filter()) continue;
    const ProcessingPass pass{std::min(ifms, layer.nifm),
                              std::min(layout.replicas.h / ifms * layout.replicas.w, layer.nofm)};
    if (std::find(found.begin(), found.end(), pass) == found.end()) found.push_back(pass);
  }
  std::stable_sort(found.begin(), found.end(), [&](const ProcessingPass& a, const ProcessingPass& b) {
    return passes(layer, a) < passes(layer, b);
  });
  return found;
}

tl::expected<ProcessingPass, std::vector<Fault>> check(const Schedule& schedule) {
  std::vector<Fault> faults;
  check_parts(schedule, faults);
  if (!faults.empty()) return tl::unexpected(std::move(faults));

  const Layer layer = node_layer(schedule);
  const auto ti = factors_of(schedule, kIfm);
  const auto to = factors_of(schedule, kOfm);
  const auto tb = factors_of(schedule, kBat);
  const std::int64_t slices = row_stationary(layer.sfil, layer.sofm.h, schedule.resource.array).fold_maps;
  const Count bats = Count(layer.batch) * Count(slices);
  if (product(tb) != bats && !(slices == 1 && fits(tb, 1, layer.batch))) {
    faults.push_back({Key::tb, fmt::format("tb has {} passes, expected {}", shown(tb), bats.str()),
                      slices == 1 ? "they are the images of a node"
                                  : fmt::format("they are the {} images of a node, each in {} slices of rows",
                                                layer.batch, slices)});
  }

  const std::vector<ProcessingPass> candidates = processing_passes(schedule);
  std::string choices;
  for (const ProcessingPass& pass : candidates) {
    if (choices.size() < 160) choices += fmt::format("{}[{}, {}]", choices.empty() ? "" : ", ", pass.ifms, pass.ofms);
  }
  if (schedule.pass && std::find(candidates.begin(), candidates.end(), *schedule.pass) == candidates.end()) {
    faults.push_back({Key::pass,
                      fmt::format("no pass over the array is for {} input and {} output channels", schedule.pass->ifms,
                                  schedule.pass->ofms),
                      "passes of this array (input, output channels): " + choices});
    return tl::unexpected(std::move(faults));
  }
  const std::int64_t nifm = layer.has_filter() ? layer.nifm : 1;
  const auto suits = [&](const ProcessingPass& pass) {
    return fits(ti, pass.ifms, nifm) && fits(to, pass.ofms, layer.nofm);
  };
  const auto exact = [&](const ProcessingPass& pass) {
    return suits(pass) && product(ti) == Count(ceil_divide(nifm, pass.ifms)) &&
           product(to) == Count(ceil_divide(layer.nofm, pass.ofms));
  };
  std::vector<ProcessingPass> possible = candidates;
  if (schedule.pass) possible = {*schedule.pass};
  auto found = std::find_if(possible.begin(), possible.end(), exact);
  if (found == possible.end()) found = std::find_if(possible.begin(), possible.end(), suits);
  if (found == possible.end()) {
    // Told for the pass that comes closest.
    const auto near = std::find_if(possible.begin(), possible.end(), [&](const ProcessingPass& pass) {
      return fits(ti, pass.ifms, nifm) || fits(to, pass.ofms, layer.nofm);
    });
    const ProcessingPass pass = near == possible.end() ? possible.front() : *near;
    const auto tell = [&](Key key, const char* name, const auto& factors, std::int64_t unit, std::int64_t size,
                          const char* what) {
      if (fits(factors, unit, size)) return;
      faults.push_back({key,
                        fmt::format("{} has {} passes, expected {}", name, shown(factors), ceil_divide(size, unit)),
                        fmt::format("a node has {} {} channels, a pass over its array works on {}", size, what, unit)});
    };
    tell(Key::ti, "ti", ti, pass.ifms, nifm, "input");
    tell(Key::to, "to", to, pass.ofms, layer.nofm, "output");
  }
  if (!faults.empty()) return tl::unexpected(std::move(faults));
  return *found;
}

BatchFactors batch_factors(const std::array<std::int64_t, 3>& factors, std::int64_t batch, std::int64_t slices) {
  BatchFactors split;
  if (slices == 1) {
    split.images = factors;
    return split;
  }
  for (std::size_t level = 3; level-- > 0;) {
    split.images[level] = std::gcd(factors[level], batch);
    split.slices[level] = factors[level] / split.images[level];
    batch /= split.images[level];
  }
  return split;
}

Count fetches(const Schedule& schedule, int data, int level) {
  const auto own = loops_of(schedule.layer, data);
  for (; level >= 0; --level) {
    const auto at = static_cast<std::size_t>(level);
    int innermost = 3;
    for (std::size_t loop = 0; loop < 3; ++loop) {
      if (own[loop] && schedule.factors[at][loop] > 1) innermost = std::min(innermost, schedule.orders[at][loop]);
    }
    if (innermost == 3) continue;  // this level leaves the tensor in place
    Count fetched = 1;
    for (std::size_t loop = 0; loop < 3; ++loop) {
      if (own[loop]) continue;
      for (std::size_t outer = 0; outer < at; ++outer) fetched *= Count(schedule.factors[outer][loop]);
      if (schedule.orders[at][loop] > innermost) fetched *= Count(schedule.factors[at][loop]);
    }
    return fetched;
  }
  return 1;
}

}  // namespace einflow::tangram
