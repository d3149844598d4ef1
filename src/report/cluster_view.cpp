#include "report/cluster_view.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace einflow {

namespace {

using cluster::Cluster;
using cluster::Network;
using cluster::Topology;

std::string axes_text(const Network& network) {
  std::string text;
  for (const MeshAxis& axis : network.axes)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", axis.name, axis.size);
  return text;
}

/// Of one device, over all of its links.
Ratio bandwidth_of_device(const Network& network) {
  std::int64_t links = 1;
  if (network.topology == Topology::fully_connected) links = std::max<std::int64_t>(1, network.size() - 1);
  if (network.topology == Topology::ring || network.topology == Topology::torus) {
    links = 0;
    for (const MeshAxis& axis : network.axes) links += axis.size > 2 ? 2 : axis.size - 1;
    links = std::max<std::int64_t>(1, links);
  }
  return network.bandwidth * Ratio(Count(links));
}

bool has_links(const Network& network) {
  return network.topology != Topology::switched && network.topology != Topology::fat_tree;
}

std::string describe(const Network& network) {
  const std::string rate = scaled(network.bandwidth.to_double(), "B/s");
  std::string text = to_text(network.topology) + ", " + rate;
  text += has_links(network) ? " per link and direction, " + scaled(bandwidth_of_device(network).to_double(), "B/s") +
                                   " over all links of a device"
                             : " per device and direction";
  text += ", latency " + scaled(network.latency.to_double(), "s");
  if (network.topology == Topology::fat_tree) {
    text += network.oversubscription == Ratio(Count(1))
                ? ", not oversubscribed"
                : fmt::format(", oversubscribed {}", grouped(network.oversubscription));
  }
  return text + (network.in_network_reduction ? ", adds in the network" : "");
}

Json network_json(const Network& network) {
  Json axes = Json::object();
  for (const MeshAxis& axis : network.axes) axes.set(axis.name, Count(axis.size));
  Json entry = Json::object();
  entry.set("network", network.name).set("axes", std::move(axes)).set("topology", to_text(network.topology));
  entry.set(has_links(network) ? "link_bytes_per_second" : "port_bytes_per_second", network.bandwidth);
  entry.set("device_bytes_per_second", bandwidth_of_device(network)).set("latency_seconds", network.latency);
  if (network.topology == Topology::fat_tree) entry.set("oversubscription", network.oversubscription);
  entry.set("in_network_reduction", network.in_network_reduction);
  if (!network.source.empty()) entry.set("source", network.source);
  return entry;
}

}  // namespace

std::string to_text(Topology topology) {
  switch (topology) {
    case Topology::switched:
      return "switch";
    case Topology::fully_connected:
      return "fully connected";
    case Topology::ring:
      return "ring";
    case Topology::torus:
      return "torus";
    case Topology::fat_tree:
      return "fat tree";
  }
  return "";
}

std::string networks_line(const Cluster& cluster) {
  std::string text;
  for (const Network& network : cluster.networks) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : " > ", network.name, axes_text(network));
  }
  return text;
}

Json cluster_json(const Cluster& cluster) {
  Json networks = Json::array();
  for (const Network& network : cluster.networks) networks.push(network_json(network));
  Json document = Json::object();
  document.set("format", "einflow-cluster-1").set("name", cluster.name).set("device", cluster.device.name);
  document.set("devices", Count(cluster.devices()));
  if (const auto bytes = cluster.memory_bytes()) document.set("device_memory_bytes", *bytes);
  if (const auto rate = cluster.memory_bandwidth()) document.set("device_memory_bytes_per_second", *rate);
  document.set("networks", std::move(networks));
  if (!cluster.source.empty()) document.set("source", cluster.source);
  return document.set("notes", Json::array_of(cluster.notes));
}

std::string cluster_text(const Cluster& cluster, const TextStyle& style) {
  std::string out = heading(fmt::format("{}: {} devices, {}", cluster.name.empty() ? "cluster" : cluster.name,
                                        grouped(Count(cluster.devices())), networks_line(cluster)),
                            style);
  if (!cluster.source.empty()) out += wrapped("source: " + cluster.source, style.width, "  ", "    ");
  std::string device = cluster.device.name.empty() ? "a machine of its own" : cluster.device.name;
  if (const auto bytes = cluster.memory_bytes()) {
    device += fmt::format(", memory {} ({} B)", bytes_text(Ratio(*bytes)), grouped(*bytes));
  }
  if (const auto rate = cluster.memory_bandwidth()) device += " at " + scaled(rate->to_double(), "B/s");
  out += heading("device", style) + wrapped(device, style.width, "  ", "  ");
  if (!cluster.device.levels.empty()) {
    for (const auto& [type, rate] : cluster.device.compute().rate) {
      ElementType wanted;
      wanted.name = type;
      const auto peak = cluster.peak_flops(wanted);
      if (!peak) continue;
      const double one = peak->to_double();
      out += wrapped(fmt::format("{} {} a device, {} in all", type.empty() ? "any type" : type, scaled(one, "FLOP/s"),
                                 scaled(one * static_cast<double>(cluster.devices()), "FLOP/s")),
                     style.width, "  ", "    ");
    }
  }
  for (const Network& network : cluster.networks) {
    out += heading(fmt::format("network {}: {}", network.name, axes_text(network)), style);
    out += wrapped(describe(network), style.width, "  ", "  ");
    if (!network.source.empty()) out += wrapped("source: " + network.source, style.width, "  ", "    ");
  }
  if (!cluster.notes.empty()) out += section("Notes", style);
  for (const std::string& note : cluster.notes) out += wrapped(note, style.width, "  - ", "    ");
  return out;
}

}  // namespace einflow
