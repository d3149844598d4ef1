// The part of Python's syntax that a computation on tensors needs: assignments and expressions, as a tree with places.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.hpp"

namespace einflow::python {

/// Bytes [begin, end) of the text.
struct Place {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Expression {
  enum class Kind {
    number,     ///< `text` as written
    text,       ///< a string literal, `text` without its quotes
    name,       ///< also None, True and False
    sequence,   ///< a tuple or list of `parts`
    call,       ///< parts[0] is called with the others
    attribute,  ///< `text` of parts[0]
    subscript,  ///< parts[0] [ parts[1..] ]
    binary,     ///< `text` is the operator between parts[0] and parts[1]
    negative    ///< -parts[0]
  };
  Kind kind = Kind::name;
  Place place;
  std::string text;
  std::vector<Expression> parts;
  std::string keyword;  ///< of an argument: "stride" in stride=2; empty where it is positional
  Place keyword_place;
  int depth = 1;
};

/// TARGET: ANNOTATION = VALUE; what is not written is absent.
struct Statement {
  std::string target;
  Place target_place;
  std::vector<Expression> annotation;  ///< at most one
  std::vector<Expression> value;       ///< at most one
  Place place;
};

/// Statements, separated by line ends or ';'. Imports are passed over. Errors: what is no such text, more than 1 MiB,
/// 10,000 values, 100 levels of nesting.
Result<std::vector<Statement>> parse_statements(const std::string& text);

/// Line and column of a place.
Span span_of(std::string_view text, const Place& place);

/// What stands first in a text after comments, blank lines and imports: a name, number, string or sign, at most
/// `count`.
std::vector<std::string> first_words(std::string_view text, std::size_t count);

}  // namespace einflow::python
