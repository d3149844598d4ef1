#include "cost/capacity.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cost/figures.hpp"

namespace einflow {

namespace {

std::string grouped_text(const Ratio& bytes) {
  // Bytes are eighths at worst, so ten digits show them exactly.
  if (!bytes.is_whole()) return fmt::format("{:.10g}", bytes.to_double());
  std::string digits = bytes.numerator().str();
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

}  // namespace

std::vector<Misfit> misfits(const Spec& spec, const Counts& counts, const Cost& cost) {
  std::vector<Misfit> found;
  for (const LevelCost& level : cost.levels) {
    if (!level.capacity_bytes || !(*level.capacity_bytes < level.occupancy_bytes)) continue;
    Misfit misfit;
    misfit.level = level.level;
    misfit.need_bytes = level.occupancy_bytes;
    misfit.room_bytes = *level.capacity_bytes;
    misfit.double_buffered = spec.machine.storage(level.level)->double_buffered;
    for (const TensorTraffic& traffic : level.tensors) {
      const int hold = hold_at(spec.mapping, traffic.tensor, level.level);
      const Count elements = counts_of(counts, traffic.tensor, hold).tile_elements;
      const Count bits = elements * element_bits(spec, traffic.tensor) * (misfit.double_buffered ? 2 : 1);
      misfit.parts.push_back({traffic.tensor, elements, bytes_of_bits(bits)});
    }
    std::stable_sort(misfit.parts.begin(), misfit.parts.end(),
                     [](const Misfit::Part& a, const Misfit::Part& b) { return b.bytes < a.bytes; });
    found.push_back(std::move(misfit));
  }
  return found;
}

Diagnostic to_diagnostic(const Misfit& misfit, const Spec& spec) {
  Diagnostic diagnostic;
  std::string parts;
  for (const Misfit::Part& part : misfit.parts) {
    const Tensor& tensor = spec.einsum.tensors[static_cast<std::size_t>(part.tensor)];
    parts += fmt::format("{}{} {} B ({} elements of {})", parts.empty() ? "" : ", ", tensor.name,
                         grouped_text(part.bytes), grouped_text(Ratio(part.elements)), tensor.type.name);
  }
  diagnostic.message = fmt::format("the mapping does not fit: {} needs {} B an instance and has room for {} B",
                                   spec.machine.level_name(misfit.level), grouped_text(misfit.need_bytes),
                                   grouped_text(misfit.room_bytes));
  diagnostic.hint =
      fmt::format("held there: {}{}", parts,
                  misfit.double_buffered ? "; the level is double-buffered, so every tile counts twice" : "");
  if (!misfit.parts.empty()) {
    const int largest = misfit.parts.front().tensor;
    const int hold = hold_at(spec.mapping, largest, misfit.level);
    diagnostic.span = spec.mapping.holds[static_cast<std::size_t>(largest)][static_cast<std::size_t>(hold)].span;
  }
  return diagnostic;
}

}  // namespace einflow
