// How the program ends.
#pragma once

namespace einflow {

enum ExitStatus : int {
  kDone = 0,
  kCheckFailed = 1,  ///< the simulator disagrees, a mapping does not fit
  kBadInput = 2,
  kInternalError = 3,
};

}  // namespace einflow
