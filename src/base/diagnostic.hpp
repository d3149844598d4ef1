// Messages about a user's input, as values: where, what was found, what was expected.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace einflow {

/// A place in a source text. Lines and columns count from 1; line 0 means
/// "no place" (the message is about the whole input).
struct Span {
  int line = 0;
  int column = 0;
  int length = 1;
  bool operator==(const Span&) const = default;
};

/// One error. `message` says what was found and what was expected; `hint`, where
/// not empty, is a line of advice (nearest valid name, the units allowed).
struct Diagnostic {
  Span span;
  std::string message;
  std::string hint;
  std::string source;  ///< name of the source it is about; empty = the spec itself
  bool operator==(const Diagnostic&) const = default;
};

using Diagnostics = std::vector<Diagnostic>;

/// What every step from text to counts returns: the value, or all errors found.
template <typename T>
using Result = tl::expected<T, Diagnostics>;

/// A failed Result from a single message.
inline tl::unexpected<Diagnostics> fail(std::string message, std::string hint = {}, Span span = {}) {
  return tl::unexpected<Diagnostics>(Diagnostics{{span, std::move(message), std::move(hint), {}}});
}

/// A named text that diagnostics point into ("matmul.yaml", "<command line>").
struct SourceText {
  std::string name;
  std::string text;
};

/// Renders as a compiler would:
///   matmul.yaml:14:3: error: ...
///     14 | for mm by 128
///        |     ^^
///   hint: ...
std::string render(const Diagnostic& diagnostic, const SourceText& source);
std::string render(const Diagnostics& diagnostics, const SourceText& source);
/// Likewise for a text in several files: each diagnostic is shown in the source that it names, else in the first.
std::string render_in(const Diagnostics& diagnostics, const std::vector<SourceText>& sources);

/// Orders by place: the input's own first, then other sources; line by line.
void sort_by_place(Diagnostics& diagnostics);

/// The valid name nearest to `found` (edit distance, at most a third of its length and never more than 3), else the
/// shortest that begins with it (from 3 letters on), or "" where there is none.
std::string nearest_name(std::string_view found, const std::vector<std::string>& valid);

}  // namespace einflow
