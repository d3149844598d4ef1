// A spec from the command line: a file, standard input, or the short form without a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "notation/spec_reader.hpp"

namespace einflow {

/// What the user gave. `spec` is a file, "-" or an einsum.
struct SpecArguments {
  std::string spec;
  std::string problem;  ///< library problem, "resnet50/conv1"
  std::string machine;  ///< library machine
  std::string mapping_file;
  std::vector<std::string> ranks;    ///< "m=4096"
  std::vector<std::string> types;    ///< "X=bf16"
  std::vector<std::string> library;  ///< folders
};

/// Declares the arguments of a command that takes a spec.
void add_spec_arguments(CommandArguments& command, SpecArguments& arguments);

/// A spec read, with the text that messages about it point into.
struct LoadedSpec {
  ReadSpec read;
  SourceText source;
};

/// Reads the spec. Where it fails, the errors have been printed.
std::optional<LoadedSpec> load_spec(const SpecArguments& arguments);

}  // namespace einflow
