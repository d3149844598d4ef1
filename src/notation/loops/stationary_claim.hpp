// "W stationary" beside a loop: what a text says of its own nest.
#pragma once

#include <string>

#include "notation/loops/nest_text.hpp"
#include "notation/loops/ranks.hpp"

namespace einflow::loops {

/// What is wrong with a comment `NAMES stationary` beside a loop, in words: the loop moves one of the tensors. Empty
/// where the comment is right or says no such thing.
std::string wrong_stationary_claim(const Comment& comment, const RankedNest& ranked, const NestText& text,
                                   std::size_t loop);

}  // namespace einflow::loops
