// The statement inside the loops: Y[m, n] += X[m, k] * W[k, n].
#pragma once

#include "notation/loops/nest_text.hpp"
#include "notation/loops/reading.hpp"

namespace einflow::loops {

/// `Y[m, n] +=`: the output and the assignment. False where an error was added.
bool read_output(const Reading& reading, WrittenStatement& statement);
/// Behind `=`: takes a number and nothing more, `0` or `-inf`; whether there is one.
bool take_initial_value(const Reading& reading);
/// The operands. `Y[m] = Y[m] + X[m,k]` and `Y[m] = max(Y[m], X[m,k])` are reductions.
bool read_operands(const Reading& reading, WrittenStatement& statement);

}  // namespace einflow::loops
