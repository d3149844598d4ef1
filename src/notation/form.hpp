// Everybody's notations: one entry a form, with its reader and its writer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "notation/document.hpp"

namespace einflow {

/// A notation. Readers and writers neither print nor open files.
struct Form {
  std::string_view name;     ///< as --from and --to name it
  std::string_view summary;  ///< what it is, for lists
  std::string_view endings;  ///< of its files, separated by spaces: ".yaml .yml"; for messages
  /// Whether a text is in this form, from its name and its first bytes; nullptr where only --from can say.
  bool (*recognises)(const SourceText& source) = nullptr;
  /// All sources together are one document. Diagnostics name their source. nullptr where it is only written.
  Result<Document> (*read)(const std::vector<SourceText>& sources, const ReadOptions& options) = nullptr;
  /// Errors name what the form cannot say, and why. nullptr where it is only read.
  Result<Writing> (*write)(const Document& document) = nullptr;
};

/// All forms, einflow's own first.
const std::vector<Form>& forms();

/// By name; an unknown name is an error with the nearest valid one.
Result<const Form*> form_named(std::string_view name);

/// The form of the sources, from their names and contents; an error lists the forms where none recognises them.
Result<const Form*> recognised_form(const std::vector<SourceText>& sources);

}  // namespace einflow
