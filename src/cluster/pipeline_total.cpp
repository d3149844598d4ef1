// The same time as that of the executed lists, without lists.
#include "cluster/pipeline.hpp"

#include <algorithm>

namespace einflow::cluster {

namespace {

/// Goes through the schedule slot by slot: in a slot each device does at most one forward item and, after it, one
/// backward item. On device k the forward item number i has the slot i + k, and the backward item that comes after it
/// in the list has the same one, so that what an item needs is always of the slot before, or done just now.
template <typename Time>
class Slots {
 public:
  Slots(const PipelineShape& shape, const std::vector<StageTimes<Time>>& stages, Time transfer)
      : shape_(shape),
        stages_(stages),
        transfer_(shape.devices > 1 ? transfer : Time{}),
        items_(shape.microbatches * shape.chunks),
        free_(static_cast<std::size_t>(shape.devices)),
        forward_(free_.size()),
        backward_(free_.size()) {}

  Time total() {
    const bool interleaved = shape_.chunks > 1;
    const std::int64_t devices = shape_.devices;
    if (shape_.schedule == Schedule::gpipe) {
      for (std::int64_t slot = 0; slot < items_ + devices - 1; ++slot) forward_slot(slot);
      for (std::int64_t number = 0; number < items_; ++number) backward_down(number);
    } else if (!interleaved) {
      for (std::int64_t slot = 0; slot < items_ + devices - 1; ++slot) {
        forward_slot(slot);
        if (slot >= devices - 1) backward_down(slot - devices + 1);
      }
    } else {
      const std::int64_t behind = (shape_.chunks + 1) * devices - 2;
      for (std::int64_t slot = 0; slot < items_ + behind; ++slot) {
        forward_slot(slot);
        backward_slot(slot - behind);
      }
    }
    Time last{};
    for (std::int64_t device = 0; device < devices; ++device) {
      Time end = free_[at(device)];
      const std::int64_t left = shape_.schedule == Schedule::zero_bubble ? std::min(device, items_) : 0;
      for (std::int64_t item = 0; item < left; ++item) end += stages_[at(device)].weight;
      last = std::max(last, end);
    }
    return last;
  }

 private:
  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

  std::int64_t chunk_of(std::int64_t number) const {
    return shape_.chunks == 1 ? 0 : number % (shape_.devices * shape_.chunks) / shape_.devices;
  }

  /// Item slot - k of every device k that has it. Downwards: the neighbour's end is still that of the slot before.
  void forward_slot(std::int64_t slot) {
    const std::int64_t first = std::max<std::int64_t>(0, slot - items_ + 1);
    const std::int64_t last = std::min(shape_.devices - 1, slot);
    const Time around = forward_.back();
    for (std::int64_t device = last; device >= first; --device) {
      const std::int64_t chunk = chunk_of(slot - device);
      Time start = free_[at(device)];
      if (device > 0) start = std::max(start, forward_[at(device - 1)] + transfer_);
      if (device == 0 && chunk > 0) start = std::max(start, around + transfer_);
      free_[at(device)] = forward_[at(device)] = start + stages_[at(chunk * shape_.devices + device)].forward;
    }
  }

  /// Item `number` of all devices, last device first: they have it in the same slot.
  void backward_down(std::int64_t number) {
    Time arrival{};
    for (std::int64_t device = shape_.devices - 1; device >= 0; --device) {
      const StageTimes<Time>& stage = stages_[at(device)];
      const Time end = std::max(free_[at(device)], arrival) + stage.backward;
      free_[at(device)] = end;
      arrival = end + transfer_;
      if (shape_.schedule == Schedule::zero_bubble && number >= device) free_[at(device)] += stage.weight;
    }
  }

  /// Item slot + k of every device k that has it. Upwards: the neighbour's end is still that of the slot before.
  void backward_slot(std::int64_t slot) {
    const std::int64_t first = std::max<std::int64_t>(0, -slot);
    const std::int64_t last = std::min(shape_.devices - 1, items_ - 1 - slot);
    const Time around = backward_.front();
    for (std::int64_t device = first; device <= last; ++device) {
      const std::int64_t chunk = shape_.chunks - 1 - chunk_of(slot + device);
      Time start = free_[at(device)];
      if (device < shape_.devices - 1) start = std::max(start, backward_[at(device + 1)] + transfer_);
      if (device == shape_.devices - 1 && chunk < shape_.chunks - 1) start = std::max(start, around + transfer_);
      free_[at(device)] = backward_[at(device)] = start + stages_[at(chunk * shape_.devices + device)].backward;
    }
  }

  const PipelineShape& shape_;
  const std::vector<StageTimes<Time>>& stages_;
  Time transfer_;
  std::int64_t items_;  ///< forward items of a device
  std::vector<Time> free_;
  std::vector<Time> forward_;   ///< end of the last forward item
  std::vector<Time> backward_;  ///< of the last backward item
};

}  // namespace

template <typename Time>
Result<Time> pipeline_total(const PipelineShape& shape, const std::vector<StageTimes<Time>>& stages, Time transfer) {
  if (auto fits = check(shape, stages.size()); !fits) return tl::unexpected(fits.error());
  return Slots<Time>(shape, stages, transfer).total();
}

template Result<double> pipeline_total(const PipelineShape&, const std::vector<StageTimes<double>>&, double);
template Result<std::int64_t> pipeline_total(const PipelineShape&, const std::vector<StageTimes<std::int64_t>>&,
                                             std::int64_t);

}  // namespace einflow::cluster
