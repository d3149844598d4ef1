#include "cli/spec_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "cli/document_input.hpp"
#include "cli/library_folders.hpp"
#include "cli/terminal.hpp"
#include "notation/python/python.hpp"
#include "report/json.hpp"
#include "report/map_view.hpp"
#include "report/mapping_skeleton.hpp"
#include "search/mapper.hpp"

namespace einflow {

namespace {

const char* const kCommandLine = "<command line>";

bool is_einsum(const std::string& text) {
  return text.find('[') != std::string::npos && text.find('=') != std::string::npos;
}

/// "m=4096" as `m: 4096` of a YAML map.
Result<std::string> map_entries(const std::vector<std::string>& pairs, const char* option, const char* example) {
  std::string entries;
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == pair.size()) {
      return fail(fmt::format("{}: found '{}', expected NAME=VALUE", option, pair), example);
    }
    // Values stay plain, so that a number is one; what plain text cannot hold is quoted.
    std::string value = pair.substr(equals + 1);
    if (value.find_first_of("{}[],:#&*!|>'\"%@` \t\n\\") != std::string::npos) value = json_quoted(value);
    entries += fmt::format("{}{}: {}", entries.empty() ? "" : ", ", json_quoted(pair.substr(0, equals)), value);
  }
  return entries;
}

/// The short form as the text of a spec.
Result<SourceText> short_form(const SpecArguments& arguments) {
  SourceText source{kCommandLine, {}};
  if (!arguments.problem.empty()) {
    if (!arguments.ranks.empty()) {
      return fail("-r belongs to an einsum, not to --problem", "a library problem has its own sizes");
    }
    source.text = "problem: " + json_quoted(arguments.problem) + "\n";
  } else {
    const Result<std::string> ranks = map_entries(arguments.ranks, "-r", "for example: -r m=4096,n=4096,k=4096");
    if (!ranks) return tl::unexpected(ranks.error());
    const Result<std::string> types = map_entries(arguments.types, "--types", "for example: --types X=bf16,Y=fp32");
    if (!types) return tl::unexpected(types.error());
    source.text = "problem:\n  einsum: " + json_quoted(arguments.texts.front()) + "\n  ranks: {" + *ranks + "}\n";
    if (!types->empty()) source.text += "  types: {" + *types + "}\n";
  }
  if (arguments.machine.empty()) {
    return fail("the machine is missing", "--on NAME takes one of the library; `einflow machines` lists them");
  }
  source.text += "machine: " + json_quoted(arguments.machine) + "\n";
  return source;
}

std::optional<LoadedSpec> load_short_form(const SpecArguments& arguments) {
  if (!arguments.settings.empty()) {
    print_errors({{{}, "--set is for other notations: an einsum leaves nothing open", {}, {}}}, {kCommandLine, {}});
    return std::nullopt;
  }
  if (!arguments.problem.empty() && !arguments.texts.empty()) {
    print_errors({{{}, "a spec and --problem are given; one of them says what is computed", {}, {}}},
                 {kCommandLine, {}});
    return std::nullopt;
  }
  const Result<SourceText> source = short_form(arguments);
  if (!source) {
    print_errors(source.error(), {kCommandLine, {}});
    return std::nullopt;
  }
  Result<ReadSpec> read = read_spec(*source, library_of(arguments.library), MappingPart::optional);
  if (!read) {
    print_errors(read.error(), *source);
    return std::nullopt;
  }
  return LoadedSpec{std::move(*read), *source, false, {}};
}

/// The layer of a document that the arguments choose, and the part of it; nullptr after a message.
const DocumentLayer* chosen_layer(const LoadedDocument& loaded, const SpecArguments& arguments, std::string& part) {
  auto [name, named_part] = layer_and_part(loaded.document, arguments.layer);
  const auto layer = choose_layer(loaded.document, name);
  if (!layer) print_errors(layer.error(), {loaded.sources.front().name, {}});
  part = named_part;
  return layer ? *layer : nullptr;
}

/// One layer of a document as a spec.
std::optional<LoadedSpec> load_layer(const SpecArguments& arguments) {
  const std::optional<LoadedDocument> loaded = load_document(arguments);
  if (!loaded) return std::nullopt;
  const Document& document = loaded->document;
  std::string part;
  const DocumentLayer* layer = chosen_layer(*loaded, arguments, part);
  if (layer == nullptr) return std::nullopt;
  auto spec = spec_of(*layer, part);
  if (!spec) {
    print_errors(spec.error(), {loaded->sources.front().name, {}});
    return std::nullopt;
  }
  const bool foreign = loaded->form->name != "einflow";
  LoadedSpec chosen{{std::move(*spec), document.conventions}, loaded->sources.front(), foreign, {}};
  for (const std::string& text : document.left_out) chosen.read.conventions.push_back("not taken over: " + text);
  return chosen;
}

/// The mapping file's nest in place of a mapping in the spec.
bool read_mapping_file(const SpecArguments& arguments, LoadedSpec& loaded) {
  const Result<SourceText> text = read_file(arguments.mapping_file);
  if (!text) {
    print_errors(text.error(), {kCommandLine, {}});
    return false;
  }
  Result<Mapping> mapping = parse_mapping(text->text, loaded.read.spec.einsum, loaded.read.spec.machine);
  if (!mapping) {
    print_errors(mapping.error(), *text);
    return false;
  }
  loaded.read.spec.mapping = std::move(*mapping);
  loaded.source = *text;
  return true;
}

/// Says why there is no mapping, and shows a nest to start from.
void report_missing_mapping(const LoadedSpec& loaded, bool in_file, Diagnostics why) {
  const Spec& spec = loaded.read.spec;
  why.push_back({{},
                 "the mapping is missing, and the search found none to take",
                 in_file ? "add the part `mapping: |` to the spec, or give --mapping FILE"
                         : "give --mapping FILE, a file of nest lines",
                 {}});
  print_errors(why, loaded.source);
  print_message(
      "A nest for this problem on this machine to start from, outermost first; put a\n"
      "size for each TILE, drop the tensors that a level does not hold and the loops\n"
      "you do not need:\n");
  print_message(mapping_skeleton(spec.einsum, spec.machine));
}

/// The best mapping for the first objective that the machine has figures for, in place of the one that is missing.
bool find_mapping(LoadedSpec& loaded, bool in_file) {
  constexpr double kMostSeconds = 10;
  Spec& spec = loaded.read.spec;
  const std::vector<Objective> objectives = objectives_of(spec.einsum, spec.machine);
  MapRequest request;
  request.einsum = spec.einsum;
  request.machine = spec.machine;
  request.objective = objectives.empty() ? Objective{Objective::Kind::traffic, 0} : objectives.front();
  request.most_seconds = kMostSeconds;
  request.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (auto show = progress_line()) {
    request.progress = [show](const MapProgress& progress) mutable {
      show("no mapping given, map looks for one: " + progress.stage);
      return true;
    };
  }
  const Result<MapResult> result = best_mapping(request);
  clear_progress_bar();
  if (!result || result->points.empty()) {
    report_missing_mapping(loaded, in_file, result ? Diagnostics{} : result.error());
    return false;
  }
  spec.mapping = result->points.front().spec.mapping;
  const MapProof& proof = result->proof;
  loaded.searched = fmt::format(
      "no mapping given: the best one for {} is used, found by map; {}",
      objective_name(request.objective, spec.machine),
      proof.optimal ? "optimal in its space"
                    : fmt::format("not proved optimal in its space, where one could have at most {} less{}{}",
                                  percent(proof.gap()),
                                  proof.stopped.empty() ? "" : ", it ended before the proof: ", proof.stopped));
  loaded.read.conventions.push_back(loaded.searched);
  return true;
}

}  // namespace

void tell_conventions(const LoadedSpec& loaded) {
  if (!loaded.foreign && !loaded.searched.empty()) print_message("note: " + loaded.searched);
  if (!loaded.foreign) return;
  for (const std::string& text : loaded.read.conventions) print_message("note: " + text);
}

bool is_short_form(const SpecArguments& arguments) {
  if (!arguments.problem.empty()) return true;
  const bool own = arguments.from.empty() || arguments.from == "einflow";
  // "F.conv2d(bf16[1, 3, 8, 8], ..., stride=2)" has brackets and '=' too, but is a call.
  return own && arguments.texts.size() == 1 && is_einsum(arguments.texts.front()) &&
         !is_python({"", arguments.texts.front()});
}

void add_spec_arguments(CommandArguments& command, SpecArguments& arguments) {
  add_document_arguments(command, arguments);
  command.text("--problem", arguments.problem, "NAME", "Problem of the library: resnet50/conv1");
  command.text("--mapping", arguments.mapping_file, "FILE", "File of nest lines, outermost first");
}

std::optional<LoadedSpec> load_spec(const SpecArguments& arguments) {
  const bool is_short = is_short_form(arguments);
  std::optional<LoadedSpec> read = is_short ? load_short_form(arguments) : load_layer(arguments);
  if (!read) return std::nullopt;
  LoadedSpec loaded = std::move(*read);
  const SourceText source = loaded.source;
  if (is_short && !arguments.problem.empty() && !arguments.types.empty()) {
    const Result<std::string> said = override_types(arguments.types, {&loaded.read.spec.einsum});
    if (!said) {
      print_errors(said.error(), {kCommandLine, {}});
      return std::nullopt;
    }
    loaded.read.conventions.push_back("types given with --types: " + *said);
  }
  const bool has_mapping = !loaded.read.spec.mapping.holds.empty();
  if (!arguments.mapping_file.empty()) {
    if (has_mapping) {
      print_errors({{{}, "the spec has a mapping and --mapping gives another", "leave one of them out", {}}}, source);
      return std::nullopt;
    }
    if (!read_mapping_file(arguments, loaded)) return std::nullopt;
  } else if (!has_mapping && !find_mapping(loaded, source.name != kCommandLine && !loaded.foreign)) {
    return std::nullopt;
  }
  return loaded;
}

std::optional<LoadedProblem> load_problem(const SpecArguments& arguments) {
  if (is_short_form(arguments)) {
    SpecArguments with_machine = arguments;
    // A spec has a machine; where none is asked about, any of the library will do.
    if (arguments.machine.empty()) with_machine.machine = "toy";
    std::optional<LoadedSpec> read = load_short_form(with_machine);
    if (!read) return std::nullopt;
    LoadedProblem problem{std::move(read->read.spec.einsum), {}, {}, std::move(read->source)};
    if (!arguments.machine.empty()) problem.machine = std::move(read->read.spec.machine);
    for (std::string& text : read->read.conventions) {
      if (text.starts_with("types: ")) problem.conventions.push_back(std::move(text));
    }
    return problem;
  }
  const std::optional<LoadedDocument> loaded = load_document(arguments);
  if (!loaded) return std::nullopt;
  std::string part;
  const DocumentLayer* layer = chosen_layer(*loaded, arguments, part);
  if (layer == nullptr) return std::nullopt;
  DocumentLayer problem = *layer;
  if (!problem.machine) problem.machine = Machine{};  // spec_of asks for one
  auto spec = spec_of(problem, part);
  if (!spec) {
    print_errors(spec.error(), {loaded->sources.front().name, {}});
    return std::nullopt;
  }
  LoadedProblem chosen{std::move(spec->einsum), layer->machine, {}, loaded->sources.front()};
  if (loaded->form->name == "einflow") return chosen;
  chosen.conventions = loaded->document.conventions;
  for (const std::string& text : loaded->document.left_out) chosen.conventions.push_back("not taken over: " + text);
  return chosen;
}

}  // namespace einflow
