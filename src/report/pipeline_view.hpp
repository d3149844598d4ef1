// A pipeline schedule as a picture: one line a device, time to the right.
#pragma once

#include <string>

#include "base/diagnostic.hpp"
#include "cluster/pipeline.hpp"
#include "report/layout.hpp"

namespace einflow {

/// The schedule executed with items of one unit of time each and sends in no time, then what that costs:
///
///     device 0  F0 F1 F2 F3  .  .  . B0 F4 B1
///
/// F forward, B backward, W weight gradients, with the microbatch; a small letter behind it is the chunk. At most the
/// style's width: later columns are cut and said to be, as are devices between the first ones and the last.
/// Errors: those of work_lists().
Result<std::string> schedule_picture(const cluster::PipelineShape& shape, const TextStyle& style);

}  // namespace einflow
