// Which tensors are on the devices, and in which placements.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster/devices/collectives.hpp"
#include "cluster/devices/local_einsum.hpp"
#include "cluster/program.hpp"

namespace einflow::cluster::devices {

/// A tensor in one placement, on all devices.
struct Copy {
  std::vector<Rank> ranks;
  Placement placement;
  Spread arrays;
  bool lasts = false;  ///< stays for the next microbatch
};

class Copies {
 public:
  explicit Copies(const DeviceMesh& mesh);

  /// Null where it is not there.
  Copy* find(const std::string& tensor, const Placement& placement);
  /// Puts it there, in place of what was there in that placement.
  Copy& put(const std::string& tensor, Copy copy);
  /// False where there is none.
  bool drop(const std::string& tensor, const Placement& placement);
  /// Drops all that do not last.
  void end_microbatch();

  /// Counts what is there now, and on each device so many elements more, into the peak.
  void note_peak(const std::vector<std::int64_t>& buffers = {});
  const std::vector<std::int64_t>& peak() const { return peak_; }

 private:
  std::map<std::string, std::vector<Copy>> copies_;
  std::vector<std::int64_t> peak_;
};

/// Cuts a whole tensor for the devices; of a partial placement device 0 of the axis has all, the others the operator's
/// identity. Errors: a number of values that is not the tensor's.
Result<Spread> scattered(const std::vector<Rank>& ranks, const Placement& placement, const DeviceMesh& mesh,
                         const Values& whole);

/// The whole tensor from the devices' arrays, partial terms joined. Errors: replicas that differ, partial states of
/// different operators.
Result<Values> gathered(const std::string& tensor, const Copy& copy, const DeviceMesh& mesh);

/// The ranks of every tensor that the program's steps name; several where its ranks have other names in some of them
/// (keys as s when they are made, as t when queries read them).
using Shapes = std::map<std::string, std::vector<std::vector<Rank>>>;
/// Errors: a tensor with two shapes.
Result<Shapes> shapes_of(const Program& program);
/// Those that have all ranks that the placement splits; null where none has.
const std::vector<Rank>* ranks_for(const std::vector<std::vector<Rank>>& names, const Placement& placement);

}  // namespace einflow::cluster::devices
