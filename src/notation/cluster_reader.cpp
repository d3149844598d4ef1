#include "notation/cluster_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/message.hpp"
#include "notation/fields.hpp"
#include "notation/library.hpp"
#include "notation/machine_reader.hpp"

namespace einflow {

namespace {

using cluster::Cluster;
using cluster::Network;
using cluster::Topology;

constexpr std::size_t kMaximumNetworks = 8;
constexpr std::size_t kMaximumAxes = 8;
constexpr std::int64_t kMaximumDevices = std::int64_t{1} << 40;

constexpr std::array<std::pair<std::string_view, Topology>, 5> kTopologies{
    {{"switch", Topology::switched},
     {"fully connected", Topology::fully_connected},
     {"ring", Topology::ring},
     {"torus", Topology::torus},
     {"fat tree", Topology::fat_tree}}};

class ClusterReader {
 public:
  ClusterReader(const Library& library, Diagnostics& errors) : library_(library), errors_(errors) {}

  Cluster read(const YamlNode& node) {
    Cluster cluster;
    const Fields fields(node, "the cluster", {"name", "source", "device", "networks", "notes"}, errors_);
    if (!node.is_map()) return cluster;
    cluster.name = fields.text("name").value_or("");
    cluster.source = fields.text("source").value_or("");
    if (const YamlNode* notes = fields.find("notes")) cluster.notes = read_texts(*notes, "'notes'", errors_);
    if (const YamlNode* device = fields.require("device", "device: a machine of the library")) {
      read_device(*device, cluster);
    }
    const YamlNode* networks = fields.require("networks", "networks: a list, the outermost first");
    if (networks == nullptr) return cluster;
    if (!networks->is_list() || networks->items.empty() || networks->items.size() > kMaximumNetworks) {
      add_error(
          errors_, networks->span,
          fmt::format("found {}, expected a list of 1 to {} networks",
                      networks->is_list() ? fmt::format("{} networks", networks->items.size()) : describe(*networks),
                      kMaximumNetworks));
      return cluster;
    }
    for (const YamlNode& item : networks->items) cluster.networks.push_back(read_network(item));
    Count devices = 1;
    for (const Network& network : cluster.networks) {
      for (const MeshAxis& axis : network.axes) devices *= Count(axis.size);
    }
    if (devices.overflowed() || devices > Count(kMaximumDevices)) {
      add_error(errors_, networks->span, "the cluster has more than 2^40 devices");
    }
    return cluster;
  }

 private:
  void read_device(const YamlNode& node, Cluster& cluster) {
    if (node.is_map()) {
      std::vector<std::string> conventions;
      if (auto machine = read_machine(node, errors_, conventions)) cluster.device = std::move(*machine);
      return;
    }
    if (!node.is_scalar()) {
      return add_error(errors_, node.span, fmt::format("found {}, expected a machine as the device", describe(node)),
                       "device: h100-sxm");
    }
    auto named = machine_named(node.text, library_);
    if (named) {
      cluster.device = std::move(named->machine);
      return;
    }
    for (Diagnostic error : named.error()) {
      if (error.source.empty()) error.span = node.span;
      if (!enough_errors(errors_)) errors_.push_back(std::move(error));
    }
  }

  Network read_network(const YamlNode& node) {
    Network network;
    const YamlNode* name = node.is_map() ? node.find("network") : nullptr;
    const std::string what = name != nullptr ? "network " + in_quotes(name->text) : "the network";
    const Fields fields(
        node, what,
        {"network", "axes", "topology", "bandwidth", "latency", "oversubscription", "in_network_reduction", "source"},
        errors_);
    if (!node.is_map()) return network;
    if (const YamlNode* given = fields.require("network", "network: NAME")) read_network_name(*given, network);
    if (const YamlNode* axes = fields.require("axes", "axes: {gpu: 8}")) read_axes(*axes, network);
    if (const YamlNode* topology = fields.require("topology", "topology: switch")) read_topology(*topology, network);
    if (const YamlNode* bandwidth = fields.require("bandwidth", "bandwidth: 50 GB/s, of one direction")) {
      read_bandwidth(*bandwidth, network);
    }
    if (const YamlNode* latency = fields.require("latency", "latency: 2 us")) {
      if (const auto value = read_quantity(*latency, {Measure::seconds}, errors_)) network.latency = value->value;
    }
    if (const YamlNode* over = fields.find("oversubscription")) read_oversubscription(*over, network);
    network.in_network_reduction = fields.flag("in_network_reduction").value_or(false);
    if (const YamlNode* reduction = fields.find("in_network_reduction");
        network.in_network_reduction && topology_known_ && network.topology != Topology::switched &&
        network.topology != Topology::fat_tree) {
      add_error(errors_, reduction->span, "only a switch or a fat tree can add in the network");
    }
    network.source = fields.text("source").value_or("");
    return network;
  }

  void read_network_name(const YamlNode& node, Network& network) {
    auto name = read_name(node, "a network", errors_);
    if (!name) return;
    if (!networks_.emplace(*name, node.span).second) {
      add_error(errors_, node.span,
                fmt::format("a network {} was already given on line {}", in_quotes(*name), networks_.at(*name).line),
                "networks need names of their own");
    }
    network.name = std::move(*name);
  }

  void read_axes(const YamlNode& node, Network& network) {
    if (!node.is_map() || node.entries.empty() || node.entries.size() > kMaximumAxes) {
      return add_error(
          errors_, node.span,
          fmt::format("found {}, expected 1 to {} axes with their sizes",
                      node.is_map() ? fmt::format("{} axes", node.entries.size()) : describe(node), kMaximumAxes),
          "axes: {gpu: 8}");
    }
    for (const auto& [key, value] : node.entries) {
      auto name = read_name(key, "an axis", errors_);
      const auto size = read_integer(value, "the axis " + in_quotes(key.text), 1, errors_);
      if (!name || !size) continue;
      if (!axes_.emplace(*name, key.span).second) {
        add_error(errors_, key.span,
                  fmt::format("an axis {} was already given on line {}", in_quotes(*name), axes_.at(*name).line),
                  "axes need names of their own, over all networks");
      }
      network.axes.push_back({std::move(*name), *size});
    }
  }

  void read_topology(const YamlNode& node, Network& network) {
    topology_known_ = false;
    const auto text = read_text(node, "'topology'", errors_);
    if (!text) return;
    std::vector<std::string> names;
    for (const auto& [name, topology] : kTopologies) {
      if (name == *text) {
        network.topology = topology;
        topology_known_ = true;
        return;
      }
      names.emplace_back(name);
    }
    add_error(errors_, node.span, fmt::format("unknown topology {}", in_quotes(*text)),
              name_hint(*text, names, "topologies"));
  }

  void read_bandwidth(const YamlNode& node, Network& network) {
    const auto value = read_quantity(node, {Measure::bytes_per_second}, errors_);
    if (!value) return;
    if (value->value.numerator() == Count(0)) {
      return add_error(errors_, node.span, fmt::format("{} is 0", in_quotes(node.text)));
    }
    network.bandwidth = value->value;
  }

  void read_oversubscription(const YamlNode& node, Network& network) {
    const auto text = read_text(node, "'oversubscription'", errors_);
    if (!text) return;
    const auto value = parse_decimal(*text);
    if (!value || *value < Ratio(Count(1))) {
      return add_error(
          errors_, node.span,
          fmt::format("found {}, expected a number of at least 1 for 'oversubscription'", in_quotes(*text)),
          "1 is a full tree, 2 has half of the bandwidth above");
    }
    if (topology_known_ && network.topology != Topology::fat_tree) {
      return add_error(errors_, node.span, "only a fat tree has an oversubscription");
    }
    network.oversubscription = *value;
  }

  const Library& library_;
  Diagnostics& errors_;
  std::map<std::string, Span> networks_;
  std::map<std::string, Span> axes_;
  bool topology_known_ = false;  ///< of the network that is being read
};

std::vector<std::string> axis_names(const Cluster& cluster) {
  std::vector<std::string> names;
  for (const Network& network : cluster.networks) {
    for (const MeshAxis& axis : network.axes) names.push_back(axis.name);
  }
  return names;
}

MeshAxis* axis_named(Cluster& cluster, const std::string& name) {
  for (Network& network : cluster.networks) {
    for (MeshAxis& axis : network.axes) {
      if (axis.name == name) return &axis;
    }
  }
  return nullptr;
}

}  // namespace

bool is_cluster(const YamlNode& node) { return node.is_map() && node.find("networks") != nullptr; }

std::optional<Cluster> read_cluster(const YamlNode& node, const Library& library, Diagnostics& errors) {
  const std::size_t errors_before = errors.size();
  Cluster cluster = ClusterReader(library, errors).read(node);
  if (errors.size() > errors_before) return std::nullopt;
  return cluster;
}

Result<Cluster> read_cluster_text(const SourceText& source, const Library& library) {
  Diagnostics errors;
  std::optional<Cluster> cluster;
  const auto tree = parse_yaml(source.text);
  if (tree) {
    cluster = read_cluster(*tree, library, errors);
  } else {
    errors = tree.error();
  }
  if (cluster) return std::move(*cluster);
  for (Diagnostic& error : errors) {
    if (error.source.empty()) error.source = source.name;
  }
  sort_by_place(errors);
  return tl::unexpected(std::move(errors));
}

Result<Cluster> with_sizes(Cluster cluster, const std::string& sizes) {
  std::vector<std::string> given;
  for (std::size_t from = 0; from < sizes.size();) {
    const std::size_t comma = std::min(sizes.find(',', from), sizes.size());
    const std::string part = sizes.substr(from, comma - from);
    from = comma + 1;
    const std::size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    const auto size = equals == part.npos ? std::nullopt : parse_count(std::string_view(part).substr(equals + 1));
    MeshAxis* const axis = axis_named(cluster, name);
    if (equals == part.npos || !size || *size < Count(1) || !size->to_int64()) {
      return fail(fmt::format("{} is not the size of an axis", in_quotes(part)), "AXIS=SIZE, as node=128");
    }
    if (axis == nullptr) {
      return fail(fmt::format("the cluster {} has no axis {}", in_quotes(cluster.name), in_quotes(name)),
                  name_hint(name, axis_names(cluster), "axes"));
    }
    if (std::find(given.begin(), given.end(), name) != given.end()) {
      return fail(fmt::format("two sizes are given for the axis {}", in_quotes(name)));
    }
    given.push_back(name);
    axis->size = *size->to_int64();
  }
  if (!sizes.empty() && sizes.back() == ',') {
    return fail(fmt::format("{} ends with a comma", in_quotes(sizes)), "AXIS=SIZE, as node=128");
  }
  Count devices = 1;
  for (const Network& network : cluster.networks) {
    for (const MeshAxis& axis : network.axes) devices *= Count(axis.size);
  }
  if (devices.overflowed() || devices > Count(kMaximumDevices)) return fail("the cluster has more than 2^40 devices");
  return cluster;
}

Result<Cluster> load_cluster(const Library& library, const std::string& text) {
  const std::size_t colon = text.find(':');
  auto cluster = cluster_named(text.substr(0, colon), library);
  if (!cluster || colon == text.npos) return cluster;
  if (colon + 1 == text.size()) return fail(fmt::format("{} names no axis", in_quotes(text)), "NAME:AXIS=SIZE");
  return with_sizes(std::move(*cluster), text.substr(colon + 1));
}

}  // namespace einflow
