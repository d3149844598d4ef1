#include "notation/onnx/graph_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/message.hpp"

namespace einflow {

namespace {

constexpr std::size_t kMostErrors = 40;
constexpr std::size_t kMostComparedNames = 20'000;

Diagnostic diagnostic(std::string message, std::string hint = {}) {
  return {{}, std::move(message), std::move(hint), {}};
}

/// Nodes of a cycle, each needing the one before; empty where there is none.
std::vector<int> cycle_of(const OnnxGraph& graph) {
  const std::size_t count = graph.nodes.size();
  std::vector<int> waiting(count, 0);
  std::vector<std::vector<int>> users(count);
  const auto producer = [&](int value) {
    return value < 0 ? -1 : graph.values[static_cast<std::size_t>(value)].producer;
  };
  for (std::size_t n = 0; n < count; ++n) {
    for (const int input : graph.nodes[n].inputs) {
      if (producer(input) < 0) continue;
      users[static_cast<std::size_t>(producer(input))].push_back(static_cast<int>(n));
      ++waiting[n];
    }
  }
  std::vector<int> ready;
  for (std::size_t n = 0; n < count; ++n) {
    if (waiting[n] == 0) ready.push_back(static_cast<int>(n));
  }
  std::vector<bool> done(count, false);
  while (!ready.empty()) {
    const auto node = static_cast<std::size_t>(ready.back());
    ready.pop_back();
    done[node] = true;
    for (const int user : users[node]) {
      if (--waiting[static_cast<std::size_t>(user)] == 0) ready.push_back(user);
    }
  }
  const auto first = std::find(done.begin(), done.end(), false);
  if (first == done.end()) return {};
  // Every node that is left needs another that is left: walking back must come around.
  std::vector<int> path;
  std::vector<int> position(count, -1);
  int node = static_cast<int>(first - done.begin());
  while (position[static_cast<std::size_t>(node)] < 0) {
    position[static_cast<std::size_t>(node)] = static_cast<int>(path.size());
    path.push_back(node);
    for (const int input : graph.nodes[static_cast<std::size_t>(node)].inputs) {
      const int before = producer(input);
      if (before >= 0 && !done[static_cast<std::size_t>(before)]) {
        node = before;
        break;
      }
    }
  }
  std::vector<int> cycle(path.begin() + position[static_cast<std::size_t>(node)], path.end());
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

/// "x[0]", the name of a size that the model gives none.
std::string axis_key(const OnnxValue& input, std::size_t axis) { return fmt::format("{}[{}]", input.name, axis); }

}  // namespace

Diagnostics order_faults(const OnnxGraph& graph) {
  Diagnostics faults;
  std::vector<std::string> known;
  std::string too_early;
  for (std::size_t n = 0; n < graph.nodes.size() && faults.size() < kMostErrors; ++n) {
    const OnnxNode& node = graph.nodes[n];
    for (const int input : node.inputs) {
      if (input < 0) continue;
      const OnnxValue& value = graph.values[static_cast<std::size_t>(input)];
      if (value.origin == OnnxOrigin::nowhere) {
        if (known.empty() && graph.values.size() <= kMostComparedNames) {
          for (const OnnxValue& other : graph.values) {
            if (other.origin != OnnxOrigin::nowhere) known.push_back(other.name);
          }
        }
        const std::string nearest = nearest_name(value.name, known);
        faults.push_back(diagnostic(
            fmt::format("node {} needs {}, which no node makes and which is no input or initialiser of the graph",
                        node_text(node), in_quotes(value.name)),
            nearest.empty() ? "" : fmt::format("did you mean {}?", in_quotes(nearest))));
      } else if (value.producer >= static_cast<int>(n) && too_early.empty()) {
        too_early =
            fmt::format("node {} needs {}, which node {} makes only later", node_text(node), in_quotes(value.name),
                        node_text(graph.nodes[static_cast<std::size_t>(value.producer)]));
      }
    }
  }
  if (too_early.empty()) return faults;
  const std::vector<int> cycle = cycle_of(graph);
  if (cycle.empty()) {
    faults.push_back(diagnostic(too_early, "ONNX lists nodes in an order in which they can be executed"));
    return faults;
  }
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t i = 0; i < cycle.size() && i < kShown; ++i) {
    text += node_text(graph.nodes[static_cast<std::size_t>(cycle[i])]) + " -> ";
  }
  if (cycle.size() > kShown) text += fmt::format("... ({} more) -> ", cycle.size() - kShown);
  faults.push_back(diagnostic(
      fmt::format("the graph has a cycle: {}{}", text, node_text(graph.nodes[static_cast<std::size_t>(cycle[0])])),
      "a node cannot need what is made of its own output; a recurrence is written as LSTM, GRU, RNN, Loop or Scan"));
  return faults;
}

Diagnostics set_symbols(const std::map<std::string, std::string>& settings, OnnxGraph& graph) {
  Diagnostics faults;
  std::map<std::string, std::int64_t> sizes;
  for (const auto& [key, text] : settings) {
    const auto count = parse_count(text);
    if (!count || *count > Count(kOnnxLargestSize)) {
      faults.push_back(diagnostic(fmt::format("--set {}={}: found {}, expected a size from 0 to {}", key, text,
                                              in_quotes(text), kOnnxLargestSize)));
      continue;
    }
    sizes[key] = static_cast<std::int64_t>(count->value());
  }
  std::set<std::string> used;
  std::vector<std::string> names, open;
  std::set<std::string> known;
  const auto set = [&](const std::string& key, std::optional<std::int64_t>& size) {
    if (known.insert(key).second) names.push_back(key);
    const auto found = sizes.find(key);
    if (found == sizes.end()) return false;
    used.insert(key);
    size = found->second;
    return true;
  };
  for (const int id : graph.inputs) {
    OnnxValue& input = graph.values[static_cast<std::size_t>(id)];
    for (std::size_t i = 0; i < input.type.sizes.size(); ++i) {
      std::optional<std::int64_t>& size = input.type.sizes[i];
      if (size && *size >= 0) {
        if (*size <= kOnnxLargestSize) continue;
        faults.push_back(diagnostic(fmt::format("the input {} has size {} on axis {}; at most {} are taken",
                                                in_quotes(input.name), *size, i, kOnnxLargestSize)));
        continue;
      }
      // Some exporters write -1 for a size that they leave open; other negative ones mean nothing.
      if (size && *size < -1) {
        faults.push_back(diagnostic(fmt::format("the input {} has size {} on axis {}", in_quotes(input.name), *size, i),
                                    "sizes are at least 0"));
        continue;
      }
      size.reset();
      const std::string& symbol = input.type.symbols[i];
      const std::string key = symbol.empty() ? axis_key(input, i) : symbol;
      const bool is_new = known.count(key) == 0;
      if (!set(key, size) && is_new) open.push_back(key);
    }
  }
  for (OnnxValue& value : graph.values) {
    if (!value.declared) continue;
    for (std::size_t i = 0; i < value.declared->sizes.size(); ++i) {
      std::optional<std::int64_t>& size = value.declared->sizes[i];
      if (size && *size < 0) size.reset();
      if (!size && !value.declared->symbols[i].empty()) set(value.declared->symbols[i], size);
    }
  }
  for (const auto& [key, size] : sizes) {
    if (used.count(key) == 0) {
      faults.push_back(diagnostic(fmt::format("--set {}={}: the model has no open size of that name", key, size),
                                  name_hint(key, names, "open sizes")));
    }
  }
  if (open.empty()) return faults;
  std::string example;
  for (std::size_t i = 0; i < open.size() && i < 4; ++i) example += fmt::format(" --set {}=8", open[i]);
  faults.push_back(
      diagnostic(fmt::format("the model leaves {} open: {}",
                             open.size() == 1 ? "a size" : fmt::format("{} sizes", open.size()), comma_list(open)),
                 "state " + std::string(open.size() == 1 ? "it" : "them") + ", for example:" + example +
                     (open.size() > 4 ? " ..." : "")));
  return faults;
}

}  // namespace einflow
