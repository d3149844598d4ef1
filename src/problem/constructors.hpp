// The known primitives by name and sizes: matmul, convolutions, attention, elementwise, reduction.
// Every constructor gives einsums whose axes are affine with non-negative coefficients (docs/law.md section 1).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "problem/einsum.hpp"

namespace einflow {

/// One parameter of a constructor.
struct ConstructorParameter {
  std::string name;
  std::int64_t minimum = 1;
  std::optional<std::int64_t> default_value;  ///< absent: must be given, unless `fallback` is
  std::string fallback;    ///< takes this parameter's value where it is not given ("kernel_h": "kernel")
  bool shorthand = false;  ///< only gives others their value ("kernel")
};

/// A constructor as the `problems` command and messages show it.
struct ConstructorInfo {
  std::string name;
  std::string summary;  ///< the einsum it makes
  std::vector<ConstructorParameter> parameters;
};

/// All constructors, in a fixed order.
const std::vector<ConstructorInfo>& constructors();
std::vector<std::string> constructor_names();
/// Parameter names of a constructor; empty where there is none of that name.
std::vector<std::string> constructor_parameters(const std::string& constructor);

/// The einsums of a primitive. Errors: unknown constructor or parameter, missing or too small parameter,
/// empty output, groups that do not divide the channels, sizes whose products leave 128 bits.
Result<Cascade> construct(const std::string& constructor, const std::map<std::string, std::int64_t>& parameters);

// The same as C++ functions. Sizes must be >= 1; those that can fail otherwise return a Result.

/// Y[m,n] += X[m,k] * W[k,n]
Einsum matmul(std::int64_t m, std::int64_t n, std::int64_t k);

/// Y[b,m,n] += X[b,m,k] * W[b,k,n]. Batches that only one operand has (numpy's broadcasting of 1) are ranks of their
/// own: `left_batch` is rank l of X, `right_batch` rank r of W; both are ranks of Y.
Einsum batched_matmul(std::int64_t b, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t left_batch = 1,
                      std::int64_t right_batch = 1);

/// Y[m,o] += X[m,i] * W[o,i]: torch.nn.Linear, weight stored [out, in].
Einsum linear(std::int64_t m, std::int64_t in_features, std::int64_t out_features);

/// Z[m,n] = X[m,n] + Y[m,n]
Einsum elementwise(std::int64_t m, std::int64_t n = 1);

/// Y[m] += X[m,k]
Einsum reduction(std::int64_t m, std::int64_t k);

/// One spatial axis of a convolution, as torch.nn.ConvNd and ConvTransposeNd name its sizes.
struct ConvolutionAxis {
  std::int64_t size = 1;  ///< of the input
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;  ///< on both sides
  std::int64_t dilation = 1;
  std::int64_t output_padding = 0;  ///< transposed only; < max(stride, dilation)
};

struct Convolution {
  std::int64_t batch = 1;
  std::int64_t in_channels = 1;
  std::int64_t out_channels = 1;
  std::int64_t groups = 1;
  std::vector<ConvolutionAxis> axes;  ///< 1 to 3: [width], [height, width], [depth, height, width]
};

/// floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1, or nothing where that is below 1 or leaves 64
/// bits.
std::optional<std::int64_t> convolution_output(const ConvolutionAxis& axis);
/// (size - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1, or nothing likewise.
std::optional<std::int64_t> transposed_output(const ConvolutionAxis& axis);

/// O[n,k,p,q] += I[n,c,2*p+r-1,2*q+s-1] * F[k,c,r,s], filters stored [out, in / groups, height, width]. One axis uses
/// p and r; three use z,p,q and t,r,s. With groups > 1 a rank g stands before k and c of every tensor, and k and c
/// are the channels of a group. Padding becomes a negative constant and the axis' stored size.
Result<Einsum> convolution(const Convolution& shape);

/// O[n,c,p,q] += I[n,c,p+r,q+s] * F[c,r,s]; in_channels = channels, out_channels = channels x multiplier, groups
/// ignored. With a multiplier above 1, rank k is the multiplier: O[n,c,k,p,q], F[c,k,r,s].
Result<Einsum> depthwise_convolution(const Convolution& shape);

/// A transposed convolution as the phases of its output: outputs at positions phase (mod stride) of every axis form a
/// tensor O_i_j of their own, an ordinary convolution over the taps that reach them. F is the filter stored with
/// its taps in reverse order, F[c,k,2*r+1,2*s]: then every coefficient is positive. Each tap belongs to exactly one
/// phase, so the phases together touch F once. A phase that no tap and stored input reach is zero and has no einsum.
Result<Cascade> transposed_convolution(const Convolution& shape);

/// MACs of a transposed convolution in the three ways that tools count them. They differ: scattering every input
/// times every tap (nominal) also makes products that padding crops; gathering by phases also multiplies
/// implicit zeros beyond the input's border; `landing` leaves both out.
struct TransposedMacs {
  Count nominal;  ///< batch x inputs x in_channels x (out_channels / groups) x taps
  Count phases;   ///< operations of transposed_convolution's einsums
  Count landing;  ///< products of a stored input that land inside the output
};
TransposedMacs transposed_macs(const Convolution& shape);

struct Attention {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;  ///< must divide heads
  std::int64_t queries = 1;
  std::int64_t keys = 1;
  std::int64_t head_dim = 1;  ///< of Q and K for the scores, of V for the context
  bool causal = false;        ///< aligned bottom-right: the last query sees every key
  std::int64_t window = 0;    ///< sliding window, the query's own position included; 0 = none; needs causal
};

/// Pairs (query, key) that the mask leaves: all of them, or with a causal mask the sum over the queries i of
/// min(keys - queries + i + 1, window), never below 0.
Count attention_pairs(const Attention& shape);

/// S[b,h,q,t] += Q[b,h,q,e] * K[b,h,t,e]. With fewer KV heads than heads, h is split into (g KV heads) x (u query heads
/// of each): S[b,g,u,q,t] += Q[b,g,u,q,e] * K[b,g,t,e]. The mask is a declared executed share.
Result<Einsum> attention_scores(const Attention& shape);

/// O[b,h,q,f] += P[b,h,q,t] * V[b,h,t,f], likewise.
Result<Einsum> attention_context(const Attention& shape);

}  // namespace einflow
