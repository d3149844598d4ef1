#include "report/pipeline_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/ratio.hpp"

namespace einflow {

namespace {

using cluster::PipelineRun;
using cluster::PipelineShape;
using cluster::Schedule;
using cluster::StageTimes;
using cluster::WorkItem;
using cluster::WorkKind;

constexpr std::int64_t kMostLines = 16;  // devices that are shown

std::string chunk_letter(const PipelineShape& shape, std::int64_t chunk) {
  if (shape.chunks == 1) return {};
  if (shape.chunks > 26) return fmt::format(".{}", chunk);
  return std::string(1, static_cast<char>('a' + chunk));
}

std::string cell_of(const PipelineShape& shape, const WorkItem& item) {
  const char* const kind = item.kind == WorkKind::forward ? "F" : item.kind == WorkKind::backward ? "B" : "W";
  return fmt::format("{}{}{}", kind, item.microbatch, chunk_letter(shape, item.chunk));
}

std::size_t cell_width(const PipelineShape& shape) {
  const WorkItem widest{WorkKind::forward, shape.chunks - 1, shape.microbatches - 1};
  return cell_of(shape, widest).size() + 1;
}

std::string share(std::int64_t part, std::int64_t whole) {
  const Ratio ratio{Count(part), Count(whole)};
  return fmt::format("{}/{} = {}", ratio.numerator().str(), ratio.denominator().str(), percent(ratio.to_double()));
}

/// "4, 3, 2, 1", or "8" where all are the same.
std::string live_text(const std::vector<std::int64_t>& live) {
  if (std::equal(live.begin() + 1, live.end(), live.begin())) return grouped(Count(live.front()));
  if (static_cast<std::int64_t>(live.size()) > kMostLines) {
    return fmt::format("{} (first device) to {} (last)", live.front(), live.back());
  }
  return fmt::format("{}", fmt::join(live, ", "));
}

std::string legend(const PipelineShape& shape, bool waits) {
  std::string text = "F forward, B backward";
  if (shape.schedule == Schedule::zero_bubble) text += " (input gradients), W weight gradients";
  text += ", then the microbatch";
  if (shape.chunks > 1) text += " and the chunk of layers";
  if (waits) text += "; a dot waits";
  return text + ". Each takes a unit of time here, sends take none.";
}

}  // namespace

Result<std::string> schedule_picture(const PipelineShape& shape, const TextStyle& style) {
  const auto lists = work_lists(shape);
  if (!lists) return tl::unexpected(lists.error());
  const bool apart = shape.schedule == Schedule::zero_bubble;
  const std::vector<StageTimes<std::int64_t>> stages(static_cast<std::size_t>(shape.devices * shape.chunks),
                                                     {1, 1, apart ? 1 : 0});
  const auto run = run_pipeline<std::int64_t>(shape, stages, 0);
  if (!run) return tl::unexpected(run.error());

  const std::size_t cell = cell_width(shape);
  const std::size_t label = fmt::format("  device {} ", shape.devices - 1).size();
  const std::size_t room = style.width > label + cell ? style.width - label : cell;  // without the last space
  const auto columns = std::min<std::int64_t>(run->total, static_cast<std::int64_t>((room + 1) / cell));
  std::string text;
  for (std::int64_t device = 0; device < shape.devices; ++device) {
    if (shape.devices > kMostLines && device == kMostLines - 1) {
      text += "  ...\n";
      device = shape.devices - 1;
    }
    std::vector<std::string> cells(static_cast<std::size_t>(columns), ".");
    const auto index = static_cast<std::size_t>(device);
    for (std::size_t item = 0; item < (*lists)[index].size(); ++item) {
      const std::int64_t start = run->starts[index][item];
      if (start < columns) cells[static_cast<std::size_t>(start)] = cell_of(shape, (*lists)[index][item]);
    }
    std::string line = fmt::format("{:<{}}", fmt::format("  device {}", device), label);
    for (const std::string& content : cells) line += fmt::format("{:<{}}", content, cell);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  if (columns < run->total) {
    text += wrapped(fmt::format("(the first {} of {} units of time)", columns, run->total), style.width, "  ", "  ");
  }
  text += wrapped(legend(shape, run->bubble() > 0), style.width, "  ", "  ");
  text += wrapped(fmt::format("{} units, {} of them work of a device: bubble / ideal {}, bubble / total {}.",
                              grouped(Count(run->total)), grouped(Count(run->ideal)), share(run->bubble(), run->ideal),
                              share(run->bubble(), run->total)),
                  style.width, "  ", "  ");
  text += wrapped(fmt::format("Activations held at most, by device: {} ({}).", live_text(run->live),
                              shape.chunks > 1 ? "microbatches of one chunk" : "microbatches"),
                  style.width, "  ", "  ");
  return text;
}

}  // namespace einflow
