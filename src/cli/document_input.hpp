// A document from the command line: files together, standard input, or a text in place of a file.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line.hpp"
#include "notation/form.hpp"

namespace einflow {

struct DocumentArguments {
  std::vector<std::string> texts;     ///< files, "-", or a text such as "mk,kn->mn"
  std::string from;                   ///< form; empty = as recognised
  std::string layer;                  ///< LAYER or LAYER/PART
  std::string machine;                ///< library machine
  std::vector<std::string> ranks;     ///< "m=4096"
  std::vector<std::string> types;     ///< "X=bf16"
  std::vector<std::string> settings;  ///< "num_pes=256"
  std::vector<std::string> library;   ///< folders
};

void add_document_arguments(CommandArguments& command, DocumentArguments& arguments);

struct LoadedDocument {
  Document document;
  std::vector<SourceText> sources;
  const Form* form = nullptr;
};

/// Reads the texts; a machine of --on is put into every layer that has none. Where it fails, the errors have been
/// printed.
std::optional<LoadedDocument> load_document(const DocumentArguments& arguments);

/// Reads a file, or standard input for "-".
Result<SourceText> read_file(const std::string& path);

/// Puts the types of --types ("X=bf16") in place of those that the einsums have; says which. Each tensor must be in one
/// of them.
Result<std::string> override_types(const std::vector<std::string>& pairs, const std::vector<Einsum*>& einsums);

/// What --layer says, as the names of a layer and of its part: a layer's own name may hold '/'.
std::pair<std::string, std::string> layer_and_part(const Document& document, const std::string& path);

}  // namespace einflow
