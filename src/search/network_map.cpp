#include "search/network_map.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace einflow {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool equal_but_for_the_name(const NetworkLayer& a, const NetworkLayer& b) {
  Einsum renamed = a.einsum;
  renamed.name = b.einsum.name;
  return renamed == b.einsum && a.machine == b.machine;
}

/// Indices of the first layer of each kind; `kind_of_layer` becomes the index into these.
std::vector<std::size_t> distinct_layers(const std::vector<NetworkLayer>& layers,
                                         std::vector<std::size_t>& kind_of_layer) {
  std::vector<std::size_t> firsts;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    std::size_t kind = 0;
    while (kind < firsts.size() && !equal_but_for_the_name(layers[i], layers[firsts[kind]])) ++kind;
    if (kind == firsts.size()) firsts.push_back(i);
    kind_of_layer.push_back(kind);
  }
  return firsts;
}

MapRequest request_for(const NetworkRequest& network, const NetworkLayer& layer) {
  MapRequest request;
  request.einsum = layer.einsum;
  request.machine = layer.machine;
  request.objective = network.objective;
  request.constraints = network.constraints;
  request.threads = network.threads;
  return request;
}

NetworkSearch outcome_of(Result<MapResult> result) {
  NetworkSearch search;
  if (!result) {
    search.errors = std::move(result.error());
  } else if (result->points.empty()) {
    search.stopped = result->proof.stopped.empty() ? "stopped before a mapping was found"
                                                   : "nothing found before the stop: " + result->proof.stopped;
  } else {
    search.found = std::move(*result);
  }
  return search;
}

}  // namespace

NetworkMap map_network(const NetworkRequest& request,
                       const std::function<Result<MapResult>(const MapRequest&)>& solve) {
  NetworkMap map;
  const std::vector<std::size_t> layers = distinct_layers(request.layers, map.search_of_layer);
  const auto start = std::chrono::steady_clock::now();
  map.searches.resize(layers.size());
  std::atomic<bool> stopped = false;
  std::atomic<std::size_t> next = 0, finished = 0;
  const std::thread::id asking = std::this_thread::get_id();
  // A search is one thread's work; several go on at once, and what each finds does not depend on the others.
  const auto work = [&] {
    for (std::size_t i = next++; i < layers.size(); i = next++, ++finished) {
      NetworkSearch& search = map.searches[i];
      if (stopped) {
        search.stopped = "not searched: the run was stopped before";
        continue;
      }
      const NetworkLayer& layer = request.layers[layers[i]];
      MapRequest one = request_for(request, layer);
      if (request.most_seconds) {
        const double left = *request.most_seconds - seconds_since(start);
        if (left <= 0) {
          search.stopped = "not searched: the time was over before";
          continue;
        }
        const double searches = static_cast<double>(layers.size() - i);
        one.most_seconds = left * std::min<double>(std::max(request.threads, 1), searches) / searches;
      }
      one.progress = [&, i](const MapProgress& progress) {
        // The caller hears of the searches of its own thread.
        if (request.progress && std::this_thread::get_id() == asking &&
            !request.progress({layer.name, i + 1, layers.size(), progress})) {
          stopped = true;
        }
        return !stopped;
      };
      search = outcome_of(solve(one));
    }
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < request.threads; ++thread) others.emplace_back(work);
  work();
  while (finished < layers.size() && request.progress) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (!request.progress({request.layers[layers.back()].name, layers.size(), layers.size(), {}})) stopped = true;
  }
  for (std::thread& other : others) other.join();
  return map;
}

NetworkTotals totals_of(const NetworkRequest& request, const NetworkMap& map) {
  NetworkTotals totals;
  totals.energy_picojoules = 0;
  totals.cycles = Count(0);
  totals.value = 0;
  for (std::size_t i = 0; i < request.layers.size(); ++i) {
    const NetworkSearch& search = map.searches[map.search_of_layer[i]];
    if (!search.found) {
      totals.missing.push_back(i);
      totals.optimal = false;
      continue;
    }
    const MapPoint& point = search.found->points.front();
    const Count repeat(request.layers[i].repeat);
    totals.optimal = totals.optimal && search.found->proof.optimal;
    *totals.value += point.value * repeat.to_double();
    if (!point.energy_picojoules) totals.energy_picojoules.reset();
    if (totals.energy_picojoules) *totals.energy_picojoules += *point.energy_picojoules * repeat.to_double();
    if (!point.cycles) totals.cycles.reset();
    if (totals.cycles) *totals.cycles += *point.cycles * repeat;
  }
  if (request.objective.kind == Objective::Kind::edp) {
    totals.value.reset();
    if (totals.energy_picojoules && totals.cycles) {
      totals.value = *totals.energy_picojoules * totals.cycles->to_double();
    }
  }
  if (totals.missing.size() == request.layers.size()) return {{}, {}, {}, false, totals.missing};
  return totals;
}

}  // namespace einflow
