// The range of a loop, in the spellings of books and programs.
#pragma once

#include "notation/loops/nest_text.hpp"
#include "notation/loops/reading.hpp"

namespace einflow::loops {

/// Behind `in`: [0, 8), [0:8), [0, 7], range(8), range(0, 64, 16), 0 to 7, M. False where an error was added.
bool read_range_in(const Reading& reading, WrittenLoop& loop);
/// Behind `=`: 0 to 7, 0 to 63 step 16; in brackets also 0; m < 8; m++.
bool read_range_from(const Reading& reading, WrittenLoop& loop, bool brackets);
/// From `start` up to `end`, which is outside, in steps.
bool set_range(const Reading& reading, WrittenLoop& loop, const Affine& start, const Bound& end, Count step);

}  // namespace einflow::loops
