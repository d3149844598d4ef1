#include "cluster/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/count.hpp"
#include "base/message.hpp"

namespace einflow::cluster {

namespace {

/// Larger numbers of devices, sequences or positions are taken for mistakes.
constexpr std::int64_t kLargest = std::int64_t{1} << 30;

struct Key {
  std::string name;
  std::string meaning;
  std::vector<std::string> values;  ///< empty: a whole number from 1 on
  std::function<void(Plan&, std::int64_t, const std::string&)> set;
};

const std::vector<Key>& keys() {
  static const std::vector<Key> all{
      {"tp",
       "devices that share heads, feed-forward width and vocabulary (tensor parallel)",
       {},
       [](Plan& plan, std::int64_t n, const std::string&) { plan.tp = n; }},
      {"pp",
       "stages that share the layers (pipeline)",
       {},
       [](Plan& plan, std::int64_t n, const std::string&) { plan.pp = n; }},
      {"dp",
       "groups that share the sequences (data parallel)",
       {},
       [](Plan& plan, std::int64_t n, const std::string&) { plan.dp = n; }},
      {"cp",
       "devices that share the positions of a sequence (context parallel)",
       {},
       [](Plan& plan, std::int64_t n, const std::string&) { plan.cp = n; }},
      {"ep",
       "devices, out of dp, that share the experts",
       {},
       [](Plan& plan, std::int64_t n, const std::string&) { plan.ep = n; }},
      {"sp",
       "tensors between tensor-parallel pairs rest split by position",
       {"on", "off"},
       [](Plan& plan, std::int64_t, const std::string& value) { plan.sequence = value == "on"; }},
      {"zero",
       "what is split over dp: 1 optimizer state, 2 gradients too, 3 weights too",
       {"0", "1", "2", "3"},
       [](Plan& plan, std::int64_t, const std::string& value) { plan.zero = value.front() - '0'; }},
      {"microbatch",
       "sequences of one pass on one device",
       {},
       [](Plan& plan, std::int64_t n, const std::string&) { plan.microbatch = n; }},
      {"batch",
       "sequences of a step on all devices",
       {},
       [](Plan& plan, std::int64_t n, const std::string&) { plan.batch = n; }},
      {"seq", "positions of a sequence", {}, [](Plan& plan, std::int64_t n, const std::string&) { plan.length = n; }},
      {"context",
       "decode: keys that a new token sees, itself among them",
       {},
       [](Plan& plan, std::int64_t n, const std::string&) { plan.context = n; }},
      {"interleave",
       "chunks of layers a stage",
       {},
       [](Plan& plan, std::int64_t n, const std::string&) {
         plan.interleave = n;
         if (n > 1) plan.schedule = Schedule::interleaved;
       }},
      {"schedule",
       "of the pipeline",
       {"gpipe", "1f1b", "interleaved", "zero-bubble"},
       [](Plan& plan, std::int64_t, const std::string& value) { plan.schedule = *parse_schedule(value); }},
      {"recompute",
       "what the backward pass computes again",
       {"none", "selective", "full"},
       [](Plan& plan, std::int64_t, const std::string& value) {
         plan.recompute = value == "none"        ? Recompute::none
                          : value == "selective" ? Recompute::selective
                                                 : Recompute::full;
       }},
      {"cp-way",
       "how keys and values reach the other positions' queries",
       {"ring", "all-gather", "ulysses"},
       [](Plan& plan, std::int64_t, const std::string& value) {
         plan.way = value == "ring"         ? ContextWay::ring
                    : value == "all-gather" ? ContextWay::all_gather
                                            : ContextWay::ulysses;
       }},
      {"attention",
       "flash: scores stay on the chip; unfused: scores and softmax are stored",
       {"flash", "unfused"},
       [](Plan& plan, std::int64_t, const std::string& value) { plan.flash = value == "flash"; }},
      {"gradients",
       "type in which gradients are added",
       {"bf16", "fp32"},
       [](Plan& plan, std::int64_t, const std::string& value) { plan.gradient_bits = value == "bf16" ? 16 : 32; }},
      {"overlap",
       "gradients are reduced while the backward pass runs",
       {"on", "off"},
       [](Plan& plan, std::int64_t, const std::string& value) { plan.overlap = value == "on"; }},
      {"phase",
       "training, or inference: prefill or decode",
       {"training", "prefill", "decode"},
       [](Plan& plan, std::int64_t, const std::string& value) {
         plan.phase = value == "training" ? Phase::training : value == "prefill" ? Phase::prefill : Phase::decode;
       }},
  };
  return all;
}

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const Key& key : keys()) names.push_back(key.name);
  return names;
}

void read_word(const std::string& word, Plan& plan, std::map<std::string, std::string>& seen, Diagnostics& errors) {
  const auto error = [&](std::string message, std::string hint = {}) {
    errors.push_back({{}, std::move(message), std::move(hint), {}});
  };
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const auto key = std::find_if(keys().begin(), keys().end(), [&](const Key& k) { return k.name == name; });
  if (key == keys().end()) {
    error(fmt::format("a plan has no key {}", in_quotes(name)), name_hint(name, key_names(), "keys"));
    return;
  }
  std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  const bool flag = !key->values.empty() && key->values.front() == "on";
  if (equals == std::string::npos && flag) value = "on";
  if (const auto before = seen.find(name); before != seen.end()) {
    error(fmt::format("{} stands twice: {} and {}", name, in_quotes(before->second), in_quotes(word)));
    return;
  }
  seen[name] = word;
  if (!key->values.empty()) {
    if (std::find(key->values.begin(), key->values.end(), value) == key->values.end()) {
      error(fmt::format("{}: found {}, expected one of {}", name, in_quotes(value), comma_list(key->values)),
            name_hint(value, key->values, "values"));
      return;
    }
    key->set(plan, 0, value);
    return;
  }
  const auto number = parse_count(value);
  if (!number || *number < Count(1) || *number > Count(kLargest)) {
    error(
        fmt::format("{}: found {}, expected a whole number from 1 to 2^30, as in {}=8", name, in_quotes(value), name));
    return;
  }
  key->set(plan, *number->to_int64(), value);
}

}  // namespace

std::int64_t Plan::step_batch() const { return batch.value_or(microbatch * dp); }

std::int64_t Plan::microbatches() const {
  const std::int64_t each = microbatch * dp;
  return (step_batch() + each - 1) / each;
}

Result<Plan> parse_plan(const std::vector<std::string>& words) {
  Plan plan;
  Diagnostics errors;
  std::map<std::string, std::string> seen;
  for (const std::string& word : words) {
    if (!word.empty()) read_word(word, plan, seen, errors);
  }
  if (!errors.empty()) return tl::unexpected(errors);
  return plan;
}

std::string to_text(const Plan& plan) {
  const Plan usual;
  std::vector<std::string> words;
  const auto number = [&](const char* name, std::int64_t value) {
    if (value != 1) words.push_back(fmt::format("{}={}", name, value));
  };
  number("tp", plan.tp);
  if (plan.sequence) words.emplace_back("sp");
  number("cp", plan.cp);
  if (plan.way != usual.way)
    words.emplace_back(plan.way == ContextWay::ulysses ? "cp-way=ulysses" : "cp-way=all-gather");
  number("ep", plan.ep);
  number("pp", plan.pp);
  if (plan.interleave > 1) {
    words.push_back(fmt::format("interleave={}", plan.interleave));
  } else if (plan.schedule != usual.schedule) {
    words.push_back("schedule=" + to_text(plan.schedule));
  }
  number("dp", plan.dp);
  if (plan.zero > 0) words.push_back(fmt::format("zero={}", plan.zero));
  words.push_back(fmt::format("microbatch={}", plan.microbatch));
  if (plan.batch) words.push_back(fmt::format("batch={}", *plan.batch));
  if (plan.length) words.push_back(fmt::format("seq={}", *plan.length));
  if (plan.context) words.push_back(fmt::format("context={}", *plan.context));
  if (plan.recompute == Recompute::selective) words.emplace_back("recompute=selective");
  if (plan.recompute == Recompute::full) words.emplace_back("recompute=full");
  if (!plan.flash) words.emplace_back("attention=unfused");
  if (plan.gradient_bits == 32) words.emplace_back("gradients=fp32");
  if (plan.overlap) words.emplace_back("overlap");
  if (plan.phase == Phase::prefill) words.emplace_back("phase=prefill");
  if (plan.phase == Phase::decode) words.emplace_back("phase=decode");
  return fmt::format("{}", fmt::join(words, " "));
}

Diagnostics check(const Plan& plan, const Transformer& model) {
  Diagnostics errors;
  const auto error = [&](std::string message, std::string hint = {}) {
    errors.push_back({{}, std::move(message), std::move(hint), {}});
  };
  if (plan.tp > model.heads) {
    error(fmt::format("tp={} is more than the {} heads of {}: a device would have none", plan.tp, model.heads,
                      model.name));
  }
  if (plan.pp * plan.interleave > model.layers) {
    error(fmt::format("pp={} with {} chunk(s) each needs {} layers, {} has {}", plan.pp, plan.interleave,
                      plan.pp * plan.interleave, model.name, model.layers));
  }
  if (plan.sequence && plan.tp == 1) {
    error("sp splits positions over the devices of tp, and tp is 1",
          "use cp to split positions over devices of its own");
  }
  if (plan.ep > 1 && !model.experts) error(fmt::format("ep={}: {} has no experts", plan.ep, model.name));
  if (plan.dp % plan.ep != 0)
    error(fmt::format("ep={} must divide dp={}: experts are shared by devices of dp", plan.ep, plan.dp));
  if (model.experts && plan.ep > model.experts->count) {
    error(fmt::format("ep={} is more than the {} experts of {}", plan.ep, model.experts->count, model.name));
  }
  if (plan.batch && *plan.batch % (plan.microbatch * plan.dp) != 0) {
    error(fmt::format("batch={} is no multiple of microbatch x dp = {} x {} = {}", *plan.batch, plan.microbatch,
                      plan.dp, plan.microbatch * plan.dp));
  }
  if (plan.schedule == Schedule::interleaved && plan.interleave > 1 && plan.microbatches() % plan.pp != 0) {
    error(fmt::format("the interleaved schedule needs a multiple of pp={} microbatches, a step has {}", plan.pp,
                      plan.microbatches()));
  }
  if (plan.interleave > 1 && plan.schedule != Schedule::interleaved) {
    error(fmt::format("interleave={} needs schedule=interleaved, found {}", plan.interleave, to_text(plan.schedule)));
  }
  if (plan.way == ContextWay::ulysses && plan.cp > 1 && plan.cp * plan.tp > model.heads) {
    error(fmt::format("Ulysses splits heads over cp x tp = {} devices, {} has {} heads", plan.cp * plan.tp, model.name,
                      model.heads));
  }
  if (plan.phase != Phase::decode && plan.context) error("context=... is of phase=decode only");
  if (plan.phase != Phase::training) {
    if (plan.zero > 0) error(fmt::format("zero={} is about training; phase is inference", plan.zero));
    if (plan.recompute != Recompute::none) error("recompute is about training; phase is inference");
  }
  const std::int64_t length = plan.length.value_or(0);
  if (plan.length && plan.cp > length) error(fmt::format("cp={} is more than the {} positions", plan.cp, length));
  return errors;
}

std::vector<std::string> warnings(const Plan& plan, const Transformer& model) {
  std::vector<std::string> texts;
  const auto uneven = [&](std::int64_t whole, std::int64_t parts, const char* what, const char* over) {
    if (whole % parts == 0) return;
    texts.push_back(fmt::format("{} {} over {}={}: the busiest device has {}, the mean is {:.2f}", whole, what, over,
                                parts, (whole + parts - 1) / parts,
                                static_cast<double>(whole) / static_cast<double>(parts)));
  };
  uneven(model.heads, plan.tp, "heads", "tp");
  uneven(model.ffn, plan.tp, "feed-forward columns", "tp");
  uneven(model.vocabulary, plan.tp, "rows of the vocabulary", "tp");
  uneven(model.layers, plan.pp * plan.interleave, "layers", plan.interleave > 1 ? "pp x interleave" : "pp");
  if (plan.length) uneven(*plan.length, plan.cp * (plan.sequence ? plan.tp : 1), "positions", "cp x tp");
  if (model.experts) uneven(model.experts->count, plan.ep, "experts", "ep");
  if (plan.tp > model.kv_heads && model.kv_heads > 0) {
    texts.push_back(
        fmt::format("tp={} is more than the {} KV heads: each is on several devices", plan.tp, model.kv_heads));
  }
  if (plan.pp > 1 && plan.phase == Phase::training && plan.microbatches() < plan.pp) {
    texts.push_back(fmt::format("{} microbatch(es) cannot fill {} stages", plan.microbatches(), plan.pp));
  }
  return texts;
}

std::vector<std::pair<std::string, std::string>> plan_keys() {
  std::vector<std::pair<std::string, std::string>> result;
  for (const Key& key : keys()) {
    result.emplace_back(key.name + (key.values.empty() ? "=N" : "=" + fmt::format("{}", fmt::join(key.values, "|"))),
                        key.meaning);
  }
  return result;
}

}  // namespace einflow::cluster
