// Times and bubbles of pipelines in closed form, each where it equals the executed schedule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ratio.hpp"
#include "cluster/pipeline.hpp"

namespace einflow::cluster {

/// The waiting of a pipeline with stages of equal time whose sends take no time (p devices, m microbatches, v chunks).
/// gpipe, 1f1b: (p - 1) / m (arXiv:1811.06965, arXiv:2104.04473 section 2.2.1); interleaved: (p - 1) / (v m) (its
/// section 2.2.2). zero_bubble needs times: zero_bubble_of_ideal.
/// Requires a shape that check() accepts; nothing for zero_bubble.
std::optional<Ratio> bubble_of_ideal(const PipelineShape& shape);
/// The same as a share of all the time: (p - 1) / (v m + p - 1).
std::optional<Ratio> bubble_of_total(const PipelineShape& shape);

/// zero_bubble (ZB-H1) with stages of equal time f, b (input gradients), w (weight gradients), no time for sends:
/// (p - 1)(f + b - w) / (m (f + b + w)), arXiv:2401.10241 section 2.3. Holds where w <= f, w <= b and p <= m; else
/// nothing.
std::optional<Ratio> zero_bubble_of_ideal(const PipelineShape& shape, const StageTimes<std::int64_t>& stage);

/// "(p - 1) / (v m) = (4 - 1) / (2 x 8)", of bubble_of_ideal; of zero_bubble its formula in f, b, w.
std::string bubble_formula(const PipelineShape& shape);

/// Fewest microbatches with which waiting is at most `share` of the time (bubble_of_total), a multiple of the devices
/// in an interleaved schedule. Nothing for zero_bubble, a share that is not above 0, or more than 64 bits.
std::optional<std::int64_t> microbatches_for(const PipelineShape& shape, const Ratio& share);

/// The total of run_pipeline where a closed form has it, f_k, b_k, w_k the times of stage k, t the transfer; else
/// nothing:
/// - gpipe, any times: sum f + (m - 1) max f + sum b + (m - 1) max b + 2 (p - 1) t.
/// - 1f1b, equal stages: (m + p - 1)(f + b) + 2 t (m + p - 2 - ceil((m - 1) / p)): with sends that take time the
///   schedule waits in its steady phase too.
/// - 1f1b, any times, t = 0, m > p: the largest over stages q of m - 1 - p + q times f_q + b_q, with the longest way
///   up to q before and down from it after (uneven_one_f_one_b in the .cpp). Where the first and the last stage alone
///   differ from the others, and m is large, that is about m times the slowest stage.
/// - interleaved, equal stages, t = 0: (v m + p - 1)(f + b).
/// - zero_bubble, equal stages, t = 0, w <= f, w <= b, p <= m: m (f + b + w) + (p - 1)(f + b - w).
/// Requires a shape and stages that check() accepts.
std::optional<std::int64_t> closed_total(const PipelineShape& shape,
                                         const std::vector<StageTimes<std::int64_t>>& stages, std::int64_t transfer);

}  // namespace einflow::cluster
