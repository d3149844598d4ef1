// The lists of a schedule, executed with the dependencies that they have.
#include "cluster/pipeline.hpp"

#include <algorithm>
#include <array>

namespace einflow::cluster {

namespace {

/// Most activations held while a device goes through its list.
std::int64_t most_live(Schedule schedule, const std::vector<WorkItem>& list) {
  const WorkKind last = schedule == Schedule::zero_bubble ? WorkKind::weight : WorkKind::backward;
  std::int64_t live = 0;
  std::int64_t most = 0;
  for (const WorkItem& item : list) {
    if (item.kind == WorkKind::forward) most = std::max(most, ++live);
    if (item.kind == last) --live;
  }
  return most;
}

template <typename Time>
class Execution {
 public:
  Execution(const PipelineShape& shape, const std::vector<StageTimes<Time>>& stages, Time transfer,
            const std::vector<std::vector<WorkItem>>& lists)
      : shape_(shape), stages_(stages), transfer_(transfer), lists_(lists) {
    const auto cells = static_cast<std::size_t>(shape.devices * shape.chunks * shape.microbatches);
    for (std::vector<Time>& ends : ends_) ends.assign(cells, kNever);
  }

  /// Whether everything could be done.
  bool run(PipelineRun<Time>& result) {
    const auto devices = static_cast<std::size_t>(shape_.devices);
    std::vector<std::size_t> next(devices, 0);
    std::vector<Time> free(devices, Time{});
    result.busy.assign(devices, Time{});
    result.starts.resize(devices);
    bool moved = true;
    for (bool up = true; moved; up = !up) {  // forward items go up the devices, backward items down
      moved = false;
      for (std::size_t turn = 0; turn < devices; ++turn) {
        const std::size_t device = up ? turn : devices - 1 - turn;
        while (next[device] < lists_[device].size()) {
          const WorkItem& item = lists_[device][next[device]];
          const std::int64_t stage = item.chunk * shape_.devices + static_cast<std::int64_t>(device);
          const Time ready = ready_at(item, stage);
          if (ready == kNever) break;
          const Time length = length_of(item.kind, stage);
          const Time start = std::max(free[device], ready);
          const Time end = start + length;
          result.starts[device].push_back(start);
          ends(item.kind, stage, item.microbatch) = end;
          free[device] = end;
          result.busy[device] += length;
          ++next[device];
          moved = true;
        }
      }
    }
    for (std::size_t device = 0; device < devices; ++device) {
      if (next[device] != lists_[device].size()) return false;
      result.total = std::max(result.total, free[device]);
      result.ideal = std::max(result.ideal, result.busy[device]);
    }
    return true;
  }

 private:
  static constexpr Time kNever = Time{-1};

  Time& ends(WorkKind kind, std::int64_t stage, std::int64_t microbatch) {
    return ends_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(stage * shape_.microbatches + microbatch)];
  }

  Time length_of(WorkKind kind, std::int64_t stage) const {
    const StageTimes<Time>& times = stages_[static_cast<std::size_t>(stage)];
    if (kind == WorkKind::forward) return times.forward;
    return kind == WorkKind::backward ? times.backward : times.weight;
  }

  /// When what the item needs is there; kNever where it has not been computed yet.
  Time ready_at(const WorkItem& item, std::int64_t stage) {
    const std::int64_t last = shape_.devices * shape_.chunks - 1;
    const auto after = [&](Time end, bool sent) { return end == kNever ? kNever : end + (sent ? transfer_ : Time{}); };
    if (item.kind == WorkKind::weight) return ends(WorkKind::backward, stage, item.microbatch);
    if (item.kind == WorkKind::forward) {
      return stage == 0 ? Time{} : after(ends(WorkKind::forward, stage - 1, item.microbatch), shape_.devices > 1);
    }
    const Time own = ends(WorkKind::forward, stage, item.microbatch);
    if (stage == last || own == kNever) return own;
    const Time behind = after(ends(WorkKind::backward, stage + 1, item.microbatch), shape_.devices > 1);
    return behind == kNever ? kNever : std::max(own, behind);
  }

  const PipelineShape& shape_;
  const std::vector<StageTimes<Time>>& stages_;
  Time transfer_;
  const std::vector<std::vector<WorkItem>>& lists_;
  std::array<std::vector<Time>, 3> ends_;
};

}  // namespace

template <typename Time>
Result<PipelineRun<Time>> run_pipeline(const PipelineShape& shape, const std::vector<StageTimes<Time>>& stages,
                                       Time transfer) {
  if (auto fits = check(shape, stages.size()); !fits) return tl::unexpected(fits.error());
  const auto lists = work_lists(shape);
  if (!lists) return tl::unexpected(lists.error());
  PipelineRun<Time> result;
  if (!Execution<Time>(shape, stages, transfer, *lists).run(result)) return fail("the pipeline's schedule is stuck");
  for (const std::vector<WorkItem>& list : *lists) result.live.push_back(most_live(shape.schedule, list));
  const std::size_t cuts = shape.devices > 1 ? stages.size() - 1 : 0;
  result.sends.assign(cuts, 2 * shape.microbatches);
  return result;
}

template Result<PipelineRun<double>> run_pipeline(const PipelineShape&, const std::vector<StageTimes<double>>&, double);
template Result<PipelineRun<std::int64_t>> run_pipeline(const PipelineShape&,
                                                        const std::vector<StageTimes<std::int64_t>>&, std::int64_t);

}  // namespace einflow::cluster
