// The best mappings of a network, layer by layer and in all, for people and for scripts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/json.hpp"
#include "report/layout.hpp"
#include "report/report.hpp"
#include "search/network_map.hpp"

namespace einflow {

/// What `einflow map` answers for a network.
struct NetworkMapReport {
  std::string name;  ///< of the network; may be empty
  std::vector<NetworkLayer> layers;
  Objective objective;
  NetworkMap map;
  NetworkTotals totals;
  std::vector<std::optional<Report>> searches;  ///< what `analyze` has for each mapping found
  std::vector<std::string> given;               ///< constraints asked for, as written
  std::vector<std::string> conventions;
  std::vector<std::string> uncounted;  ///< operations of the network that have no einsum
};

/// The answer to a request, with every mapping analysed. Fails only where a number leaves 128 bits.
Result<NetworkMapReport> network_map_report(const NetworkRequest& request, NetworkMap map,
                                            std::vector<std::string> conventions);

/// "einflow-network-map-1":
/// - name, machine, objective, unit, optimal (every layer's), given (constraints)
/// - layers: layer, repeat, problem; where there is a mapping value, optimal, bound, gap, energy_pj, cycles,
///   utilization, limited_by (all of one occurrence) and mapping; where there is none errors or stopped
/// - totals: value (edp: energy x cycles of the whole), energy_pj, cycles, seconds, of the layers that have a mapping
///   times their occurrences; missing: the layers that have none
/// - conventions, uncounted
Json to_json(const NetworkMapReport& report);

/// A table of the layers and the totals; `nests` shows each mapping too.
std::string to_text(const NetworkMapReport& report, bool nests, const TextStyle& style);

}  // namespace einflow
