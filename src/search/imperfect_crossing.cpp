#include "search/imperfect_crossing.hpp"

namespace einflow::imperfect {

std::optional<CountedCrossing> count_crossing(const Spec& nest, int tensor, int hold, PositionCache& cache) {
  const Crossing crossing{&nest, tensor, hold, &cache};
  const View alone_view = crossing.alone();
  const View joined_view = crossing.joined();
  const auto alone = transfer(alone_view, crossing.keep());
  if (!alone) return std::nullopt;
  CountedCrossing counted;
  counted.tile = alone->tile.to_double();
  counted.passed.alone = alone->total().to_double();
  counted.passed.merged = counted.passed.alone;
  if (joined_view.join != alone_view.join) {
    const auto joined = transferred(joined_view, crossing.keep());
    if (!joined) return std::nullopt;
    counted.passed.merged = joined->to_double();
  }
  if (crossing.forwards()) {
    const auto read = transferred(joined_view, Keep::forwarded);
    if (!read) return std::nullopt;
    counted.passed.forwarded = counted.passed.merged - read->to_double();
    counted.passed.merged = read->to_double();
  }
  return counted;
}

}  // namespace einflow::imperfect
