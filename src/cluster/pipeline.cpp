#include "cluster/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/count.hpp"
#include "base/message.hpp"

namespace einflow::cluster {

namespace {

constexpr std::int64_t kMostItems = std::int64_t{1} << 40;
constexpr std::int64_t kMostListed = std::int64_t{1} << 24;
constexpr std::array<std::pair<Schedule, const char*>, 4> kNames{{{Schedule::gpipe, "gpipe"},
                                                                  {Schedule::one_f_one_b, "1f1b"},
                                                                  {Schedule::interleaved, "interleaved"},
                                                                  {Schedule::zero_bubble, "zero-bubble"}}};

/// Forward items before the first backward one.
std::int64_t warm_up(const PipelineShape& shape, std::int64_t device) {
  const std::int64_t all = shape.microbatches * shape.chunks;
  if (shape.schedule == Schedule::gpipe) return all;
  const std::int64_t behind = shape.devices - device - 1;
  if (shape.schedule == Schedule::interleaved && shape.chunks > 1) {
    // Megatron-LM at 00611e6, get_pp_rank_microbatches, with groups of as many microbatches as devices.
    return std::min(all, 2 * behind + (shape.chunks - 1) * shape.devices);
  }
  return std::min(all, behind);
}

/// The number-th forward (or backward) item of a device: groups of `devices` microbatches, chunk after chunk.
WorkItem numbered(const PipelineShape& shape, WorkKind kind, std::int64_t number) {
  const std::int64_t group = shape.devices * shape.chunks;
  WorkItem item{kind, (number % group) / shape.devices, number / group * shape.devices + number % shape.devices};
  if (shape.chunks == 1) item = {kind, 0, number};
  if (kind != WorkKind::forward) item.chunk = shape.chunks - 1 - item.chunk;
  return item;
}

std::vector<WorkItem> work_list(const PipelineShape& shape, std::int64_t device) {
  const std::int64_t all = shape.microbatches * shape.chunks;
  const std::int64_t first = warm_up(shape, device);
  const bool apart = shape.schedule == Schedule::zero_bubble;
  std::vector<WorkItem> list;
  list.reserve(static_cast<std::size_t>(all * (apart ? 3 : 2)));
  std::int64_t forward = 0;
  while (forward < first) list.push_back(numbered(shape, WorkKind::forward, forward++));
  for (std::int64_t backward = 0; backward < all; ++backward) {
    if (forward < all) list.push_back(numbered(shape, WorkKind::forward, forward++));
    list.push_back(numbered(shape, WorkKind::backward, backward));
    // A later stage has its first gradient earlier: it keeps as many weight gradients for the time when it would wait.
    if (apart && backward >= device) list.push_back(numbered(shape, WorkKind::weight, backward - device));
  }
  for (std::int64_t left = std::max<std::int64_t>(0, all - device); apart && left < all; ++left) {
    list.push_back(numbered(shape, WorkKind::weight, left));
  }
  return list;
}

}  // namespace

Result<void> check(const PipelineShape& shape) {
  if (shape.devices < 1 || shape.microbatches < 1 || shape.chunks < 1) {
    return fail("a pipeline has at least one stage, one microbatch and one chunk a stage");
  }
  const Count items = Count(shape.devices) * Count(shape.chunks) * Count(shape.microbatches);
  if (items > kMostItems || items.overflowed()) {
    return fail(fmt::format("a pipeline of {} devices, {} chunks and {} microbatches is too large", shape.devices,
                            shape.chunks, shape.microbatches));
  }
  if (shape.chunks > 1 && shape.schedule != Schedule::interleaved) {
    return fail(
        fmt::format("{} chunks a device need the interleaved schedule, not {}", shape.chunks, to_text(shape.schedule)));
  }
  if (shape.schedule == Schedule::interleaved && shape.chunks > 1 && shape.microbatches % shape.devices != 0) {
    return fail(fmt::format("the interleaved schedule takes microbatches in groups of {} stages: {} is no multiple",
                            shape.devices, shape.microbatches));
  }
  return {};
}

Result<void> check(const PipelineShape& shape, std::size_t stages) {
  if (auto fits = check(shape); !fits) return fits;
  if (static_cast<std::int64_t>(stages) == shape.devices * shape.chunks) return {};
  return fail(fmt::format("a pipeline of {} devices with {} chunks has {} stages, not {}", shape.devices, shape.chunks,
                          shape.devices * shape.chunks, stages));
}

std::string to_text(Schedule schedule) {
  for (const auto& [known, name] : kNames) {
    if (known == schedule) return name;
  }
  return {};
}

Result<Schedule> parse_schedule(std::string_view text) {
  std::vector<std::string> names;
  for (const auto& [schedule, name] : kNames) {
    if (text == name) return schedule;
    names.emplace_back(name);
  }
  return fail(fmt::format("no pipeline schedule is called {}", in_quotes(text)), name_hint(text, names, "schedules"));
}

Result<std::vector<std::vector<WorkItem>>> work_lists(const PipelineShape& shape) {
  if (auto fits = check(shape); !fits) return tl::unexpected(fits.error());
  if (const std::int64_t items = shape.devices * shape.chunks * shape.microbatches; items > kMostListed) {
    return fail(fmt::format("the lists of a pipeline of {} devices, {} chunks and {} microbatches are too long",
                            shape.devices, shape.chunks, shape.microbatches));
  }
  std::vector<std::vector<WorkItem>> lists;
  for (std::int64_t device = 0; device < shape.devices; ++device) lists.push_back(work_list(shape, device));
  return lists;
}

std::int64_t live_chunks(const PipelineShape& shape, std::int64_t device) {
  const std::int64_t all = shape.microbatches * shape.chunks;
  if (shape.schedule == Schedule::gpipe) return all;
  // With as many weight gradients behind as the device has warm-up items less than the first one, all hold the same.
  if (shape.schedule == Schedule::zero_bubble) return std::min(all, shape.devices);
  return std::min(all, warm_up(shape, device) + 1);
}

double live_microbatches(const PipelineShape& shape, std::int64_t device) {
  return static_cast<double>(live_chunks(shape, device)) / static_cast<double>(shape.chunks);
}

std::vector<std::int64_t> layers_of_stages(std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> each(static_cast<std::size_t>(stages), layers / stages);
  for (std::int64_t stage = 0; stage < layers % stages; ++stage) ++each[static_cast<std::size_t>(stage)];
  return each;
}

}  // namespace einflow::cluster
