// Constructors against sizes and operation counts worked by hand, or stated by the source named beside them.
#include "problem/constructors.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "problem/einsum_check.hpp"

namespace einflow {
namespace {

using Parameters = std::map<std::string, std::int64_t>;

Cascade made(const std::string& constructor, const Parameters& parameters) {
  auto cascade = construct(constructor, parameters);
  EXPECT_TRUE(cascade.has_value()) << (cascade ? "" : cascade.error().front().message);
  return cascade ? *cascade : Cascade{};
}

/// A constructor that makes a single einsum.
Einsum one(const std::string& constructor, const Parameters& parameters) {
  Cascade cascade = made(constructor, parameters);
  EXPECT_EQ(cascade.einsums.size(), 1u);
  return cascade.einsums.empty() ? Einsum{} : cascade.einsums[0];
}

std::string first_error(const std::string& constructor, const Parameters& parameters) {
  const auto cascade = construct(constructor, parameters);
  return cascade ? "no error" : cascade.error().front().message;
}

Count operations(const Cascade& cascade) {
  Count sum = 0;
  for (const Einsum& einsum : cascade.einsums) sum += einsum.operations();
  return sum;
}

/// Elements of a tensor whose axes are single ranks.
Count words(const Einsum& einsum, const std::string& tensor) {
  Count product = 1;
  for (const Axis& axis : einsum.tensors[static_cast<std::size_t>(einsum.tensor_named(tensor))].axes) {
    EXPECT_EQ(axis.terms.size(), 1u);
    product *= Count(einsum.ranks[static_cast<std::size_t>(axis.terms[0].rank)].extent);
  }
  return product;
}

std::int64_t extent(const Einsum& einsum, const std::string& rank) {
  const int index = einsum.rank_named(rank);
  return index < 0 ? 0 : einsum.ranks[static_cast<std::size_t>(index)].extent;
}

TEST(Constructors, MatmulFamily) {
  EXPECT_EQ(to_text(one("matmul", {{"m", 64}, {"n", 48}, {"k", 32}})), "Y[m,n] += X[m,k] * W[k,n]");
  EXPECT_EQ(matmul(64, 48, 32).operations(), Count(98304));
  EXPECT_TRUE(matmul(1, 1, 1).is_mac());
  EXPECT_EQ(to_text(one("linear", {{"m", 8}, {"in_features", 4}, {"out_features", 2}})), "Y[m,o] += X[m,i] * W[o,i]");
  EXPECT_EQ(linear(8, 4, 2).operations(), Count(64));
  EXPECT_EQ(to_text(one("batched_matmul", {{"b", 2}, {"m", 3}, {"n", 4}, {"k", 5}})),
            "Y[b,m,n] += X[b,m,k] * W[b,k,n]");
}

// matmul of (1,5,8,16) with (3,1,16,4), pytorch/pytorch#70534: shape (3,5,8,4), 7680 MACs, 640, 192 and 480 words.
TEST(Constructors, BroadcastMatmul) {
  const Einsum einsum = one("batched_matmul", {{"left_batch", 5}, {"right_batch", 3}, {"m", 8}, {"k", 16}, {"n", 4}});
  EXPECT_EQ(to_text(einsum), "Y[b,l,r,m,n] += X[b,l,m,k] * W[b,r,k,n]");
  EXPECT_EQ(einsum.operations(), Count(7680));
  EXPECT_EQ(words(einsum, "X"), Count(640));
  EXPECT_EQ(words(einsum, "W"), Count(192));
  EXPECT_EQ(words(einsum, "Y"), Count(480));
}

TEST(Constructors, ElementwiseAndReduction) {
  const Einsum sum = one("elementwise", {{"m", 6}, {"n", 7}});
  EXPECT_EQ(to_text(sum), "Z[m,n] = X[m,n] + Y[m,n]");
  EXPECT_EQ(sum.operations(), Count(42));
  EXPECT_FALSE(sum.is_mac());
  const Einsum reduced = one("reduction", {{"m", 6}, {"k", 7}});
  EXPECT_EQ(to_text(reduced), "Y[m] += X[m,k]");
  EXPECT_FALSE(reduced.is_mac());
}

// 3x3 convolution 64 -> 128 on 56 x 56 with padding 1, batch 32: as im2col M = 100352, N = 128, K = 576,
// 14,797,504,512 FLOPs; the input has 6,422,528 words.
TEST(Constructors, Conv2dAsIm2col) {
  const Einsum einsum = one("conv2d", {{"batch", 32},
                                       {"in_channels", 64},
                                       {"out_channels", 128},
                                       {"height", 56},
                                       {"width", 56},
                                       {"kernel", 3},
                                       {"padding", 1}});
  EXPECT_EQ(to_text(einsum), "O[n,k,p,q] += I[n,c,p+r-1,q+s-1] * F[k,c,r,s]");
  EXPECT_EQ(extent(einsum, "n") * extent(einsum, "p") * extent(einsum, "q"), 100352);
  EXPECT_EQ(extent(einsum, "c") * extent(einsum, "r") * extent(einsum, "s"), 576);
  EXPECT_EQ(einsum.operations() * Count(2), Count(14797504512));
  const Axis& row = einsum.tensors[0].axes[2];
  EXPECT_EQ(row.constant, -1);
  EXPECT_EQ(row.stored_size, 56);
  EXPECT_EQ(Count(32 * 64) * Count(*row.stored_size) * Count(*einsum.tensors[0].axes[3].stored_size), Count(6422528));
}

// floor((n + 2p - d(k-1) - 1) / s) + 1
TEST(Constructors, OutputSizes) {
  EXPECT_EQ(convolution_output({227, 11, 4, 0, 1}), 55);  // AlexNet conv1
  EXPECT_EQ(convolution_output({32, 3, 1, 0, 2}), 28);
  EXPECT_EQ(convolution_output({224, 7, 2, 3, 1}), 112);  // ResNet conv1
  EXPECT_EQ(convolution_output({5, 5, 3, 0, 1}), 1);
  EXPECT_EQ(convolution_output({4, 5, 1, 0, 1}), std::nullopt);
  EXPECT_EQ(convolution_output({4, 5, 3, 0, 1}), std::nullopt);  // floor(-1/3) + 1 must not become 1
  EXPECT_EQ(transposed_output({8, 4, 2, 1, 1}), 16);
  EXPECT_EQ(transposed_output({8, 3, 2, 1, 1, 1}), 16);
  EXPECT_EQ(transposed_output({1, 3, 1, 0, 1}), 3);
  EXPECT_EQ(transposed_output({1, 1, 1, 1, 1}), std::nullopt);
  EXPECT_EQ(convolution_output({INT64_MAX, 1, 1, INT64_MAX, 1}), std::nullopt);
}

// Depthwise 3x3 on 14 x 14 x 512: 903,168 MACs; 4.399 FLOP/B at 2 bytes a word, the padding's words not counted.
TEST(Constructors, DepthwiseConvolution) {
  const Einsum einsum =
      one("depthwise_conv2d", {{"channels", 512}, {"height", 14}, {"width", 14}, {"kernel", 3}, {"padding", 1}});
  EXPECT_EQ(to_text(einsum), "O[n,c,p,q] += I[n,c,p+r-1,q+s-1] * F[c,r,s]");
  EXPECT_EQ(einsum.operations(), Count(903168));
  const double bytes = 2.0 * (14 * 14 * 512 + words(einsum, "F").to_double() + words(einsum, "O").to_double());
  EXPECT_NEAR(2 * 903168 / bytes, 4.399002493765586, 1e-12);
  const Einsum two =
      one("depthwise_conv2d", {{"channels", 4}, {"multiplier", 2}, {"height", 5}, {"width", 5}, {"kernel", 3}});
  EXPECT_EQ(to_text(two), "O[n,c,k,p,q] += I[n,c,p+r,q+s] * F[c,k,r,s]");
  EXPECT_EQ(two.operations(), Count(4 * 2 * 9 * 9));
}

// AlexNet conv2: two groups of 48 -> 128 channels, 223,948,800 MACs (a quarter of Eyeriss's 895,795,200 for batch 4,
// Chen et al., JSSC 2017, Table V, which prints 0.90 G).
TEST(Constructors, GroupedConvolution) {
  const Einsum einsum = one("conv2d", {{"in_channels", 96},
                                       {"out_channels", 256},
                                       {"height", 27},
                                       {"width", 27},
                                       {"kernel", 5},
                                       {"padding", 2},
                                       {"groups", 2}});
  EXPECT_EQ(to_text(einsum), "O[n,g,k,p,q] += I[n,g,c,p+r-2,q+s-2] * F[g,k,c,r,s]");
  EXPECT_EQ(einsum.operations(), Count(223948800));
  EXPECT_EQ(words(einsum, "F"), Count(256 * 48 * 25));
}

TEST(Constructors, OneAndThreeAxes) {
  EXPECT_EQ(
      to_text(
          one("conv1d",
              {{"in_channels", 2}, {"out_channels", 3}, {"width", 10}, {"kernel", 3}, {"stride", 2}, {"dilation", 2}})),
      "O[n,k,p] += I[n,c,2*p+2*r] * F[k,c,r]");
  const Einsum volume = one("conv3d", {{"in_channels", 2},
                                       {"out_channels", 3},
                                       {"depth", 6},
                                       {"height", 7},
                                       {"width", 8},
                                       {"kernel", 3},
                                       {"stride_h", 2},
                                       {"padding_w", 1}});
  EXPECT_EQ(to_text(volume), "O[n,k,z,p,q] += I[n,c,z+t,2*p+r,q+s-1] * F[k,c,t,r,s]");
  EXPECT_EQ(volume.operations(), Count(2 * 3 * 4 * 3 * 8 * 27));
}

struct Transposed {
  Parameters parameters;
  Convolution shape;
};

Transposed transposed(std::int64_t batch, std::int64_t in, std::int64_t out, std::int64_t height, std::int64_t width,
                      std::int64_t kernel, std::int64_t stride, std::int64_t padding = 0,
                      std::int64_t output_padding = 0, std::int64_t groups = 1, std::int64_t dilation = 1) {
  return {{{"batch", batch},
           {"in_channels", in},
           {"out_channels", out},
           {"height", height},
           {"width", width},
           {"kernel", kernel},
           {"stride", stride},
           {"padding", padding},
           {"output_padding", output_padding},
           {"groups", groups},
           {"dilation", dilation}},
          {batch,
           in,
           out,
           groups,
           {{height, kernel, stride, padding, dilation, output_padding},
            {width, kernel, stride, padding, dilation, output_padding}}}};
}

// pytorch/pytorch#119806: 192 -> 384, 2x2, stride 2, input (6,192,30,96): 10,192,158,720 FLOPs, output (6,384,60,192).
TEST(TransposedConvolution, StrideEqualsKernel) {
  const Transposed t = transposed(6, 192, 384, 30, 96, 2, 2);
  const Cascade cascade = made("transposed_conv2d", t.parameters);
  EXPECT_EQ(cascade.einsums.size(), 4u);  // one tap each: nothing overlaps
  EXPECT_EQ(operations(cascade) * Count(2), Count(10192158720));
  EXPECT_EQ(transposed_output(t.shape.axes[0]), 60);
  EXPECT_EQ(transposed_output(t.shape.axes[1]), 192);
  EXPECT_EQ(to_text(cascade.einsums[1]), "O_0_1[n,k,p,q] += I[n,c,p+r,q+s] * F[c,k,2*r+1,2*s]");
}

// deepspeedai/DeepSpeed#8323, input (2,C,8,8): (a) 4 -> 6, k4 s2 p1: 49,152 nominal, 43,200 inside the output;
// (b) 4 -> 4, k3 s2 p1 output_padding 1, 4 groups: 4,608; (c) 6 -> 6, k2 s2, 3 groups: 6,144; outputs 16 x 16.
TEST(TransposedConvolution, NominalPhasesAndLanding) {
  const Transposed a = transposed(2, 4, 6, 8, 8, 4, 2, 1);
  EXPECT_EQ(transposed_macs(a.shape).nominal, Count(49152));
  EXPECT_EQ(transposed_macs(a.shape).landing, Count(43200));
  // By hand: each of 16 outputs an axis gathers 2 taps, 32^2 x 2 x 4 x 6; two of the 32 meet implicit zeros.
  EXPECT_EQ(transposed_macs(a.shape).phases, Count(49152));
  EXPECT_EQ(operations(made("transposed_conv2d", a.parameters)), Count(49152));

  const Transposed b = transposed(2, 4, 4, 8, 8, 3, 2, 1, 1, 4);
  EXPECT_EQ(transposed_macs(b.shape).nominal, Count(4608));
  EXPECT_EQ(transposed_output(b.shape.axes[0]), 16);
  EXPECT_EQ(words(made("transposed_conv2d", b.parameters).einsums[0], "O_0_0"), Count(2 * 4 * 8 * 8));

  const Transposed c = transposed(2, 6, 6, 8, 8, 2, 2, 0, 0, 3);
  EXPECT_EQ(transposed_macs(c.shape).nominal, Count(6144));
  EXPECT_EQ(operations(made("transposed_conv2d", c.parameters)), Count(6144));
  EXPECT_EQ(transposed_output(c.shape.axes[1]), 16);
}

// sovrasov/flops-counter.pytorch#149: 3 -> 1, 2x2, stride 2, input 2 x 2: 48 MACs, output 4 x 4; 32 -> 1, 3x3, input
// 1 x 1: 288 MACs, output 3 x 3.
TEST(TransposedConvolution, Tiny) {
  const Transposed first = transposed(1, 3, 1, 2, 2, 2, 2);
  EXPECT_EQ(transposed_macs(first.shape).nominal, Count(48));
  EXPECT_EQ(operations(made("transposed_conv2d", first.parameters)), Count(48));
  EXPECT_EQ(transposed_output(first.shape.axes[0]), 4);
  const Transposed second = transposed(1, 32, 1, 1, 1, 3, 1);
  EXPECT_EQ(transposed_macs(second.shape).nominal, Count(288));
  EXPECT_EQ(transposed_macs(second.shape).landing, Count(288));
  // Gathered, all 9 taps are tried at all 9 outputs: 81 x 32.
  EXPECT_EQ(operations(made("transposed_conv2d", second.parameters)), Count(2592));
  EXPECT_EQ(transposed_output(second.shape.axes[0]), 3);
}

/// (output, input, tap) of every product of a transposed axis that lands: the definition, by scattering.
using Products = std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>>;

Products scattered(const ConvolutionAxis& axis) {
  Products products;
  for (std::int64_t input = 0; input < axis.size; ++input)
    for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
      const std::int64_t output = input * axis.stride + tap * axis.dilation - axis.padding;
      if (output >= 0 && output < *transposed_output(axis)) products.insert({output, input, tap});
    }
  return products;
}

/// The same, from the einsums: F is stored with its taps reversed, O_i holds positions i (mod stride).
Products gathered(const ConvolutionAxis& axis, const Cascade& cascade) {
  Products products;
  for (const Einsum& einsum : cascade.einsums) {
    const std::int64_t phase = std::stoll(einsum.name.substr(std::string("phase_").size()));
    const Axis& input = einsum.tensors[0].axes.back();
    const Axis& filter = einsum.tensors[1].axes.back();
    for (std::int64_t p = 0; p < extent(einsum, "p"); ++p)
      for (std::int64_t r = 0; r < extent(einsum, "r"); ++r) {
        const std::int64_t position = input.terms[0].coefficient * p + input.terms[1].coefficient * r + input.constant;
        const std::int64_t reversed = filter.terms[0].coefficient * r + filter.constant;
        EXPECT_GE(reversed, 0);
        EXPECT_LT(reversed, axis.kernel);
        if (position < 0 || position >= *input.stored_size) continue;
        products.insert({axis.stride * p + phase, position, axis.kernel - 1 - reversed});
      }
  }
  return products;
}

TEST(TransposedConvolution, PhasesMakeExactlyTheScatteredProducts) {
  for (std::int64_t size : {1, 2, 5})
    for (std::int64_t kernel : {1, 2, 3, 4, 5})
      for (std::int64_t stride : {1, 2, 3, 4})
        for (std::int64_t padding : {0, 1, 2})
          for (std::int64_t dilation : {1, 2, 3})
            for (std::int64_t extra : {0, 1}) {
              const ConvolutionAxis axis{size, kernel, stride, padding, dilation, extra};
              if (!transposed_output(axis) || extra >= std::max(stride, dilation)) continue;
              SCOPED_TRACE(testing::Message() << size << " k" << kernel << " s" << stride << " p" << padding << " d"
                                              << dilation << " o" << extra);
              const Convolution shape{1, 1, 1, 1, {axis}};
              const auto cascade = transposed_convolution(shape);
              if (scattered(axis).empty()) {
                EXPECT_FALSE(cascade.has_value());
                continue;
              }
              ASSERT_TRUE(cascade.has_value());
              EXPECT_EQ(gathered(axis, *cascade), scattered(axis));
              EXPECT_EQ(transposed_macs(shape).landing, Count(static_cast<long>(scattered(axis).size())));
              EXPECT_EQ(transposed_macs(shape).phases, operations(*cascade));
              for (const Einsum& einsum : cascade->einsums) {
                EXPECT_TRUE(check_form(einsum).empty());
                EXPECT_TRUE(check_sizes(einsum).empty());
              }
            }
}

// einsum bhqd,bhkd->bhqk with b=2 h=16 q=128 k=1024 d=64: 268,435,456 MACs; 262,144 / 2,097,152 / 4,194,304 words.
TEST(Attention, Scores) {
  const Einsum einsum =
      one("attention_scores", {{"batch", 2}, {"heads", 16}, {"queries", 128}, {"keys", 1024}, {"head_dim", 64}});
  EXPECT_EQ(to_text(einsum), "S[b,h,q,t] += Q[b,h,q,e] * K[b,h,t,e]");
  EXPECT_EQ(einsum.operations(), Count(268435456));
  EXPECT_EQ(words(einsum, "Q"), Count(262144));
  EXPECT_EQ(words(einsum, "K"), Count(2097152));
  EXPECT_EQ(words(einsum, "S"), Count(4194304));
}

TEST(Attention, GroupedHeadsShareKeysAndValues) {
  const Parameters p = {{"batch", 2}, {"heads", 8}, {"kv_heads", 2}, {"queries", 3}, {"keys", 5}, {"head_dim", 4}};
  const Einsum scores = one("attention_scores", p);
  EXPECT_EQ(to_text(scores), "S[b,g,u,q,t] += Q[b,g,u,q,e] * K[b,g,t,e]");
  EXPECT_EQ(scores.operations(), Count(2 * 8 * 3 * 5 * 4));
  EXPECT_EQ(words(scores, "K"), Count(2 * 2 * 5 * 4));
  EXPECT_EQ(to_text(one("attention_context", p)), "O[b,g,u,q,f] += P[b,g,u,q,t] * V[b,g,t,f]");
}

Count attention_flops(Parameters p, std::int64_t qk_depth, std::int64_t v_depth) {
  p["head_dim"] = qk_depth;
  Count operations = one("attention_scores", p).executed_operations();
  p["head_dim"] = v_depth;
  return (operations + one("attention_context", p).executed_operations()) * Count(2);
}

// pytorch/pytorch#134804: 4 B H S^2 D.
TEST(Attention, FlopsWithoutMask) {
  EXPECT_EQ(attention_flops({{"batch", 2}, {"heads", 5}, {"queries", 9}, {"keys", 9}}, 4, 4), Count(12960));
  EXPECT_EQ(attention_flops({{"batch", 1}, {"heads", 12}, {"queries", 64}, {"keys", 64}}, 64, 64), Count(12582912));
}

// S = 8192, 32 heads of 128: 4 S^2 H d = 1,099,511,627,776 FLOPs full, 4 S(S+1)/2 H d = 549,822,922,752 causal.
TEST(Attention, CausalSquare) {
  Parameters p = {{"heads", 32}, {"queries", 8192}, {"keys", 8192}};
  EXPECT_EQ(attention_flops(p, 128, 128), Count(1099511627776));
  p["causal"] = 1;
  EXPECT_EQ(attention_flops(p, 128, 128), Count(549822922752));
  p["head_dim"] = 128;
  const Einsum scores = one("attention_scores", p);
  EXPECT_EQ(scores.executed.share, Ratio(Count(8193), Count(16384)));
  EXPECT_EQ(scores.executed.because, "causal mask");
}

// facebookresearch/xformers#1402: 4 queries, 10 keys, aligned bottom-right: 4 x 6 + 10 = 34 pairs, and with
// QK depth 8 and V depth 16 1632 FLOPs.
TEST(Attention, CausalRectangle) {
  EXPECT_EQ(attention_flops({{"heads", 1}, {"queries", 4}, {"keys", 10}, {"causal", 1}}, 8, 16), Count(1632));
}

// S = 8192, window 1024 with the query itself: w(w+1)/2 + (S-w) w = 7,864,832 pairs.
TEST(Attention, SlidingWindow) {
  Attention shape;
  shape.queries = shape.keys = 8192;
  shape.causal = true;
  shape.window = 1024;
  EXPECT_EQ(attention_pairs(shape), Count(7864832));
  EXPECT_EQ(attention_scores(shape)->executed.because, "causal mask, sliding window of 1024 keys");
}

TEST(Attention, PairsAsEnumerated) {
  for (std::int64_t queries = 1; queries <= 6; ++queries)
    for (std::int64_t keys = 1; keys <= 6; ++keys)
      for (std::int64_t window = 0; window <= 7; ++window) {
        std::int64_t pairs = 0;
        for (std::int64_t i = 0; i < queries; ++i)
          for (std::int64_t t = 0; t < keys; ++t) {
            const std::int64_t own = keys - queries + i;  // the key at the query's own position
            if (t <= own && (window == 0 || t > own - window)) ++pairs;
          }
        Attention shape;
        shape.queries = queries;
        shape.keys = keys;
        shape.causal = true;
        shape.window = window;
        EXPECT_EQ(attention_pairs(shape), Count(pairs)) << queries << " " << keys << " " << window;
      }
}

// One Llama-2-70B layer, forward, per token, sequence 4096, no mask (NVIDIA/Megatron-LM#682): 4h^2, 4h(h 8/64), 4hS,
// 6hf.
TEST(Attention, GroupedLayerFlops) {
  const std::int64_t h = 8192, s = 4096;
  const auto flops = [](const Einsum& einsum) { return einsum.operations() * Count(2); };
  EXPECT_EQ(flops(linear(1, h, h)) + flops(linear(1, h, h)), Count(268435456));
  EXPECT_EQ(flops(linear(1, h, 1024)) + flops(linear(1, h, 1024)), Count(33554432));
  Parameters p = {{"heads", 64}, {"kv_heads", 8}, {"queries", 1}, {"keys", s}};
  EXPECT_EQ(attention_flops(p, 128, 128), Count(134217728));
  EXPECT_EQ(flops(linear(1, h, 28672)) * Count(3), Count(1409286144));
}

TEST(ConstructorErrors, SayWhatIsWrong) {
  EXPECT_EQ(first_error("conv2", {}), "there is no constructor `conv2`");
  EXPECT_EQ(construct("conv2", {}).error().front().hint, "did you mean `conv2d`?");
  EXPECT_EQ(first_error("matmul", {{"m", 4}, {"n", 4}}), "matmul needs the parameter `k`");
  EXPECT_EQ(first_error("matmul", {{"m", 4}, {"n", 4}, {"k", 0}}), "k of matmul is 0, but must be at least 1");
  EXPECT_EQ(first_error("matmul", {{"m", 4}, {"n", 4}, {"k", 4}, {"j", 1}}), "matmul has no parameter `j`");
  const Parameters conv = {{"in_channels", 6}, {"out_channels", 4}, {"height", 4}, {"width", 9}};
  const auto with = [&conv](Parameters more) {
    more.insert(conv.begin(), conv.end());
    return more;
  };
  EXPECT_EQ(first_error("conv2d", with({})), "conv2d needs the parameter `kernel_h`");
  EXPECT_EQ(first_error("conv2d", with({{"kernel", 3}, {"groups", 4}})), "groups 4 does not divide in_channels 6");
  EXPECT_EQ(first_error("conv2d", with({{"kernel", 5}})),
            "the output has no height, or one beyond 64 bits: input 4, kernel 5, stride 1, padding 0, dilation 1");
  EXPECT_EQ(first_error("conv2d", with({{"kernel", 3}, {"stride", 0}})),
            "stride of conv2d is 0, but must be at least 1");
  EXPECT_EQ(first_error("transposed_conv2d", with({{"kernel", 3}, {"stride", 2}, {"output_padding", 2}})),
            "output_padding 2 of the height must be smaller than stride 2 or dilation 1");
  EXPECT_EQ(
      first_error("attention_scores", {{"heads", 6}, {"kv_heads", 4}, {"queries", 1}, {"keys", 1}, {"head_dim", 1}}),
      "kv_heads 4 does not divide heads 6");
  EXPECT_EQ(
      first_error("attention_scores", {{"heads", 1}, {"queries", 1}, {"keys", 1}, {"head_dim", 1}, {"window", 2}}),
      "a sliding window needs causal: 1");
}

TEST(ConstructorErrors, AllAtOnce) {
  const auto cascade = construct("matmul", {{"m", 0}, {"q", 1}});
  ASSERT_FALSE(cascade.has_value());
  EXPECT_EQ(cascade.error().size(), 4u);  // unknown q, m too small, n and k missing
}

TEST(ConstructorErrors, SizesBeyond128Bits) {
  const std::int64_t large = INT64_MAX;
  EXPECT_NE(first_error("matmul", {{"m", large}, {"n", large}, {"k", large}}), "no error");
  EXPECT_NE(first_error("conv2d", {{"in_channels", 1},
                                   {"out_channels", 1},
                                   {"height", large},
                                   {"width", large},
                                   {"kernel", large},
                                   {"padding", large},
                                   {"dilation", large}}),
            "no error");
  EXPECT_NE(first_error("transposed_conv1d", {{"in_channels", 1},
                                              {"out_channels", 1},
                                              {"width", large},
                                              {"kernel", large},
                                              {"stride", large},
                                              {"dilation", large}}),
            "no error");
  EXPECT_NE(first_error("transposed_conv1d",
                        {{"in_channels", 1}, {"out_channels", 1}, {"width", 2}, {"kernel", 2}, {"stride", 5000}}),
            "no error");  // 5000 phases
  EXPECT_NE(first_error("depthwise_conv2d",
                        {{"channels", large}, {"multiplier", large}, {"height", 1}, {"width", 1}, {"kernel", 1}}),
            "no error");
}

TEST(ConstructorTable, NamesAndParameters) {
  EXPECT_EQ(constructor_names().size(), constructors().size());
  EXPECT_EQ(constructor_parameters("matmul"), (std::vector<std::string>{"m", "n", "k"}));
  EXPECT_TRUE(constructor_parameters("nothing").empty());
}

}  // namespace
}  // namespace einflow
