// The table of constructors, their parameters' checks, and the plain products.
#include "problem/constructors.hpp"

#include <fmt/core.h>
#include <algorithm>

#include "problem/constructors_build.hpp"
#include "problem/einsum_check.hpp"

namespace einflow {
namespace {

using Parameters = std::map<std::string, std::int64_t>;

ConstructorParameter required(const char* name) { return {name, 1, std::nullopt, {}, false}; }
ConstructorParameter optional(const char* name, std::int64_t value, std::int64_t minimum = 1) {
  return {name, minimum, value, {}, false};
}

/// `kernel` and `kernel_h`, `kernel_w`, ...: the plain name stands for all axes, the suffixed one overrides it.
void add_per_axis(std::vector<ConstructorParameter>& parameters, const std::string& name,
                  const std::vector<std::string>& suffixes, std::optional<std::int64_t> value, std::int64_t minimum) {
  if (suffixes.size() == 1) {
    parameters.push_back({name, minimum, value, {}, false});
    return;
  }
  parameters.push_back({name, minimum, value, {}, true});
  for (const std::string& suffix : suffixes) parameters.push_back({name + suffix, minimum, value, name, false});
}

const std::vector<std::string>& suffixes_of(int axes) {
  static const std::vector<std::vector<std::string>> suffixes = {{"_w"}, {"_h", "_w"}, {"_d", "_h", "_w"}};
  return suffixes[static_cast<std::size_t>(axes - 1)];
}

std::vector<ConstructorParameter> convolution_parameters(int axes, bool depthwise, bool transposed) {
  std::vector<ConstructorParameter> parameters = {optional("batch", 1)};
  if (depthwise) {
    parameters.push_back(required("channels"));
    parameters.push_back(optional("multiplier", 1));
  } else {
    parameters.push_back(required("in_channels"));
    parameters.push_back(required("out_channels"));
  }
  if (axes == 3) parameters.push_back(required("depth"));
  if (axes >= 2) parameters.push_back(required("height"));
  parameters.push_back(required("width"));
  const auto& suffixes = suffixes_of(axes);
  add_per_axis(parameters, "kernel", suffixes, std::nullopt, 1);
  add_per_axis(parameters, "stride", suffixes, 1, 1);
  add_per_axis(parameters, "padding", suffixes, 0, 0);
  add_per_axis(parameters, "dilation", suffixes, 1, 1);
  if (transposed) add_per_axis(parameters, "output_padding", suffixes, 0, 0);
  if (!depthwise) parameters.push_back(optional("groups", 1));
  return parameters;
}

std::vector<ConstructorParameter> attention_parameters() {
  return {optional("batch", 1),     required("heads"),       {"kv_heads", 1, std::nullopt, "heads", false},
          required("queries"),      required("keys"),        required("head_dim"),
          optional("causal", 0, 0), optional("window", 0, 0)};
}

Convolution convolution_of(const Parameters& given, int axes) {
  const auto at = [&given](const std::string& name, std::int64_t otherwise) {
    const auto found = given.find(name);
    return found == given.end() ? otherwise : found->second;
  };
  Convolution shape;
  shape.batch = at("batch", 1);
  shape.groups = at("groups", 1);
  shape.in_channels = at("in_channels", at("channels", 1));
  shape.out_channels = at("out_channels", shape.in_channels);
  static const char* const sizes[] = {"depth", "height", "width"};
  for (int i = 0; i < axes; ++i) {
    const std::string suffix = axes == 1 ? "" : suffixes_of(axes)[static_cast<std::size_t>(i)];
    shape.axes.push_back({at(sizes[i + 3 - axes], 1), at("kernel" + suffix, 1), at("stride" + suffix, 1),
                          at("padding" + suffix, 0), at("dilation" + suffix, 1), at("output_padding" + suffix, 0)});
  }
  return shape;
}

Attention attention_of(const Parameters& given) {
  return {given.at("batch"), given.at("heads"),    given.at("kv_heads"),    given.at("queries"),
          given.at("keys"),  given.at("head_dim"), given.at("causal") != 0, given.at("window")};
}

/// Every parameter's value, or what is wrong with those given.
Result<Parameters> resolve(const ConstructorInfo& info, const Parameters& given) {
  Diagnostics errors;
  std::vector<std::string> names;
  for (const auto& parameter : info.parameters) names.push_back(parameter.name);
  for (const auto& [name, value] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string near = nearest_name(name, names);
    std::string all;
    for (const auto& known : names) all += (all.empty() ? "" : ", ") + known;
    errors.push_back({{},
                      fmt::format("{} has no parameter `{}`", info.name, name),
                      near.empty() ? "its parameters: " + all : fmt::format("did you mean `{}`?", near),
                      {}});
  }
  Parameters values;
  for (const auto& parameter : info.parameters) {
    auto found = given.find(parameter.name);
    if (found == given.end() && !parameter.fallback.empty()) found = given.find(parameter.fallback);
    if (found != given.end()) {
      values[parameter.name] = found->second;
      // Too small a shorthand is told once, under its own name.
      if (found->second < parameter.minimum && found->first == parameter.name) {
        errors.push_back({{},
                          fmt::format("{} of {} is {}, but must be at least {}", parameter.name, info.name,
                                      found->second, parameter.minimum),
                          {},
                          {}});
      }
    } else if (parameter.default_value) {
      values[parameter.name] = *parameter.default_value;
    } else if (!parameter.shorthand) {
      errors.push_back({{},
                        fmt::format("{} needs the parameter `{}`", info.name, parameter.name),
                        parameter.fallback.empty() ? "" : fmt::format("or `{}`", parameter.fallback),
                        {}});
    }
  }
  const auto causal = values.find("causal");
  if (causal != values.end() && causal->second > 1)
    errors.push_back({{}, fmt::format("causal is {}, but must be 0 or 1", causal->second), {}, {}});
  if (!errors.empty()) return tl::unexpected(errors);
  return values;
}

Result<Cascade> one(Result<Einsum> einsum) {
  if (!einsum) return tl::unexpected(einsum.error());
  Cascade cascade;
  cascade.name = einsum->name;
  cascade.einsums.push_back(std::move(*einsum));
  return cascade;
}

Result<Cascade> build(const std::string& name, const Parameters& p) {
  if (name == "matmul") return one(matmul(p.at("m"), p.at("n"), p.at("k")));
  if (name == "batched_matmul") {
    return one(batched_matmul(p.at("b"), p.at("m"), p.at("n"), p.at("k"), p.at("left_batch"), p.at("right_batch")));
  }
  if (name == "linear") return one(linear(p.at("m"), p.at("in_features"), p.at("out_features")));
  if (name == "elementwise") return one(elementwise(p.at("m"), p.at("n")));
  if (name == "reduction") return one(reduction(p.at("m"), p.at("k")));
  if (name == "conv1d") return one(convolution(convolution_of(p, 1)));
  if (name == "conv2d") return one(convolution(convolution_of(p, 2)));
  if (name == "conv3d") return one(convolution(convolution_of(p, 3)));
  if (name == "depthwise_conv2d") {
    Convolution shape = convolution_of(p, 2);
    const auto out = (Count(shape.in_channels) * Count(p.at("multiplier"))).to_int64();
    if (!out) return fail("channels times multiplier leaves 64 bits");
    shape.out_channels = *out;
    return one(depthwise_convolution(shape));
  }
  if (name == "transposed_conv1d") return transposed_convolution(convolution_of(p, 1));
  if (name == "transposed_conv2d") return transposed_convolution(convolution_of(p, 2));
  if (name == "attention_scores") return one(attention_scores(attention_of(p)));
  return one(attention_context(attention_of(p)));
}

}  // namespace

const std::vector<ConstructorInfo>& constructors() {
  static const std::vector<ConstructorInfo> all = {
      {"matmul", "Y[m,n] += X[m,k] * W[k,n]", {required("m"), required("n"), required("k")}},
      {"batched_matmul",
       "Y[b,m,n] += X[b,m,k] * W[b,k,n]; left_batch: a rank l of X and Y only, right_batch: r of W and Y only",
       {optional("b", 1), required("m"), required("n"), required("k"), optional("left_batch", 1),
        optional("right_batch", 1)}},
      {"linear",
       "Y[m,o] += X[m,i] * W[o,i], torch's [out, in] weight",
       {required("m"), required("in_features"), required("out_features")}},
      {"conv1d", "O[n,k,p] += I[n,c,p+r] * F[k,c,r]", convolution_parameters(1, false, false)},
      {"conv2d", "O[n,k,p,q] += I[n,c,p+r,q+s] * F[k,c,r,s]", convolution_parameters(2, false, false)},
      {"conv3d", "O[n,k,z,p,q] += I[n,c,z+t,p+r,q+s] * F[k,c,t,r,s]", convolution_parameters(3, false, false)},
      {"depthwise_conv2d", "O[n,c,p,q] += I[n,c,p+r,q+s] * F[c,r,s]", convolution_parameters(2, true, false)},
      {"transposed_conv1d", "a convolution for each phase of the stride: O_0[n,k,p] += I[n,c,p+r-1] * F[c,k,2*r]",
       convolution_parameters(1, false, true)},
      {"transposed_conv2d",
       "a convolution for each phase of the strides: O_0_0[n,k,p,q] += I[n,c,p+r-1,q+s-1] * F[c,k,2*r,2*s]",
       convolution_parameters(2, false, true)},
      {"attention_scores", "S[b,h,q,t] += Q[b,h,q,e] * K[b,h,t,e]; h = (g,u) and K[b,g,t,e] where kv_heads < heads",
       attention_parameters()},
      {"attention_context", "O[b,h,q,f] += P[b,h,q,t] * V[b,h,t,f]; h = (g,u) and V[b,g,t,f] where kv_heads < heads",
       attention_parameters()},
      {"elementwise", "Z[m,n] = X[m,n] + Y[m,n]", {required("m"), optional("n", 1)}},
      {"reduction", "Y[m] += X[m,k]", {required("m"), required("k")}},
  };
  return all;
}

std::vector<std::string> constructor_names() {
  std::vector<std::string> names;
  for (const auto& info : constructors()) names.push_back(info.name);
  return names;
}

std::vector<std::string> constructor_parameters(const std::string& constructor) {
  std::vector<std::string> names;
  for (const auto& info : constructors())
    if (info.name == constructor)
      for (const auto& parameter : info.parameters) names.push_back(parameter.name);
  return names;
}

Result<Cascade> construct(const std::string& constructor, const std::map<std::string, std::int64_t>& parameters) {
  for (const auto& info : constructors()) {
    if (info.name != constructor) continue;
    auto values = resolve(info, parameters);
    if (!values) return tl::unexpected(values.error());
    auto cascade = build(info.name, *values);
    if (!cascade) return cascade;
    Diagnostics errors;
    for (const Einsum& einsum : cascade->einsums)
      for (const EinsumFault& fault : check_sizes(einsum)) errors.push_back({{}, fault.message, fault.hint, {}});
    if (!errors.empty()) return tl::unexpected(errors);
    return cascade;
  }
  const std::string near = nearest_name(constructor, constructor_names());
  return fail(fmt::format("there is no constructor `{}`", constructor),
              near.empty() ? "" : fmt::format("did you mean `{}`?", near));
}

Einsum matmul(std::int64_t m, std::int64_t n, std::int64_t k) {
  Einsum einsum;
  einsum.name = "matmul";
  einsum.ranks = {{"m", m}, {"n", n}, {"k", k}};
  einsum.tensors = {indexed_by(einsum, "X", {"m", "k"}), indexed_by(einsum, "W", {"k", "n"}),
                    indexed_by(einsum, "Y", {"m", "n"})};
  return einsum;
}

Einsum batched_matmul(std::int64_t b, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t left_batch,
                      std::int64_t right_batch) {
  Einsum einsum;
  einsum.name = "batched_matmul";
  einsum.ranks = {{"b", b}};
  if (left_batch > 1) einsum.ranks.push_back({"l", left_batch});
  if (right_batch > 1) einsum.ranks.push_back({"r", right_batch});
  einsum.ranks.push_back({"m", m});
  einsum.ranks.push_back({"n", n});
  einsum.ranks.push_back({"k", k});
  einsum.tensors = {indexed_by(einsum, "X", {"b", "l", "m", "k"}), indexed_by(einsum, "W", {"b", "r", "k", "n"}),
                    indexed_by(einsum, "Y", {"b", "l", "r", "m", "n"})};
  return einsum;
}

Einsum linear(std::int64_t m, std::int64_t in_features, std::int64_t out_features) {
  Einsum einsum;
  einsum.name = "linear";
  einsum.ranks = {{"m", m}, {"o", out_features}, {"i", in_features}};
  einsum.tensors = {indexed_by(einsum, "X", {"m", "i"}), indexed_by(einsum, "W", {"o", "i"}),
                    indexed_by(einsum, "Y", {"m", "o"})};
  return einsum;
}

Einsum elementwise(std::int64_t m, std::int64_t n) {
  Einsum einsum;
  einsum.name = "elementwise";
  einsum.map = "+";
  einsum.reduce = "";
  einsum.ranks = {{"m", m}, {"n", n}};
  einsum.tensors = {indexed_by(einsum, "X", {"m", "n"}), indexed_by(einsum, "Y", {"m", "n"}),
                    indexed_by(einsum, "Z", {"m", "n"})};
  return einsum;
}

Einsum reduction(std::int64_t m, std::int64_t k) {
  Einsum einsum;
  einsum.name = "reduction";
  einsum.ranks = {{"m", m}, {"k", k}};
  einsum.tensors = {indexed_by(einsum, "X", {"m", "k"}), indexed_by(einsum, "Y", {"m"})};
  return einsum;
}

}  // namespace einflow
