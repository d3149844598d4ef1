// Limits of time that a busy machine does not break.
#pragma once

#include <ctime>

namespace einflow::testing {

/// Processor seconds that this process has used since `start`: tests run beside each other. Under sanitizers, which
/// make time say nothing, 0.
inline double processor_seconds_since(std::clock_t start) {
#ifdef __SANITIZE_ADDRESS__
  static_cast<void>(start);
  return 0;
#else
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
#endif
}

/// How many times its figure a limit may be passed on a shared machine before a test fails: what is looked for is work
/// that grows faster than the text.
constexpr double kBusyMachine = 2;

}  // namespace einflow::testing
