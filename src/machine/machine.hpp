// Where it is computed: a chain of levels, outermost first (docs/law.md section 2).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/count.hpp"
#include "base/ratio.hpp"

namespace einflow {

/// Energy of moving data: how the user stated it.
struct AccessEnergy {
  enum class Per { byte, element, access };
  double picojoules = 0;
  Per per = Per::byte;
  bool operator==(const AccessEnergy&) const = default;
};

/// Memory. Absent = not stated: unbounded capacity; bandwidth or energy not reported ("uncounted").
struct Storage {
  std::string name;
  std::optional<Count> capacity_bits;    ///< per instance
  std::optional<Ratio> read_bandwidth;   ///< bytes per cycle and instance
  std::optional<Ratio> write_bandwidth;  ///< bytes per cycle and instance
  bool shared_port = false;              ///< reads and writes share `read_bandwidth`
  std::optional<AccessEnergy> read_energy;
  std::optional<AccessEnergy> write_energy;
  std::optional<Count> access_bits;  ///< width of one access, for energies per access
  bool double_buffered = false;
  std::string source;  ///< where the figures are from; may be empty
  bool operator==(const Storage&) const = default;
};

struct MeshAxis {
  std::string name;
  std::int64_t size = 1;
  bool operator==(const MeshAxis&) const = default;
};

/// How the fill and drain of a systolic mesh are charged (docs/law.md section 6, docs/law.md).
enum class SystolicTiming {
  none,
  last_operation,  ///< a fold ends when its last operation has been executed
  drained,         ///< ... when its last result has left the array
};

struct Mesh {
  std::string name;
  std::vector<MeshAxis> axes;
  bool multicast = false;
  bool reduction = false;
  bool forwarding = false;  ///< needs multicast
  SystolicTiming systolic = SystolicTiming::none;
  std::optional<AccessEnergy> hop_energy;  ///< per byte or element, and hop
  std::string source;
  std::int64_t size() const;  ///< product of its axes
  bool operator==(const Mesh&) const = default;
};

/// A figure of the compute level that may differ by element type; the entry "" is for any type.
template <typename T>
using PerType = std::map<std::string, T>;

struct Compute {
  std::string name;
  PerType<Ratio> rate;     ///< operations per cycle and instance; an operation is one MAC
  PerType<double> energy;  ///< pJ per operation; empty = not stated
  /// Atomic shape: rank name -> extent (an MMA of m 16, n 8, k 16); empty = one operation at a time.
  /// A rank that it does not name has 1.
  std::vector<std::pair<std::string, std::int64_t>> atomic;
  bool operand_latches = false;  ///< an operand unchanged since the step before is not read again
  std::string source;
  bool operator==(const Compute&) const = default;
};

using Level = std::variant<Storage, Mesh, Compute>;

/// Outermost storage first; exactly one compute level, the last.
struct Machine {
  std::string name;
  Ratio clock_hz = Ratio(Count(1000000000));
  bool clock_stated = false;
  std::vector<Level> levels;
  std::string source;  ///< general provenance
  std::vector<std::string> notes;

  const std::string& level_name(int level) const;
  int level_named(std::string_view name) const;  ///< index, or -1
  int compute_level() const { return static_cast<int>(levels.size()) - 1; }
  const Compute& compute() const { return std::get<Compute>(levels.back()); }
  const Storage* storage(int level) const { return std::get_if<Storage>(&levels[static_cast<std::size_t>(level)]); }
  const Mesh* mesh(int level) const { return std::get_if<Mesh>(&levels[static_cast<std::size_t>(level)]); }
  /// Compute instances: the product of all meshes.
  Count compute_instances() const;
  bool operator==(const Machine&) const = default;
};

/// The entry for the type, else the one for any type, else nothing.
template <typename T>
std::optional<T> figure_for(const PerType<T>& figures, const std::string& type) {
  auto found = figures.find(type);
  if (found == figures.end()) found = figures.find("");
  if (found == figures.end()) return std::nullopt;
  return found->second;
}

}  // namespace einflow
