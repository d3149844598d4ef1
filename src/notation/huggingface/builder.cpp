#include "notation/huggingface/builder.hpp"

#include <fmt/format.h>

#include "notation/fields.hpp"
#include "problem/einsum_check.hpp"

namespace einflow::huggingface {

namespace {

/// The executed operations as a product: "8 x 4 x 2048 x 2048 x 128 x 2049 / 4096".
Weights operations_of(const Einsum& einsum) {
  Weights product{einsum.executed_operations(), {}};
  for (const Rank& rank : einsum.ranks) {
    if (rank.extent == 1) continue;
    product.formula += fmt::format("{}{}", product.formula.empty() ? "" : " x ", rank.extent);
  }
  if (product.formula.empty()) product.formula = "1";
  const Ratio& share = einsum.executed.share;
  if (!(share == Ratio(Count(1)))) {
    product.formula += fmt::format(" x {} / {}", share.numerator().str(), share.denominator().str());
  }
  return product;
}

}  // namespace

Weights operator+(const Weights& a, const Weights& b) {
  if (a.formula.empty()) return b;
  if (b.formula.empty()) return a;
  return {a.count + b.count, a.formula + " + " + b.formula};
}

Weights weights(std::initializer_list<std::int64_t> sizes) {
  Weights product{1, {}};
  for (const std::int64_t size : sizes) {
    product.count *= Count(size);
    product.formula += fmt::format("{}{}", product.formula.empty() ? "" : " x ", size);
  }
  return product;
}

Einsum einsum_of(const std::string& name, const std::string& text, RankSizes sizes) {
  auto einsum = parse_einsum(text);
  if (!einsum) return {};  // refused by NetworkBuilder::add
  einsum->name = name;
  for (const auto& [rank, extent] : sizes) {
    const int index = einsum->rank_named(rank);
    if (index >= 0) einsum->ranks[static_cast<std::size_t>(index)].extent = extent;
  }
  return *einsum;
}

void NetworkBuilder::check(const std::string& layer, const Einsum& einsum) {
  if (einsum.tensors.empty()) {
    add_error(errors_, {}, fmt::format("the layer {} has no einsum", layer), "please report this");
    return;
  }
  for (const EinsumFault& fault : check_sizes(einsum)) {
    add_error(errors_, {}, fmt::format("the layer {} is too large: {}", layer, fault.message), fault.hint);
  }
}

void NetworkBuilder::add(const std::string& name, std::int64_t repeat, std::vector<Einsum> einsums,
                         const Weights& own) {
  if (repeat < 1) return;
  DocumentLayer layer;
  layer.name = name;
  layer.repeat = repeat;
  layer.cascade.name = name;
  layer.cascade.einsums = std::move(einsums);
  layer.parameters = own.count;
  if (layer.cascade.einsums.size() == 1) layer.cascade.einsums.front().name = name;
  for (Einsum& einsum : layer.cascade.einsums) {
    for (Tensor& tensor : einsum.tensors) tensor.type = type_;
    check(name, einsum);
    if (einsum.is_mac()) macs_.push_back({repeat, name, operations_of(einsum)});
  }
  if (!own.formula.empty()) weights_.push_back({repeat, name, own});
  document_.layers.push_back(std::move(layer));
}

void NetworkBuilder::add(const std::string& name, std::int64_t repeat, Result<Einsum> einsum, const Weights& own) {
  if (einsum) {
    add(name, repeat, std::vector<Einsum>{std::move(*einsum)}, own);
    return;
  }
  for (const Diagnostic& problem : einsum.error()) {
    add_error(errors_, {}, fmt::format("{}: {}", name, problem.message), problem.hint);
  }
}

void NetworkBuilder::leave(const std::string& name, const std::string& operation, std::int64_t repeat,
                           const std::string& because, const Weights& own) {
  if (repeat < 1) return;
  std::string reason = because;
  if (!own.formula.empty()) {
    reason += fmt::format("; its {} = {} parameters are in the figure", own.formula, own.count.str());
    weights_.push_back({repeat, name, own});
  }
  document_.uncounted.push_back({name, operation, repeat, std::move(reason)});
}

Weights NetworkBuilder::sum(const std::vector<Addend>& addends) {
  Weights all{0, {}};
  for (std::size_t at = 0; at < addends.size();) {
    const std::int64_t repeat = addends[at].repeat;
    Weights group{0, {}};
    for (; at < addends.size() && addends[at].repeat == repeat; ++at) {
      group.count += addends[at].value.count;
      group.formula +=
          fmt::format("{}{} {}", group.formula.empty() ? "" : " + ", addends[at].name, addends[at].value.formula);
    }
    all.count += group.count * Count(repeat);
    if (!all.formula.empty()) all.formula += " + ";
    all.formula += repeat == 1 ? group.formula : fmt::format("{} x ({})", repeat, group.formula);
  }
  return all;
}

Weights NetworkBuilder::all_weights() const { return sum(weights_); }
Weights NetworkBuilder::all_macs() const { return sum(macs_); }

}  // namespace einflow::huggingface
