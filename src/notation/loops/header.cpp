#include "notation/loops/header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/message.hpp"
#include "base/utf8.hpp"
#include "base/yaml.hpp"
#include "notation/loops/reading.hpp"

namespace einflow::loops {

namespace {

constexpr std::size_t kMaximumEntries = 64;

class HeaderLine {
 public:
  HeaderLine(std::string_view value, const Span& span, WrittenHeader& header, Diagnostics& errors)
      : value_(value), span_(span), header_(header), errors_(errors), scanner_(value, comments_) {}

  void read(const NestWord& key) {
    const std::vector<std::string> keys{"name",   "einsum",   "ranks",    "types",
                                        "shapes", "executes", "networks", "latches"};
    if (std::find(keys.begin(), keys.end(), key.text) == keys.end()) {
      error(key.span, fmt::format("unknown line {}", in_quotes(key.text + ":")), name_hint(key.text, keys, "lines"));
    } else if (value_.empty()) {
      error(span_, fmt::format("nothing stands behind {}", in_quotes(key.text + ":")));
    } else if (given(key.text)) {
      error(key.span, fmt::format("a second line {}", in_quotes(key.text + ":")));
    } else if (key.text == "name") {
      read_name();
    } else if (key.text == "einsum") {
      read_einsum();
    } else if (key.text == "ranks") {
      read_ranks();
    } else if (key.text == "types") {
      read_types();
    } else if (key.text == "shapes") {
      read_shapes();
    } else if (key.text == "networks") {
      read_networks();
    } else if (key.text == "latches") {
      read_latches();
    } else {
      read_share();
    }
  }

 private:
  bool given(const std::string& key) const {
    return (key == "name" && header_.name) || (key == "einsum" && header_.einsum) ||
           (key == "ranks" && header_.ranks) || (key == "types" && !header_.types.empty()) ||
           (key == "shapes" && !header_.shapes.empty()) || (key == "executes" && header_.executed) ||
           (key == "networks" && !header_.networks.empty()) || (key == "latches" && header_.latches);
  }

  bool error(const Span& span, std::string message, std::string hint = {}) {
    errors_.push_back({span, std::move(message), std::move(hint), {}});
    return false;
  }

  /// From a place in the value to the place in the text.
  Span placed(const Span& span) const { return {span_.line, span_.column + span.column - 1, span.length}; }

  bool unexpected(const std::string& expected, const std::string& example) {
    const Token found = scanner_.peek();
    return error(placed(found.span),
                 found.kind == Token::Kind::end ? fmt::format("the line ends, expected {}", expected)
                                                : fmt::format("found {}, expected {}", in_quotes(found.text), expected),
                 example);
  }

  bool take(std::string_view symbol) {
    if (!scanner_.peek().is(symbol)) return false;
    scanner_.next();
    return true;
  }

  std::optional<NestWord> name(const std::string& what, const std::string& example) {
    if (scanner_.peek().kind != Token::Kind::name) {
      unexpected(what, example);
      return std::nullopt;
    }
    const Token token = scanner_.next();
    return NestWord{std::string(token.text), placed(token.span)};
  }

  std::optional<std::int64_t> positive(const std::string& example) {
    const Token token = scanner_.peek();
    if (token.kind != Token::Kind::number) {
      unexpected("a size", example);
      return std::nullopt;
    }
    scanner_.next();
    const auto count = parse_count(token.text);
    const auto value = count ? count->to_int64() : std::nullopt;
    if (!value || *value < 1) {
      error(placed(token.span), fmt::format("{} is no size from 1 to 2^63 - 1", in_quotes(token.text)));
      return std::nullopt;
    }
    return value;
  }

  /// Whether the line goes on behind a comma; anything but a comma or the end is an error.
  bool goes_on(const std::string& example) {
    if (scanner_.peek().kind == Token::Kind::end) return false;
    if (take(",")) return true;
    return unexpected("',' or the end of the line", example);
  }

  void read_name() {
    for (std::size_t at = 0; at < value_.size();) {
      const CodePoint point = decode_utf8(value_, at);
      if (!point.valid) {
        error(span_, "the name is not in UTF-8");
        return;
      }
      at += static_cast<std::size_t>(point.bytes);
    }
    if (value_.front() != '"') {
      header_.name = std::string(value_);
      return;
    }
    const auto read = parse_yaml(std::string(value_));
    if (!read || !read->is_scalar()) {
      error(span_, "the quoted name is not one string", "name: \"layer1.0.conv2\"");
      return;
    }
    header_.name = read->text;
  }

  void read_einsum() {
    auto parsed = parse_einsum_text(std::string(value_));
    if (!parsed) {
      for (Diagnostic& diagnostic : parsed.error()) {
        errors_.push_back({placed(diagnostic.span), diagnostic.message, diagnostic.hint, {}});
      }
      return;
    }
    parsed->assignment = placed(parsed->assignment);
    for (Span& span : parsed->ranks) span = placed(span);
    for (Span& span : parsed->tensors) span = placed(span);
    for (auto& axes : parsed->axes) {
      for (Span& span : axes) span = placed(span);
    }
    header_.einsum = std::move(*parsed);
  }

  void read_ranks() {
    const std::string example = "ranks: m = 64, n = 32";
    header_.ranks.emplace();
    do {
      const auto rank = name("a rank", example);
      if (!rank) return;
      if (!take("=") && !take(":")) {
        unexpected("'='", example);
        return;
      }
      const auto size = positive(example);
      if (!size) return;
      for (const WrittenSize& known : *header_.ranks) {
        if (known.name == rank->text) {
          error(rank->span, fmt::format("rank {} is given twice", in_quotes(rank->text)));
          return;
        }
      }
      if (header_.ranks->size() == kMaximumEntries) {
        error(rank->span, fmt::format("more than {} ranks", kMaximumEntries));
        return;
      }
      header_.ranks->push_back({rank->text, Count(*size), rank->span});
    } while (goes_on(example));
  }

  void read_types() {
    const std::string example = "types: X bf16, Y fp32";
    do {
      const auto tensor = name("a tensor", example);
      if (!tensor) return;
      if (!take("=")) take(":");
      const Token first = scanner_.peek();
      NestWord type{{}, placed(first.span)};
      for (int words = 0; words < 3 && scanner_.peek().kind != Token::Kind::end && !scanner_.peek().is(","); ++words) {
        type.text += scanner_.next().text;
      }
      if (type.text.empty()) {
        unexpected("an element type", example);
        return;
      }
      type.span.length = static_cast<int>(type.text.size());
      if (header_.types.size() == kMaximumEntries) {
        error(tensor->span, fmt::format("more than {} tensors", kMaximumEntries));
        return;
      }
      header_.types.push_back({*tensor, std::move(type)});
    } while (goes_on(example));
  }

  void read_shapes() {
    const std::string example = "shapes: I[1, 64, 56, 56]; an axis that is not padded may be '-'";
    do {
      const auto tensor = name("a tensor", example);
      if (!tensor) return;
      WrittenShape shape{*tensor, {}};
      if (!take("[")) {
        unexpected("'['", example);
        return;
      }
      while (!take("]")) {
        if (!shape.sizes.empty() && !take(",")) {
          unexpected("',' or ']'", example);
          return;
        }
        if (take("-")) {
          shape.sizes.emplace_back();
        } else {
          const auto size = positive(example);
          if (!size) return;
          shape.sizes.emplace_back(*size);
        }
        if (shape.sizes.size() > kMaximumEntries) {
          error(tensor->span, fmt::format("more than {} axes", kMaximumEntries));
          return;
        }
      }
      if (header_.shapes.size() == kMaximumEntries) {
        error(tensor->span, fmt::format("more than {} tensors", kMaximumEntries));
        return;
      }
      header_.shapes.push_back(std::move(shape));
    } while (goes_on(example));
  }

  /// "sms none, array multicast forwarding": names of meshes may hold what names of tensors may not.
  void read_networks() {
    const std::vector<std::string> abilities{"multicast", "reduction", "forwarding", "none"};
    const std::string example = "networks: sms none, array multicast reduction forwarding";
    std::vector<NestWord> words;
    for (std::size_t at = 0; at <= value_.size();) {
      const std::size_t end = std::min(value_.find_first_of(" \t,", at), value_.size());
      if (end > at) {
        const Span span{span_.line, span_.column + static_cast<int>(at), static_cast<int>(end - at)};
        words.push_back({std::string(value_.substr(at, end - at)), span});
      }
      if (end < value_.size() && value_[end] != ',') {
        at = end + 1;
        continue;
      }
      if (words.size() < 2) {
        error(words.empty() ? span_ : words[0].span, "expected a mesh and what its network does", example);
        return;
      }
      WrittenNetwork network;
      network.mesh = words[0];
      for (std::size_t w = 1; w < words.size(); ++w) {
        network.multicast = network.multicast || words[w].text == "multicast";
        network.reduction = network.reduction || words[w].text == "reduction";
        network.forwarding = network.forwarding || words[w].text == "forwarding";
        if (std::find(abilities.begin(), abilities.end(), words[w].text) != abilities.end()) continue;
        error(words[w].span, fmt::format("found {}, expected what a network does", in_quotes(words[w].text)),
              name_hint(words[w].text, abilities, "words"));
        return;
      }
      if (network.forwarding && !network.multicast) {
        error(network.mesh.span, fmt::format("the mesh {} forwards but does not multicast", in_quotes(words[0].text)),
              "forwarding needs multicast");
        return;
      }
      if (header_.networks.size() == kMaximumEntries) {
        error(network.mesh.span, fmt::format("more than {} meshes", kMaximumEntries));
        return;
      }
      header_.networks.push_back(std::move(network));
      words.clear();
      at = end + 1;
    }
  }

  void read_latches() {
    if (value_ != "true" && value_ != "false") {
      error(span_, fmt::format("found {}, expected true or false", in_quotes(value_)));
      return;
    }
    header_.latches = value_ == "true";
  }

  void read_share() {
    const std::string example = "executes: 8193/16384 because \"causal mask\"";
    const Token numerator = scanner_.next();
    const bool slash = take("/");
    const Token denominator = slash ? scanner_.next() : numerator;
    const auto above = parse_count(numerator.text);
    const auto below = slash ? parse_count(denominator.text) : Count(1);
    if (!above || !below || *above < Count(0) || *below < Count(1) || *above > *below) {
      error(span_, fmt::format("found {}, expected a share from 0 to 1 as a fraction", in_quotes(value_)), example);
      return;
    }
    ExecutedShare share{Ratio(*above, *below), {}};
    if (scanner_.peek().is("because")) {
      const Token because = scanner_.next();
      const auto reason = parse_yaml(std::string(value_.substr(because.offset + because.text.size())));
      if (!reason || !reason->is_scalar() || !reason->quoted) {
        error(placed(because.span), "the reason is not a text in quotes", example);
        return;
      }
      share.because = reason->text;
    } else if (scanner_.peek().kind != Token::Kind::end) {
      unexpected("'because' or the end of the line", example);
      return;
    } else if (*above != *below) {
      error(span_, "the share needs 'because', the reason why not all operations are executed", example);
      return;
    }
    header_.executed = share;
  }

  std::string_view value_;
  Span span_;
  WrittenHeader& header_;
  Diagnostics& errors_;
  std::vector<Comment> comments_;
  Scanner scanner_;
};

void add(Diagnostics& errors, const Span& span, std::string message, std::string hint = {}) {
  if (errors.size() < kMaximumErrors) errors.push_back({span, std::move(message), std::move(hint), {}});
}

Tensor* named_tensor(const NestWord& word, Einsum& einsum, Diagnostics& errors) {
  const int tensor = einsum.tensor_named(word.text);
  if (tensor >= 0) return &einsum.tensors[static_cast<std::size_t>(tensor)];
  std::vector<std::string> names;
  for (const Tensor& known : einsum.tensors) names.push_back(known.name);
  add(errors, word.span, fmt::format("unknown tensor {}", in_quotes(word.text)),
      name_hint(word.text, names, "tensors"));
  return nullptr;
}

}  // namespace

void read_header_line(const NestWord& key, std::string_view value, const Span& span, WrittenHeader& header,
                      Diagnostics& errors) {
  HeaderLine(value, span, header, errors).read(key);
}

void apply_header(const WrittenHeader& header, Einsum& einsum, std::vector<std::string>& conventions,
                  Diagnostics& errors) {
  if (header.name) einsum.name = *header.name;
  if (header.executed) einsum.executed = *header.executed;
  std::set<std::string> typed;
  for (const WrittenType& entry : header.types) {
    Tensor* const tensor = named_tensor(entry.tensor, einsum, errors);
    const auto type = find_element_type(entry.type.text);
    if (!type) {
      std::vector<std::string> names;
      for (const ElementType& known : element_types()) names.push_back(known.name);
      add(errors, entry.type.span, fmt::format("unknown element type {}", in_quotes(entry.type.text)),
          name_hint(entry.type.text, names, "types"));
    } else if (tensor != nullptr && !typed.insert(tensor->name).second) {
      add(errors, entry.tensor.span, fmt::format("the type of {} is given twice", in_quotes(tensor->name)));
    } else if (tensor != nullptr) {
      tensor->type = *type;
    }
  }
  std::vector<std::string> untyped;
  for (const Tensor& tensor : einsum.tensors) {
    if (!typed.contains(tensor.name)) untyped.push_back(tensor.name);
  }
  if (!untyped.empty()) {
    conventions.push_back(fmt::format("types: bf16 for {} (not stated)", comma_list(untyped)));
  }
  std::set<std::string> shaped;
  for (const WrittenShape& shape : header.shapes) {
    Tensor* const tensor = named_tensor(shape.tensor, einsum, errors);
    if (tensor == nullptr) continue;
    if (!shaped.insert(tensor->name).second) {
      add(errors, shape.tensor.span, fmt::format("the shape of {} is given twice", in_quotes(tensor->name)));
    } else if (shape.sizes.size() != tensor->axes.size()) {
      add(errors, shape.tensor.span,
          fmt::format("{} has {} axes, found {} sizes", in_quotes(tensor->name), tensor->axes.size(),
                      shape.sizes.size()));
    } else {
      for (std::size_t a = 0; a < shape.sizes.size(); ++a) tensor->axes[a].stored_size = shape.sizes[a];
    }
  }
}

}  // namespace einflow::loops
