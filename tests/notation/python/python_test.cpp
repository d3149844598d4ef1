// What is read of numpy, PyTorch, TensorFlow and einops, and what is written. Sizes come from the libraries'
// documentation or are worked out by hand where no test of tests/commands/test_python.py runs the library itself.
#include "notation/python/python.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "notation/einsum_text.hpp"
#include "problem/constructors.hpp"
#include "support/builders.hpp"
#include "support/processor_time.hpp"

namespace einflow {
namespace {

SourceText source(const std::string& text) { return {"text", text}; }

Document read(const std::string& text, std::map<std::string, std::string> ranks = {}) {
  ReadOptions options;
  options.ranks = std::move(ranks);
  const auto document = read_python({source(text)}, options);
  if (!document) throw std::runtime_error(render(document.error(), source(text)));
  return *document;
}

/// The message of the first error.
std::string error_of(const std::string& text) {
  const auto document = read_python({source(text)}, {});
  return document ? "accepted" : document.error().front().message;
}

std::vector<Einsum> einsums(const std::string& text) {
  const Document document = read(text);
  return document.layers.empty() ? std::vector<Einsum>{} : document.layers.front().cascade.einsums;
}

Einsum only_einsum(const std::string& text) {
  const std::vector<Einsum> all = einsums(text);
  if (all.size() != 1) throw std::runtime_error(text + " is not one einsum");
  return all.front();
}

std::vector<std::string> texts(const std::string& text) {
  std::vector<std::string> lines;
  for (const Einsum& einsum : einsums(text)) lines.push_back(to_text(einsum));
  return lines;
}

std::int64_t extent(const Einsum& einsum, const std::string& rank) {
  return einsum.ranks.at(static_cast<std::size_t>(einsum.rank_named(rank))).extent;
}

bool says(const Document& document, const std::string& words) {
  return std::any_of(document.conventions.begin(), document.conventions.end(),
                     [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

std::string written(const Einsum& einsum) {
  Document document;
  document.layers.push_back({"", 1, {"", {einsum}}, {}, {}, {}});
  const auto writing = write_python(document);
  return writing ? writing->text : "error: " + writing.error().front().message;
}

TEST(Python, EinsumsAreRead) {
  const Einsum matmul = only_einsum("torch.einsum(\"mk,kn->mn\", bf16[4, 5], bf16[5, 6])");
  EXPECT_EQ(to_text(matmul), "Y[m,n] += X[m,k] * W[k,n]");
  EXPECT_EQ(matmul.ranks, (std::vector<Rank>{{"m", 4}, {"n", 6}, {"k", 5}}));
  EXPECT_EQ(only_einsum("np.einsum('mk,kn', (4, 5), (5, 6))"), matmul);
  EXPECT_EQ(only_einsum("jnp.einsum('mk,kn->mn', [4, 5], [5, 6])"), matmul);
  EXPECT_EQ(only_einsum("tf.einsum('mk, kn -> mn', bf16[4, 5], bf16[5, 6])"), matmul);
}

TEST(Python, BareStringsTakeTheirSizesFromRanks) {
  const Document document = read("mk,kn->mn", {{"m", "4"}, {"k", "5"}, {"n", "6"}});
  EXPECT_EQ(to_text(document.layers.at(0).cascade.einsums.at(0)), "Y[m,n] += X[m,k] * W[k,n]");
  EXPECT_TRUE(says(document, "output Y: [4, 6], as NumPy gives it"));
  EXPECT_TRUE(says(document, "types that the text does not state are bf16: W, X"));
}

TEST(Python, ImplicitOutputsAreLettersThatOccurOnceInOrderOfTheAlphabet) {
  EXPECT_EQ(to_text(only_einsum("np.einsum('ki,jk', (4, 5), (3, 4))")), "Y[i,j] += X[k,i] * W[j,k]");
  EXPECT_EQ(to_text(only_einsum("np.einsum('ii', (4, 4))")), "Y[] += X[5*i]");
}

TEST(Python, EllipsesBroadcast) {
  const Einsum einsum = only_einsum("np.einsum('...mk,...kn->...mn', (2, 1, 4, 5), (3, 5, 6))");
  EXPECT_EQ(to_text(einsum), "Y[b,b2,m,n] += X[b,m,k] * W[b2,k,n]");
  EXPECT_EQ(extent(einsum, "b"), 2);
  EXPECT_EQ(extent(einsum, "b2"), 3);
}

TEST(Python, LettersNeverClashWithBatches) {
  const Einsum einsum = only_einsum("np.einsum('...b,b->...', (7, 3), (3,))");
  EXPECT_EQ(to_text(einsum), "Y[b2] += X[b2,b] * W[b]");
}

// Element (i, i) of an n x n tensor stands at place i * n + i.
TEST(Python, RepeatedLettersAreStridesOfTheFlattenedTensor) {
  EXPECT_EQ(to_text(only_einsum("torch.einsum('ii->', (4, 4))")), "Y[] += X[5*i]");
  // (i, j, i) of 3 x 4 x 3: i * 12 + j * 3 + i
  EXPECT_EQ(to_text(only_einsum("torch.einsum('iji,j->i', (3, 4, 3), (4,))")), "Y[i] += X[13*i+3*j] * W[j]");
  // the batch stands outside what is flattened
  EXPECT_EQ(to_text(only_einsum("torch.einsum('bii->b', (2, 4, 4))")), "Y[b] += X[b,5*i]");
  EXPECT_TRUE(says(read("torch.einsum('ii->', (4, 4))"), "a repeated letter is a diagonal"));
}

TEST(Python, ManyOperandsAreOneEinsum) {
  const Document document = read("np.einsum('ij,jk,kl->il', (2, 3), (3, 4), (4, 5))");
  EXPECT_EQ(to_text(document.layers[0].cascade.einsums[0]), "Y[i,l] += A[i,j] * B[j,k] * C[k,l]");
  EXPECT_TRUE(says(document, "3 operands are one einsum"));
}

TEST(Python, MovementIsUncounted) {
  for (const char* text : {"torch.einsum('ij->ji', (2, 3))", "einops.rearrange((2, 3, 4), 'a b c -> c (a b)')",
                           "bf16[2, 3].T", "torch.nn.Embedding(10, 4)((2, 3))"}) {
    const Document document = read(text);
    EXPECT_TRUE(document.layers.empty()) << text;
    ASSERT_EQ(document.uncounted.size(), 1) << text;
    EXPECT_FALSE(document.uncounted[0].because.empty());
  }
}

TEST(Python, TensorsHaveTheNamesOfVariables) {
  const Einsum einsum = only_einsum("A: int8[4, 5]\nB = int8[5, 6]\nC: int32[4, 6] = torch.einsum('mk,kn->mn', A, B)");
  EXPECT_EQ(to_text(einsum), "C[m,n] += A[m,k] * B[k,n]");
  EXPECT_EQ(einsum.tensors[0].type.name, "int8");
  EXPECT_EQ(einsum.tensors[2].type.name, "int32");
  EXPECT_EQ(to_text(only_einsum("torch.einsum('i,i->', P=(4,), Q=(4,))")), "Y[] += P[i] * Q[i]");
}

TEST(Python, StatementsAreOneCascade) {
  EXPECT_EQ(
      texts("import torch.nn.functional as F\nx = bf16[8, 64]\nw = bf16[32, 64]\nh = F.linear(x, w)\ny = F.relu(h)"),
      (std::vector<std::string>{"h[m,o] += x[m,i] * w[o,i]", "y[m,o] = relu(h[m,o])"}));
}

TEST(Python, TypesAreStatedOrBf16) {
  EXPECT_EQ(only_einsum("torch.mm(f32[2, 3], (3, 4))").tensors[1].type.name, "fp32");
  EXPECT_EQ(only_einsum("torch.mm(torch.randn(2, 3), torch.zeros(3, 4))").tensors[2].type.name, "fp32");
  EXPECT_EQ(only_einsum("np.dot(np.zeros((2, 3)), np.ones((3, 4)))").tensors[2].type.name, "fp64");
  EXPECT_EQ(only_einsum("torch.mm(bits12[2, 3], bits12[3, 4])").tensors[0].type.name, "12-bit");
  EXPECT_EQ(error_of("torch.mm(bf16[2, 3], fp16[3, 4])"), "the operands have different types: X is bf16, W is fp16");
}

TEST(Python, OneTensorAsTwoOperandsIsReadTwice) {
  const Document document = read("X = bf16[4, 4]\nY = X @ X");
  EXPECT_EQ(to_text(document.layers[0].cascade.einsums[0]), "Y[m,n] += X[m,k] * X_2[k,n]");
  EXPECT_TRUE(says(document, "X is an operand twice"));
}

TEST(Python, TransposedTensorsKeepTheirStoredOrder) {
  EXPECT_EQ(to_text(only_einsum("bf16[8, 16, 64] @ bf16[8, 32, 64].transpose(-2, -1)")),
            "Y[b,m,n] += X[b,m,k] * W[b,n,k]");
  EXPECT_EQ(to_text(only_einsum("bf16[6, 5].T @ bf16[6, 4]")), "Y[m,n] += X[k,m] * W[k,n]");
}

// The layer of the issue: ResNet's kind of strided convolution, 1 x 64 x 56 x 56 -> 1 x 128 x 28 x 28.
TEST(Python, ConvolutionsAreTheConstructors) {
  Convolution shape;
  shape.in_channels = 64;
  shape.out_channels = 128;
  shape.axes = {{56, 3, 2, 1, 1, 0}, {56, 3, 2, 1, 1, 0}};
  EXPECT_EQ(only_einsum("torch.nn.Conv2d(64, 128, 3, stride=2, padding=1, bias=False)((1, 64, 56, 56))"),
            *convolution(shape));
  EXPECT_EQ(only_einsum("F.conv2d((1, 64, 56, 56), (128, 64, 3, 3), None, 2, 1)"), *convolution(shape));
  EXPECT_EQ(only_einsum("nn.Conv2d(64, 128, 3, 2, 1, 1, 1, False)(1, 64, 56, 56)"), *convolution(shape));
}

TEST(Python, BiasesAreEinsumsOfTheirOwn) {
  EXPECT_EQ(texts("torch.nn.Conv2d(4, 8, 3, groups=2)((1, 4, 8, 8))"),
            (std::vector<std::string>{"T[n,g,k,p,q] += I[n,g,c,p+r,q+s] * F[g,k,c,r,s]",
                                      "O[n,g,k,p,q] = T[n,g,k,p,q] + B[g,k]"}));
  EXPECT_EQ(texts("torch.nn.Linear(4, 8)((2, 3, 4))"),
            (std::vector<std::string>{"T[b,m,o] += X[b,m,i] * W[o,i]", "Y[b,m,o] = T[b,m,o] + B[o]"}));
}

TEST(Python, ParametersAreThoseOfTheWeights) {
  const Document document = read("torch.nn.Conv2d(64, 128, 3)((1, 64, 56, 56))");
  EXPECT_EQ(document.layers[0].parameters, Count(128 * 64 * 9 + 128));
  EXPECT_TRUE(says(document, "parameters: 73856 = weight 128 x 64 x 3 x 3 + bias 128"));
  EXPECT_EQ(read("torch.matmul((2, 3), (3, 4))").layers[0].parameters, std::nullopt);
}

// TensorFlow's SAME: ceil(224 / 2) = 112 outputs need (112 - 1) * 2 + 7 - 224 = 5 zeros, the odd one behind
// (tf.nn.convolution's documentation).
TEST(Python, TensorFlowPadsTheOddZeroBehind) {
  const std::string text = "keras.layers.Conv2D(64, 7, strides=2, padding='same', use_bias=False)((1, 224, 224, 3))";
  const Einsum einsum = only_einsum(text);
  EXPECT_EQ(to_text(einsum), "O[n,p,q,k] += I[n,2*p+r-2,2*q+s-2,c] * F[r,s,c,k]");
  EXPECT_EQ(extent(einsum, "p"), 112);
  EXPECT_EQ(einsum.tensors[0].axes[1].stored_size, 224);
  EXPECT_TRUE(says(read(text), "[2, 2] before and [3, 3] behind"));
  // Nothing before, one behind: 3 x 3 with stride 2 on an even size.
  const Einsum even = only_einsum("tf.nn.conv2d((1, 8, 8, 3), (3, 3, 3, 4), strides=2, padding='SAME')");
  EXPECT_EQ(to_text(even), "O[n,p,q,k] += I[n,2*p+r,2*q+s,c] * F[r,s,c,k]");
  EXPECT_EQ(even.tensors[0].axes[1].stored_size, 8);
  EXPECT_EQ(extent(even, "p"), 4);
}

TEST(Python, TensorFlowsGroupsAndDepthwiseFiltersAreStoredAsItStoresThem) {
  EXPECT_EQ(to_text(only_einsum("tf.nn.conv2d((1, 8, 8, 4), (3, 3, 2, 6), [1, 2, 2, 1], 'VALID')")),
            "O[n,p,q,g,k] += I[n,2*p+r,2*q+s,g,c] * F[r,s,c,g,k]");
  EXPECT_EQ(to_text(only_einsum("keras.layers.DepthwiseConv2D(3, depth_multiplier=2, use_bias=False)((1, 8, 8, 4))")),
            "O[n,p,q,c,k] += I[n,p+r,q+s,c] * F[r,s,c,k]");
}

TEST(Python, AttentionIsACascade) {
  EXPECT_EQ(texts("F.scaled_dot_product_attention((2, 8, 16, 64), (2, 8, 24, 64), (2, 8, 24, 32))"),
            (std::vector<std::string>{"S[b,h,q,t] += Q[b,h,q,e] * K[b,h,t,e]", "A[b,h,q,t] = scale(S[b,h,q,t])",
                                      "M[b,h,q] max= A[b,h,q,t]", "D[b,h,q,t] = A[b,h,q,t] - M[b,h,q]",
                                      "E[b,h,q,t] = exp(D[b,h,q,t])", "L[b,h,q] += E[b,h,q,t]",
                                      "P[b,h,q,t] = E[b,h,q,t] / L[b,h,q]", "O[b,h,q,f] += P[b,h,q,t] * V[b,h,t,f]"}));
}

TEST(Python, AttentionsProductsAreTheConstructors) {
  Attention shape{2, 32, 8, 128, 128, 64, true, 0};
  const std::vector<Einsum> cascade = einsums(
      "F.scaled_dot_product_attention((2, 32, 128, 64), (2, 8, 128, 64), (2, 8, 128, 64), is_causal=True, "
      "enable_gqa=True)");
  // The constructor lists ranks in another order.
  for (const auto& [made, read] :
       {std::pair(*attention_scores(shape), cascade.front()), std::pair(*attention_context(shape), cascade.back())}) {
    EXPECT_EQ(to_text(made), to_text(read));
    EXPECT_EQ(made.executed, read.executed);
    for (const Rank& rank : made.ranks) EXPECT_EQ(extent(read, rank.name), rank.extent);
  }
}

// PyTorch's mask is ones(queries, keys).tril(): row i has min(i + 1, keys) ones.
TEST(Python, CausalMasksAreAlignedTopLeft) {
  const auto share = [](const std::string& text) { return einsums(text).front().executed.share; };
  EXPECT_EQ(share("F.scaled_dot_product_attention((1, 4, 8), (1, 6, 8), (1, 6, 8), is_causal=True)"),
            Ratio(Count(1 + 2 + 3 + 4), Count(24)));
  EXPECT_EQ(share("F.scaled_dot_product_attention((1, 6, 8), (1, 4, 8), (1, 4, 8), is_causal=True)"),
            Ratio(Count(1 + 2 + 3 + 4 + 4 + 4), Count(24)));
}

TEST(Python, MultiheadAttentionHasItsProjections) {
  const Document document = read("torch.nn.MultiheadAttention(64, 8, bias=False)((10, 2, 64))");
  const std::vector<Einsum>& cascade = document.layers[0].cascade.einsums;
  EXPECT_EQ(to_text(cascade[0]), "Q[b,h,q,e] += X[q,b,i] * WQ[h,e,i]");
  EXPECT_EQ(to_text(cascade[1]), "K[b,h,t,e] += X[t,b,i] * WK[h,e,i]");
  EXPECT_EQ(to_text(cascade.back()), "Y[q,b,o] += C[b,h,q,f] * WO[o,h,f]");
  EXPECT_EQ(document.layers[0].parameters, Count(4 * 64 * 64));
  EXPECT_TRUE(says(document, "attention to one tensor"));
}

TEST(Python, PoolingIsAReductionOverAWindow) {
  EXPECT_EQ(texts("torch.nn.MaxPool2d(3, 2, 1)((1, 64, 112, 112))"),
            std::vector<std::string>{"O[n,c,p,q] max= I[n,c,2*p+r-1,2*q+s-1]"});
  EXPECT_EQ(texts("torch.nn.AdaptiveAvgPool2d(1)((1, 512, 7, 7))"),
            (std::vector<std::string>{"T[n,c,p,q] += I[n,c,7*p+r,7*q+s]", "O[n,c,p,q] = scale(T[n,c,p,q])"}));
  // ceil_mode: floor would give 3; the fourth window begins inside and hangs over the end.
  const Einsum einsum = only_einsum("torch.nn.MaxPool2d(3, 2, ceil_mode=True)((1, 4, 8, 8))");
  EXPECT_EQ(extent(einsum, "p"), 4);
  EXPECT_EQ(einsum.tensors[0].axes[2].stored_size, 8);
}

TEST(Python, BroadcastAxesAreLeftOut) {
  EXPECT_EQ(to_text(only_einsum("bf16[2, 1, 4] + bf16[3, 1]")), "Z[b,m,n] = X[b,n] + W[m]");
}

TEST(Python, EinopsGroupsAreAffineAxes) {
  EXPECT_EQ(to_text(only_einsum("einops.reduce((2, 4, 6, 3), 'b (h h2) (w w2) c -> b h w c', 'max', h2=2, w2=3)")),
            "Y[b,h,w,c] max= X[b,2*h+h2,3*w+w2,c]");
}

TEST(Python, ModulesMayBeChained) {
  EXPECT_EQ(texts("torch.nn.Sequential(torch.nn.Linear(4, 8, bias=False), torch.nn.ReLU())((2, 4))"),
            (std::vector<std::string>{"Y[m,o] += X[m,i] * W[o,i]", "Y_2[m,o] = relu(Y[m,o])"}));
}

TEST(Python, ErrorsPointIntoTheText) {
  const auto document = read_python({source("torch.einsum(\"mk,kn->mz\", bf16[4, 5], bf16[5, 6])")}, {});
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().front().span, (Span{1, 23, 1}));
  EXPECT_EQ(document.error().front().message, "the output has 'z', which no input has");
  const auto keyword = read_python({source("x = bf16[1, 3, 8, 8]\ny = nn.Conv2d(3, 8, 3, paddding=1)(x)")}, {});
  ASSERT_FALSE(keyword);
  EXPECT_EQ(keyword.error().front().span, (Span{2, 24, 8}));
  EXPECT_EQ(keyword.error().front().hint, "did you mean 'padding'?");
}

TEST(Python, ItsTextsAreRecognised) {
  for (const char* text :
       {"mk,kn->mn", "\"...ij->...\"", "mk,kn", "torch.einsum('ij->i', bf16[2, 3])", "import torch\n\nx = bf16[2, 3]\n",
        "# a layer\nnn.Conv2d(3, 8, 3)((1, 3, 8, 8))", "X: bf16[4, 5]\n", "bf16[4, 5] @ bf16[5, 6]", "(4, 5) @ (5, 6)",
        "F.foo(bf16[1])", "Y = torch.exp(bf16[4])"}) {
    EXPECT_TRUE(is_python(source(text))) << text;
  }
  for (const char* text :
       {"", "einflow: 1\nproblem: {}\n", "Y[m,n] += X[m,k] * W[k,n]", "Z = exp(X)", "for m in range(4):\n  x = 1\n",
        "Network a {\n}\n", "{\"model_type\": \"llama\"}", "[Shard(0), Replicate()]", "PartitionSpec('x', None)",
        "Layer name, IFMAP Height,\nconv1, 3, 4,\n", "import numpy as np\nfor m in range(3):\n  pass\n", "matmul"}) {
    EXPECT_FALSE(is_python(source(text))) << text;
  }
}

TEST(Python, EinsumsAreWritten) {
  EXPECT_EQ(written(testing::einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", 4}, {"n", 6}, {"k", 5}})),
            "X = bf16[4, 5]\nW = bf16[5, 6]\nY = torch.einsum(\"mk,kn->mn\", X, W)\n");
  EXPECT_EQ(written(testing::einsum("Y[batch] += X[batch,k] * s", {{"batch", 4}, {"k", 5}})),
            "X = bf16[4, 5]\ns = bf16[()]\nY = einops.einsum(X, s, \"batch k,  -> batch\")\n");
  EXPECT_EQ(written(testing::einsum("Y[m] max= X[m,k]", {{"m", 4}, {"k", 5}})),
            "X = bf16[4, 5]\nY = einops.reduce(X, \"m k -> m\", \"max\")\n");
}

TEST(Python, ConvolutionsAreWritten) {
  Convolution shape;
  shape.in_channels = 4;
  shape.out_channels = 8;
  shape.groups = 2;
  shape.axes = {{9, 3, 2, 1, 1, 0}, {8, 5, 1, 2, 1, 0}};
  EXPECT_EQ(written(*convolution(shape)),
            "I = bf16[1, 4, 9, 8]\nF = bf16[8, 2, 3, 5]\n"
            "O = torch.nn.functional.conv2d(I, F, stride=(2, 1), padding=(1, 2), groups=2)\n");
}

TEST(Python, WhatNoCallComputesIsNotWritten) {
  const auto why = [](const std::string& text, std::initializer_list<std::pair<std::string, std::int64_t>> ranks) {
    return written(testing::einsum(text, ranks));
  };
  EXPECT_EQ(why("Y[p] += X[2*p+r] * F[r]", {{"p", 4}, {"r", 3}}),
            "error: 'Y[p] += X[2*p+r] * F[r]' cannot be written: the axis '2*p+r' of X is no single rank, and not the "
            "window of a convolution");
  EXPECT_EQ(
      why("Y[n,m] = X[m,n]", {{"m", 4}, {"n", 3}}),
      "error: 'Y[n,m] = X[m,n]' cannot be written: it copies: numpy and PyTorch do that by a view, which computes "
      "nothing");
  EXPECT_EQ(why("Z[i,j] = X[i,j] + Y[i,j]", {{"i", 4}, {"j", 3}}),
            "error: 'Z[i,j] = X[i,j] + Y[i,j]' cannot be written: the text reads as 'Z[m,n] = X[m,n] + Y[m,n]'");
  Einsum masked = testing::einsum("S[q,t] += Q[q,e] * K[t,e]", {{"q", 4}, {"t", 4}, {"e", 8}});
  masked.executed = {Ratio(Count(5), Count(8)), "causal mask"};
  EXPECT_EQ(written(masked),
            "error: 'S[q,t] += Q[q,e] * K[t,e]' cannot be written: only 5/8 of its operations are executed (causal "
            "mask), which an expression cannot say");
}

TEST(Python, HostileTextsAreRefusedAtOnce) {
  const std::clock_t begin = std::clock();
  EXPECT_EQ(error_of(std::string(10'000'000, '(')), "the text has 10000000 bytes; at most 1048576 are read");
  EXPECT_EQ(error_of(std::string(100'000, '(')), "more than 100 levels of nesting");
  EXPECT_EQ(error_of("x = bf16[2]\ny = x" + std::string(100'000, '+')),
            "found '+', expected a value, a shape or a call");
  std::string sum = "x = bf16[2]\nx";
  for (int i = 0; i < 100'000; ++i) sum += "+x";
  EXPECT_EQ(error_of(sum), "more than 100 levels of nesting");
  std::string attributes = "torch";
  for (int i = 0; i < 100'000; ++i) attributes += ".nn";
  EXPECT_EQ(error_of(attributes + "(1)"), "more than 100 levels of nesting");
  std::string doubling = "a = nn.Sequential(nn.Identity(), nn.Identity())\n";
  for (int i = 0; i < 40; ++i) doubling += "a = nn.Sequential(a, a)\n";
  EXPECT_EQ(error_of(doubling + "a(bf16[2])"), "more than 10000 calls");
  EXPECT_NE(error_of("nn.ConvTranspose2d(1, 1, 1000000000000, stride=4096)((1, 1, 4, 4))"), "accepted");
  EXPECT_NE(error_of("torch.matmul((1099511627776, 1099511627776), (1099511627776, 1099511627776)) @ "
                     "torch.matmul((1099511627776, 1099511627776), (1099511627776, 1099511627776))"),
            "");
  EXPECT_LT(testing::processor_seconds_since(begin), 2 * testing::kBusyMachine);
}

}  // namespace
}  // namespace einflow
