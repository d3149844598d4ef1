// Pipeline parallelism: the rank of layers is split over stages; what each stage does in which order, and how long it
// takes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.hpp"

namespace einflow::cluster {

enum class Schedule {
  gpipe,        ///< all forward, then all backward (arXiv:1811.06965)
  one_f_one_b,  ///< backward as soon as it can be, one forward for each (PipeDream-flush)
  interleaved,  ///< each device has several chunks of layers, cyclically (arXiv:2104.04473, section 2.2)
  zero_bubble,  ///< ZB-H1: weight gradients apart from input gradients, and later (arXiv:2401.10241)
};

/// "gpipe", "1f1b", "interleaved", "zero-bubble".
std::string to_text(Schedule schedule);
Result<Schedule> parse_schedule(std::string_view text);

enum class WorkKind {
  forward,
  backward,  ///< input gradients, and weight gradients too where they are not apart
  weight,    ///< weight gradients (zero_bubble)
};

struct WorkItem {
  WorkKind kind = WorkKind::forward;
  std::int64_t chunk = 0;  ///< of the device: chunk c of device k is stage c * devices + k of the model
  std::int64_t microbatch = 0;
  bool operator==(const WorkItem&) const = default;
};

struct PipelineShape {
  Schedule schedule = Schedule::one_f_one_b;
  std::int64_t devices = 1;
  std::int64_t microbatches = 1;
  std::int64_t chunks = 1;  ///< a device; more than one in `interleaved` only
};

/// What each device does, in order. Errors: numbers below 1, more than 2^24 items of all devices; several chunks in
/// another schedule than interleaved; interleaved with microbatches that are no multiple of the devices.
Result<std::vector<std::vector<WorkItem>>> work_lists(const PipelineShape& shape);

/// Times of one microbatch in one stage of the model.
template <typename Time>
struct StageTimes {
  Time forward{};
  Time backward{};  ///< without `weight` in a zero_bubble schedule, all of it in others
  Time weight{};
};

/// What the execution of the lists took.
template <typename Time>
struct PipelineRun {
  Time total{};
  std::vector<Time> busy;                 ///< of each device
  Time ideal{};                           ///< of the busiest
  std::vector<std::int64_t> live;         ///< most (microbatch, chunk) pairs whose activations a device holds at once
  std::vector<std::vector<Time>> starts;  ///< of each item of work_lists()
  std::vector<std::int64_t> sends;        ///< messages over the cut behind each stage but the last, both directions

  /// What the busiest device waits.
  Time bubble() const { return total - ideal; }
  Time idle(std::size_t device) const { return total - busy[device]; }
};

/// Executes the lists: an item begins when its device is free and what it needs has come, `transfer` after the
/// neighbour ended. `stages` has devices * chunks entries. Time: double, or std::int64_t for exact tests.
template <typename Time>
Result<PipelineRun<Time>> run_pipeline(const PipelineShape& shape, const std::vector<StageTimes<Time>>& stages,
                                       Time transfer);

extern template Result<PipelineRun<double>> run_pipeline(const PipelineShape&, const std::vector<StageTimes<double>>&,
                                                         double);
extern template Result<PipelineRun<std::int64_t>> run_pipeline(const PipelineShape&,
                                                               const std::vector<StageTimes<std::int64_t>>&,
                                                               std::int64_t);

/// The same total as run_pipeline's, without lists: 64 devices with 512 microbatches take less than a millisecond.
template <typename Time>
Result<Time> pipeline_total(const PipelineShape& shape, const std::vector<StageTimes<Time>>& stages, Time transfer);

extern template Result<double> pipeline_total(const PipelineShape&, const std::vector<StageTimes<double>>&, double);
extern template Result<std::int64_t> pipeline_total(const PipelineShape&, const std::vector<StageTimes<std::int64_t>>&,
                                                    std::int64_t);

/// Most (microbatch, chunk) pairs whose activations device `device` holds at once: from a forward item to the backward
/// one, or to the weight gradients where those are apart. Without lists. Requires a shape that work_lists() accepts.
std::int64_t live_chunks(const PipelineShape& shape, std::int64_t device);

/// The same in microbatches of all the device's layers.
double live_microbatches(const PipelineShape& shape, std::int64_t device);

/// Whether there is such a schedule: the errors of work_lists(), but up to 2^40 items.
Result<void> check(const PipelineShape& shape);
/// Likewise, and whether it has so many stages.
Result<void> check(const PipelineShape& shape, std::size_t stages);

/// So many layers in each stage of the model, as even as can be, the first ones larger: the largest has
/// ceil(layers / stages). Requires 1 <= stages.
std::vector<std::int64_t> layers_of_stages(std::int64_t layers, std::int64_t stages);

}  // namespace einflow::cluster
