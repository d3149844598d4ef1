#include "simulate/simulate.hpp"

#include "simulate/executor.hpp"

namespace einflow {

Result<Simulation> simulate(const Spec& spec, const SimulateOptions& options) {
  const Count operations = spec.einsum.operations();
  if (operations.overflowed() || operations > options.limit_operations) {
    const std::string how_many = operations.overflowed() ? "more than 10^38" : operations.str();
    return fail("the simulator executes every operation, and this problem has " + how_many + "; the limit is " +
                    options.limit_operations.str(),
                "raise the limit (--limit " + (operations.overflowed() ? std::string("N") : operations.str()) +
                    ") or make the ranks smaller");
  }
  return execution::Executor(spec, options).run();
}

}  // namespace einflow
