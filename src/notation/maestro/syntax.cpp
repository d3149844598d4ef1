#include "notation/maestro/syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/count.hpp"
#include "base/message.hpp"
#include "notation/fields.hpp"
#include "notation/maestro/words.hpp"

namespace einflow::maestro {

namespace {

const std::vector<std::string> kTypes = {"CONV", "DSCONV", "NGCONV", "TRCONV", "GEMM"};
const std::vector<std::string> kNotWorking = {"FC", "LSTM", "POOL"};
const std::vector<std::string> kLayerWords = {"Type", "Stride", "Dimensions", "Dataflow"};
const std::vector<std::string> kFlowWords = {"TemporalMap", "SpatialMap", "Cluster"};

bool is_in(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool begins_with_digit(std::string_view text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

class Parser {
 public:
  Parser(const std::vector<SourceText>& sources, std::size_t source, Text& text, Diagnostics& errors)
      : name_(sources[source].name), source_(source), words_(sources[source].text), text_(text), errors_(errors) {}

  void parse() {
    while (!words_.peek().at_end() && !enough_errors(errors_)) {
      const Word word = next();
      if (word.text == "Constant") {
        constant();
      } else if (word.text == "Network") {
        network(word);
      } else if (is_hardware_key(word.text)) {
        hardware(word);
      } else {
        std::vector<std::string> valid{"Network", "Constant"};
        valid.insert(valid.end(), kHardwareKeys.begin(), kHardwareKeys.end());
        error(word.span, fmt::format("found {}, expected Network, Constant or a key of a hardware file", shown(word)),
              name_hint(word.text, valid, "words outside a network"));
        return;  // what follows belongs to a block that is not known
      }
    }
    text_.carriage_returns = text_.carriage_returns || words_.has_carriage_returns();
  }

 private:
  static bool is_hardware_key(std::string_view word) {
    return std::find(kHardwareKeys.begin(), kHardwareKeys.end(), word) != kHardwareKeys.end();
  }

  static std::string shown(const Word& word) {
    return word.at_end() ? std::string("the end of the file") : in_quotes(word.text);
  }

  void error(const Span& span, std::string message, std::string hint = {}) {
    if (enough_errors(errors_)) return;
    errors_.push_back({span, std::move(message), std::move(hint), name_});
  }

  Word next() {
    const Word word = words_.next();
    if (word.glued_brace) {
      error(word.span, fmt::format("{} needs white space on both sides", in_quotes(word.text)),
            "MAESTRO takes a brace for a part of the word that it touches: 'Dimensions { K: 4 }'");
    }
    if (word.glued_comment) {
      error(word.span, fmt::format("a comment begins right behind {}", in_quotes(word.text)),
            "put a space before //: MAESTRO sees comments only where a word begins");
    }
    return word;
  }

  /// The opening brace; words before it are a name of which the last counts.
  bool open(Name& name, const Word& block) {
    while (words_.peek().text != "{") {
      const Word word = words_.peek();
      if (word.at_end() || word.text == "}" || word.text == "Layer" || is_in(kLayerWords, word.text)) {
        error(word.span, fmt::format("found {}, expected '{{' after {}", shown(word), in_quotes(block.text)));
        return false;
      }
      name = {word.text, word.span};
      next();
    }
    next();
    return true;
  }

  bool not_closed(const Word& block) {
    error(block.span, fmt::format("the block {} is not closed: the file ends before its '}}'", in_quotes(block.text)));
    return false;
  }

  void constant() {
    const Word name = next();
    const Word value = words_.peek();
    if (name.at_end() || begins_with_digit(name.text)) {
      error(name.span, fmt::format("found {}, expected the constant's name", shown(name)), "Constant NAME 4");
      return;
    }
    const auto number = literal(value, "the constant's value, a whole number of at least 1");
    if (!value.at_end() && value.text != "Constant" && value.text != "Network") next();
    if (!number) return;
    if (!constants_.emplace(name.text, *number).second) {
      error(name.span, fmt::format("the constant {} is there already", in_quotes(name.text)));
    }
  }

  void hardware(const Word& key) {
    const Word value = words_.peek();
    const auto number = literal(value, "a whole number of at least 1");
    if (!value.at_end()) next();
    if (!number) return;
    if (!text_.hardware.emplace(std::string(key.text), Number{*number, value.span}).second) {
      error(key.span, fmt::format("{} is given twice", in_quotes(key.text)));
    }
  }

  void network(const Word& block) {
    Name name;
    if (!open(name, block)) return;
    if (text_.network.empty()) text_.network = std::string(name.text);
    while (!enough_errors(errors_)) {
      const Word word = words_.peek();
      if (word.at_end()) {
        not_closed(block);
        return;
      }
      next();
      if (word.text == "}") return;
      if (word.text == "Layer") {
        if (!layer(word)) return;
        continue;
      }
      error(word.span, fmt::format("found {}, expected Layer or '}}'", in_quotes(word.text)),
            name_hint(word.text, {"Layer"}, "words of a network"));
      skip_to({"Layer"});
    }
  }

  void skip_to(const std::vector<std::string>& words) {
    while (!words_.peek().at_end() && words_.peek().text != "}" && !is_in(words, words_.peek().text)) words_.next();
  }

  /// False where the text ends inside.
  bool layer(const Word& block) {
    const std::size_t errors_before = errors_.size();
    Layer layer;
    layer.source = source_;
    layer.span = block.span;
    if (!open(layer.name, block)) return false;
    bool has_dataflow = false;
    bool has_stride = false;
    while (true) {
      const Word word = words_.peek();
      if (word.at_end()) return not_closed(block);
      next();
      if (word.text == "}") break;
      if (word.text == "Type") {
        type(layer);
      } else if (word.text == "Stride") {
        if (has_stride) repeated(word);
        if (layer.dimensions_span.line > 0) {
          error(word.span, "Stride stands behind Dimensions", "MAESTRO wants Stride first: move it up");
        }
        has_stride = true;
        if (!sizes(word, layer.strides, false)) return false;
      } else if (word.text == "Dimensions") {
        if (layer.dimensions_span.line > 0) repeated(word);
        layer.dimensions_span = word.span;
        if (!sizes(word, layer.dimensions, true)) return false;
      } else if (word.text == "Dataflow") {
        if (has_dataflow) repeated(word);
        has_dataflow = true;
        if (!dataflow(word, layer)) return false;
      } else {
        const bool block_comment = word.text.substr(0, 2) == "/*";
        error(word.span,
              fmt::format("found {}, expected Type, Stride, Dimensions, Dataflow or '}}'", in_quotes(word.text)),
              block_comment ? "there are no block comments: // begins one that ends with the line"
                            : name_hint(word.text, kLayerWords, "words of a layer"));
        skip_to(kLayerWords);
      }
    }
    const bool complete = errors_.size() == errors_before;
    const auto missing = [&](bool is_there, std::string_view what, std::string_view hint) {
      if (is_there || !complete) return;
      error(layer.name.text.empty() ? layer.span : layer.name.span,
            fmt::format("the layer {} has no {}", in_quotes(layer.name.text), what), std::string(hint));
    };
    missing(!layer.type.text.empty(), "Type", "Type: CONV, DSCONV, NGCONV, TRCONV or GEMM");
    missing(layer.dimensions_span.line > 0, "Dimensions", "Dimensions { K: 4 C: 4 R: 3 S: 3 Y: 8 X: 8 }");
    missing(has_dataflow, "Dataflow", "write it out: MAESTRO cannot take over the one of the layer before");
    if (errors_.size() == errors_before) text_.layers.push_back(std::move(layer));
    return true;
  }

  void repeated(const Word& word) { error(word.span, fmt::format("the layer has {} already", in_quotes(word.text))); }

  void type(Layer& layer) {
    const Word word = next();
    if (!layer.type.text.empty()) error(word.span, "the layer has a type already");
    layer.type = {word.text, word.span};
    if (is_in(kTypes, word.text)) return;
    if (is_in(kNotWorking, word.text)) {
      error(word.span, fmt::format("the type {} is a word that MAESTRO knows and cannot compute", in_quotes(word.text)),
            "a fully connected layer is a GEMM, or a CONV with R, S of the size of Y, X");
    } else {
      error(word.span, fmt::format("found {}, expected a layer type", shown(word)),
            name_hint(word.text, kTypes, "types"));
    }
  }

  /// The block of Dimensions or Stride. False where the text ends inside.
  bool sizes(const Word& block, std::vector<DimensionSize>& entries, bool constants) {
    Name name;
    if (!open(name, block)) return false;
    while (true) {
      const Word word = words_.peek();
      if (word.at_end()) return not_closed(block);
      next();
      if (word.text == "}") return true;
      if (begins_with_digit(word.text)) {
        error(word.span, fmt::format("found {}, expected a dimension or '}}'", in_quotes(word.text)));
        continue;
      }
      const Word value = words_.peek();
      if (value.at_end()) return not_closed(block);
      const auto size = constants ? literal_or_constant(value, "the dimension's size, a whole number of at least 1")
                                  : literal(value, "the stride, a whole number of at least 1");
      if (value.text != "}" && value.text != "{") next();
      if (!size) continue;
      for (const DimensionSize& entry : entries) {
        if (entry.name.text != word.text) continue;
        error(word.span, fmt::format("{} is given twice", in_quotes(word.text)),
              "MAESTRO would take the first in some places and the last in others");
      }
      if (entries.size() >= 16) {
        error(word.span, fmt::format("more than 16 entries in {}", in_quotes(block.text)));
        skip_to({});
        continue;
      }
      entries.push_back({{word.text, word.span}, {*size, value.span}});
    }
  }

  bool dataflow(const Word& block, Layer& layer) {
    Name name;
    if (!open(name, block)) return false;
    while (true) {
      const Word word = words_.peek();
      if (word.at_end()) return not_closed(block);
      next();
      if (word.text == "}") return true;
      if (!is_in(kFlowWords, word.text)) {
        error(word.span,
              fmt::format("found {}, expected TemporalMap, SpatialMap, Cluster or '}}'", in_quotes(word.text)),
              name_hint(word.text, kFlowWords, "directives"));
        skip_to(kFlowWords);
        continue;
      }
      Directive directive;
      directive.span = word.span;
      const bool good = word.text == "Cluster" ? cluster(layer, directive) : map(word, layer, directive);
      if (!good) continue;
      if (layer.dataflow.size() >= 256) {
        error(word.span, "more than 256 directives in a layer");
        skip_to({});
        continue;
      }
      layer.dataflow.push_back(directive);
    }
  }

  bool cluster(const Layer& layer, Directive& directive) {
    directive.kind = Directive::Kind::cluster;
    if (!size_of(layer, directive.size, "the number of units, a whole number of at least 1")) return false;
    const Word kind = words_.peek();
    if (kind.text == "P" || kind.text == "L") {
      next();
      return true;
    }
    error(kind.span, fmt::format("found {}, expected P or L", shown(kind)), "Cluster(64,P): P and L mean the same");
    return false;
  }

  bool map(const Word& word, const Layer& layer, Directive& directive) {
    directive.kind = word.text == "SpatialMap" ? Directive::Kind::spatial : Directive::Kind::temporal;
    const bool sized = size_of(layer, directive.size, "the map's size, a whole number of at least 1");
    const bool placed = size_of(layer, directive.offset, "the map's offset, a whole number of at least 1");
    const Word dimension = words_.peek();
    if (dimension.at_end() || dimension.text == "}" || dimension.text == "{" || is_in(kFlowWords, dimension.text)) {
      error(dimension.span, fmt::format("found {}, expected the map's dimension", shown(dimension)),
            fmt::format("{}(SIZE,OFFSET) DIMENSION", word.text));
      return false;
    }
    next();
    directive.dimension = {dimension.text, dimension.span};
    return sized && placed;
  }

  /// INT, CONSTANT or Sz(DIM). A word that is none of these is passed over, so that what follows is told too.
  bool size_of(const Layer& layer, Number& number, std::string_view what) {
    const Word word = words_.peek();
    if (word.text != "Sz") {
      const auto value = literal_or_constant(word, what);
      const bool ends = word.at_end() || word.text == "{" || word.text == "}" || is_in(kFlowWords, word.text);
      if (!ends) next();
      if (value) number = {*value, word.span};
      return value.has_value();
    }
    next();
    const Word name = words_.peek();
    std::vector<std::string> names;
    for (const DimensionSize& entry : layer.dimensions) {
      if (entry.name.text == name.text) {
        next();
        number = {entry.size.value, name.span};
        return true;
      }
      names.emplace_back(entry.name.text);
    }
    if (!name.at_end() && name.text != "{" && name.text != "}" && !is_in(kFlowWords, name.text)) next();
    const bool before = layer.dimensions_span.line == 0;
    error(name.span,
          before ? "Sz stands before the Dimensions that it refers to"
                 : fmt::format("Sz: {} is none of the layer's Dimensions", shown(name)),
          before ? "move Dimensions above Dataflow" : name_hint(name.text, names, "dimensions"));
    return false;
  }

  std::optional<std::int64_t> literal_or_constant(const Word& word, std::string_view what) {
    const auto known = constants_.find(word.text);
    if (known != constants_.end()) return known->second;
    const bool is_name = !word.at_end() && !begins_with_digit(word.text) && word.text != "{" && word.text != "}" &&
                         word.text.find_first_of("=/*+.") == std::string_view::npos && !is_in(kFlowWords, word.text);
    if (!is_name) return literal(word, what);
    std::vector<std::string> names;
    for (const auto& constant : constants_) names.emplace_back(constant.first);
    error(word.span, fmt::format("found {}, expected {}", shown(word), what),
          names.empty() ? "a whole number; the file has no constants" : name_hint(word.text, names, "constants"));
    return std::nullopt;
  }

  std::optional<std::int64_t> literal(const Word& word, std::string_view what) {
    if (word.negative) {
      error(word.span, fmt::format("a negative number, expected {}", what),
            fmt::format("MAESTRO drops the sign and reads {}", in_quotes(word.text)));
      return std::nullopt;
    }
    const auto value = whole_number(word.text);
    if (value && *value >= 1) return value;
    std::string hint;
    if (!value && word.text.find_first_of("=/*+") != std::string_view::npos) {
      hint = "there is no arithmetic and no '=': write the number";
    } else if (!value && begins_with_digit(word.text)) {
      hint = "digits only, below 2^63";
    } else if (constants_.count(word.text) != 0) {
      hint = "a constant does not refer to another, and Stride to none";
    }
    error(word.span, fmt::format("found {}, expected {}", shown(word), what), hint);
    return std::nullopt;
  }

  std::string name_;
  std::size_t source_;
  Words words_;
  Text& text_;
  Diagnostics& errors_;
  std::map<std::string_view, std::int64_t> constants_;
};

}  // namespace

std::optional<std::int64_t> whole_number(std::string_view digits) {
  if (digits.empty() || digits.size() > 30) return std::nullopt;
  const auto count = parse_count(digits);
  if (!count || count->overflowed()) return std::nullopt;
  return count->to_int64();
}

void parse_source(const std::vector<SourceText>& sources, std::size_t source, Text& text, Diagnostics& errors) {
  Parser(sources, source, text, errors).parse();
}

}  // namespace einflow::maestro
