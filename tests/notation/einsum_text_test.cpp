// Every form of an einsum that is accepted; the refused ones are in wrong_specs.
#include "notation/einsum_text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "notation/spec_reader.hpp"

namespace einflow {
namespace {

std::string canonical(const std::string& text) {
  const auto einsum = parse_einsum(text);
  EXPECT_TRUE(einsum) << (einsum ? "" : render(einsum.error(), {"", text}));
  if (!einsum) return "";
  const std::string printed = to_text(*einsum);
  const auto again = parse_einsum(printed);
  EXPECT_TRUE(again && *again == *einsum) << printed;
  return printed;
}

TEST(EinsumText, FormsThatPrintAsTheyAreWritten) {
  for (const char* text : {
           "Y[m,n] += X[m,k] * W[k,n]",                          // matmul
           "Y[b,m,n] += X[b,m,k] * W[k,n]",                      // batched, one operand shared
           "O[p] += I[3*p+2*r] * F[r]",                          // strided and dilated
           "O[n,k,p,q] += I[n,c,2*p+r-1,2*q+s-1] * F[k,c,r,s]",  // padded
           "O[k,p] += I[c,p+r] * F[k,c,r]",
           "S[h,q,t] += Q[h,q,e] * K[h,t,e]",
           "Y[m] += X[m] * A[m,i] * B[i]",  // three factors
           "Z[m,n] = X[m,n] + Y[m,n]",
           "Z[m,n] = X[m,n] - Y[n]",
           "P[q,t] = E[q,t] / L[q]",
           "M[q] max= S[q,t]",
           "M[q] min= S[q,t]",
           "M[q] *= S[q,t]",
           "E[q,t] = exp(S[q,t])",
           "A[m] += square(X[m,i])",
           "Z[m] = max(X[m], Y[m])",
           "Z[m] = min(X[m], Y[m], V[m])",
           "Y[] += X[m] * W[m]",  // a scalar
           "Y[m] = B[m] * G[0]",  // a constant position
           "Y[m,n] += X[m]",      // a broadcast
       }) {
    EXPECT_EQ(canonical(text), text);
  }
}

TEST(EinsumText, OtherWaysOfWriting) {
  EXPECT_EQ(canonical("  Y [ m , n ]+=X[m,k]*W[k,n]  "), "Y[m,n] += X[m,k] * W[k,n]");
  EXPECT_EQ(canonical("Y += X[m]"), "Y[] += X[m]");
  EXPECT_EQ(canonical("O[p] += I[p*2 + 1 + r - 3] * F[r]"), "O[p] += I[2*p+r-2] * F[r]");
  EXPECT_EQ(canonical("O[p] += I[-1+p] * F[p]"), "O[p] += I[p-1] * F[p]");
  EXPECT_EQ(canonical("Y[m,n] +=\n  X[m,k] *\n  W[k,n]"), "Y[m,n] += X[m,k] * W[k,n]");
}

TEST(EinsumText, RanksAreInOrderOfFirstUse) {
  const Einsum einsum = parse_einsum("Y[m,n] += X[m,k] * W[k,n]").value();
  std::string order;
  for (const Rank& rank : einsum.ranks) order += rank.name;
  EXPECT_EQ(order, "mnk");
}

TEST(EinsumText, TheOutputIsLast) {
  const ParsedEinsum parsed = parse_einsum_text("Y[m,n] += X[m,k] * W[k,n]").value();
  EXPECT_EQ(parsed.einsum.tensors[0].name, "X");
  EXPECT_EQ(parsed.einsum.tensors[2].name, "Y");
  EXPECT_EQ(parsed.tensors[2], (Span{1, 1, 1}));
  EXPECT_EQ(parsed.axes[1][0], (Span{1, 22, 1}));  // k of W
  EXPECT_EQ(parsed.assignment, (Span{1, 8, 2}));
}

TEST(EinsumText, OperatorsAreKept) {
  EXPECT_EQ(parse_einsum("M[q] max= S[q,t]")->reduce, "max");
  EXPECT_EQ(parse_einsum("E[q] = exp(S[q])")->map, "exp");
  EXPECT_EQ(parse_einsum("E[q] = exp(S[q])")->reduce, "");
  EXPECT_EQ(parse_einsum("P[q] = E[q] / L[q]")->map, "/");
}

TEST(EinsumText, SpansCountLines) {
  const auto einsum = parse_einsum("Y[m,n] +=\n  X[m,k] ^ W[k,n]");
  ASSERT_FALSE(einsum);
  EXPECT_EQ(einsum.error()[0].span, (Span{2, 10, 1}));
}

TEST(EinsumText, LongTextsAreRefusedFast) {
  std::string many = "Y[m] = X0[m]", ranks = "Y[m] += X[m", axes = "Y[m] += X[m";
  for (int i = 1; many.size() < 1000000; ++i) many += " * X" + std::to_string(i) + "[m]";
  for (int i = 1; ranks.size() < 1000000; ++i) ranks += "+r" + std::to_string(i);
  while (axes.size() < 1000000) axes += ",0";
  for (const std::string& text :
       {many, ranks + "]", axes + "]", std::string(1000000, 'a'), std::string(1000000, '[')}) {
    EXPECT_FALSE(parse_einsum(text));
  }
}

RC_GTEST_PROP(EinsumTextProperty, AnyTextIsReadOrExplained, ()) {
  const auto symbol = rc::gen::elementOf(std::vector<std::string>{
      "Y", "X", "m", "k", "[", "]", ",", "+", "*", "-", "/", "=", "+=", "(", ")", "1", "2", " ", "max", "\xFF", "é"});
  std::string text;
  for (const std::string& part : *rc::gen::container<std::vector<std::string>>(symbol)) text += part;
  const auto einsum = parse_einsum(text);
  if (einsum) {
    RC_ASSERT(parse_einsum(to_text(*einsum)).value() == *einsum);
  } else {
    RC_ASSERT(!einsum.error().empty());
    RC_ASSERT(einsum.error()[0].span.line > 0);
  }
}

}  // namespace
}  // namespace einflow
