#include "cluster/pipeline_formula.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace einflow::cluster {

namespace {

using Stage = StageTimes<std::int64_t>;

bool are_equal(const std::vector<Stage>& stages, bool weights) {
  return std::all_of(stages.begin(), stages.end(), [&](const Stage& stage) {
    return stage.forward == stages.front().forward && stage.backward == stages.front().backward &&
           (!weights || stage.weight == stages.front().weight);
  });
}

/// The longest way from the start to the first backward item of stage `to`: forward up to a stage `top`, as many items
/// as are needed before something comes back on the slowest stage passed, then backward down.
std::int64_t way_to(const std::vector<Stage>& stages, std::size_t to, std::int64_t Stage::* up,
                    std::int64_t Stage::* down) {
  std::int64_t longest = 0;
  std::int64_t climbed = 0;
  std::int64_t slowest = 0;
  std::int64_t descent = 0;
  for (std::size_t top = 0; top < stages.size(); ++top) {
    climbed += stages[top].*up;
    slowest = std::max(slowest, stages[top].*up);
    if (top < to) continue;
    descent += stages[top].*down;
    const auto repeats = static_cast<std::int64_t>(stages.size() - 1 - top);
    longest = std::max(longest, climbed + repeats * slowest + descent);
  }
  return longest;
}

/// An item of 1F1B waits for a neighbour or for the item before it on its device. Number the slots so that stage k has
/// its forward item i in slot i + k, and in the same slot, after it, backward item i + k - (p - 1). From one slot to
/// the next a chain of waits goes a step up, or any steps down, or stays. What goes up and comes down again takes as
/// many slots as it passes stages, and has no more than the slowest of them would have had: the longest chain goes to
/// one stage, stays there, and leaves it. Only the p slots at both ends, which have forward (backward) items alone, can
/// be better spent elsewhere.
std::int64_t uneven_one_f_one_b(const std::vector<Stage>& stages, std::int64_t microbatches) {
  const auto p = static_cast<std::int64_t>(stages.size());
  std::int64_t longest = 0;
  for (std::size_t place = 0; place < stages.size(); ++place) {
    const std::int64_t between = microbatches - 1 - p + static_cast<std::int64_t>(place);
    longest = std::max(longest, way_to(stages, place, &Stage::forward, &Stage::backward) +
                                    between * (stages[place].forward + stages[place].backward) +
                                    way_to(stages, place, &Stage::backward, &Stage::forward));
  }
  return longest;
}

std::int64_t gpipe_total(const std::vector<Stage>& stages, std::int64_t microbatches) {
  std::int64_t total = 0;
  for (const auto time : {&Stage::forward, &Stage::backward}) {
    std::int64_t slowest = 0;
    for (const Stage& stage : stages) {
      total += stage.*time;
      slowest = std::max(slowest, stage.*time);
    }
    total += (microbatches - 1) * slowest;
  }
  return total;
}

std::string product(std::int64_t chunks, std::int64_t microbatches) {
  return chunks == 1 ? fmt::format("{}", microbatches) : fmt::format("({} x {})", chunks, microbatches);
}

}  // namespace

std::optional<Ratio> bubble_of_ideal(const PipelineShape& shape) {
  if (shape.schedule == Schedule::zero_bubble) return std::nullopt;
  return Ratio(Count(shape.devices) - Count(1), Count(shape.chunks) * Count(shape.microbatches));
}

std::optional<Ratio> bubble_of_total(const PipelineShape& shape) {
  if (shape.schedule == Schedule::zero_bubble) return std::nullopt;
  const Count waited = Count(shape.devices) - Count(1);
  return Ratio(waited, Count(shape.chunks) * Count(shape.microbatches) + waited);
}

std::optional<Ratio> zero_bubble_of_ideal(const PipelineShape& shape, const StageTimes<std::int64_t>& stage) {
  const bool holds = stage.weight <= std::min(stage.forward, stage.backward) && shape.devices <= shape.microbatches;
  const Count ideal = Count(shape.microbatches) * (Count(stage.forward) + Count(stage.backward) + Count(stage.weight));
  if (shape.schedule != Schedule::zero_bubble || !holds || ideal == Count(0)) return std::nullopt;
  return Ratio(Count(shape.devices - 1) * (Count(stage.forward) + Count(stage.backward) - Count(stage.weight)), ideal);
}

std::string bubble_formula(const PipelineShape& shape) {
  const std::int64_t p = shape.devices;
  const std::int64_t m = shape.microbatches;
  if (shape.schedule == Schedule::zero_bubble) {
    return fmt::format("(p - 1)(f + b - w) / (m (f + b + w)) = ({} - 1)(f + b - w) / ({} (f + b + w))", p, m);
  }
  return fmt::format("{} = ({} - 1) / {}", shape.chunks == 1 ? "(p - 1) / m" : "(p - 1) / (v m)", p,
                     product(shape.chunks, m));
}

std::optional<std::int64_t> microbatches_for(const PipelineShape& shape, const Ratio& share) {
  if (shape.schedule == Schedule::zero_bubble || !(Ratio() < share) || share.overflowed()) return std::nullopt;
  // (p - 1) / (v m + p - 1) <= a / b, so m >= (p - 1)(b - a) / (a v).
  const Count waited = Count(shape.devices) - Count(1);
  const Count rest = std::max(Count(0), share.denominator() - share.numerator());
  Count fewest = std::max(Count(1), ceil_div(waited * rest, share.numerator() * Count(shape.chunks)));
  if (shape.chunks > 1) fewest = ceil_div(fewest, Count(shape.devices)) * Count(shape.devices);
  return fewest.to_int64();
}

std::optional<std::int64_t> closed_total(const PipelineShape& shape, const std::vector<Stage>& stages,
                                         std::int64_t transfer) {
  const std::int64_t p = shape.devices;
  const std::int64_t m = shape.microbatches;
  const Stage& first = stages.front();
  const std::int64_t both = first.forward + first.backward;
  const bool at_once = transfer == 0 || p == 1;
  switch (shape.schedule) {
    case Schedule::gpipe:
      return gpipe_total(stages, m) + 2 * (p - 1) * transfer;
    case Schedule::interleaved:
      if (shape.chunks > 1) {
        if (!at_once || !are_equal(stages, false)) return std::nullopt;
        return (shape.chunks * m + p - 1) * both;
      }
      [[fallthrough]];  // one chunk: 1F1B
    case Schedule::one_f_one_b:
      if (are_equal(stages, false)) return (m + p - 1) * both + 2 * transfer * (m + p - 2 - (m + p - 2) / p);
      if (!at_once || m <= p) return std::nullopt;
      return uneven_one_f_one_b(stages, m);
    case Schedule::zero_bubble:
      if (!at_once || !are_equal(stages, true) || m < p || first.weight > std::min(first.forward, first.backward)) {
        return std::nullopt;
      }
      return m * (both + first.weight) + (p - 1) * (both - first.weight);
  }
  return std::nullopt;
}

}  // namespace einflow::cluster
