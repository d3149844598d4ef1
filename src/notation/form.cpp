#include "notation/form.hpp"

#include <fmt/format.h>

#include "base/message.hpp"
#include "notation/huggingface/huggingface.hpp"
#include "notation/library.hpp"
#include "notation/loops/loops.hpp"
#include "notation/maestro/maestro.hpp"
#include "notation/onnx/onnx.hpp"
#include "notation/placements/placements.hpp"
#include "notation/python/python.hpp"
#include "notation/scalesim/scalesim.hpp"
#include "notation/spec_writer.hpp"
#include "notation/tangram/tangram.hpp"
#include "notation/timeloop/timeloop.hpp"

namespace einflow {

namespace {

Result<Document> read_own(const std::vector<SourceText>& sources, const ReadOptions& options) {
  if (sources.size() != 1) return fail("einflow's own spec is one file");
  if (!options.settings.empty()) {
    return fail(fmt::format("--set {}: a spec of einflow leaves nothing open", options.settings.begin()->first));
  }
  const auto read = read_spec(sources.front(), options.library, MappingPart::optional);
  if (!read) return tl::unexpected(read.error());
  return document_of(*read);
}

/// Whether the text has a problem file's list of layers at its outer level.
bool is_problem_file(const SourceText& source) {
  const auto has_key = [&](std::string_view key) {
    return source.text.starts_with(key) || source.text.find("\n" + std::string(key)) != std::string::npos;
  };
  return has_key("layers:") && !has_key("resource:") && !has_key("problem:") && !has_key("machine:");
}

Result<Document> read_problem_file(const std::vector<SourceText>& sources, const ReadOptions& options) {
  if (sources.size() != 1) return fail("a problem file is one file");
  if (!options.settings.empty() || !options.ranks.empty()) {
    return fail("--set and -r are not for problem files: they have their own sizes");
  }
  auto file = read_problem_text(sources.front());
  if (!file) return tl::unexpected(file.error());
  Document document;
  document.name = file->name;
  document.conventions = file->notes;
  for (Layer& layer : file->layers) {
    DocumentLayer entry;
    entry.name = layer.name;
    entry.repeat = layer.repeat;
    entry.cascade = std::move(layer.cascade);
    document.layers.push_back(std::move(entry));
  }
  return document;
}

std::vector<std::string> form_names() {
  std::vector<std::string> names;
  for (const Form& form : forms()) names.emplace_back(form.name);
  return names;
}

}  // namespace

const std::vector<Form>& forms() {
  static const std::vector<Form> all{
      {"einflow", "einflow's own spec", ".yaml", nullptr, read_own, write_spec},
      {"problem", "a problem file of einflow's library", ".yaml", is_problem_file, read_problem_file,
       write_problem_file},
      {"timeloop", "Timeloop: v0.3 and v0.4 read, v0.4 written", ".yaml", is_timeloop, read_timeloop, write_timeloop},
      {"timeloop-v0.3", "Timeloop, written as v0.3", ".yaml", nullptr, read_timeloop, write_timeloop_v03},
      {"maestro", "MAESTRO's data-centric directives", ".m", is_maestro, read_maestro, write_maestro},
      {"loops", "a loop nest in for and parallel-for", ".txt", is_loops, read_loops, write_loops},
      {"c", "a loop nest as a C program", ".c", nullptr, nullptr, write_c},
      {"numpy", "a loop nest as a numpy program", ".py", nullptr, nullptr, write_numpy},
      {"tangram", "Tangram, nn_dataflow: blocking, partitioning", ".yaml", is_tangram, read_tangram, write_tangram},
      {"scalesim", "SCALE-Sim's topology and configuration", ".csv .cfg", is_scalesim, read_scalesim, nullptr},
      {"placements", "states of spatial loops in everyone's words", ".txt", nullptr, nullptr, write_placements},
      {"dtensor", "PyTorch DTensor placements", ".txt", is_placements, read_dtensor, write_dtensor},
      {"jax", "JAX PartitionSpecs", ".txt", is_jax, read_jax, write_jax},
      {"python", "einsum strings, calls of numpy and PyTorch", ".txt", is_python, read_python, write_python},
      {"onnx", "an ONNX model", ".onnx", is_onnx, read_onnx, nullptr},
      {"huggingface", "a Hugging Face config.json", ".json", is_huggingface, read_huggingface, nullptr},
  };
  return all;
}

Result<const Form*> form_named(std::string_view name) {
  for (const Form& form : forms()) {
    if (form.name == name) return &form;
  }
  return fail(fmt::format("there is no form {}", in_quotes(name)), name_hint(name, form_names(), "forms"));
}

Result<const Form*> recognised_form(const std::vector<SourceText>& sources) {
  for (const Form& form : forms()) {
    if (form.recognises == nullptr || form.read == nullptr) continue;
    for (const SourceText& source : sources) {
      if (form.recognises(source)) return &form;
    }
  }
  return &forms().front();  // its reader says what it expects
}

}  // namespace einflow
