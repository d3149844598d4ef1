// A cluster: devices, and the networks that join them, each with its figures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ratio.hpp"
#include "cluster/placement.hpp"
#include "machine/machine.hpp"

namespace einflow::cluster {

enum class Topology {
  switched,         ///< one non-blocking switch
  fully_connected,  ///< a link to each of the others
  ring,
  torus,     ///< a ring along each of its axes
  fat_tree,  ///< switches in layers, with an oversubscription
};

/// What joins the things inside it: GPUs in a node, nodes in a cluster.
struct Network {
  std::string name;
  std::vector<MeshAxis> axes;
  Topology topology = Topology::switched;
  /// Bytes per second and direction: of a device's port (switched, fat_tree), of one link (the others).
  Ratio bandwidth;
  Ratio latency;                      ///< seconds from a send to its receipt, of a message of no bytes
  Ratio oversubscription = Count(1);  ///< of a fat_tree: bandwidth of the ports below / above
  bool in_network_reduction = false;
  std::string source;

  std::int64_t size() const;
};

struct Cluster {
  std::string name;
  std::string source;
  Machine device;
  std::vector<Network> networks;  ///< outermost first
  std::vector<std::string> notes;

  std::int64_t devices() const;
  /// Capacity of the device's outermost storage.
  std::optional<Count> memory_bytes() const;
  /// Bytes per second of the device's outermost storage (shared, or the read direction).
  std::optional<Ratio> memory_bandwidth() const;
  /// FLOP per second of a whole device with operands of that type, dense; absent where the machine states none.
  std::optional<Ratio> peak_flops(const ElementType& type) const;
};

}  // namespace einflow::cluster
