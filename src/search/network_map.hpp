// The best mappings of a whole network: each einsum by itself, equal ones once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "search/mapper.hpp"

namespace einflow {

/// One einsum of a network, and how often it occurs there.
struct NetworkLayer {
  std::string name;
  std::int64_t repeat = 1;
  Einsum einsum;
  Machine machine;
};

/// How far the search over a network is.
struct NetworkProgress {
  std::string layer;       ///< that is searched
  std::size_t search = 0;  ///< its number among the searches, from 1
  std::size_t searches = 0;
  MapProgress of_layer;
};

struct NetworkRequest {
  std::vector<NetworkLayer> layers;
  Objective objective;
  MapConstraints constraints;          ///< of every layer
  std::optional<double> most_seconds;  ///< of wall time, all layers together
  int threads = 1;
  /// Called now and then from the thread that called; false = give what is found, and search no other layer.
  std::function<bool(const NetworkProgress&)> progress;
};

/// What came of one distinct einsum on its machine.
struct NetworkSearch {
  std::optional<MapResult> found;  ///< has a point
  Diagnostics errors;              ///< why nothing was found, where the search ended with that
  std::string stopped;             ///< or why there was no search, or it had found nothing yet
};

struct NetworkMap {
  std::vector<NetworkSearch> searches;
  std::vector<std::size_t> search_of_layer;  ///< index into `searches`, one per layer of the request
};

/// The best mapping of every layer. A layer for which there is none does not end the run. Layers whose einsums are
/// equal apart from their names, on equal machines, are searched once. Seconds are shared: each search gets what is
/// left divided by the searches left. `solve` is the search of one einsum.
NetworkMap map_network(const NetworkRequest& request,
                       const std::function<Result<MapResult>(const MapRequest&)>& solve = best_mapping);

/// Sums over the layers that have a mapping, each times its occurrences.
struct NetworkTotals {
  std::optional<double> energy_picojoules;  ///< absent where a layer with a mapping has none
  std::optional<Count> cycles;              ///< of the layers one after the other; absent likewise
  /// Of the objective; energy x cycles of the whole where that is the energy-delay product, which is not the sum of
  /// the layers' products.
  std::optional<double> value;
  bool optimal = true;               ///< every layer's mapping is proved to be the best
  std::vector<std::size_t> missing;  ///< layers without a mapping
};

NetworkTotals totals_of(const NetworkRequest& request, const NetworkMap& map);

}  // namespace einflow
