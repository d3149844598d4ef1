// Scaled dot-product attention and multi-head attention, as cascades.
#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/python/operations.hpp"

namespace einflow::python {

namespace {

/// Pairs (query, key) of a causal mask that is aligned top-left, as PyTorch's is_causal: sum of min(i + 1, keys).
ExecutedShare causal_share(std::int64_t queries, std::int64_t keys) {
  const std::int64_t triangle = std::min(queries, keys);
  const Count half =
      triangle % 2 == 0 ? Count(triangle / 2) * Count(triangle + 1) : Count(triangle) * Count((triangle + 1) / 2);
  const Count below = Count(queries - triangle) * Count(keys);
  return {Ratio(half + below, Count(queries) * Count(keys)), "causal mask"};
}

std::vector<NamedAxis> axes_of(const std::vector<std::string>& ranks) {
  std::vector<NamedAxis> axes;
  for (const std::string& rank : ranks) axes.push_back({{{rank, 1}}, 0, std::nullopt});
  return axes;
}

/// One einsum whose operands' axes are these ranks; the shape of its value is that of the ranks.
std::optional<TensorValue> product(Call& call, const char* name, const ExecutedShare& executed, TensorValue& left,
                                   const char* left_name, const std::vector<std::string>& left_ranks,
                                   TensorValue& right, const char* right_name,
                                   const std::vector<std::string>& right_ranks, const std::vector<std::string>& output,
                                   const char* output_name) {
  return call.lowering.add(call.place, {name, "*", "+", executed},
                           {{&left, left_name, axes_of(left_ranks)}, {&right, right_name, axes_of(right_ranks)}},
                           output, output_name);
}

/// Scale and mask of the scores, softmax over the keys.
std::optional<TensorValue> weights_of_scores(Call& call, TensorValue scores, TensorValue* mask,
                                             const ExecutedShare& executed) {
  auto scaled = elementwise({"scale", "scale", "", executed}, {&scores}, "A", call.place, call.lowering);
  if (scaled && mask != nullptr) {
    const auto stated = call.lowering.stated_type;
    if (!stated) call.lowering.stated_type = scaled->type;  // a mask of bool leaves the scores' type
    scaled = elementwise({"mask", "+", "", executed}, {&*scaled, mask}, "B", call.place, call.lowering);
    call.lowering.stated_type = stated;
  }
  if (!scaled) return std::nullopt;
  return softmax(*scaled, scaled->shape.size() - 1, executed, call.place, call.lowering);
}

void tell_causal(Call& call, const ExecutedShare& executed, std::int64_t queries, std::int64_t keys) {
  call.lowering.convention(
      fmt::format("is_causal: a query i sees the keys up to i (PyTorch aligns the mask top-left); of "
                  "the {} x {} pairs the share {}/{} is executed, in every einsum over them",
                  queries, keys, executed.share.numerator().str(), executed.share.denominator().str()));
}

std::optional<Value> scaled_dot_product_attention(Call& call) {
  auto q = call.tensor("query"), k = call.tensor("key"), v = call.tensor("value");
  const auto causal = call.flag("is_causal"), grouped = call.flag("enable_gqa");
  if (!q || !k || !v || !causal || !grouped) return std::nullopt;
  auto mask = call.optional_tensor("attn_mask");
  if (call.lowering.failed()) return std::nullopt;
  const auto shapes = [&] {
    return fmt::format("query {}, key {}, value {}", shape_text(q->shape), shape_text(k->shape), shape_text(v->shape));
  };
  const std::size_t axes = q->shape.size();
  if (axes < 2 || k->shape.size() != axes || v->shape.size() != axes) {
    return call.error(shapes() + ": each is [batch ..., heads, length, head size]");
  }
  if (q->shape.back() != k->shape.back()) {
    return call.error_at("key", shapes() + ": query and key differ in their last axis, the head size");
  }
  if (k->shape[axes - 2] != v->shape[axes - 2]) {
    return call.error_at("value", shapes() + ": key and value differ in their length");
  }
  if (*causal && mask) return call.error_at("attn_mask", "attn_mask and is_causal=True together");
  Lowering& lowering = call.lowering;
  std::set<std::string> taken;
  std::vector<std::string> batch, q_batch, k_batch, v_batch;
  std::vector<std::int64_t> shape;
  bool split = false;
  for (std::size_t axis = 0; axis + 2 < axes; ++axis) {
    const bool heads = axis + 3 == axes;
    const char* const base = heads && axes >= 4 ? "h" : "b";
    const std::int64_t of_q = q->shape[axis], of_k = k->shape[axis], of_v = v->shape[axis];
    if (heads && *grouped && of_k == of_v && of_q != of_k) {
      if (of_q % of_k != 0) {
        return call.error_at("enable_gqa",
                             fmt::format("{}: {} key heads do not divide {} query heads", shapes(), of_k, of_q));
      }
      split = true;
      const std::string g = lowering.rank("g", of_k, taken), u = lowering.rank("u", of_q / of_k, taken);
      batch.insert(batch.end(), {g, u});
      q_batch.insert(q_batch.end(), {g, u});
      k_batch.push_back(g);
      v_batch.push_back(g);
      shape.push_back(of_q);
      continue;
    }
    const std::int64_t size = std::max({of_q, of_k, of_v});
    for (const std::int64_t one : {of_q, of_k, of_v}) {
      if (one == size || one == 1) continue;
      return call.error(fmt::format("{}: axis {} does not broadcast", shapes(), axis),
                        heads ? "fewer key heads than query heads need enable_gqa=True" : "");
    }
    batch.push_back(lowering.rank(base, size, taken));
    if (of_q == size) q_batch.push_back(batch.back());
    if (of_k == size) k_batch.push_back(batch.back());
    if (of_v == size) v_batch.push_back(batch.back());
    shape.push_back(size);
  }
  const std::int64_t queries = q->shape[axes - 2], keys = k->shape[axes - 2];
  const std::string rq = lowering.rank("q", queries, taken), rt = lowering.rank("t", keys, taken);
  const std::string re = lowering.rank("e", q->shape.back(), taken), rf = lowering.rank("f", v->shape.back(), taken);
  const auto with = [](std::vector<std::string> ranks, const std::string& a, const std::string& b) {
    ranks.insert(ranks.end(), {a, b});
    return ranks;
  };
  ExecutedShare executed;
  if (*causal) {
    executed = causal_share(queries, keys);
    tell_causal(call, executed, queries, keys);
  }
  if (call.given("dropout_p") &&
      !(call.argument("dropout_p").kind == Value::Kind::real && call.argument("dropout_p").text == "0.0")) {
    lowering.left_out("dropout of the attention weights is not counted");
  }
  for (TensorValue* tensor : {&*q, &*k, &*v}) {
    if (!std::is_sorted(tensor->stored_at.begin(), tensor->stored_at.end())) {
      lowering.convention("a transposed query, key or value is taken as stored in the transposed order");
    }
  }
  auto scores = product(call, "attention_scores", executed, *q, "Q", with(q_batch, rq, re), *k, "K",
                        with(k_batch, rt, re), with(batch, rq, rt), "S");
  if (!scores) return std::nullopt;
  if (mask) {
    std::vector<std::int64_t> full = shape;
    full.insert(full.end(), {queries, keys});
    const TensorValue wide = tensor_of(full, std::nullopt);
    const auto fits = broadcast_shape({&*mask, &wide}, call.argument("attn_mask").place, lowering);
    if (!fits) return std::nullopt;
    if (*fits != full) {
      return call.error_at("attn_mask", fmt::format("a mask of {} does not broadcast to the scores, {}",
                                                    shape_text(mask->shape), shape_text(full)));
    }
    if (split && mask->shape.size() >= 3 && mask->shape[mask->shape.size() - 3] != 1) {
      return call.error_at("attn_mask", "a mask for each head together with enable_gqa is not read");
    }
    if (split && mask->shape.size() >= 3) {  // one more axis of size 1 where the heads are split in two
      mask->shape.insert(mask->shape.end() - 3, std::int64_t{1});
      *mask = [&] {
        TensorValue same = tensor_of(mask->shape, mask->type);
        same.name = mask->name;
        return same;
      }();
    }
  }
  auto weights = weights_of_scores(call, *scores, mask ? &*mask : nullptr, executed);
  if (!weights) return std::nullopt;
  auto context = product(call, "attention_context", executed, *weights, "P", with(batch, rq, rt), *v, "V",
                         with(v_batch, rt, rf), with(batch, rq, rf), "O");
  if (!context) return std::nullopt;
  shape.insert(shape.end(), {queries, v->shape.back()});
  if (!split) return call.result(std::move(*context));
  TensorValue output = tensor_of(shape, context->type);
  output.name = context->name;
  return call.result(std::move(output));
}

/// One of the three projections: heads x head size of length x embedding.
std::optional<TensorValue> projected(Call& call, const std::string& name, TensorValue& input,
                                     const std::vector<std::string>& input_ranks, TensorValue& weight,
                                     const std::string& in, TensorValue* bias, const std::vector<std::string>& output) {
  const std::string& h = output[output.size() - 3];
  const std::string& e = output.back();
  auto made = product(call, ("project_" + name).c_str(), {}, input, "X", input_ranks, weight, ("W" + name).c_str(),
                      {h, e, in}, output, (bias == nullptr ? name : name + "T").c_str());
  if (!made || bias == nullptr) return made;
  return call.lowering.add(call.place, {"bias_" + name, "+", "", {}},
                           {{&*made, "X", axes_of(output)}, {bias, "B" + name, axes_of({h, e})}}, output, name);
}

std::optional<Value> multihead_attention(Call& call) {
  const auto embed = call.integer("embed_dim", 1), heads = call.integer("num_heads", 1);
  const auto has_bias = call.flag("bias"), batch_first = call.flag("batch_first"), causal = call.flag("is_causal");
  auto query = call.tensor("query");
  if (!embed || !heads || !has_bias || !batch_first || !causal || !query) return std::nullopt;
  auto key = call.optional_tensor("key"), value = call.optional_tensor("value");
  auto mask = call.optional_tensor("attn_mask");
  if (call.lowering.failed() || !call.only_default("add_bias_kv", "it lengthens keys and values") ||
      !call.only_default("add_zero_attn", "it lengthens keys and values") ||
      !call.only_default("key_padding_mask", "how many keys it leaves is not in the text")) {
    return std::nullopt;
  }
  Lowering& lowering = call.lowering;
  if (*embed % *heads != 0) {
    return call.error_at("embed_dim", fmt::format("embed_dim {} is not divisible by num_heads {}", *embed, *heads));
  }
  const std::int64_t kdim =
      call.argument("kdim").kind == Value::Kind::none ? *embed : call.integer("kdim", 1).value_or(1);
  const std::int64_t vdim =
      call.argument("vdim").kind == Value::Kind::none ? *embed : call.integer("vdim", 1).value_or(1);
  if (!key) {
    lowering.convention("attention to one tensor: query, key and value are the same");
    key = query;
  }
  if (!value) value = key;
  const auto shapes = fmt::format("query {}, key {}, value {}", shape_text(query->shape), shape_text(key->shape),
                                  shape_text(value->shape));
  const std::size_t axes = query->shape.size();
  if ((axes != 3 && axes != 2) || key->shape.size() != axes || value->shape.size() != axes) {
    return call.error_at("query", shapes +
                                      ": expected [length, batch, embedding], or [batch, length, embedding] with "
                                      "batch_first=True, or no batch");
  }
  if (query->shape.back() != *embed || key->shape.back() != kdim || value->shape.back() != vdim) {
    return call.error_at("query", fmt::format("{}: the last axes must be {}, {} and {}", shapes, *embed, kdim, vdim));
  }
  const std::size_t length_axis = axes == 2 ? 0 : *batch_first ? 1 : 0, batch_axis = 1 - length_axis;
  if (key->shape[length_axis] != value->shape[length_axis] ||
      (axes == 3 &&
       (key->shape[batch_axis] != query->shape[batch_axis] || value->shape[batch_axis] != query->shape[batch_axis]))) {
    return call.error_at("key", shapes + ": key and value have one length, and all one batch");
  }
  // One tensor that stands for several operands gets one name.
  if (query->name.empty()) query->name = lowering.tensor_name("X");
  if (key->name.empty()) key->name = call.given("key") ? lowering.tensor_name("XK") : query->name;
  if (value->name.empty()) value->name = call.given("value") ? lowering.tensor_name("XV") : key->name;

  std::set<std::string> taken;
  const std::int64_t queries = query->shape[length_axis], keys = key->shape[length_axis], size = *embed / *heads;
  const std::string b = axes == 3 ? lowering.rank("b", query->shape[batch_axis], taken) : "";
  const std::string h = lowering.rank("h", *heads, taken), q = lowering.rank("q", queries, taken),
                    t = lowering.rank("t", keys, taken), e = lowering.rank("e", size, taken),
                    f = lowering.rank("f", size, taken), i = lowering.rank("i", *embed, taken),
                    o = lowering.rank("o", *embed, taken);
  const std::string ik = kdim == *embed ? i : lowering.rank("i", kdim, taken);
  const std::string iv = vdim == *embed ? i : vdim == kdim ? ik : lowering.rank("i", vdim, taken);
  const auto layout = [&](const std::string& length, const std::string& last) {
    if (b.empty()) return std::vector{length, last};
    if (*batch_first) return std::vector{b, length, last};
    return std::vector{length, b, last};
  };
  const auto by_head = [&](const std::string& length, const std::string& last) {
    std::vector<std::string> ranks{h, length, last};
    if (!b.empty()) ranks.insert(ranks.begin(), b);
    return ranks;
  };
  lowering.parameters(Count(*embed) * Count(*embed), fmt::format("query weight {} x {}", *embed, *embed));
  lowering.parameters(Count(*embed) * Count(kdim), fmt::format("key weight {} x {}", *embed, kdim));
  lowering.parameters(Count(*embed) * Count(vdim), fmt::format("value weight {} x {}", *embed, vdim));
  if (*has_bias) lowering.parameters(Count(3) * Count(*embed), fmt::format("biases 3 x {}", *embed));
  lowering.parameters(Count(*embed) * Count(*embed), fmt::format("output weight {} x {}", *embed, *embed));
  if (*has_bias) lowering.parameters(Count(*embed), fmt::format("output bias {}", *embed));
  ExecutedShare executed;
  if (*causal) {
    executed = causal_share(queries, keys);
    tell_causal(call, executed, queries, keys);
  }
  lowering.convention("biases of the projections are einsums of their own");
  lowering.convention("the weights averaged over heads, which need_weights=True also returns, are not counted");

  TensorValue wq = tensor_of({*heads, size, *embed}, query->type), wk = tensor_of({*heads, size, kdim}, query->type),
              wv = tensor_of({*heads, size, vdim}, query->type), wo = tensor_of({*embed, *heads, size}, query->type);
  TensorValue bq = tensor_of({*heads, size}, query->type), bk = bq, bv = bq, bo = tensor_of({*embed}, query->type);
  auto made_q = projected(call, "Q", *query, layout(q, i), wq, i, *has_bias ? &bq : nullptr, by_head(q, e));
  if (!made_q) return std::nullopt;
  auto made_k = projected(call, "K", *key, layout(t, ik), wk, ik, *has_bias ? &bk : nullptr, by_head(t, e));
  if (!made_k) return std::nullopt;
  auto made_v = projected(call, "V", *value, layout(t, iv), wv, iv, *has_bias ? &bv : nullptr, by_head(t, f));
  if (!made_v) return std::nullopt;
  auto scores = product(call, "attention_scores", executed, *made_q, "Q", by_head(q, e), *made_k, "K", by_head(t, e),
                        by_head(q, t), "S");
  if (!scores) return std::nullopt;
  if (mask) {
    const bool flat = mask->shape == std::vector{queries, keys};
    if (!flat) {
      return call.error_at("attn_mask",
                           fmt::format("a mask of {}, expected [{}, {}]", shape_text(mask->shape), queries, keys));
    }
  }
  auto weights = weights_of_scores(call, *scores, mask ? &*mask : nullptr, executed);
  if (!weights) return std::nullopt;
  auto context = product(call, "attention_context", executed, *weights, "P", by_head(q, t), *made_v, "V", by_head(t, f),
                         by_head(q, f), "C");
  if (!context) return std::nullopt;
  auto output = product(call, "project_output", {}, *context, "C", by_head(q, f), wo, "WO", {o, h, f}, layout(q, o),
                        *has_bias ? "YT" : "Y");
  if (output && *has_bias) output = add_bias(*output, bo, output->shape.size() - 1, "Y", call.place, lowering);
  if (!output) return std::nullopt;
  return call.result(std::move(*output));
}

}  // namespace

void list_attention(std::vector<Operation>& operations) {
  operations.push_back(
      {"torch.nn.functional.scaled_dot_product_attention",
       "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False", "",
       scaled_dot_product_attention, Dialect::torch});
  operations.push_back(
      {"torch.nn.MultiheadAttention",
       "embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None, "
       "batch_first=False",
       "query, key=None, value=None, key_padding_mask=None, need_weights=True, attn_mask=None, "
       "average_attn_weights=True, is_causal=False",
       multihead_attention, Dialect::torch});
}

}  // namespace einflow::python
