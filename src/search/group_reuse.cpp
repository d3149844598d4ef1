#include "search/group_reuse.hpp"

#include <algorithm>
#include <cstdlib>

namespace einflow {

namespace {

constexpr double kMostPositions = 2e6;
constexpr std::size_t kMostRuns = 100'000;

Runs moved(const Runs& runs, std::int64_t by) {
  Runs result = runs;
  for (Interval& run : result) {
    run.begin += by;
    run.end += by;
  }
  return result;
}

void add_to(std::vector<std::int64_t>& question, const std::vector<GroupLoop>& loops) {
  question.push_back(static_cast<std::int64_t>(loops.size()));
  for (const GroupLoop& loop : loops) question.insert(question.end(), {loop.term, loop.stride, loop.factor});
}

Runs united_at(const Runs& runs, const std::vector<std::int64_t>& offsets) {
  Runs result;
  for (const std::int64_t offset : offsets) {
    for (const Interval& run : runs) result.push_back({run.begin + offset, run.end + offset});
  }
  join_runs(result);
  return result;
}

}  // namespace

std::size_t GroupReuse::QuestionHash::operator()(const Question& question) const {
  std::uint64_t mixed = question.size();
  for (const std::int64_t part : question) {
    mixed = (mixed ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15U;
    mixed ^= mixed >> 29U;
  }
  return mixed;
}

GroupReuse::GroupReuse(const Group& group, const Shapes& shapes) : group_(group), shapes_(shapes) {
  plain_ = !group.stored && (group.terms.empty() || (group.terms.size() == 1 && group.terms[0].coefficient == 1));
  double combinations = 1;
  for (const Term& term : group.terms) {
    radix_.push_back(static_cast<int>(shapes.divisors_of(term.rank).size()));
    combinations *= radix_.back();
  }
  std::vector<int> at(group.terms.size(), 0);
  for (double done = 0; done < combinations; ++done) {
    std::vector<std::int64_t> lengths;
    for (std::size_t k = 0; k < at.size(); ++k) {
      lengths.push_back(shapes.divisors_of(group.terms[k].rank)[static_cast<std::size_t>(at[k])]);
    }
    tiles_.push_back(tile_of(lengths));
    tractable_ = tractable_ && (!group.stored || !tiles_.back().sizes.empty());
    for (std::size_t k = 0; k < at.size() && ++at[k] == radix_[k]; ++k) at[k] = 0;
  }
}

int GroupReuse::tile_number(int shape) const {
  int number = 0;
  for (std::size_t k = group_.terms.size(); k-- > 0;) {
    number = number * radix_[k] + shapes_.index(shape, group_.terms[k].rank);
  }
  return number;
}

int GroupReuse::term_of(int rank) const {
  for (std::size_t k = 0; k < group_.terms.size(); ++k) {
    if (group_.terms[k].rank == rank) return static_cast<int>(k);
  }
  return -1;
}

std::int64_t GroupReuse::width(int tile) const {
  const Runs& image = tiles_[static_cast<std::size_t>(tile)].image;
  return image.size() == 1 ? image[0].end - image[0].begin : 0;
}

double GroupReuse::brought(int tile, std::int64_t shift) const {
  const Tile& known = tiles_[static_cast<std::size_t>(tile)];
  const std::int64_t stays = std::max<std::int64_t>(width(tile) - shift, 0);
  if (known.sizes.empty())
    return known.positions * static_cast<double>(std::max<std::int64_t>(known.largest - stays, 0));
  double sum = 0;
  for (const std::int64_t size : known.sizes) sum += static_cast<double>(std::max<std::int64_t>(size - stays, 0));
  return sum;
}

GroupReuse::Tile GroupReuse::tile_of(const std::vector<std::int64_t>& lengths) const {
  Tile tile;
  std::vector<Progression> progressions;
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    progressions.push_back({group_.terms[k].coefficient, 0, lengths[k]});
    tile.positions *= static_cast<double>(shapes_.extent(group_.terms[k].rank) / lengths[k]);
  }
  // Runs of a set that cannot be written down: the mapper says that it does not go there.
  if (!sum_of_progressions(progressions.data(), progressions.size(), kMostRuns, tile.image)) tile.image = {{0, 1}};
  const std::int64_t size = measure(tile.image);
  if (!group_.stored) {
    tile.largest = size;
    tile.present = tile.positions * static_cast<double>(size);
    return tile;
  }
  if (tile.positions > kMostPositions) {
    tile.largest = size;
    return tile;
  }
  for (const std::int64_t offset : offsets(lengths, {})) {
    const std::int64_t there = clipped(tile.image, offset);
    tile.sizes.push_back(there);
    tile.largest = std::max(tile.largest, there);
    tile.present += static_cast<double>(there);
  }
  return tile;
}

std::vector<std::int64_t> GroupReuse::lengths_of(int tile) const {
  std::vector<std::int64_t> lengths;
  for (std::size_t k = 0; k < group_.terms.size(); ++k) {
    lengths.push_back(shapes_.divisors_of(group_.terms[k].rank)[static_cast<std::size_t>(tile % radix_[k])]);
    tile /= radix_[k];
  }
  return lengths;
}

std::vector<std::int64_t> GroupReuse::offsets(const std::vector<std::int64_t>& lengths,
                                              const std::vector<GroupLoop>& fixed) const {
  std::vector<std::int64_t> all{0};
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    std::vector<std::int64_t> extended;
    for (std::int64_t at = 0; at < shapes_.extent(group_.terms[k].rank); at += lengths[k]) {
      const bool first = std::all_of(fixed.begin(), fixed.end(), [&](const GroupLoop& loop) {
        return loop.term != static_cast<int>(k) || at / loop.stride % loop.factor == 0;
      });
      if (!first) continue;
      for (const std::int64_t base : all) extended.push_back(base + group_.terms[k].coefficient * at);
    }
    all = std::move(extended);
  }
  return all;
}

std::int64_t GroupReuse::clipped(Runs runs, std::int64_t offset) const {
  if (!group_.stored) return measure(runs);
  clip(runs, {group_.stored->begin - offset, group_.stored->end - offset});
  return measure(runs);
}

std::vector<std::int64_t> GroupReuse::sibling_offsets(const std::vector<GroupLoop>& united) const {
  std::vector<std::int64_t> all{0};
  for (const GroupLoop& loop : united) {
    const std::size_t before = all.size();
    for (std::int64_t c = 1; c < loop.factor; ++c) {
      for (std::size_t i = 0; i < before; ++i) all.push_back(all[i] + c * loop.stride * coefficient(loop.term));
    }
  }
  return all;
}

double GroupReuse::present(int tile, const std::vector<GroupLoop>& united) const {
  if (united.empty()) return present(tile);
  const Tile& known = tiles_[static_cast<std::size_t>(tile)];
  const Runs together = united_at(known.image, sibling_offsets(united));
  if (!group_.stored) {
    double positions = known.positions;
    for (const GroupLoop& loop : united) positions /= static_cast<double>(loop.factor);
    return positions * static_cast<double>(measure(together));
  }
  Question question{tile};
  add_to(question, united);
  const auto [entry, is_new] = known_.try_emplace(std::move(question), 0);
  if (!is_new) return entry->second;
  double sum = 0;
  for (const std::int64_t base : offsets(lengths_of(tile), united)) sum += static_cast<double>(clipped(together, base));
  return entry->second = sum;
}

double GroupReuse::kept_at(int tile, std::int64_t prev, std::int64_t now, Together together,
                           const std::vector<std::int64_t>& united, bool padded) const {
  const bool clips = padded && group_.stored.has_value();
  const Runs& image = tiles_[static_cast<std::size_t>(tile)].image;
  const auto cut = [&](Runs runs) {
    if (clips) clip(runs, *group_.stored);
    return runs;
  };
  if (together == Together::alone || united.size() == 1) {
    if (image.size() == 1) {
      std::int64_t begin = image[0].begin + std::max(prev, now), end = image[0].end + std::min(prev, now);
      if (clips) {
        begin = std::max(begin, group_.stored->begin);
        end = std::min(end, group_.stored->end);
      }
      return static_cast<double>(std::max<std::int64_t>(end - begin, 0));
    }
    return static_cast<double>(measure_common(cut(moved(image, prev)), cut(moved(image, now))));
  }
  const Runs all_now = cut(moved(united_at(image, united), now));
  if (together == Together::forwarded) {
    return static_cast<double>(measure_common(all_now, cut(moved(united_at(image, united), prev))));
  }
  Runs arriving;
  append_difference(moved(image, now), moved(image, prev), arriving);
  return static_cast<double>(measure(all_now) - measure(cut(united_at(arriving, united))));
}

double GroupReuse::kept(int tile, const std::vector<GroupLoop>& inside, const std::optional<GroupLoop>& own,
                        Together together, const std::vector<GroupLoop>& united, bool padded) const {
  const std::vector<std::int64_t> siblings =
      sibling_offsets(together == Together::alone ? std::vector<GroupLoop>{} : united);
  std::int64_t wrap = 0;
  for (const GroupLoop& loop : inside) wrap += coefficient(loop.term) * loop.stride * (loop.factor - 1);
  const std::int64_t step = own ? coefficient(own->term) * own->stride : 0;
  const std::int64_t changes = own ? own->factor - 1 : 1;
  if (!group_.stored || !padded) {
    double positions = tiles_[static_cast<std::size_t>(tile)].positions * static_cast<double>(changes);
    if (together != Together::alone) positions /= static_cast<double>(siblings.size());
    for (const GroupLoop& loop : inside) positions /= static_cast<double>(loop.factor);
    if (own) positions /= static_cast<double>(own->factor);
    return positions * kept_at(tile, wrap, step, together, siblings, false);
  }
  Question question{tile, static_cast<std::int64_t>(together)};
  add_to(question, inside);
  if (own) add_to(question, {*own});
  if (together != Together::alone) add_to(question, united);
  const auto [entry, is_new] = known_.try_emplace(std::move(question), 0);
  if (!is_new) return entry->second;
  std::vector<GroupLoop> fixed = inside;
  if (own) fixed.push_back(*own);
  if (together != Together::alone) fixed.insert(fixed.end(), united.begin(), united.end());
  double sum = 0;
  for (const std::int64_t base : offsets(lengths_of(tile), fixed)) {
    for (std::int64_t v = 0; v < changes; ++v) {
      sum += kept_at(tile, base + v * step + wrap, base + (own ? (v + 1) * step : 0), together, siblings, true);
    }
  }
  return entry->second = sum;
}

}  // namespace einflow
