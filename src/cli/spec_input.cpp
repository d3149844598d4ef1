#include "cli/spec_input.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/library_folders.hpp"
#include "cli/terminal.hpp"
#include "report/json.hpp"
#include "report/mapping_skeleton.hpp"

namespace einflow {

namespace {

/// A spec is written by people; larger than this it is a mistake.
constexpr std::size_t kLargestText = std::size_t{16} << 20;

const char* const kCommandLine = "<command line>";

Result<SourceText> read_text(const std::string& path) {
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
  if (source.text.size() > kLargestText) return fail(fmt::format("'{}' is larger than 16 MiB: not a spec", path));
  return source;
}

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
    source.text = "problem:\n  einsum: " + json_quoted(arguments.spec) + "\n  ranks: {" + *ranks + "}\n";
    if (!types->empty()) source.text += "  types: {" + *types + "}\n";
  }
  if (arguments.machine.empty()) {
    return fail("the machine is missing", "--on NAME takes one of the library; `einflow machines` lists them");
  }
  source.text += "machine: " + json_quoted(arguments.machine) + "\n";
  return source;
}

Result<SourceText> spec_text(const SpecArguments& arguments) {
  if (!arguments.problem.empty() && !arguments.spec.empty()) {
    return fail("a spec and --problem are given; one of them says what is computed");
  }
  if (!arguments.problem.empty() || is_einsum(arguments.spec)) return short_form(arguments);
  if (arguments.spec.empty()) {
    return fail("nothing to work on", "give a spec file, - for standard input, an einsum, or --problem NAME");
  }
  if (!arguments.machine.empty() || !arguments.ranks.empty() || !arguments.types.empty()) {
    return fail("-r, --types and --on go with an einsum or --problem",
                "in a spec file, write these parts into the file");
  }
  return read_text(arguments.spec);
}

/// The mapping file's nest in place of a mapping in the spec.
bool read_mapping_file(const SpecArguments& arguments, LoadedSpec& loaded) {
  const Result<SourceText> text = read_text(arguments.mapping_file);
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

/// --types in place of the types that a library problem has.
Result<std::string> override_types(const std::vector<std::string>& pairs, Einsum& einsum) {
  std::string said;
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) {
      return fail(fmt::format("--types: found '{}', expected TENSOR=TYPE", pair), "for example: --types I=int8,F=int8");
    }
    const std::string name = pair.substr(0, equals);
    const int tensor = einsum.tensor_named(name);
    if (tensor < 0) {
      std::string tensors;
      for (const Tensor& t : einsum.tensors) tensors += (tensors.empty() ? "" : ", ") + t.name;
      return fail(fmt::format("--types: the problem has no tensor '{}'", name), "tensors: " + tensors);
    }
    const auto type = find_element_type(pair.substr(equals + 1));
    if (!type) {
      std::vector<std::string> types;
      for (const ElementType& known : element_types()) types.push_back(known.name);
      const std::string nearest = nearest_name(pair.substr(equals + 1), types);
      return fail(
          fmt::format("--types: unknown element type '{}'", pair.substr(equals + 1)),
          nearest.empty() ? "for example bf16, fp32, int8, or 12-bit" : fmt::format("did you mean '{}'?", nearest));
    }
    einsum.tensors[static_cast<std::size_t>(tensor)].type = *type;
    said += fmt::format("{}{} {}", said.empty() ? "" : ", ", name, type->name);
  }
  return said;
}

void report_missing_mapping(const LoadedSpec& loaded, bool in_file) {
  const Spec& spec = loaded.read.spec;
  print_errors({{{},
                 "the mapping is missing: searching for the best one is not there yet",
                 in_file ? "add the part `mapping: |` to the spec, or give --mapping FILE" : "give --mapping FILE",
                 {}}},
               loaded.source);
  print_message(
      "A nest for this problem on this machine to start from, outermost first; put a size for\n"
      "each TILE, drop the tensors that a level does not hold and the loops you do not need:\n");
  print_message(mapping_skeleton(spec.einsum, spec.machine));
}

}  // namespace

void add_spec_arguments(CommandArguments& command, SpecArguments& arguments) {
  command.positional("SPEC", arguments.spec, "Spec file, - for standard input, or an einsum");
  command.comma_separated("-r,--ranks", arguments.ranks, "RANK=SIZE,...", "Rank sizes of an einsum: m=4096,n=4096");
  command.comma_separated("--types", arguments.types, "TENSOR=TYPE,...", "Element types: X=bf16,Y=fp32");
  command.text("--problem", arguments.problem, "NAME", "Problem of the library: resnet50/conv1");
  command.text("--on", arguments.machine, "NAME", "Machine of the library");
  command.text("--mapping", arguments.mapping_file, "FILE", "File of nest lines, outermost first");
  command.folders("--library", arguments.library, "DIR", "Folder with machines/ and problems/, searched first");
}

std::optional<LoadedSpec> load_spec(const SpecArguments& arguments) {
  const Result<SourceText> source = spec_text(arguments);
  if (!source) {
    print_errors(source.error(), {kCommandLine, {}});
    return std::nullopt;
  }
  Result<ReadSpec> read = read_spec(*source, library_of(arguments.library), MappingPart::optional);
  if (!read) {
    print_errors(read.error(), *source);
    return std::nullopt;
  }
  LoadedSpec loaded{std::move(*read), *source};
  if (!arguments.problem.empty() && !arguments.types.empty()) {
    const Result<std::string> said = override_types(arguments.types, loaded.read.spec.einsum);
    if (!said) {
      print_errors(said.error(), {kCommandLine, {}});
      return std::nullopt;
    }
    loaded.read.conventions.push_back("types given with --types: " + *said);
  }
  const bool has_mapping = !loaded.read.spec.mapping.holds.empty();
  if (!arguments.mapping_file.empty()) {
    if (has_mapping) {
      print_errors({{{}, "the spec has a mapping and --mapping gives another", "leave one of them out", {}}}, *source);
      return std::nullopt;
    }
    if (!read_mapping_file(arguments, loaded)) return std::nullopt;
  } else if (!has_mapping) {
    report_missing_mapping(loaded, source->name != kCommandLine);
    return std::nullopt;
  }
  return loaded;
}

}  // namespace einflow
