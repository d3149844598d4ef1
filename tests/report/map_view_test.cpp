// The answer of `map` as text and JSON. The figures are those of the guide's weight-stationary nest, 8 x 6 x 4:
//   W moves with n and k: 24 reads of DRAM; X in every step: 192; Y is written in every step (192) and read back but
//   for the first time of each of its 48 elements (144). At 1 pJ/B read and 2 pJ/B written, 2 B each element: 360 x 2 +
//   192 x 4 = 1488 pJ. One multiply-add a cycle: 192 cycles. Energy x cycles: 285696 pJ cycles. Buffer: the operations
//   read X and W 192 times each, Y leaves it 192 times; it is filled 216 times and updated 192.
#include "report/map_view.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "problem/constructors.hpp"
#include "report/network_map_view.hpp"
#include "support/builders.hpp"

namespace einflow {
namespace {

Machine with_energy() {
  Machine machine = testing::two_level();
  auto& memory = std::get<Storage>(machine.levels[0]);
  memory.read_energy = AccessEnergy{1, AccessEnergy::Per::byte};
  memory.write_energy = AccessEnergy{2, AccessEnergy::Per::byte};
  std::get<Storage>(machine.levels[1]).capacity_bits = Count(8 * 8);
  return machine;
}

MapRequest product(Objective::Kind kind) {
  MapRequest request;
  request.einsum = matmul(8, 6, 4);
  request.einsum.name = "product";
  request.machine = with_energy();
  request.objective.kind = kind;
  return request;
}

MapResult weight_stationary(const MapRequest& request, double value) {
  MapResult result;
  MapPoint point;
  point.spec = testing::spec(request.einsum, request.machine, "for n by 1\nfor k by 1\nfor m by 1\nat Buffer: X W Y\n");
  point.energy_picojoules = 1488;
  point.cycles = Count(192);
  point.value = value;
  result.points.push_back(point);
  result.proof.optimal = true;
  result.proof.value = result.proof.bound = value;
  result.proof.tile_shapes = Count(48);
  result.proof.mappings = 1234567;
  result.proof.states = Count(2000);
  result.proof.expanded = Count(300);
  result.proof.seconds = 0.25;
  result.conventions = {"even placement"};
  return result;
}

MapReport report_of(Objective::Kind kind, double value) {
  const MapRequest request = product(kind);
  auto report = map_report(request, weight_stationary(request, value), {"types: given"});
  if (!report) throw std::runtime_error(report.error().front().message);
  return std::move(*report);
}

std::string before(const std::string& text, const std::string& mark) { return text.substr(0, text.find(mark)); }

TEST(MapView, TextHasValueNestLevelsTotalsAndProof) {
  MapReport report = report_of(Objective::Kind::energy, 1488);
  report.given = {"--keep Buffer:W"};
  EXPECT_EQ(before(to_text(report, {}, {}), "\nConventions"),
            R"(product: Y[m,n] += X[m,k] * W[k,n]
  m = 8, n = 6, k = 4
on toy: DRAM > Buffer > MAC

Best mapping for energy
  value: 1.488 nJ
  the optimum of this space: no mapping of it has less

Mapping
  nest        trips
  at DRAM: X W Y
  for n by 1      6  moves W Y, leaves X
  for k by 1      4  moves X W, leaves Y
  for m by 1      8  moves X Y, leaves W
  at Buffer: X W Y

Levels: elements, all instances; held and room of one
  level   reads  writes  held B  room B    used    energy  cycles
  DRAM      360     192     208                  1.488 nJ
  Buffer    576     408       6       8  75.0 %
  MAC                                                         192

Totals
  energy: 1.488 nJ
  cycles (overlapped): 192, limited by compute; utilization 100.0 %
  energy x delay: 285,696 pJ cycles

The space and the proof
  - each storage level has one place in the nest and holds any of the tensors
    there; what it does not hold bypasses it
  - every loop divides what it cuts; temporal loops in any number and order; the
    loops of a mesh stand inside the temporal loops of their part of the nest
  - every tile fits its level
  - given: --keep Buffer:W
  - tile shapes of one place: 48
  - mappings of the space: 1,234,567 (loop orders, tile shapes, spatial loops
    and bypasses, before capacity)
  - partial mappings after joining those that do not differ in what stays: 2,000
  - looked into: 300; each other one is beaten by another or by the bound
  - bound: 1.488 nJ = the value: no mapping of the space has less
  - 0.25 s of processor time
)");
}

TEST(MapView, ConventionsOfReadingSearchAndFiguresAreListedOnce) {
  const std::string text = to_text(report_of(Objective::Kind::energy, 1488), {}, {});
  for (const char* line : {"- types: given", "- even placement", "- 1 operation = 1 multiply-add (MAC) = 2 FLOPs"}) {
    const std::size_t at = text.find(line);
    ASSERT_NE(at, std::string::npos) << line;
    EXPECT_EQ(text.find(line, at + 1), std::string::npos) << line;
  }
  EXPECT_NE(text.find("- energy not stated: Buffer, MAC (bf16)"), std::string::npos);
}

TEST(MapView, ASearchThatEndedEarlySaysHowMuchIsOpen) {
  MapReport report = report_of(Objective::Kind::energy, 1488);
  report.proof.optimal = false;
  report.proof.bound = 1116;  // three quarters of 1488
  report.proof.stopped = "the time limit of 2 s";
  const std::string text = to_text(report, {}, {});
  EXPECT_NE(text.find("the best one found, not proved to be the optimum: the bound is 1.116 nJ, so\n"
                      "    another could have at most 25.0 % less. The search ended before the proof:\n"
                      "    the time limit of 2 s\n"),
            std::string::npos)
      << text;
  const auto json = nlohmann::json::parse(to_json(report, false).str());
  EXPECT_EQ(json["optimal"], false);
  EXPECT_EQ(json["bound"], 1116);
  EXPECT_EQ(json["gap"], 0.25);
  EXPECT_EQ(json["stopped"], "the time limit of 2 s");
}

TEST(MapView, JsonHasTheFieldsOfItsForm) {
  const auto json = nlohmann::json::parse(to_json(report_of(Objective::Kind::edp, 285696), false).str());
  EXPECT_EQ(json["format"], "einflow-map-1");
  EXPECT_EQ(json["objective"], "edp");
  EXPECT_EQ(json["value"], 285696);
  EXPECT_EQ(json["unit"], "pJ cycles");
  EXPECT_EQ(json["optimal"], true);
  EXPECT_EQ(json["space"]["tile_shapes"], 48);
  EXPECT_EQ(json["space"]["mappings"], 1234567);
  EXPECT_EQ(json["states"], 2000);
  EXPECT_EQ(json["expanded"], 300);
  EXPECT_EQ(json["seconds"], 0.25);
  const auto& point = json["points"].at(0);
  EXPECT_EQ(point["energy_pj"], 1488);
  EXPECT_EQ(point["cycles"], 192);
  EXPECT_FALSE(point.contains("edp"));  // no clock is stated
  EXPECT_EQ(point["mapping"], "at DRAM: X W Y\nfor n by 1\nfor k by 1\nfor m by 1\nat Buffer: X W Y\n");
  EXPECT_EQ(point["report"]["format"], "einflow-report-1");
  EXPECT_FALSE(json.contains("stopped"));
}

TEST(MapView, TheValueHasTheUnitOfItsObjective) {
  const Machine machine = with_energy();
  const Objective traffic{Objective::Kind::traffic, 1};
  EXPECT_EQ(objective_name(traffic, machine), "traffic:Buffer");
  EXPECT_EQ(objective_unit(traffic), "bits");
  EXPECT_EQ(value_text(traffic, 12), "1.5 B");
  EXPECT_EQ(value_text(traffic, 1 << 20), "131,072 B");
  EXPECT_EQ(value_text({Objective::Kind::cycles, -1}, 1e6), "1,000,000 cycles");
  EXPECT_EQ(value_text({Objective::Kind::edp, -1}, 285696), "285,696 pJ cycles");
  EXPECT_EQ(value_text({Objective::Kind::energy, -1}, 1e9), "1 mJ");
}

TEST(MapView, AFrontIsATableAndItsNestsAreShownWhereAskedFor) {
  MapRequest request = product(Objective::Kind::energy);
  request.front = true;
  MapResult result = weight_stationary(request, 0);
  result.points.push_back(result.points.front());
  const auto report = map_report(request, result, {});
  ASSERT_TRUE(report);
  const std::string text = to_text(*report, {}, {});
  EXPECT_NE(text.find("  nest    energy  cycles  utilization\n"
                      "  1     1.488 nJ     192      100.0 %\n"
                      "  2     1.488 nJ     192      100.0 %\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("for n by 1"), std::string::npos);
  EXPECT_NE(to_text(*report, {false, 2}, {}).find("\nNest 2\n"), std::string::npos);
  EXPECT_EQ(to_text(*report, {false, 2}, {}).find("\nNest 1\n"), std::string::npos);
  EXPECT_NE(to_text(*report, {true, 0}, {}).find("\nNest 1\n"), std::string::npos);
  const auto json = nlohmann::json::parse(to_json(*report, false).str());
  EXPECT_EQ(json["objective"], "front");
  EXPECT_FALSE(json.contains("value"));
  EXPECT_EQ(json["points"].size(), 2U);
  EXPECT_FALSE(json["points"][0].contains("report"));
  EXPECT_TRUE(nlohmann::json::parse(to_json(*report, true).str())["points"][0].contains("report"));
}

/// The product three times, and a sum that nothing fits for.
NetworkMapReport network() {
  NetworkRequest request;
  const MapRequest one = product(Objective::Kind::energy);
  request.layers = {{"product", 3, one.einsum, one.machine}, {"sum", 2, elementwise(2, 3), one.machine}};
  auto map = map_network(request, [](const MapRequest& layer) -> Result<MapResult> {
    if (layer.einsum.tensors.size() == 3 && layer.einsum.map == "+")
      return fail("Buffer has no room", "make it larger");
    return weight_stationary(layer, 1488);
  });
  auto report = network_map_report(request, std::move(map), {});
  if (!report) throw std::runtime_error(report.error().front().message);
  report->name = "small";
  return std::move(*report);
}

TEST(NetworkMapView, TextHasLayersReasonsAndTotals) {
  EXPECT_EQ(before(to_text(network(), false, {}), "\nConventions"),
            R"(small
on toy: DRAM > Buffer > MAC

Best mappings for energy, each figure of one occurrence
  layer    times  cycles    energy     used  limited by
  product      3     192  1.488 nJ  100.0 %     compute
  sum          2                             no mapping
  2 layers, 2 different ones searched

Layers without a mapping
  - sum: Buffer has no room; make it larger

In all, each layer times its occurrences
  energy: 4.464 nJ
  cycles (overlapped), the layers one after the other: 576
  without: sum
  the mapping of each other layer is the optimum of its space
)");
  EXPECT_NE(to_text(network(), true, {}).find("  for n by 1      6  moves W Y, leaves X\n"), std::string::npos);
}

TEST(NetworkMapView, JsonHasEveryLayerAndTheTotals) {
  const auto json = nlohmann::json::parse(to_json(network()).str());
  EXPECT_EQ(json["format"], "einflow-network-map-1");
  EXPECT_EQ(json["optimal"], false);
  EXPECT_EQ(json["layers"][0]["layer"], "product");
  EXPECT_EQ(json["layers"][0]["repeat"], 3);
  EXPECT_EQ(json["layers"][0]["value"], 1488);
  EXPECT_EQ(json["layers"][0]["limited_by"], "compute");
  EXPECT_EQ(json["layers"][1]["errors"], nlohmann::json::array({"Buffer has no room"}));
  EXPECT_FALSE(json["layers"][1].contains("value"));
  EXPECT_EQ(json["totals"]["energy_pj"], 3 * 1488);
  EXPECT_EQ(json["totals"]["cycles"], 3 * 192);
  EXPECT_EQ(json["totals"]["missing"], nlohmann::json::array({"sum"}));
}

}  // namespace
}  // namespace einflow
