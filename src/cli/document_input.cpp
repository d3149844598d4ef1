#include "cli/document_input.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

#include "base/message.hpp"
#include "cli/library_folders.hpp"
#include "cli/terminal.hpp"
#include "notation/library.hpp"

namespace einflow {

namespace {

constexpr std::size_t kLargestText = std::size_t{1}
                                     << 30;  ///< a network with its weights; forms have limits of their own

const char* const kCommandLine = "<command line>";

bool is_file(const std::string& path) {
  struct stat status{};
  return path == "-" || stat(path.c_str(), &status) == 0;
}

/// A text in a notation rather than the name of a file: "mk,kn->mn", "torch.nn.Linear(64, 32)((8, 64))".
bool is_text(const std::string& text) {
  if (is_file(text)) return false;
  const bool listed = text.find(',') != std::string::npos && text.find_first_of("./") == std::string::npos;  // mk,kn
  return listed || text.find("->") != std::string::npos || text.find_first_of("([@") != std::string::npos;
}

/// "KEY=VALUE" of an option that may be repeated.
Result<std::map<std::string, std::string>> pairs_of(const std::vector<std::string>& texts, const char* option,
                                                    const char* example) {
  std::map<std::string, std::string> pairs;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return fail(fmt::format("{}: found '{}', expected NAME=VALUE", option, text), example);
    }
    if (!pairs.emplace(text.substr(0, equals), text.substr(equals + 1)).second) {
      return fail(fmt::format("{}: {} is given twice", option, in_quotes(text.substr(0, equals))));
    }
  }
  return pairs;
}

Result<std::vector<SourceText>> read_texts(const std::vector<std::string>& texts) {
  if (texts.empty()) {
    return fail("nothing to work on", "give a spec file, - for standard input, an einsum, or --problem NAME");
  }
  std::vector<SourceText> sources;
  for (const std::string& text : texts) {
    if (is_text(text)) {
      sources.push_back({kCommandLine, text});
      continue;
    }
    auto source = read_file(text);
    if (!source) return tl::unexpected(source.error());
    sources.push_back(std::move(*source));
  }
  return sources;
}

Result<ReadOptions> read_options(const DocumentArguments& arguments) {
  ReadOptions options;
  options.library = library_of(arguments.library);
  auto ranks = pairs_of(arguments.ranks, "-r", "for example: -r m=4096,n=4096,k=4096");
  if (!ranks) return tl::unexpected(ranks.error());
  options.ranks = std::move(*ranks);
  auto settings = pairs_of(arguments.settings, "--set", "for example: --set num_pes=256");
  if (!settings) return tl::unexpected(settings.error());
  options.settings = std::move(*settings);
  if (!arguments.machine.empty()) {
    auto machine = machine_named(arguments.machine, options.library);
    if (!machine) return tl::unexpected(machine.error());
    options.machine = std::move(machine->machine);
  }
  return options;
}

}  // namespace

Result<SourceText> read_file(const std::string& path) {
  const bool standard_input = path == "-";
  std::FILE* file = standard_input ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    return fail(fmt::format("cannot open '{}': {}", path, std::strerror(errno)),
                "give a file, - for standard input, or an einsum such as \"Y[m,n] += X[m,k] * W[k,n]\"");
  }
  SourceText source{standard_input ? "<stdin>" : path, {}};
  char block[65536];
  std::size_t got = 0;
  while ((got = std::fread(block, 1, sizeof block, file)) > 0 && source.text.size() <= kLargestText) {
    source.text.append(block, got);
  }
  const bool failed = std::ferror(file) != 0;
  const int reason = errno;
  if (!standard_input) std::fclose(file);
  if (failed) return fail(fmt::format("cannot read '{}': {}", path, std::strerror(reason)));
  if (source.text.size() > kLargestText) return fail(fmt::format("'{}' is larger than 1 GiB", path));
  return source;
}

void add_document_arguments(CommandArguments& command, DocumentArguments& arguments) {
  command.positionals("SPEC", arguments.texts, "Spec files, - for standard input, or an einsum");
  command.text("--from", arguments.from, "FORM", "Notation of the files, where it is not recognised");
  command.text("--layer", arguments.layer, "NAME", "Layer of a file that has several");
  command.comma_separated("-r,--ranks", arguments.ranks, "RANK=SIZE,...", "Rank sizes of an einsum: m=4096,n=4096");
  command.comma_separated("--types", arguments.types, "TENSOR=TYPE,...", "Element types: X=bf16,Y=fp32");
  command.text("--on", arguments.machine, "NAME", "Machine of the library");
  command.texts("--set", arguments.settings, "KEY=VALUE", "What a notation leaves open: num_pes=256");
  command.folders("--library", arguments.library, "DIR", "Folder with machines/ and problems/, searched first");
}

std::optional<LoadedDocument> load_document(const DocumentArguments& arguments) {
  const auto refuse = [](const Diagnostics& errors) {
    print_errors(errors, {kCommandLine, {}});
    return std::nullopt;
  };
  auto sources = read_texts(arguments.texts);
  if (!sources) return refuse(sources.error());
  const auto form = arguments.from.empty() ? recognised_form(*sources) : form_named(arguments.from);
  if (!form) return refuse(form.error());
  if ((*form)->read == nullptr) {
    return refuse({{{}, fmt::format("the form {} is only written, not read", in_quotes((*form)->name)), {}, {}}});
  }
  if ((*form)->name == "einflow" &&
      !(arguments.machine.empty() && arguments.ranks.empty() && arguments.types.empty())) {
    return refuse({{{},
                    "-r, --types and --on go with an einsum or --problem",
                    "in a spec file, write these parts into the file",
                    {}}});
  }
  const auto options = read_options(arguments);
  if (!options) return refuse(options.error());
  auto document = (*form)->read(*sources, *options);
  if (!document) {
    print_errors_in(document.error(), *sources);
    return std::nullopt;
  }
  for (DocumentLayer& layer : document->layers) {
    if (!layer.machine && options->machine) layer.machine = options->machine;
  }
  if (!arguments.types.empty()) {
    std::vector<Einsum*> einsums;
    for (DocumentLayer& layer : document->layers) {
      for (Einsum& einsum : layer.cascade.einsums) einsums.push_back(&einsum);
    }
    const auto said = override_types(arguments.types, einsums);
    if (!said) return refuse(said.error());
    document->conventions.push_back("types given with --types: " + *said);
  }
  return LoadedDocument{std::move(*document), std::move(*sources), *form};
}

Result<std::string> override_types(const std::vector<std::string>& pairs, const std::vector<Einsum*>& einsums) {
  std::string said;
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) {
      return fail(fmt::format("--types: found '{}', expected TENSOR=TYPE", pair), "for example: --types I=int8,F=int8");
    }
    const std::string name = pair.substr(0, equals);
    const auto type = find_element_type(pair.substr(equals + 1));
    if (!type) {
      std::vector<std::string> types;
      for (const ElementType& known : element_types()) types.push_back(known.name);
      const std::string nearest = nearest_name(pair.substr(equals + 1), types);
      return fail(
          fmt::format("--types: unknown element type '{}'", pair.substr(equals + 1)),
          nearest.empty() ? "for example bf16, fp32, int8, or 12-bit" : fmt::format("did you mean '{}'?", nearest));
    }
    bool found = false;
    std::set<std::string> names;
    for (Einsum* einsum : einsums) {
      for (Tensor& tensor : einsum->tensors) {
        names.insert(tensor.name);
        if (tensor.name != name) continue;
        tensor.type = *type;
        found = true;
      }
    }
    if (!found) {
      return fail(fmt::format("--types: the problem has no tensor '{}'", name),
                  "tensors: " + comma_list({names.begin(), names.end()}));
    }
    said += fmt::format("{}{} {}", said.empty() ? "" : ", ", name, type->name);
  }
  return said;
}

std::pair<std::string, std::string> layer_and_part(const Document& document, const std::string& path) {
  for (const DocumentLayer& layer : document.layers) {
    if (layer.name == path) return {path, {}};
  }
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos && document.layers.size() == 1) {  // the part of the only layer
    for (const Einsum& einsum : document.layers.front().cascade.einsums) {
      if (einsum.name == path) return {document.layers.front().name, path};
    }
  }
  if (slash == std::string::npos) return {path, {}};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace einflow
