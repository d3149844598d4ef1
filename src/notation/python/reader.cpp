#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/message.hpp"
#include "notation/python/evaluator.hpp"
#include "notation/python/operations.hpp"
#include "notation/python/python.hpp"
#include "notation/python/subscripts.hpp"

namespace einflow {

namespace {

using namespace python;  // this file is its door

constexpr std::size_t kLongestSubscripts = 4096;
constexpr std::size_t kLooked = 4096;  ///< bytes that tell whether a text is of this form

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n\"'");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n\"'") + 1 - first);
}

/// "mk,kn->mn" or "mk,kn", with nothing beside it.
bool is_subscripts(std::string_view text) {
  text = trimmed(text);
  if (text.size() > kLongestSubscripts) return false;
  const bool arrow = text.find("->") != std::string_view::npos, comma = text.find(',') != std::string_view::npos;
  if (!arrow && !comma) return false;
  // Without an arrow a list of words would look the same: operands of an einsum are short.
  std::size_t run = 0;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    run = letter ? run + 1 : 0;
    if (!letter && std::string_view(" ,.->").find(c) == std::string_view::npos) return false;
    if (run > 12 && !arrow) return false;
  }
  return true;
}

/// Sizes of -r: "m=4".
std::optional<std::map<std::string, std::int64_t>> sizes_of(const ReadOptions& options, Diagnostics& errors) {
  std::map<std::string, std::int64_t> sizes;
  for (const auto& [name, text] : options.ranks) {
    const auto count = parse_count(text);
    const auto size = count ? count->to_int64() : std::nullopt;
    if (!size || *size < 1 || *size > kLargestSize) {
      errors.push_back({{}, fmt::format("-r {}={}: expected a size from 1 to {}", name, text, kLargestSize), {}, {}});
      continue;
    }
    sizes[name] = *size;
  }
  if (!errors.empty()) return std::nullopt;
  return sizes;
}

void tell_output(Document& document, const TensorValue& output, Dialect dialect) {
  document.conventions.insert(document.conventions.begin(),
                              fmt::format("output{}: {}, as {} gives it", output.name.empty() ? "" : " " + output.name,
                                          shape_text(output.shape), name_of(dialect)));
}

/// A bare einsum string: sizes come from -r.
Result<Document> read_subscripts(const SourceText& source, const std::map<std::string, std::int64_t>& sizes) {
  Diagnostics errors;
  Lowering lowering(source.text, errors);
  const std::string_view text = trimmed(source.text);
  const auto begin = static_cast<std::size_t>(text.data() - source.text.data());
  const Place place{begin, begin + text.size()};
  const auto subscripts = parse_subscripts(text, place, lowering);
  if (!subscripts) return tl::unexpected(errors);
  std::vector<TensorValue> operands;
  std::vector<Place> places;
  std::set<std::string> known, missing;
  for (const auto& input : subscripts->inputs) {
    std::vector<std::int64_t> shape;
    for (const Label& label : input) {
      if (label.name == "...") {
        lowering.error(label.place, "'...' has no sizes in a bare einsum string",
                       "give the tensors: np.einsum(\"...mk,kn->...mn\", bf16[8, 4, 5], bf16[5, 6])");
        continue;
      }
      known.insert(label.name);
      const auto size = sizes.find(label.name);
      if (size == sizes.end() && missing.insert(label.name).second) {
        lowering.error(
            label.place, fmt::format("rank {} has no size", in_quotes(label.name)),
            fmt::format("-r {}=64, or give the tensors: np.einsum(\"{}\", bf16[...], ...)", label.name, text));
      }
      shape.push_back(size == sizes.end() ? 1 : size->second);
    }
    operands.push_back(tensor_of(std::move(shape), std::nullopt));
    places.push_back(place);
  }
  const std::vector<std::string> names(known.begin(), known.end());
  for (const Label& label : subscripts->output.value_or(std::vector<Label>{})) {
    if (label.name == "..." || known.count(label.name) != 0) continue;
    lowering.error(label.place, fmt::format("the output has {}, which no input has", in_quotes(label.name)),
                   "inputs have " + comma_list(names));
  }
  for (const auto& [name, size] : sizes) {
    if (known.count(name) != 0) continue;
    errors.push_back({{},
                      fmt::format("-r {}={}: the einsum has no rank {}", name, size, in_quotes(name)),
                      name_hint(name, names, "ranks"),
                      {}});
  }
  if (!errors.empty()) return tl::unexpected(errors);
  const auto output = lower_einsum(*subscripts, operands, places, place, Dialect::numpy, lowering);
  if (!output) return tl::unexpected(errors);
  Document document;
  document.name = "einsum";
  lowering.finish(document);
  tell_output(document, *output, Dialect::numpy);
  return document;
}

Result<Document> read_statements(const SourceText& source, const std::map<std::string, std::int64_t>& sizes) {
  const auto statements = parse_statements(source.text);
  if (!statements) return tl::unexpected(statements.error());
  Diagnostics errors;
  Lowering lowering(source.text, errors);
  Evaluator evaluator(source.text, sizes, lowering);
  evaluator.run(*statements);
  if (errors.empty() && !evaluator.result()) {
    lowering.error(statements->back().place, "nothing is computed",
                   "for example: torch.einsum(\"mk,kn->mn\", bf16[4, 5], bf16[5, 6])");
  }
  for (const auto& [name, size] : sizes) {
    if (!errors.empty() || evaluator.used_sizes().count(name) != 0) continue;
    errors.push_back({{},
                      fmt::format("-r {}={}: the text has no size {}", name, size, in_quotes(name)),
                      fmt::format("a name may stand for a size: bf16[{}, 64]", name),
                      {}});
  }
  if (!errors.empty()) return tl::unexpected(errors);
  Document document;
  document.name = evaluator.operation();
  if (lowering.einsums().size() == 1) document.name = lowering.einsums().front().name;
  lowering.finish(document);
  tell_output(document, *evaluator.result(), evaluator.dialect());
  return document;
}

/// Whether words of a text begin an expression of this form.
bool begins_expression(const std::vector<std::string>& words, std::size_t at) {
  const auto word = [&](std::size_t i) { return i < words.size() ? words[i] : std::string(); };
  if (word(at) == "(" || word(at) == "-") return begins_expression(words, at + 1);
  if (type_named(word(at)) && word(at + 1) == "[") return true;
  if (!word(at).empty() && word(at).find_first_not_of("0123456789") == std::string::npos) {
    return at > 0 && word(at - 1) == "(" && (word(at + 1) == "," || word(at + 1) == ")");
  }
  std::string path = word(at);
  for (++at; word(at) == "." && !word(at + 1).empty(); at += 2) path += "." + word(at + 1);
  if (word(at) != "(") return false;
  const std::string full = full_name(path);
  if (find_operation(full) != nullptr) return true;
  for (const char* library : {"torch.", "np.", "tf.", "keras.", "einops.", "jax."}) {
    if (full.compare(0, std::string_view(library).size(), library) == 0) return true;
  }
  return false;
}

}  // namespace

bool is_python(const SourceText& source) {
  if (is_subscripts(std::string_view(source.text).substr(0, kLongestSubscripts + 2))) {
    return source.text.size() <= kLongestSubscripts;
  }
  const std::vector<std::string> words = first_words(std::string_view(source.text).substr(0, kLooked), 24);
  if (words.empty()) return false;
  if (words.size() > 2 && words[1] == "=") return begins_expression(words, 2);
  if (words.size() > 3 && words[1] == ":" && type_named(words[2])) return words[3] == "[";
  return begins_expression(words, 0);
}

Result<Document> read_python(const std::vector<SourceText>& sources, const ReadOptions& options) {
  if (sources.size() != 1) return fail("an expression is one text");
  Diagnostics errors;
  for (const auto& [key, value] : options.settings) {
    errors.push_back(
        {{}, fmt::format("--set {}={}: an expression leaves nothing of that kind open", key, value), {}, {}});
  }
  const auto sizes = sizes_of(options, errors);
  if (!sizes || !errors.empty()) return tl::unexpected(errors);
  const SourceText& source = sources.front();
  if (is_subscripts(source.text)) return read_subscripts(source, *sizes);
  return read_statements(source, *sizes);
}

}  // namespace einflow
