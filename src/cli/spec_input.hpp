// A spec from the command line: files in any form, standard input, or the short form without a file.
#pragma once

#include <optional>
#include <string>

#include "cli/document_input.hpp"
#include "notation/spec_reader.hpp"

namespace einflow {

/// What the user gave. `texts` may also be one einsum, or empty where `problem` says what is computed.
struct SpecArguments : DocumentArguments {
  std::string problem;  ///< library problem, "resnet50/conv1"
  std::string mapping_file;
};

/// Declares the arguments of a command that takes a spec.
void add_spec_arguments(CommandArguments& command, SpecArguments& arguments);

/// Whether the arguments are the short form: a library problem or an einsum, no file.
bool is_short_form(const SpecArguments& arguments);

/// A spec read, with the text that messages about it point into.
struct LoadedSpec {
  ReadSpec read;
  SourceText source;
  bool foreign = false;  ///< from another notation: what was assumed of it is told by every command
  std::string searched;  ///< how the mapping was found, where none was given; one of `read.conventions`
};

/// Tells what was assumed of a text in another notation, and of a mapping that was searched, for commands whose answer
/// does not list it.
void tell_conventions(const LoadedSpec& loaded);

/// Reads the spec; a mapping that is missing is searched. Where it fails, the errors have been printed.
std::optional<LoadedSpec> load_spec(const SpecArguments& arguments);

/// A problem, and a machine where one is given.
struct LoadedProblem {
  Einsum einsum;
  std::optional<Machine> machine;
  std::vector<std::string> conventions;
  SourceText source;
};

/// Reads the problem only: no machine is needed, and a mapping is not looked at.
std::optional<LoadedProblem> load_problem(const SpecArguments& arguments);

}  // namespace einflow
