#include "notation/huggingface/settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/fields.hpp"
#include "notation/huggingface/config.hpp"

namespace einflow::huggingface {

namespace {

constexpr std::int64_t kUsualLength = 2048;  ///< that of the library's transformer problems

class Settings {
 public:
  Settings(const std::map<std::string, std::string>& values, std::vector<std::string> names, Diagnostics& errors)
      : values_(values), errors_(errors) {
    for (const auto& [key, value] : values) {
      if (std::find(names.begin(), names.end(), key) != names.end()) continue;
      add_error(errors_, {}, fmt::format("--set {}: there is no such setting here", in_quotes(key)),
                name_hint(key, names, "settings"));
    }
  }

  bool given(const std::string& key) const { return values_.count(key) != 0; }

  std::int64_t size(const std::string& key, std::int64_t fallback) {
    const auto found = values_.find(key);
    if (found == values_.end()) return fallback;
    const auto count = parse_count(found->second);
    if (count && *count >= Count(1) && *count <= Count(kLargestSize)) return *count->to_int64();
    add_error(errors_, {},
              fmt::format("--set {}: found {}, expected a whole number from 1 to {}", key, in_quotes(found->second),
                          kLargestSize));
    return fallback;
  }

  /// One of `words`, the first where it is not given.
  std::string word(const std::string& key, const std::vector<std::string>& words) {
    const auto found = values_.find(key);
    if (found == values_.end()) return words.front();
    if (std::find(words.begin(), words.end(), found->second) != words.end()) return found->second;
    add_error(errors_, {},
              fmt::format("--set {}: found {}, expected {}", key, in_quotes(found->second), fmt::join(words, " or ")),
              name_hint(found->second, words, "values"));
    return words.front();
  }

  ElementType type(const std::string& key, const ElementType& fallback) {
    const auto found = values_.find(key);
    if (found == values_.end()) return fallback;
    if (const auto type = find_element_type(found->second)) return *type;
    std::vector<std::string> names;
    for (const ElementType& type : element_types()) names.push_back(type.name);
    add_error(errors_, {}, fmt::format("--set {}: there is no element type {}", key, in_quotes(found->second)),
              name_hint(found->second, names, "types"));
    return fallback;
  }

 private:
  const std::map<std::string, std::string>& values_;
  Diagnostics& errors_;
};

void read_text_pass(Settings& settings, const Model& model, Pass& pass, Diagnostics& errors) {
  const bool decoder = model.attention.causal;
  const bool decode = decoder && settings.word("phase", {"prefill", "decode"}) == "decode";
  const std::int64_t usual = model.longest > 0 ? std::min(kUsualLength, model.longest) : kUsualLength;
  if (decode && settings.given("seq")) {
    add_error(errors, {}, "--set seq: in the decode phase a sequence has one new token",
              "context=N says how many tokens it then has, the new one among them");
  }
  const std::int64_t context = decoder ? settings.size("context", usual) : usual;
  pass.queries = decode ? 1 : settings.size("seq", std::min(usual, context));
  pass.context = settings.given("context") || decode ? context : pass.queries;
  if (pass.context < pass.queries) {
    add_error(errors, {},
              fmt::format("--set context: {} tokens in all are fewer than the {} new ones of seq", pass.context,
                          pass.queries),
              "context counts the new tokens too");
  }
  if (model.positions > 0 && model.longest > 0 && pass.context > model.longest) {
    add_error(errors, {},
              fmt::format("a sequence of {} tokens: the model's position embedding has rows for {}", pass.context,
                          model.longest),
              fmt::format("--set {}={} is the most", decode ? "context" : "seq", model.longest));
  }
}

void state_conventions(const Pass& pass, Model& model) {
  std::vector<std::string>& lines = model.conventions;
  if (model.vision) {
    lines.push_back(fmt::format("batch: {} images (--set batch=N)", pass.batch));
    return;
  }
  if (!model.attention.causal) {
    lines.push_back(
        fmt::format("batch {}, {} tokens each, all of them seen by all (--set batch=N, --set seq=N); no padding",
                    pass.batch, pass.queries));
    return;
  }
  lines.push_back(
      fmt::format("batch {}, {} new token{} and {} in all for each sequence, the new among them (--set of "
                  "batch, seq, context, phase)",
                  pass.batch, pass.queries, pass.queries == 1 ? "" : "s", pass.context));
  if (pass.queries > 1) lines.push_back("causal mask: the executed share of scores and softmax is exact");
  if (model.longest > 0 && pass.context > model.longest) {
    lines.push_back(fmt::format("{} tokens are more than the {} that the config states for its positions", pass.context,
                                model.longest));
  }
  if (model.head == Head::language_model) {
    lines.push_back(pass.last_only ? "logits of each sequence's last token only (--set logits=last)"
                                   : "logits of every new token (--set logits=last: of each sequence's last)");
  }
  if (!model.attention.latent) return;
  lines.push_back(pass.absorbed
                      ? "latent attention absorbed (--set mla=expanded): queries and outputs are multiplied by the "
                        "halves of kv_b_proj, keys and values stay compressed, as with one KV head"
                      : "latent attention expanded (--set mla=absorbed): keys and values of every token in the context "
                        "are computed by kv_b_proj from the compressed cache; the rotated part of a key is copied to "
                        "all heads");
}

}  // namespace

Result<Pass> pass_of(const std::map<std::string, std::string>& given, Model& model) {
  Diagnostics errors;
  std::vector<std::string> names{"batch", "type"};
  if (!model.vision) names.emplace_back("seq");
  if (model.attention.causal) names.insert(names.end(), {"context", "phase", "kv_type"});
  if (model.attention.causal && model.head == Head::language_model) names.emplace_back("logits");
  if (model.attention.latent) names.emplace_back("mla");
  Settings settings(given, std::move(names), errors);
  Pass pass;
  pass.batch = settings.size("batch", 1);
  model.type = settings.type("type", model.type);
  pass.cache_type = settings.type("kv_type", model.type);
  pass.last_only = settings.word("logits", {"all", "last"}) == "last";
  if (model.vision) {
    const std::int64_t side = model.vision->image / model.vision->patch;
    pass.queries = pass.context = side * side + 1;
  } else {
    read_text_pass(settings, model, pass, errors);
  }
  const std::vector<std::string> ways = pass.queries == 1 ? std::vector<std::string>{"absorbed", "expanded"}
                                                          : std::vector<std::string>{"expanded", "absorbed"};
  pass.absorbed = model.attention.latent && settings.word("mla", ways) == "absorbed";
  pass.tokens = pass.batch * pass.queries;  // a product of two sizes, below 2^60
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  state_conventions(pass, model);
  return pass;
}

}  // namespace einflow::huggingface
