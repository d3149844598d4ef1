// A nest as it is written: loops, comments and the statement, before names mean ranks and levels.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mapping/nest_builder.hpp"
#include "notation/einsum_text.hpp"
#include "notation/loops/affine.hpp"
#include "notation/loops/scanner.hpp"

namespace einflow::loops {

struct WrittenLoop {
  enum class Kind { temporal, spatial, atomic };
  Kind kind = Kind::temporal;
  std::string variable;
  Span variable_span;
  Span span;        ///< the word that opens it
  Span bound_span;  ///< its range
  std::size_t offset = 0;
  int last_line = 0;
  Affine start;  ///< the variable is start + step * index
  Count step = 1;
  Bound trips;
  std::optional<Count> last_value;  ///< one past it, where start and end are numbers
  std::optional<NestWord> mesh;     ///< where the text names an axis
  std::optional<NestWord> axis;
};

struct WrittenTensor {
  std::string name;
  Span span;
  std::vector<Affine> axes;
  std::vector<Span> axis_spans;
};

/// OUTPUT reduce= map(INPUTS); `map` as Einsum::map.
struct WrittenStatement {
  WrittenTensor output;
  std::vector<WrittenTensor> inputs;
  std::string map = "*";
  std::string reduce;
  Span assignment;
};

/// `m = 16*m1 + m0` between the loops.
struct WrittenIndex {
  std::string name;
  Span span;
  Affine value;
};

struct WrittenSize {
  std::string name;
  Count value;
  Span span;
  bool used = false;
};

struct WrittenType {
  NestWord tensor;
  NestWord type;
};

struct WrittenShape {
  NestWord tensor;
  std::vector<std::optional<std::int64_t>> sizes;
};

/// What a mesh's network does, where that is not to multicast and to reduce.
struct WrittenNetwork {
  NestWord mesh;
  bool multicast = false, reduction = false, forwarding = false;
};

/// What the lines above the nest say, each line as `KEY: VALUE`.
struct WrittenHeader {
  std::optional<std::string> name;
  std::optional<ParsedEinsum> einsum;  ///< its spans are those of the text
  std::optional<std::vector<WrittenSize>> ranks;
  std::vector<WrittenType> types;
  std::vector<WrittenShape> shapes;
  std::optional<ExecutedShare> executed;
  std::vector<WrittenNetwork> networks;
  std::optional<bool> latches;
};

struct NestText {
  WrittenHeader header;
  std::map<std::string, WrittenSize> sizes;  ///< `M = 64` above the loops
  std::vector<WrittenLoop> loops;            ///< outermost first
  std::vector<WrittenIndex> indices;
  std::optional<WrittenStatement> statement;
  std::size_t statement_offset = 0;
  Span statement_span;
  std::vector<Comment> comments;
  std::vector<std::string> initialised;  ///< tensors that `Y[m] = 0` sets before the sum, as written
  std::vector<Span> initialised_spans;
};

/// Sizes of `-r`: what the text leaves open. Those that the text uses are marked.
using OpenSizes = std::map<std::string, WrittenSize>;

/// Reads the text; all errors that can be told at once. The source must outlive the result.
Result<NestText> parse_nest_text(const SourceText& source, OpenSizes& open_sizes);

}  // namespace einflow::loops
