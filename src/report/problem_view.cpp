#include "report/problem_view.hpp"

#include <fmt/format.h>

namespace einflow {

namespace {

/// Operations of the executed share of a layer's einsums, once.
struct Work {
  Count macs;
  Count other;  ///< operations that are no MACs
};

Work work_of(const Cascade& cascade) {
  Work work;
  for (const Einsum& einsum : cascade.einsums) {
    (einsum.is_mac() ? work.macs : work.other) += einsum.executed_operations();
  }
  return work;
}

Work total_of(const ProblemFile& file) {
  Work total;
  for (const Layer& layer : file.layers) {
    const Work work = work_of(layer.cascade);
    total.macs += work.macs * layer.repeat;
    total.other += work.other * layer.repeat;
  }
  return total;
}

std::string ranks_text(const Einsum& einsum) {
  std::string text;
  for (const Rank& rank : einsum.ranks) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", rank.name, rank.extent);
  }
  return text;
}

std::string share_text(const ExecutedShare& executed) {
  return executed.share.numerator().str() + "/" + executed.share.denominator().str();
}

}  // namespace

Json einsum_json(const Einsum& einsum) {
  Json ranks = Json::object();
  for (const Rank& rank : einsum.ranks) ranks.set(rank.name, Count(rank.extent));
  Json types = Json::object();
  for (const Tensor& tensor : einsum.tensors) types.set(tensor.name, tensor.type.name);
  Json entry = Json::object();
  if (!einsum.name.empty()) entry.set("name", einsum.name);
  entry.set("einsum", to_text(einsum)).set("ranks", std::move(ranks)).set("types", std::move(types));
  entry.set("operations", einsum.operations());
  if (!(einsum.executed.share == Ratio(Count(1)))) {
    entry.set("executed_operations", einsum.executed_operations());
    entry.set("executed_share", share_text(einsum.executed)).set("because", einsum.executed.because);
  }
  if (einsum.is_mac()) entry.set("macs", einsum.executed_operations());
  return entry;
}

Json problem_file_json(const ProblemFile& file) {
  Json layers = Json::array();
  for (const Layer& layer : file.layers) {
    Json einsums = Json::array();
    for (const Einsum& einsum : layer.cascade.einsums) {
      einsums.push(einsum_json(einsum));
    }
    const Work work = work_of(layer.cascade);
    Json entry = Json::object();
    entry.set("layer", layer.name).set("repeat", Count(layer.repeat)).set("macs", work.macs);
    entry.set("other_operations", work.other);
    layers.push(entry.set("einsums", std::move(einsums)));
  }
  const Work total = total_of(file);
  Json document = Json::object();
  document.set("format", "einflow-problem-1").set("name", file.name);
  if (!file.source.empty()) document.set("source", file.source);
  document.set("macs", total.macs).set("flops", total.macs * 2).set("other_operations", total.other);
  return document.set("layers", std::move(layers)).set("notes", Json::array_of(file.notes));
}

std::string problem_file_text(const ProblemFile& file, const TextStyle& style) {
  std::string out = heading(file.name, style);
  if (!file.source.empty()) out += wrapped("source: " + file.source, style.width, "  ", "    ");
  Table table({"layer", "repeat", "MACs", "other op", "MACs in all"}, 1);
  for (const Layer& layer : file.layers) {
    const Work work = work_of(layer.cascade);
    const bool has_macs = !(work.macs == Count(0));
    table.add({layer.name, grouped(Count(layer.repeat)), has_macs ? grouped(work.macs) : "",
               work.other == Count(0) ? "" : grouped(work.other), has_macs ? grouped(work.macs * layer.repeat) : ""});
  }
  const Work total = total_of(file);
  table.add({"all", "", "", "", grouped(total.macs)});
  out += "\n" + table.str(style);
  out += wrapped(fmt::format("{} MACs = {} FLOPs; {} operations that are no MACs. Declared shares (causal masks) are "
                             "taken into account.",
                             grouped(total.macs), grouped(total.macs * 2), grouped(total.other)),
                 style.width, "  ", "  ");
  out += section("Einsums", style);
  for (const Layer& layer : file.layers) {
    for (const Einsum& einsum : layer.cascade.einsums) {
      const bool named = layer.cascade.einsums.size() > 1 && !einsum.name.empty();
      out += wrapped(layer.name + (named ? "/" + einsum.name : ""), style.width, "  ", "    ");
      std::string line = to_text(einsum) + "; " + ranks_text(einsum);
      if (!(einsum.executed.share == Ratio(Count(1)))) {
        line += fmt::format("; executes {} ({})", share_text(einsum.executed), einsum.executed.because);
      }
      out += wrapped(line, style.width, "    ", "      ");
    }
  }
  if (!file.notes.empty()) out += section("Notes", style);
  for (const std::string& note : file.notes) out += wrapped(note, style.width, "  - ", "    ");
  return out;
}

std::string problem_summary(const ProblemFile& file) {
  std::int64_t occurrences = 0;
  for (const Layer& layer : file.layers) occurrences += layer.repeat;
  return fmt::format("{} layers, {} kinds, {} MACs", occurrences, file.layers.size(), grouped(total_of(file).macs));
}

}  // namespace einflow
