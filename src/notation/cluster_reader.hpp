// Clusters in einflow's own form:
//
//   name: dgx-h100-superpod
//   source: "where the figures are from"
//   device: h100-sxm                # a machine of the library, or a machine in place
//   networks:                       # outermost first; devices are numbered row by row over all axes
//     - {network: leaf-spine, axes: {node: 32}, topology: fat tree, bandwidth: 50 GB/s, latency: 2.7 us,
//        oversubscription: 1, source: "..."}
//     - {network: nvlink, axes: {gpu: 8}, topology: switch, bandwidth: 450 GB/s, latency: 600 ns,
//        in_network_reduction: true, source: "..."}
//   notes: ["..."]
//
// topology: switch, fully connected, ring, torus, fat tree. bandwidth is per direction: of a device's port (switch,
// fat tree), of one link (the others). latency is from a send to its receipt, of a message of no bytes.
// oversubscription (a fat tree only, 1 where left out) is the bandwidth of the ports below over that above.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/yaml.hpp"
#include "cluster/cluster.hpp"
#include "notation/spec_reader.hpp"

namespace einflow {

/// Whether the tree is a cluster: it has the key `networks`.
bool is_cluster(const YamlNode& node);

/// Reads a cluster; nothing after errors. Those of a device that the library does not have point at its name.
std::optional<cluster::Cluster> read_cluster(const YamlNode& node, const Library& library, Diagnostics& errors);

/// Reads the text of a cluster file. Errors carry the source's name.
Result<cluster::Cluster> read_cluster_text(const SourceText& source, const Library& library);

/// The cluster with other sizes of some axes: "node=128" or "node=128,gpu=4"; empty changes nothing. Errors: an axis
/// that it does not have, a size below 1, an axis named twice.
Result<cluster::Cluster> with_sizes(cluster::Cluster cluster, const std::string& sizes);

/// "NAME" of the library or "NAME:axis=size,axis=size". The resized one keeps its name.
Result<cluster::Cluster> load_cluster(const Library& library, const std::string& text);

}  // namespace einflow
