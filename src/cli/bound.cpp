// einflow bound: the least traffic from a backing store for every buffer size.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/message.hpp"
#include "base/quantity.hpp"
#include "base/yaml.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/library_folders.hpp"
#include "cli/spec_input.hpp"
#include "cli/terminal.hpp"
#include "notation/fields.hpp"
#include "notation/library.hpp"
#include "notation/machine_reader.hpp"
#include "notation/problem_reader.hpp"
#include "notation/python/python.hpp"
#include "notation/spec_writer.hpp"
#include "report/fused_staircase_view.hpp"
#include "report/staircase_view.hpp"
#include "search/fused_nest.hpp"

namespace einflow {

namespace {

struct Arguments {
  SpecArguments spec;
  std::vector<std::string> whole;
  std::vector<std::string> uncut;
  std::string nest;
  bool fused = false;
  bool shared_tile = false;
  bool no_bypass = false;
  bool all = false;
  bool json = false;
};

int fail_with(const Diagnostics& errors, const SourceText& source) {
  print_errors(errors, source);
  return kBadInput;
}

/// The spec that moves the least with a buffer of the size given.
int print_nest(const StaircaseReport& report, const std::string& size, const SourceText& source) {
  const auto bits = parse_quantity(size, {Measure::size});
  if (!bits) return fail_with(bits.error(), {"--nest", size});
  const StaircaseStep* step =
      affordable(report.staircase, Count(bits->value.numerator().value() / bits->value.denominator().value()));
  if (step == nullptr) {
    return fail_with({{{},
                       fmt::format("no nest of this space fits in {}", in_quotes(size)),
                       fmt::format("the smallest buffer is {} bit", report.staircase.steps.front().buffer_bits.str()),
                       {}}},
                     source);
  }
  const auto text = spec_text(staircase_spec(report.einsum, *step));
  if (!text) return fail_with(text.error(), source);
  print(*text);
  return kDone;
}

/// The einsums that --fused is about, before a chain of them is chosen.
struct LoadedChains {
  Document document;
  std::string path;  ///< LAYER, LAYER/PART or empty
  std::optional<Machine> machine;
  std::vector<std::string> conventions;
  SourceText source;
};

void tell_types(const std::set<std::string>& untyped, std::vector<std::string>& conventions) {
  if (untyped.empty()) return;
  conventions.push_back(
      fmt::format("types: {} for {} (not stated)", ElementType().name, comma_list({untyped.begin(), untyped.end()})));
}

/// The layers of a library problem: "FILE/LAYER".
Result<LoadedChains> chains_of_library(const std::string& path, const Library& library) {
  const std::size_t slash = path.find('/');
  auto file = problem_named(path.substr(0, slash), library);
  if (!file) return tl::unexpected(file.error());
  LoadedChains loaded;
  if (slash != std::string::npos) loaded.path = path.substr(slash + 1);
  std::set<std::string> untyped;
  for (Layer& layer : file->layers) {
    for (const auto& names : layer.untyped) untyped.insert(names.begin(), names.end());
    DocumentLayer entry;
    entry.name = layer.name;
    entry.repeat = layer.repeat;
    entry.cascade = std::move(layer.cascade);
    loaded.document.layers.push_back(std::move(entry));
  }
  if (!untyped.empty()) {
    loaded.conventions.push_back(fmt::format("types: {} where the problem states none", ElementType().name));
  }
  return loaded;
}

/// Einsums from the command line as the text of a spec.
std::string spec_of_einsums(const SpecArguments& arguments) {
  const auto pairs = [](const std::vector<std::string>& texts) {
    std::string entries;
    for (const std::string& text : texts) {
      const std::size_t equals = std::min(text.find('='), text.size());
      const std::string value = equals < text.size() ? text.substr(equals + 1) : std::string();
      const bool is_number = value.find_first_not_of("0123456789") == std::string::npos;
      entries += fmt::format("{}{}: {}", entries.empty() ? "" : ", ", json_quoted(text.substr(0, equals)),
                             is_number ? value : json_quoted(value));
    }
    return entries;
  };
  std::string text = "problem:\n  cascade:\n";
  for (const std::string& einsum : arguments.texts) text += "    - " + json_quoted(einsum) + "\n";
  text += "  ranks: {" + pairs(arguments.ranks) + "}\n";
  if (!arguments.types.empty()) text += "  types: {" + pairs(arguments.types) + "}\n";
  return text;
}

/// The problem of a spec with all its einsums; its machine, where it has one.
Result<LoadedChains> chains_of_spec(const SourceText& source, const Library& library) {
  const auto tree = parse_yaml(source.text);
  if (!tree) return tl::unexpected(tree.error());
  Diagnostics errors;
  LoadedChains loaded;
  const Fields fields(*tree, "the spec", {"einflow", "problem", "machine", "mapping"}, errors);
  if (!tree->is_map()) return tl::unexpected(std::move(errors));
  const YamlNode* problem = fields.require("problem", "problem: a cascade of einsums with its ranks");
  if (problem != nullptr && problem->is_scalar()) {
    auto of_library = chains_of_library(problem->text, library);
    if (!of_library) return of_library;
    loaded = std::move(*of_library);
  } else if (problem != nullptr) {
    if (auto cascade = read_cascade(*problem, {"part", "einsum_name"}, nullptr, errors)) {
      std::set<std::string> untyped;
      for (const Einsum& einsum : cascade->einsums) {
        const auto names = untyped_tensors(einsum, problem->find("types"), nullptr);
        untyped.insert(names.begin(), names.end());
      }
      tell_types(untyped, loaded.conventions);
      loaded.document.layers.emplace_back();
      loaded.document.layers.back().name = cascade->name;
      loaded.document.layers.back().cascade = std::move(*cascade);
    }
  }
  if (const YamlNode* node = fields.find("machine")) {
    if (node->is_scalar()) {
      auto machine = machine_named(node->text, library);
      if (!machine) return tl::unexpected(machine.error());
      loaded.machine = std::move(machine->machine);
    } else {
      loaded.machine = read_machine(*node, errors, loaded.conventions);
    }
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return loaded;
}

/// Whether all texts are einsums, not files or calls.
bool are_einsums(const SpecArguments& arguments) {
  return std::all_of(arguments.texts.begin(), arguments.texts.end(), [](const std::string& text) {
    return text.find('[') != std::string::npos && text.find('=') != std::string::npos && !is_python({"", text});
  });
}

/// From a document in another notation. Where it fails, the errors have been printed.
std::optional<LoadedChains> chains_of_document(const SpecArguments& arguments) {
  auto read = load_document(arguments);
  if (!read) return std::nullopt;
  LoadedChains loaded;
  loaded.conventions = read->document.conventions;
  for (const std::string& text : read->document.left_out) loaded.conventions.push_back("not taken over: " + text);
  loaded.document = std::move(read->document);
  loaded.path = arguments.layer;
  loaded.source = read->sources.front();
  return loaded;
}

/// Options that say nothing about what is given.
std::optional<Diagnostics> idle_options(const SpecArguments& spec, bool is_file) {
  const auto refuse = [](const char* message, const char* hint) { return Diagnostics{{{}, message, hint, {}}}; };
  if (!spec.settings.empty()) return refuse("--set is for other notations: nothing is left open here", "");
  if (!spec.problem.empty() && !spec.texts.empty()) {
    return refuse("a spec and --problem are given; one of them says what is computed", "");
  }
  if (!spec.problem.empty() && !spec.ranks.empty()) {
    return refuse("-r belongs to an einsum, not to --problem", "a library problem has its own sizes");
  }
  if (is_file && !(spec.ranks.empty() && spec.types.empty())) {
    return refuse("-r and --types go with an einsum or --problem", "in a spec file, write these parts into the file");
  }
  return std::nullopt;
}

Result<LoadedChains> chains_of_problem(const SpecArguments& spec, const Library& library) {
  auto loaded = chains_of_library(spec.problem, library);
  if (!loaded || spec.types.empty()) return loaded;
  std::vector<Einsum*> einsums;
  for (DocumentLayer& layer : loaded->document.layers) {
    for (Einsum& einsum : layer.cascade.einsums) einsums.push_back(&einsum);
  }
  const auto said = override_types(spec.types, einsums);
  if (!said) return tl::unexpected(said.error());
  loaded->conventions.push_back("types given with --types: " + *said);
  return loaded;
}

/// The text of einflow's own spec; nothing where the arguments give something else.
std::optional<SourceText> own_spec(const SpecArguments& spec) {
  if (spec.texts.size() != 1 || (!spec.from.empty() && spec.from != "einflow")) return std::nullopt;
  auto text = read_file(spec.texts[0]);
  if (!text) return std::nullopt;
  const auto form = recognised_form({*text});
  const bool is_own = spec.from == "einflow" || spec.texts[0] == "-" || (form && (*form)->name == "einflow");
  return is_own ? std::optional(std::move(*text)) : std::nullopt;
}

/// The einsums that the arguments give. Where it fails, the errors have been printed.
std::optional<LoadedChains> load_chains(const SpecArguments& spec) {
  const Library library = library_of(spec.library);
  const bool are_texts = !spec.texts.empty() && are_einsums(spec);
  SourceText source{"<command line>", {}};
  if (spec.problem.empty() && !spec.texts.empty() && !are_texts) {
    auto file = own_spec(spec);
    if (!file) return chains_of_document(spec);
    source = std::move(*file);
  }
  const auto load = [&]() -> Result<LoadedChains> {
    if (auto idle = idle_options(spec, spec.problem.empty() && !are_texts)) return tl::unexpected(std::move(*idle));
    if (!spec.problem.empty()) return chains_of_problem(spec, library);
    if (spec.texts.empty()) {
      return fail("nothing to work on", "give two einsums, a spec with a cascade, or --problem NAME");
    }
    if (are_texts) source.text = spec_of_einsums(spec);
    return chains_of_spec(source, library);
  };
  auto loaded = load();
  if (loaded && !loaded->machine && !spec.machine.empty()) {
    auto machine = machine_named(spec.machine, library);
    if (machine) loaded->machine = std::move(machine->machine);
    if (!machine) loaded = tl::unexpected(machine.error());
  }
  if (!loaded) {
    print_errors(loaded.error(), source);
    return std::nullopt;
  }
  if (!spec.layer.empty()) loaded->path = spec.layer;
  loaded->source = std::move(source);
  return std::move(*loaded);
}

/// The chain that begins with the layer or part chosen. The einsums of one layer are a cascade; a layer of one einsum
/// begins a cascade with those behind it.
Result<FusedChain> chosen_chain(LoadedChains& loaded) {
  const auto [name, part] = layer_and_part(loaded.document, loaded.path);
  const auto layer = choose_layer(loaded.document, name);
  if (!layer) return tl::unexpected(layer.error());
  if (!loaded.machine) loaded.machine = (*layer)->machine;
  if ((*layer)->repeat > 1) {
    loaded.conventions.push_back(
        fmt::format("the layer {} occurs {} times; the figures are of one", name, (*layer)->repeat));
  }
  if ((*layer)->cascade.einsums.size() > 1) return fused_chain((*layer)->cascade, part);
  Cascade cascade;
  for (const DocumentLayer* at = *layer; at != loaded.document.layers.data() + loaded.document.layers.size(); ++at) {
    for (Einsum einsum : at->cascade.einsums) {
      einsum.name = at->cascade.einsums.size() == 1 ? at->name : at->name + "/" + einsum.name;
      cascade.einsums.push_back(std::move(einsum));
    }
  }
  return fused_chain(cascade, cascade.einsums.front().name);
}

/// The fused nest that moves the least with a buffer of the size given.
int print_fused_nest(const FusedReport& report, const std::string& size, const SourceText& source) {
  const auto bits = parse_quantity(size, {Measure::size});
  if (!bits) return fail_with(bits.error(), {"--nest", size});
  const Count room(bits->value.numerator().value() / bits->value.denominator().value());
  const FusedStep* chosen = nullptr;
  for (const FusedStep& step : report.staircase.steps) {
    if (step.buffer_bits <= room) chosen = &step;
  }
  if (chosen == nullptr) {
    return fail_with({{{},
                       fmt::format("no nest of this space fits in {}", in_quotes(size)),
                       fmt::format("the smallest buffer is {} bit", report.staircase.steps.front().buffer_bits.str()),
                       {}}},
                     source);
  }
  print(to_text(report.chain, fused_nest(report.chain, *chosen)));
  return kDone;
}

int run_fused(const Arguments& arguments) {
  auto loaded = load_chains(arguments.spec);
  if (!loaded) return kBadInput;
  auto chain = chosen_chain(*loaded);
  if (!chain) return fail_with(chain.error(), {loaded->source.name, {}});
  FusedReport report;
  report.chain = std::move(*chain);
  report.machine = std::move(loaded->machine);
  report.conventions = std::move(loaded->conventions);
  report.space.shared_tile = arguments.shared_tile;
  report.space.bypass = !arguments.no_bypass;
  report.space.whole = arguments.whole;
  report.space.uncut = arguments.uncut;
  for (const Einsum& einsum : report.chain.einsums) {
    if (einsum.executed.share < Ratio(Count(1))) {
      report.conventions.push_back(
          "movement is that of the whole iteration space, also where only a share is executed");
      break;
    }
  }
  auto fused = least_fused_traffic(report.chain, report.space);
  if (!fused) return fail_with(fused.error(), {loaded->source.name, {}});
  report.staircase = std::move(*fused);
  if (!arguments.nest.empty()) return print_fused_nest(report, arguments.nest, loaded->source);
  auto unfused = least_unfused_traffic(report.chain, report.space);
  if (!unfused) return fail_with(unfused.error(), {loaded->source.name, {}});
  report.unfused = std::move(*unfused);
  print(arguments.json ? to_json(report).str() : to_text(report, arguments.all, output_style()));
  return kDone;
}

int run(const Arguments& arguments) {
  if (arguments.fused) return run_fused(arguments);
  if (!arguments.uncut.empty()) {
    return fail_with({{{}, "--uncut goes with --fused", "a single einsum has no common loops", {}}},
                     {"<command line>", {}});
  }
  std::optional<LoadedProblem> loaded = load_problem(arguments.spec);
  if (!loaded) return kBadInput;
  StaircaseReport report;
  report.einsum = std::move(loaded->einsum);
  report.machine = std::move(loaded->machine);
  report.conventions = std::move(loaded->conventions);
  report.space.shared_tile = arguments.shared_tile;
  report.space.bypass = !arguments.no_bypass;
  for (const std::string& name : arguments.whole) {
    const int rank = report.einsum.rank_named(name);
    if (rank < 0) {
      std::vector<std::string> names;
      for (const Rank& known : report.einsum.ranks) names.push_back(known.name);
      return fail_with(
          {{{}, fmt::format("--whole: there is no rank {}", in_quotes(name)), name_hint(name, names, "ranks"), {}}},
          loaded->source);
    }
    report.space.whole.push_back(rank);
  }
  if (!report.space.shared_tile && has_window(report.einsum)) {
    report.space.shared_tile = true;
    report.conventions.push_back(
        "a window slides or an axis is padded: only the shared tile is searched there; tensors held at places of their "
        "own may move less");
  }
  if (report.einsum.executed.share < Ratio(Count(1))) {
    report.conventions.push_back("movement is that of the whole iteration space, also where only a share is executed");
  }
  auto staircase = least_traffic(report.einsum, report.space);
  if (!staircase) return fail_with(staircase.error(), loaded->source);
  report.staircase = std::move(*staircase);
  if (!arguments.nest.empty()) return print_nest(report, arguments.nest, loaded->source);
  print(arguments.json ? to_json(report).str() : to_text(report, arguments.all, output_style()));
  return kDone;
}

std::function<int()> declare(CommandArguments& command) {
  auto arguments = std::make_shared<Arguments>();
  add_spec_arguments(command, arguments->spec);
  command.flag("--shared-tile", arguments->shared_tile, "All tensors are held at one place of the nest");
  command.flag("--no-bypass", arguments->no_bypass, "Every tensor goes through the buffer");
  command.comma_separated("--whole", arguments->whole, "RANK,...", "Ranks that stay whole in the buffer");
  command.flag("--fused", arguments->fused, "Two einsums of a cascade together, their intermediate in the buffer");
  command.comma_separated("--uncut", arguments->uncut, "RANK,...",
                          "Ranks that the common loops of --fused leave whole");
  command.text("--nest", arguments->nest, "SIZE", "A spec that moves the least with this buffer, to paste");
  command.flag("--all", arguments->all, "Every step of the staircase");
  command.flag("--json", arguments->json, "One JSON document on standard output");
  return [arguments] { return run(*arguments); };
}

}  // namespace

Command bound_command() {
  return {"bound", "Least traffic for every buffer size",
          "Examples:\n"
          "  einflow bound \"Y[m,n] += X[m,k] * W[k,n]\" -r m=4096,n=4096,k=4096\n"
          "  einflow bound --problem resnet50/conv1 --whole r,s --on eyeriss-v1\n"
          "  einflow bound matmul.yaml --nest \"512 KiB\" > best.yaml\n"
          "  einflow bound --problem llama3-8b-prefill/scores --fused",
          declare};
}

}  // namespace einflow
