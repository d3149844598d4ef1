#include "notation/loops/nest_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/message.hpp"
#include "notation/loops/expression.hpp"
#include "notation/loops/header.hpp"
#include "notation/loops/range.hpp"
#include "notation/loops/reading.hpp"
#include "notation/loops/statement.hpp"

namespace einflow::loops {

namespace {

constexpr std::size_t kMaximumBytes = std::size_t{64} << 20;
constexpr std::size_t kMaximumLoops = 1000;
constexpr std::size_t kMaximumNames = 10000;  ///< sizes, index lines

bool is_type_word(const Token& token) {
  return one_of(token, {"int", "long", "unsigned", "size_t", "const", "static", "constexpr", "auto", "int32_t",
                        "int64_t", "uint32_t", "uint64_t", "let", "var"});
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::string upper_case(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

class NestTextParser {
 public:
  NestTextParser(const SourceText& source, OpenSizes& open_sizes)
      : open_sizes_(open_sizes),
        scanner_(source.text, text_.comments),
        expressions_(scanner_, [this](const Token& name) { return meaning(name); }, errors_) {}

  Result<NestText> parse() {
    while (scanner_.peek().kind != Token::Kind::end && errors_.size() < kMaximumErrors) {
      if (!statement()) break;
    }
    check_whole();
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    return std::move(text_);
  }

 private:
  struct OpenBlock {
    bool braces = false;
    int indentation = 0;
  };

  // ---- names

  std::optional<Affine> meaning(const Token& name) {
    const auto index = index_meanings_.find(name.text);
    if (index != index_meanings_.end()) return index->second;
    if (const auto size = size_named(std::string(name.text))) return Affine{*size, {}};
    std::vector<std::string> names;
    for (const auto& [known, value] : index_meanings_) names.push_back(known);
    for (const auto& [known, value] : text_.sizes) names.push_back(known);
    const std::string nearest = nearest_name(name.text, names);
    reading_.error(name.span,
                   fmt::format("{} is no loop variable outside this place and no size", in_quotes(name.text)),
                   nearest.empty()
                       ? fmt::format("a line `{} = 64` above the nest, or -r {}=64, gives a size", name.text, name.text)
                       : name_hint(name.text, names, "names"));
    return std::nullopt;
  }

  /// A size that the text states, or -r does: under this name or in lower case.
  std::optional<Count> size_named(const std::string& name) {
    if (const auto size = text_.sizes.find(name); size != text_.sizes.end()) {
      size->second.used = true;
      return size->second.value;
    }
    if (text_.header.ranks) {
      for (const WrittenSize& rank : *text_.header.ranks) {
        if (rank.name == name || upper_case(rank.name) == name) return rank.value;
      }
    }
    for (const std::string& spelling : {name, lower_case(name)}) {
      const auto open = open_sizes_.find(spelling);
      if (open == open_sizes_.end()) continue;
      open->second.used = true;
      return open->second.value;
    }
    return std::nullopt;
  }

  // ---- lines

  bool statement() {
    const Token first = scanner_.peek();
    if (first.is(";")) return reading_.take(";");
    if (first.is("}") || one_of(first, {"end", "done", "endfor"})) return closer();
    if (first.kind != Token::Kind::name) {
      return reading_.error(first.span,
                            fmt::format("{}, expected a loop or the statement inside the loops", found(first)),
                            "for m in [0, 64): | parallel-for n in [0, 16): | Y[m, n] += X[m, k] * W[k, n]");
    }
    if (first.is("if") || first.is("while") || first.is("else")) {
      return reading_.error(
          first.span, fmt::format("{}: a nest of einflow has no conditions", in_quotes(first.text)),
          "every iteration of the loops is one operation; implicit zeros are declared as `shapes: I[56]`, "
          "remainders in the range: [0, min(16, 100 - 16*m1))");
    }
    if (const auto kind = loop_word()) return loop(*kind, first);
    skip_type_words();
    return assignment_or_statement();
  }

  /// `const int` before the name that is declared.
  void skip_type_words() {
    while (is_type_word(scanner_.peek())) {
      Scanner ahead = scanner_;
      ahead.next();
      if (ahead.peek().kind != Token::Kind::name || ahead.peek().is("in")) return;
      scanner_ = ahead;
    }
  }

  /// Takes `for`, `parallel-for` and their like, or nothing.
  std::optional<WrittenLoop::Kind> loop_word() {
    using Kind = WrittenLoop::Kind;
    const Token word = scanner_.peek();
    if (one_of(word, {"for", "temporal_for"})) {
      scanner_.next();
      return Kind::temporal;
    }
    if (one_of(word, {"parallel_for", "spatial_for", "parfor", "par_for", "pfor", "forall", "parallelfor"})) {
      scanner_.next();
      return Kind::spatial;
    }
    if (word.is("atomic_for")) {
      scanner_.next();
      return Kind::atomic;
    }
    const bool spatial = one_of(word, {"parallel", "spatial", "par"});
    if (!spatial && !one_of(word, {"atomic", "temporal"})) return std::nullopt;
    Scanner ahead = scanner_;
    ahead.next();
    if (ahead.peek().is("-")) ahead.next();
    if (!ahead.peek().is("for")) return std::nullopt;
    ahead.next();
    scanner_ = ahead;
    return spatial ? Kind::spatial : word.is("atomic") ? Kind::atomic : Kind::temporal;
  }

  bool closer() {
    const Token token = scanner_.next();
    if (!text_.statement) {
      return reading_.error(
          token.span, fmt::format("{} closes a loop before there is a statement in the loops", in_quotes(token.text)));
    }
    if (!token.is("}")) {
      if (scanner_.peek().is("for") && !scanner_.peek().first_on_line) scanner_.next();
      return true;
    }
    while (!blocks_.empty() && !blocks_.back().braces) blocks_.pop_back();
    if (blocks_.empty()) return reading_.error(token.span, "'}' closes no loop");
    blocks_.pop_back();
    return true;
  }

  /// Whether the word at hand stands inside all loops so far.
  bool stands_inside(const Token& first) {
    if (blocks_.empty() || blocks_.back().braces || !first.first_on_line) return true;
    if (first.indentation >= blocks_.back().indentation) return true;
    const WrittenLoop& loop = text_.loops.back();
    return reading_.error(
        first.span,
        fmt::format("this line stands outside the loop over {} (line {})", in_quotes(loop.variable), loop.span.line),
        "indent it at least as far: einflow's loops stand inside one another, with one statement in them");
  }

  bool loop(WrittenLoop::Kind kind, const Token& first) {
    if (text_.statement) {
      return reading_.error(first.span,
                            fmt::format("a second nest: the first ends at line {}", text_.statement_span.line),
                            "one text is one einsum; write the others into texts of their own");
    }
    if (!stands_inside(first)) return false;
    WrittenLoop loop;
    loop.kind = kind;
    loop.offset = first.offset;
    loop.span = first.span;
    const bool bracket = reading_.take("(");
    skip_type_words();
    const std::size_t before = text_.loops.size();
    if (!variable_and_range(loop, bracket)) return false;
    if (bracket && !reading_.expect(")")) return false;
    if (reading_.take_word("on") && !mesh_axis()) return false;
    bool braces = false;
    while (reading_.take_word("do") || reading_.take(":") || scanner_.peek().is("{"))
      braces = reading_.take("{") || braces;
    for (std::size_t i = before; i < text_.loops.size(); ++i) {
      text_.loops[i].last_line = scanner_.last().span.line;
      text_.loops[i].mesh = mesh_;
      text_.loops[i].axis = axis_;
    }
    mesh_.reset();
    axis_.reset();
    blocks_.push_back({braces, first.indentation});
    return true;
  }

  bool mesh_axis() {
    const auto word = [&](std::optional<NestWord>& into) {
      Token token = scanner_.peek();
      if (token.kind != Token::Kind::name)
        return reading_.error(token.span, found(token) + ", expected MESH.AXIS", "on array.x");
      scanner_.next();
      into = NestWord{std::string(token.text), token.span};
      while (scanner_.peek().is("-") && scanner_.peek().offset == token.offset + token.text.size()) {
        scanner_.next();
        token = scanner_.next();
        into->text += "-" + std::string(token.text);
        into->span.length += 1 + token.span.length;
      }
      return true;
    };
    return word(mesh_) && reading_.expect(".", "on array.x") && word(axis_);
  }

  bool variable_and_range(WrittenLoop& loop, bool bracket) {
    std::vector<Token> variables;
    do {
      const Token name = scanner_.peek();
      if (name.kind != Token::Kind::name) {
        return reading_.error(name.span, fmt::format("{}, expected a loop variable", found(name)), "for m in [0, 64):");
      }
      variables.push_back(scanner_.next());
    } while (reading_.take(","));
    const Token sign = scanner_.peek();
    const bool ranged = one_of(sign, {"in", "\xE2\x88\x88", "=", ":="});
    if (variables.size() > 1 && ranged) {
      return reading_.error(sign.span, "a range for several variables; each loop needs a range of its own",
                            "for m in [0, 64): on one line, for n in [0, 32): on the next");
    }
    for (const Token& variable : variables) {
      WrittenLoop next = loop;
      next.variable = variable.text;
      next.variable_span = variable.span;
      next.bound_span = variable.span;
      if (!ranged) {
        if (!whole_range(next)) return false;
      } else {
        scanner_.next();
        const Token first = scanner_.peek();
        if (!(sign.is("in") || sign.text.size() == 3 ? read_range_in(reading_, next)
                                                     : read_range_from(reading_, next, bracket)))
          return false;
        next.bound_span = first.span;
        if (first.span.line == scanner_.last().span.line) {
          next.bound_span.length = scanner_.last().span.column + scanner_.last().span.length - first.span.column;
        }
      }
      if (!add_loop(next)) return false;
    }
    return true;
  }

  /// `for m`: all of M.
  bool whole_range(WrittenLoop& loop) {
    const auto size = size_named(upper_case(loop.variable)).has_value() ? size_named(upper_case(loop.variable))
                                                                        : size_named(loop.variable);
    if (!size) {
      return reading_.error(loop.variable_span, fmt::format("the loop over {} has no range", in_quotes(loop.variable)),
                            fmt::format("write `for {} in [0, 64)`, or state {} above the nest", loop.variable,
                                        upper_case(loop.variable)));
    }
    return set_range(reading_, loop, {}, Bound{{Affine{*size, {}}, 1}}, 1);
  }

  bool add_loop(const WrittenLoop& loop) {
    if (text_.loops.size() == kMaximumLoops) {
      return reading_.error(loop.variable_span, fmt::format("more than {} loops", kMaximumLoops));
    }
    if (!text_.loops.empty() && text_.loops.back().kind == WrittenLoop::Kind::atomic &&
        loop.kind != WrittenLoop::Kind::atomic) {
      return reading_.error(loop.span, "a loop inside an atomic-for: that is one operation of the compute level",
                            "atomic-for loops are the innermost ones");
    }
    const int index = static_cast<int>(text_.loops.size());
    const Affine value = sum(loop.start, Affine{0, {{index, loop.step}}});
    if (!index_meanings_.emplace(loop.variable, value).second) {
      return reading_.error(loop.variable_span,
                            fmt::format("there is a loop over {} already", in_quotes(loop.variable)),
                            "each loop has a variable of its own: m1, m0");
    }
    text_.loops.push_back(loop);
    return true;
  }

  // ---- statements and assignments

  bool assignment_or_statement() {
    Scanner ahead = scanner_;
    const Token name = ahead.next();
    if (name.kind != Token::Kind::name) {
      return reading_.error(name.span, fmt::format("{}, expected a name", found(name)));
    }
    const Token behind = ahead.peek();
    if (behind.is(":") && text_.loops.empty() && name.first_on_line) {
      scanner_ = ahead;
      scanner_.next();
      return header_line(name);
    }
    const bool indexed = behind.is("[");
    if (!indexed && (behind.is("=") || behind.is(",") || behind.is(":="))) {
      return text_.loops.empty() ? sizes() : index_or_scalar(ahead);
    }
    if (!indexed && !one_of(behind, {"+=", "*=", "-=", "max", "min"})) {
      return reading_.error(
          name.span, fmt::format("{} starts neither a loop nor the statement in the loops", in_quotes(name.text)),
          name_hint(name.text, {"for", "parallel-for", "parallel_for", "spatial_for", "parfor", "atomic-for"},
                    "a line is one of"));
    }
    return body(name);
  }

  bool header_line(const Token& key) {
    Span span;
    const std::string_view rest = scanner_.rest_of_line(span);
    read_header_line({std::string(key.text), key.span}, rest, span, text_.header, errors_);
    return true;
  }

  /// `M = 64`, `M = 64, N = 32`, `M, N = 64, 32` above the loops.
  bool sizes() {
    do {
      std::vector<Token> names;
      do {
        const Token name = scanner_.next();
        if (name.kind != Token::Kind::name)
          return reading_.error(name.span, fmt::format("{}, expected a name", found(name)));
        names.push_back(name);
      } while (reading_.take(","));
      if (!reading_.take(":=") && !reading_.expect("=", "a size: M = 64")) return false;
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (i > 0 && !reading_.expect(",")) return false;
        const auto value = expressions_.number();
        if (!value || !add_size(names[i], *value)) return false;
      }
    } while (reading_.take(","));
    return true;
  }

  bool add_size(const Token& name, Count value) {
    if (text_.sizes.size() >= kMaximumNames) return reading_.error(name.span, "too many sizes");
    if (text_.sizes.emplace(name.text, WrittenSize{std::string(name.text), value, name.span}).second) return true;
    return reading_.error(name.span, fmt::format("{} is given twice", in_quotes(name.text)));
  }

  /// `m = 16*m1 + m0` between the loops; `acc = 0`, a scalar output set before the sum; or the statement of a scalar.
  bool index_or_scalar(Scanner behind_name) {
    behind_name.next();
    const Token value = behind_name.peek();
    Scanner behind_value = behind_name;
    behind_value.next();
    const bool tensors = value.kind == Token::Kind::name && !index_meanings_.contains(value.text) &&
                         !size_named(std::string(value.text));
    if (tensors || behind_value.peek().is("[")) return body(scanner_.peek());
    const Token name = scanner_.next();
    scanner_.next();
    const auto sum_of_indices = expressions_.affine();
    if (!sum_of_indices) return false;
    if (sum_of_indices->is_constant()) {
      if (!reset_is_outside({std::string(name.text), name.span, {}, {}})) return false;
      text_.initialised.emplace_back(name.text);
      text_.initialised_spans.push_back(name.span);
      return true;
    }
    if (text_.indices.size() >= kMaximumNames) return reading_.error(name.span, "too many index lines");
    if (!index_meanings_.emplace(name.text, *sum_of_indices).second) {
      return reading_.error(name.span, fmt::format("{} has a value already", in_quotes(name.text)));
    }
    text_.indices.push_back({std::string(name.text), name.span, *sum_of_indices});
    return true;
  }

  bool body(const Token& first) {
    if (text_.loops.empty() && !text_.header.einsum) {
      return reading_.error(first.span, fmt::format("the statement of {} stands in no loop", in_quotes(first.text)),
                            "for m in [0, 64): above it");
    }
    WrittenStatement statement;
    if (!read_output(reading_, statement)) return false;
    if (statement.reduce.empty() && take_initial_value(reading_)) {
      if (!reset_is_outside(statement.output)) return false;
      text_.initialised.push_back(statement.output.name);
      text_.initialised_spans.push_back(statement.output.span);
      return true;
    }
    if (text_.statement) {
      return reading_.error(first.span,
                            fmt::format("a second statement: the first is at line {}", text_.statement_span.line),
                            "a nest is one einsum; several statements are several einsums");
    }
    if (!stands_inside(first)) return false;
    if (!read_operands(reading_, statement)) return false;
    text_.statement_offset = first.offset;
    text_.statement_span = first.span;
    text_.statement = std::move(statement);
    return true;
  }

  /// `Y[m] = 0` before the sum: inside a loop that Y's indices lack it would throw earlier sums away.
  bool reset_is_outside(const WrittenTensor& output) {
    if (text_.statement) {
      return reading_.error(output.span,
                            fmt::format("{} is set after the statement that sums it up", in_quotes(output.name)),
                            "before the loops that sum it up");
    }
    for (std::size_t loop = 0; loop < text_.loops.size(); ++loop) {
      const bool named = std::any_of(output.axes.begin(), output.axes.end(), [&](const Affine& axis) {
        return !(axis.coefficient(static_cast<int>(loop)) == Count(0));
      });
      if (named) continue;
      return reading_.error(
          output.span,
          fmt::format("{} is set inside the loop over {}, which its indices lack: what was summed up before is lost",
                      in_quotes(output.name), in_quotes(text_.loops[loop].variable)),
          "set it outside that loop");
    }
    return true;
  }

  // ---- the whole

  void check_whole() {
    if (!errors_.empty()) return;
    for (const Comment& comment : text_.comments) {
      if (!comment.directive) continue;
      if (comment.text.starts_with("pragma")) {
        reading_.error(comment.span, "a #pragma is not read", "a loop over units is written parallel-for");
      } else {
        reading_.error(comment.span, "a #define is not read", "a size is written M = 64");
      }
    }
    if (text_.loops.empty() && !(text_.header.einsum && text_.statement)) {
      reading_.error(scanner_.peek().span, "there is no loop", "for m in [0, 64):");
    } else if (!text_.statement && !text_.header.einsum) {
      reading_.error(scanner_.peek().span, "the loops have no statement in them", "Y[m, n] += X[m, k] * W[k, n]");
    }
    if (!text_.statement) return;
    for (std::size_t i = 0; i < text_.initialised.size(); ++i) {
      if (text_.initialised[i] == text_.statement->output.name) continue;
      reading_.error(text_.initialised_spans[i],
                     fmt::format("{} is set to a value here and is not the output {}", in_quotes(text_.initialised[i]),
                                 in_quotes(text_.statement->output.name)),
                     "only the output may be set before it is summed up");
    }
  }

  OpenSizes& open_sizes_;
  NestText text_;
  Diagnostics errors_;
  Scanner scanner_;
  ExpressionParser expressions_;
  Reading reading_{scanner_, expressions_, errors_};
  std::map<std::string, Affine, std::less<>> index_meanings_;
  std::vector<OpenBlock> blocks_;
  std::optional<NestWord> mesh_;
  std::optional<NestWord> axis_;
};

}  // namespace

Result<NestText> parse_nest_text(const SourceText& source, OpenSizes& open_sizes) {
  if (source.text.size() > kMaximumBytes) return fail("the text is larger than 64 MiB");
  return NestTextParser(source, open_sizes).parse();
}

}  // namespace einflow::loops
