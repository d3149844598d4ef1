// A cluster for people and for scripts.
#pragma once

#include <string>

#include "cluster/cluster.hpp"
#include "report/json.hpp"
#include "report/layout.hpp"

namespace einflow {

/// Device, sizes, networks with their figures and sources ("einflow-cluster-1").
Json cluster_json(const cluster::Cluster& cluster);

/// The same for a terminal.
std::string cluster_text(const cluster::Cluster& cluster, const TextStyle& style);

/// One line for a list: "infiniband (node 32) > nvlink (gpu 8)".
std::string networks_line(const cluster::Cluster& cluster);

/// "switch", "fat tree": as a cluster's file has it.
std::string to_text(cluster::Topology topology);

}  // namespace einflow
