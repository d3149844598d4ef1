#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "base/utf8.hpp"
#include "notation/loops/loops.hpp"
#include "notation/loops/program.hpp"

namespace einflow {

namespace {

using loops::NestView;
using loops::ShownHold;
using loops::ShownLoop;
using loops::StoredTensor;
using Kind = loops::WrittenLoop::Kind;

constexpr std::size_t kMaximumText = std::size_t{16} << 20;

/// C99's keywords, macros that headers may define, and what the program itself uses inside main().
std::set<std::string> taken_names() {
  return {"auto",
          "break",
          "case",
          "char",
          "const",
          "continue",
          "default",
          "do",
          "double",
          "else",
          "enum",
          "extern",
          "float",
          "for",
          "goto",
          "if",
          "inline",
          "int",
          "long",
          "register",
          "restrict",
          "return",
          "short",
          "signed",
          "sizeof",
          "static",
          "struct",
          "switch",
          "typedef",
          "union",
          "unsigned",
          "void",
          "volatile",
          "while",
          "_Bool",
          "_Complex",
          "_Imaginary",
          "asm",
          "typeof",
          "bool",
          "true",
          "false",
          "nullptr",
          "constexpr",
          "NULL",
          "EOF",
          "stdin",
          "stdout",
          "stderr",
          "errno",
          "linux",
          "unix",
          "i386",
          "INFINITY",
          "NAN",
          "INT64_MIN",
          "INT64_MAX",
          "UINT64_MAX",
          "HUGE_VAL",
          "isnan",
          "isinf",
          "signbit",
          "int64_t",
          "uint64_t",
          "size_t",
          "value",
          "allocate",
          "fill",
          "set",
          "least",
          "larger",
          "smaller",
          "apply",
          "same",
          "main",
          "puts",
          "i",
          "alike",
          "math_errhandling",
          "assert",
          "FILE",
          "BUFSIZ",
          "RAND_MAX",
          "EXIT_SUCCESS",
          "EXIT_FAILURE",
          "SIZE_MAX",
          "alignas",
          "alignof",
          "thread_local",
          "static_assert",
          "typeof_unqual",
          "fpclassify",
          "isfinite",
          "isnormal",
          "isgreater",
          "isless",
          "isunordered",
          "islessgreater",
          "isgreaterequal",
          "islessequal",
          "L_tmpnam",
          "TMP_MAX",
          "FOPEN_MAX",
          "FILENAME_MAX",
          "MB_CUR_MAX",
          "SEEK_SET",
          "SEEK_CUR",
          "SEEK_END",
          "FP_NAN",
          "FP_INFINITE"};
}

std::string literal(std::int64_t number) { return std::to_string(number); }

class CProgram {
 public:
  explicit CProgram(const Spec& spec) : spec_(spec), einsum_(spec.einsum), names_(taken_names()) {}

  Result<std::string> write() {
    for (int t = 0; t <= einsum_.output(); ++t) {
      auto stored = loops::stored_tensor(einsum_, t);
      if (!stored) return tl::unexpected(stored.error());
      stored_.push_back(std::move(*stored));
      tensors_.push_back(names_.give(einsum_.tensors[static_cast<std::size_t>(t)].name));
    }
    for (int t = 0; t <= einsum_.output(); ++t)
      readers_.push_back(names_.give("read_" + tensors_[static_cast<std::size_t>(t)]));
    expected_ = names_.give("expected");
    auto view = loops::view_nest(spec_, names_.taken());
    if (!view) return tl::unexpected(view.error());
    view_ = std::move(*view);
    for (const Rank& rank : einsum_.ranks) ranks_.push_back(names_.give(rank.name));
    if (loops::maps_by_function(einsum_)) {
      const auto function = loops::function_named(einsum_.map);
      if (!function) return tl::unexpected(function.error());
      function_ = function->c;
    }
    exact_ = loops::is_exact(einsum_);
    unsigned_ = exact_ && !loops::stays_small(einsum_);
    write_head();
    write_functions();
    write_main();
    if (text_.size() > kMaximumText) return fail("the program is longer than 16 MiB");
    return std::move(text_);
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }

  void write_head() {
    line("/* A loop nest as a C99 program. It computes the nest and, in plain loops, the same einsum, and compares.");
    line(" *");
    for (const std::string& each : loops::description(spec_)) line(" *   " + safe(each));
    line(" *");
    line(exact_ ? " * cc -std=c99 -O2 nest.c -o nest && ./nest" : " * cc -std=c99 -O2 nest.c -o nest -lm && ./nest");
    line(" * It prints \"equal\" and ends with 0, or \"not equal\" and ends with 1.");
    line(" */");
    if (!exact_) line("#include <math.h>");
    line("#include <stdint.h>");
    line("#include <stdio.h>");
    line("#include <stdlib.h>");
    line("");
    if (!exact_) {
      line("typedef double value;");
    } else if (unsigned_) {
      line("typedef uint64_t value; /* modulo 2^64: the same in any order */");
    } else {
      line("typedef int64_t value; /* whole numbers: the same in any order */");
    }
    line("");
  }

  /// A text that may stand in a C comment.
  static std::string safe(std::string text) {
    text = printable(text, 10000);
    for (std::size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/", at)) text.insert(at + 1, " ");
    for (std::size_t at = text.find("/*"); at != std::string::npos; at = text.find("/*", at)) text.insert(at + 1, " ");
    return text;
  }

  bool uses_least() const {
    return std::any_of(view_.loops.begin(), view_.loops.end(),
                       [](const ShownLoop& loop) { return !loop.bound.is_constant(); });
  }

  void write_functions() {
    line("static void *allocate(size_t count, size_t size) {");
    line("  void *const memory = calloc(count, size);");
    line("  if (memory == NULL) {");
    line("    fputs(\"not enough memory\\n\", stderr);");
    line("    exit(2);");
    line("  }");
    line("  return memory;");
    line("}");
    line("");
    line("/* Pseudo-random inputs (Marsaglia's xorshift64). */");
    line("static void fill(value *data, size_t count) {");
    line("  static uint64_t state = 88172645463325252u;");
    line("  for (size_t i = 0; i < count; i++) {");
    line("    state ^= state << 13;");
    line("    state ^= state >> 7;");
    line("    state ^= state << 17;");
    line(exact_ ? "    data[i] = (value)(state % 17) - 8;" : "    data[i] = (value)(state % 1000 + 1) / 500;");
    line("  }");
    line("}");
    line("");
    line("static void set(value *data, size_t count, value to) {");
    line("  for (size_t i = 0; i < count; i++) data[i] = to;");
    line("}");
    line("");
    if (uses_least()) {
      line("static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }");
      line("");
    }
    if (einsum_.map == "max" || einsum_.reduce == "max") {
      line("static value larger(value a, value b) { return a > b ? a : b; }");
      line("");
    }
    if (einsum_.map == "min" || einsum_.reduce == "min") {
      line("static value smaller(value a, value b) { return a < b ? a : b; }");
      line("");
    }
    if (!function_.empty()) {
      line(fmt::format("/* {} */", safe(einsum_.map)));
      line(fmt::format("static value apply(value x) {{ return {}; }}", function_));
      line("");
    }
    if (exact_) {
      line("static int same(value a, value b) { return a == b; }");
    } else {
      line("/* Sums of rounded numbers differ a little with their order. */");
      line("static int same(value a, value b) {");
      line("  if (a == b || (isnan(a) && isnan(b))) return 1;");
      line("  return fabs(a - b) <= 1e-9 * (1 + fabs(a) + fabs(b));");
      line("}");
    }
    line("");
    for (int t = 0; t < einsum_.output(); ++t) {
      if (stored_[static_cast<std::size_t>(t)].is_padded()) write_reader(static_cast<std::size_t>(t));
    }
  }

  /// A pointer to a tensor's outermost axis: "(*X)[64][32]".
  std::string pointer(const std::string& name, std::size_t tensor) const {
    const std::vector<std::int64_t>& sizes = stored_[tensor].sizes;
    if (sizes.size() < 2) return "*" + name;
    std::string text = "(*" + name + ")";
    for (std::size_t a = 1; a < sizes.size(); ++a) text += "[" + literal(sizes[a]) + "]";
    return text;
  }

  std::string outermost(std::size_t tensor) const {
    const std::vector<std::int64_t>& sizes = stored_[tensor].sizes;
    return sizes.empty() ? "1" : literal(sizes[0]);
  }

  void write_reader(std::size_t tensor) {
    const std::string& name = einsum_.tensors[tensor].name;
    std::string parameters;
    std::string index;
    std::string inside;
    for (std::size_t a = 0; a < stored_[tensor].sizes.size(); ++a) {
      parameters += fmt::format(", int64_t x{}", a);
      index += fmt::format("[x{}]", a);
      if (stored_[tensor].zeros_before[a] > 0) inside += fmt::format("{}x{} < 0", inside.empty() ? "" : " || ", a);
      if (stored_[tensor].zeros_behind[a] > 0) {
        inside += fmt::format("{}x{} >= {}", inside.empty() ? "" : " || ", a, stored_[tensor].sizes[a]);
      }
    }
    line(fmt::format("/* Zeros outside of what {} stores. */", name));
    line(fmt::format("static value {}(value {}{}) {{", readers_[tensor], pointer("stored", tensor), parameters));
    line(fmt::format("  return {} ? 0 : stored{};", inside, index));
    line("}");
    line("");
  }

  std::string identity() const {
    if (einsum_.reduce == "*") return "1";
    const bool largest = einsum_.reduce == "min";
    if (einsum_.reduce != "max" && !largest) return "0";
    if (!exact_) return largest ? "INFINITY" : "-INFINITY";
    if (unsigned_) return largest ? "UINT64_MAX" : "0";
    return largest ? "INT64_MAX" : "INT64_MIN";
  }

  void write_main() {
    line("int main(void) {");
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      line(fmt::format("  value {} = allocate({}, sizeof *{});", pointer(tensors_[t], t), outermost(t), tensors_[t]));
    }
    const std::size_t output = tensors_.size() - 1;
    line(fmt::format("  value {} = allocate({}, sizeof *{});", pointer(expected_, output), outermost(output),
                     expected_));
    for (std::size_t t = 0; t < output; ++t) {
      line(fmt::format("  fill((value *){}, {});", tensors_[t], product(t)));
    }
    for (const std::string& name : {tensors_[output], expected_}) {
      line(fmt::format("  set((value *){}, {}, {});", name, product(output), identity()));
    }
    line("");
    write_nest();
    line("");
    line("  /* The einsum, rank by rank. */");
    write_plainly();
    line("");
    line("  int alike = 1;");
    line(fmt::format("  for (size_t i = 0; i < {}; i++) {{", product(output)));
    line(fmt::format("    alike = alike && same(((value *){})[i], ((value *){})[i]);", tensors_[output], expected_));
    line("  }");
    line("  puts(alike ? \"equal\" : \"not equal\");");
    line("  return alike ? 0 : 1;");
    line("}");
  }

  std::string product(std::size_t tensor) const {
    std::string text = "(size_t)1";
    for (std::size_t a = 0; a < stored_[tensor].sizes.size(); ++a) {
      text = a == 0 ? "(size_t)" + literal(stored_[tensor].sizes[a]) : text + " * " + literal(stored_[tensor].sizes[a]);
    }
    return text;
  }

  std::string bound_text(const ShownLoop& loop) const {
    if (loop.bound.is_constant()) return literal(loop.bound.trips);
    std::string least;
    for (const loops::Affine& term : loop.bound.terms) {
      const std::string text = term_text(view_, term);
      least = least.empty() ? text : fmt::format("least({}, {})", least, text);
    }
    return loop.bound.tile == 1 ? least : fmt::format("({} + {}) / {}", least, loop.bound.tile - 1, loop.bound.tile);
  }

  void write_nest() {
    std::string margin = "  ";
    for (std::size_t i = 0; i <= view_.loops.size(); ++i) {
      for (const ShownHold& hold : view_.holds[i]) {
        line(margin + "/* " +
             safe(hold.level + ": " + hold.tensors + (hold.note.empty() ? "" : " (" + hold.note + ")")) + " */");
      }
      if (i == view_.loops.size() || text_.size() > kMaximumText) break;
      const ShownLoop& loop = view_.loops[i];
      std::string note = loop.note;
      if (loop.kind == Kind::spatial) note = "parallel on " + loop.axis + ": " + loop.note;
      line(fmt::format("{}for (int64_t {} = 0; {} < {}; {}++) {{{}", margin, loop.variable, loop.variable,
                       bound_text(loop), loop.variable, note.empty() ? "" : " /* " + safe(note) + " */"));
      margin += "  ";
    }
    const auto index = [&](const Axis& axis) { return index_text(view_, axis); };
    line(margin + statement(tensors_.back(), index));
    while (margin.size() > 2) {
      margin.resize(margin.size() - 2);
      line(margin + "}");
    }
  }

  void write_plainly() {
    std::string margin = "  ";
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      line(fmt::format("{}for (int64_t {} = 0; {} < {}; {}++) {{", margin, ranks_[r], ranks_[r],
                       einsum_.ranks[r].extent, ranks_[r]));
      margin += "  ";
    }
    const auto index = [&](const Axis& axis) {
      std::string text;
      for (const Term& term : axis.terms) {
        if (!text.empty()) text += "+";
        if (term.coefficient != 1) text += literal(term.coefficient) + "*";
        text += ranks_[static_cast<std::size_t>(term.rank)];
      }
      if (text.empty()) return literal(axis.constant);
      return axis.constant == 0 ? text : fmt::format("{}{:+}", text, axis.constant);
    };
    line(margin + statement(expected_, index));
    while (margin.size() > 2) {
      margin.resize(margin.size() - 2);
      line(margin + "}");
    }
  }

  template <typename Index>
  std::string element(std::size_t tensor, const std::string& name, Index index) const {
    const std::vector<Axis>& axes = einsum_.tensors[tensor].axes;
    if (stored_[tensor].is_padded()) {
      std::string arguments = name;
      for (const Axis& axis : axes) arguments += ", " + index(axis);
      return fmt::format("{}({})", readers_[tensor], arguments);
    }
    std::string text = name;
    for (const Axis& axis : axes) text += "[" + index(axis) + "]";
    return axes.empty() ? text + "[0]" : text;
  }

  template <typename Index>
  std::string statement(const std::string& output_name, Index index) const {
    std::string result;
    for (std::size_t t = 0; t + 1 < tensors_.size(); ++t) {
      const std::string operand = element(t, tensors_[t], index);
      if (t == 0) {
        result = operand;
      } else if (einsum_.map == "max" || einsum_.map == "min") {
        result = fmt::format("{}({}, {})", einsum_.map == "max" ? "larger" : "smaller", result, operand);
      } else {
        result += fmt::format(" {} {}", einsum_.map, operand);
      }
    }
    if (!function_.empty()) result = "apply(" + result + ")";
    const std::string output = element(tensors_.size() - 1, output_name, index);
    if (einsum_.reduce == "max") return fmt::format("{} = larger({}, {});", output, output, result);
    if (einsum_.reduce == "min") return fmt::format("{} = smaller({}, {});", output, output, result);
    return fmt::format("{} {}= {};", output, einsum_.reduce, result);
  }

  const Spec& spec_;
  const Einsum& einsum_;
  loops::NameGiver names_;
  NestView view_;
  std::vector<StoredTensor> stored_;
  std::vector<std::string> tensors_;
  std::vector<std::string> readers_;
  std::vector<std::string> ranks_;
  std::string expected_;
  std::string function_;  ///< C of the map, where it is a function
  bool exact_ = true;
  bool unsigned_ = false;
  std::string text_;
};

}  // namespace

Result<Writing> write_c(const Document& document) {
  const auto spec = loops::spec_to_write(document);
  if (!spec) return tl::unexpected(spec.error());
  auto text = CProgram(*spec).write();
  if (!text) return tl::unexpected(text.error());
  return loops::program_writing(std::move(*text), document, spec->einsum);
}

}  // namespace einflow
