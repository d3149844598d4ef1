// The fitted constants against the measurements that are carried in tests/reference/collectives.
#include "cluster/collective_fits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <tuple>

#include "base/yaml.hpp"
#include "notation/cluster_reader.hpp"

namespace einflow::cluster {
namespace {

const Library kLibrary{{EINFLOW_SOURCE_DIR}};

using Shape =
    std::tuple<std::string, std::string, std::int64_t, std::int64_t>;  ///< system, collective, nodes, per node

std::map<Shape, std::vector<MeasuredPoint>> measurements() {
  std::map<Shape, std::vector<MeasuredPoint>> shapes;
  for (const char* file : {"llmcompass", "vidur"}) {
    std::ifstream lines(std::string(EINFLOW_SOURCE_DIR) + "/tests/reference/collectives/" + file + ".jsonl");
    EXPECT_TRUE(lines) << file;
    for (std::string line; std::getline(lines, line);) {
      const auto row = parse_yaml(line);
      if (!row) {
        ADD_FAILURE() << line;
        continue;
      }
      const auto text = [&](const char* key) { return row->find(key)->text; };
      shapes[{text("system"), text("collective"), std::stol(text("nodes")), std::stol(text("per_node"))}].push_back(
          {std::stod(text("bytes")), std::stod(text("us")) * 1e-6});
    }
  }
  for (auto& [shape, points] : shapes) {
    std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  }
  return shapes;
}

CollectiveFit empty_fit(const Shape& shape) {
  const auto& [system, collective, nodes, per_node] = shape;
  CollectiveFit fit;
  fit.communication = collective == "all-reduce" ? Communication::all_reduce : Communication::send_receive;
  fit.nodes = nodes;
  fit.per_node = per_node;
  return fit;
}

/// B/s that a device can send at most: its NVLink, or one port of HDR or NDR for each device of a node.
double link_of(const Shape& shape) {
  const auto& [system, collective, nodes, per_node] = shape;
  const bool ampere = system.starts_with("a100");
  if (nodes == 1) return ampere ? 300e9 : 450e9;
  return (ampere ? 25e9 : 50e9) * static_cast<double>(per_node);
}

TEST(CollectiveFits, TheTableIsTheFitThroughAllPoints) {
  const auto shapes = measurements();
  EXPECT_EQ(shapes.size(), collective_fits().size());
  for (const auto& [shape, points] : shapes) {
    CollectiveFit expected = empty_fit(shape);
    fit(expected, points, link_of(shape));
    const auto found = std::find_if(collective_fits().begin(), collective_fits().end(), [&](const CollectiveFit& each) {
      return each.system == std::get<0>(shape) && each.communication == expected.communication &&
             each.nodes == expected.nodes && each.per_node == expected.per_node;
    });
    ASSERT_NE(found, collective_fits().end()) << std::get<0>(shape);
    for (const auto& [got, want] : {std::pair{found->small, expected.small}, std::pair{found->large, expected.large}}) {
      EXPECT_NEAR(got.latency_seconds, want.latency_seconds, 1e-3 * want.latency_seconds + 1e-12);
      EXPECT_NEAR(got.bytes_per_second, want.bytes_per_second, 1e-3 * want.bytes_per_second);
    }
  }
}

/// Relative errors on every second size of a system, fitted on the others.
struct HeldOut {
  std::vector<double> large;  ///< of 1 MiB and more
  std::vector<double> small;
};

std::map<std::string, HeldOut> held_out() {
  std::map<std::string, HeldOut> systems;
  for (const auto& [shape, points] : measurements()) {
    std::vector<MeasuredPoint> known;
    for (std::size_t i = 0; i < points.size(); i += 2) known.push_back(points[i]);
    CollectiveFit half = empty_fit(shape);
    fit(half, known, link_of(shape));
    HeldOut& errors = systems[std::get<0>(shape)];
    for (std::size_t i = 1; i < points.size(); i += 2) {
      const double error = std::abs(fitted_seconds(half, points[i].bytes) / points[i].seconds - 1);
      (points[i].bytes < static_cast<double>(kSmallBuffer) ? errors.small : errors.large).push_back(error);
    }
  }
  for (auto& [system, errors] : systems) {
    std::sort(errors.large.begin(), errors.large.end());
    std::sort(errors.small.begin(), errors.small.end());
  }
  return systems;
}

double median(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

struct Distribution {
  const char* system;
  std::size_t points;
  double median;  ///< %, rounded to one digit, as docs/decisions/collectives.md has it
  double max;
  std::size_t small_points;
  double small_median;
  double small_max;
};

const Distribution kDistributions[] = {
    {"a100-4gpu", 5, 5.7, 12.1, 6, 10.5, 33.8},    {"a100-dgx", 21, 7.5, 71.3, 10, 24.2, 116.2},
    {"a100-pairs", 10, 5.6, 63.5, 4, 24.7, 137.0}, {"h100-dgx", 12, 4.1, 27.4, 6, 9.4, 60.7},
    {"h100-pairs", 5, 1.3, 36.7, 2, 2.4, 4.6},
};

TEST(CollectiveFits, HeldOutErrorsAreThoseOfTheDocs) {
  const auto systems = held_out();
  EXPECT_EQ(systems.size(), std::size(kDistributions));
  for (const auto& [system, errors] : systems) {
    EXPECT_LE(median(errors.large), 0.15) << system << ": the bar";
    const auto rounded = [](double share) { return std::round(share * 1000) / 10; };
    const Distribution got{
        system.c_str(),      errors.large.size(),           rounded(median(errors.large)), rounded(errors.large.back()),
        errors.small.size(), rounded(median(errors.small)), rounded(errors.small.back())};
    const auto want = std::find_if(std::begin(kDistributions), std::end(kDistributions),
                                   [&](const Distribution& each) { return each.system == system; });
    const std::string line = std::string("{\"") + system + "\", " + std::to_string(got.points) + ", " +
                             std::to_string(got.median) + ", " + std::to_string(got.max) + ", " +
                             std::to_string(got.small_points) + ", " + std::to_string(got.small_median) + ", " +
                             std::to_string(got.small_max) + "},";
    ASSERT_NE(want, std::end(kDistributions)) << line;
    EXPECT_EQ(got.points, want->points) << line;
    EXPECT_NEAR(got.median, want->median, 0.051) << line;
    EXPECT_NEAR(got.max, want->max, 0.051) << line;
    EXPECT_EQ(got.small_points, want->small_points) << line;
    EXPECT_NEAR(got.small_median, want->small_median, 0.051) << line;
    EXPECT_NEAR(got.small_max, want->small_max, 0.051) << line;
  }
}

// All-reduce of 1 GiB on four A100 was measured to take 7219.2 us, on eight H100 64 MiB 322 us.
TEST(CollectiveFits, AreUsedForTheClustersThatWereMeasured) {
  const Cluster a100 = *load_cluster(kLibrary, "dgx-a100");
  const auto four = collective_time(a100, Communication::all_reduce, Count(1) * Count(1 << 30), {{{"gpu", 4}}});
  ASSERT_TRUE(four);
  EXPECT_TRUE(four->networks.at(0).measured);
  EXPECT_NEAR(four->seconds * 1e6, 7219.2, 0.05 * 7219.2);
  const auto stated =
      collective_time(a100, Communication::all_reduce, Count(1) * Count(1 << 30), {{{"gpu", 4}}}, Efficiency::stated);
  EXPECT_NEAR(stated->seconds, 1.5 * (1 << 30) / 300e9, 1e-5);
  const Cluster h100 = *load_cluster(kLibrary, "dgx-h100-superpod");
  const auto eight = collective_time(h100, Communication::all_reduce, Count(1 << 26), {{{"gpu", 8}}});
  ASSERT_TRUE(eight);
  EXPECT_NEAR(eight->seconds * 1e6, 322, 0.1 * 322);
  EXPECT_EQ(eight->algorithm, Algorithm::ring) << "the share of the bandwidth is that of the ring's bytes";
  // What was measured of one port goes for the ports of both nodes.
  const auto sent = collective_time(h100, Communication::send_receive, Count(1 << 25), {{{"node", 2}}});
  EXPECT_NEAR(sent->seconds * 1e6, 952, 0.1 * 952);
  // A network that was not measured keeps its own figures.
  const auto superpod = collective_time(*load_cluster(kLibrary, "dgx-a100-superpod"), Communication::all_reduce,
                                        Count(1 << 26), {{{"node", 16}}});
  EXPECT_FALSE(superpod->networks.at(0).measured);
}

TEST(CollectiveFits, TheFitsOfAShapeAgreeWithCollectiveTime) {
  for (const CollectiveFit& each : collective_fits()) {
    if (each.device.empty() || each.nodes > 1) continue;
    const Cluster cluster = *load_cluster(kLibrary, each.device == "h100-sxm" ? "dgx-h100" : "dgx-a100");
    for (const std::int64_t bytes : {1000LL, 600000LL, 1048575LL, 1048576LL, 100000000LL}) {
      const auto time = collective_time(cluster, each.communication, Count(bytes), {{{"gpu", each.per_node}}});
      EXPECT_NEAR(time->seconds, fitted_seconds(each, static_cast<double>(bytes)), 1e-9) << each.system << " " << bytes;
    }
  }
}

}  // namespace
}  // namespace einflow::cluster
