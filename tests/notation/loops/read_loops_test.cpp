// Nests as books and programs write them: the einsum, the nest and the counts are derived by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>

#include "movement/movement.hpp"
#include "notation/loops/loops.hpp"
#include "support/processor_time.hpp"

namespace einflow {
namespace {

Document read(const std::string& text, const ReadOptions& options = {}) {
  const SourceText source{"nest.txt", text};
  auto document = read_loops({source}, options);
  if (!document) throw std::runtime_error(render(document.error(), source));
  return *document;
}

Spec spec_in(const std::string& text, const ReadOptions& options = {}) {
  return spec_of(read(text, options).layers.at(0)).value();
}

std::string einsum_of(const Spec& spec) {
  std::string text = to_text(spec.einsum) + ",";
  for (const Rank& rank : spec.einsum.ranks) text += fmt::format(" {} {}", rank.name, rank.extent);
  return text;
}

std::string nest_of(const Spec& spec) { return to_text(spec.mapping, spec.einsum, spec.machine); }

/// Counts of the innermost hold of a tensor at a level.
HoldCounts counts_at(const Spec& spec, const std::string& tensor, const std::string& level) {
  const Counts counts = count_movement(spec).value();
  for (const HoldCounts& hold : counts.holds) {
    const Hold& place = spec.mapping.holds.at(hold.tensor).at(hold.hold);
    if (hold.tensor == spec.einsum.tensor_named(tensor) && spec.machine.level_name(place.level) == level) return hold;
  }
  throw std::runtime_error(tensor + " is not held in " + level);
}

std::string refused(const std::string& text, const ReadOptions& options = {}) {
  const auto document = read_loops({{"nest.txt", text}}, options);
  return document ? "" : document.error().front().message;
}

// ---- 1-D convolution, one register for each operand (Emer and Sze's dataflow lectures, MIT 6.5930): 9 outputs, 3
// weights. tests/reference/taxonomy has the same counts.

TEST(ReadLoops, OutputStationaryConvolution) {
  const Spec spec = spec_in(R"(Q = 9
S = 3
// Memory: I F O
for q { for s {
  // Register: I F O
  O[q] += I[q+s]*F[s]
}})");
  EXPECT_EQ(einsum_of(spec), "O[q] += I[q+s] * F[s], q 9 s 3");
  EXPECT_EQ(nest_of(spec), "at Memory: I F O\nfor q by 1\nfor s by 1\nat Register: I F O\n");
  EXPECT_EQ(counts_at(spec, "F", "Register").fills, Count(27));
  EXPECT_EQ(counts_at(spec, "I", "Register").fills, Count(27));
  EXPECT_EQ(counts_at(spec, "O", "Register").drains, Count(9));
  EXPECT_EQ(counts_at(spec, "O", "Register").parent_rmw_reads, Count(0));
}

TEST(ReadLoops, WeightStationaryConvolution) {
  const Spec spec = spec_in(R"(
for s in [0, 3)
  for q in [0, 9)          # W stationary
    # Register: I, F and O
    O[q] += I[q + s] * F[s]
)");
  EXPECT_EQ(nest_of(spec), "at DRAM: I F O\nfor s by 1\nfor q by 1\nat Register: I F O\n");
  EXPECT_EQ(counts_at(spec, "F", "Register").fills, Count(3));
  EXPECT_EQ(counts_at(spec, "I", "Register").fills, Count(27));
  EXPECT_EQ(counts_at(spec, "O", "Register").drains, Count(27));
  EXPECT_EQ(counts_at(spec, "O", "Register").parent_rmw_reads, Count(18));
}

TEST(ReadLoops, SlidingWindowOfInputs) {
  const Spec spec = spec_in(R"(
for q = 0 to 8 do
  // Window: I
  for s = 0 to 2 do
    O[q] = O[q] + I[q+s] * F[s]
  end for
end for
)");
  EXPECT_EQ(counts_at(spec, "I", "Window").fills, Count(11)) << "9 + 3 - 1: each input once";
}

TEST(ReadLoops, InputStationaryConvolutionNeedsACondition) {
  EXPECT_EQ(refused("W = 11\nQ = 9\nS = 3\nfor w { for s  if 0<=w-s<Q  O[w-s]+=I[w]*F[s] }"),
            "'if': a nest of einflow has no conditions");
  EXPECT_EQ(refused("for w in [0, 11):\n  for s in [0, 3):\n    O[w-s] += I[w] * F[s]"),
            "'s' is subtracted in an index of the output; an axis of the output is one rank");
}

TEST(ReadLoops, OutputsSideBySide) {
  const Spec spec = spec_in(R"(
parallel-for q in [0, 9):
  // PE: O
  for s in [0, 3):
    O[q] += I[q+s] * F[s]
)");
  EXPECT_EQ(nest_of(spec), "at DRAM: I F O\npar q by 1 on array.q\nat PE: O\nfor s by 1\n");
  EXPECT_EQ(std::get<Mesh>(spec.machine.levels[1]).axes[0].size, 9);
  EXPECT_EQ(counts_at(spec, "F", "MAC").parent_reads, Count(3)) << "a weight is broadcast: one read for 9 PEs";
  EXPECT_EQ(counts_at(spec, "I", "MAC").parent_reads, Count(27)) << "9 neighbouring inputs in each of 3 steps";
}

TEST(ReadLoops, RowStationaryConvolution) {
  const Spec spec = spec_in(R"(// DRAM: I F O
parallel-for p in [0, 4):       // pe.x
  parallel-for r in [0, 3):     // pe.y
    // RF: F
    for q in [0, 5):            // F stationary
      // RF: I O
      for s in [0, 3):
        O[p, q] += I[p+r, q+s] * F[r, s]
)");
  EXPECT_EQ(einsum_of(spec), "O[p,q] += I[p+r,q+s] * F[r,s], p 4 q 5 r 3 s 3");
  EXPECT_EQ(counts_at(spec, "F", "RF").fills, Count(12 * 3)) << "12 PEs with a filter row of 3";
  EXPECT_EQ(counts_at(spec, "F", "RF").parent_reads, Count(9)) << "filter rows are shared horizontally";
  EXPECT_EQ(counts_at(spec, "I", "RF").fills, Count(12 * 7)) << "an input row of 5 + 3 - 1 slides through each PE";
  EXPECT_EQ(counts_at(spec, "I", "RF").parent_reads, Count(6 * 7)) << "input rows are shared diagonally";
  EXPECT_EQ(counts_at(spec, "O", "RF").drains, Count(12 * 5));
  EXPECT_EQ(counts_at(spec, "O", "RF").parent_updates, Count(4 * 5)) << "3 partial sums are added vertically";
}

// ---- matrix products

constexpr const char* kThreeLevels = R"(M, N, K = 64, 64, 64
// DRAM: A B C
for m2 in [0, 4):
  for n2 in [0, 4):
    for k2 in [0, 4):
      // SRAM: A B C
      for m1 in [0, 4):
        for n1 in [0, 4):
          for k1 in [0, 4):
            // RF: A B C
            for m0 in [0, 4):
              for n0 in [0, 4):
                for k0 in [0, 4):
                  C[m2*16+m1*4+m0, n2*16+n1*4+n0] += A[m2*16+m1*4+m0, k2*16+k1*4+k0] * B[k2*16+k1*4+k0, n2*16+n1*4+n0]
)";

TEST(ReadLoops, MatrixProductOnThreeLevels) {
  const Spec spec = spec_in(kThreeLevels);
  EXPECT_EQ(einsum_of(spec), "C[m,n] += A[m,k] * B[k,n], m 64 n 64 k 64");
  EXPECT_EQ(
      nest_of(spec),
      "at DRAM: A B C\nfor m by 16\nfor n by 16\nfor k by 16\nat SRAM: A B C\nfor m by 4\nfor n by 4\nfor k by 4\n"
      "at RF: A B C\nfor m by 1\nfor n by 1\nfor k by 1\n");
  EXPECT_EQ(counts_at(spec, "A", "SRAM").fills, Count(64 * 256)) << "a tile of 16 x 16 in each of 4 x 4 x 4 steps";
  EXPECT_EQ(counts_at(spec, "C", "SRAM").drains, Count(16 * 256)) << "sums stay while k2 runs";
  EXPECT_EQ(counts_at(spec, "A", "RF").fills, Count(4096 * 16));
  EXPECT_EQ(counts_at(spec, "C", "RF").drains, Count(64 * 16 * 16)) << "sums stay while k1 runs";
  EXPECT_EQ(counts_at(spec, "C", "RF").parent_rmw_reads, Count(64 * 16 * 16 - 16 * 256));
}

/// C's way, with steps; the loops inside start at those outside.
constexpr const char* kThreeLevelsInC = R"(
const int M = 64, N = 64, K = 64;
/* DRAM: A B C */
for (int m2 = 0; m2 < M; m2 += 16) {
 for (int n2 = 0; n2 < N; n2 += 16) {
  for (int k2 = 0; k2 < K; k2 += 16) {
   /* SRAM: A B C */
   for (int m1 = m2; m1 < m2 + 16; m1 += 4)
    for (int n1 = n2; n1 < n2 + 16; n1 += 4)
     for (int k1 = k2; k1 < k2 + 16; k1 += 4) {
      /* RF: A B C */
      for (int m = m1; m < m1 + 4; m++)
       for (int n = n1; n <= n1 + 3; ++n)
        for (int k = k1; k != k1 + 4; k = k + 1)
         C[m][n] += A[m][k] * B[k][n];
     }
  }
 }
}
)";

TEST(ReadLoops, TheSameNestInOtherSpellings) {
  const Spec expected = spec_in(kThreeLevels);
  const Spec found = spec_in(kThreeLevelsInC);
  EXPECT_EQ(found.einsum, expected.einsum);
  EXPECT_EQ(found.mapping, expected.mapping);

  std::string python = kThreeLevels;
  for (std::size_t at = python.find("[0, 4)"); at != std::string::npos; at = python.find("[0, 4)")) {
    python.replace(at, 6, "range(4)");
  }
  EXPECT_EQ(spec_in(python).mapping, expected.mapping);

  const Spec indexed = spec_in(R"(
// DRAM: A B C
for m2 in [0:4) for n2 in [0:4) for k2 in [0:4)
// SRAM: A B C
for m1 in [0, 3] for n1 in [0, 3] for k1 in [0, 3]
// RF: A B C
for m0 in 0 to 3 for n0 in 4 for k0 = 0 to 3 step 1
m = 16*m2 + 4*m1 + m0
n = 16*n2 + 4*n1 + n0
k = (k2*4 + k1)*4 + k0
C[m,n] += A[m,k] × B[k,n]
)");
  EXPECT_EQ(indexed.einsum, expected.einsum);
  EXPECT_EQ(indexed.mapping, expected.mapping);
}

TEST(ReadLoops, TilesThatDoNotDivide) {
  const std::string einsum = "Y[m] += X[m,k], m 100 k 5";
  const std::string nest = "at DRAM: X Y\nfor m by 16\nfor k by 1\nfor m by 1\n";
  for (const char* text : {
           "M = 100\nfor m1 in [0, 7):\n for k in [0, 5):\n  for m0 in [0, min(16, M - 16*m1)):\n   Y[16*m1+m0] += "
           "X[16*m1+m0, k]",
           "M = 100\nfor m1 in [0, ceil(M/16)):\n for k in [0, 5):\n  for m0 in [0, min(M - m1*16, 16)):\n   "
           "Y[16*m1+m0] += X[16*m1+m0, k]",
           "M = 100\nfor (mm = 0; mm < M; mm += 16)\nfor (k = 0; k < 5; k++)\nfor (m = mm; m < min(mm+16, M); m++)\n  "
           "Y[m] += X[m][k];",
           "for m1 in range((100 + 15) // 16):\n for k in range(5):\n  for m0 in range(min(16, 100 - 16*m1)):\n   "
           "Y[16*m1+m0] += X[16*m1+m0, k]",
           "for m1 in range(0, 100, 16):\n for k in range(0, 5):\n  for m0 in range(m1, min(100, m1 + 16)):\n   Y[m0] "
           "+= X[m0, k]",
       }) {
    const Spec spec = spec_in(text);
    EXPECT_EQ(spec.einsum.ranks[0].extent, 100) << text;
    EXPECT_EQ(nest_of(spec), nest) << text;
    EXPECT_EQ(to_text(spec.einsum) + ", m 100 k 5", einsum) << text;
  }
}

TEST(ReadLoops, RemaindersOfRemainders) {
  const Spec spec = spec_in(R"(
for m2 in [0, 7):
  for m1 in [0, ceil(min(16, 100 - 16*m2) / 6)):
    for m0 in [0, min(6, 16 - 6*m1, 100 - 16*m2 - 6*m1)):
      Y[16*m2 + 6*m1 + m0] max= X[16*m2 + 6*m1 + m0]
)");
  EXPECT_EQ(einsum_of(spec), "Y[m] max= X[m], m 100");
  EXPECT_EQ(nest_of(spec), "at DRAM: X Y\nfor m by 16\nfor m by 6\nfor m by 1\n");
}

// ---- convolutions

TEST(ReadLoops, SevenLoops) {
  const Spec spec = spec_in(R"(N = 1, M = 4, C = 3, P = 6, Q = 5, R = 3, S = 2
for (n = 0; n < N; n++)
for (m = 0; m < M; m++)
for (c = 0; c < C; c++)
for (p = 0; p < P; p++)
for (q = 0; q < Q; q++)
for (r = 0; r < R; r++)
for (s = 0; s < S; s++)
  O[n][m][p][q] += I[n][c][2*p+r][2*q+s] * W[m][c][r][s];
)");
  EXPECT_EQ(einsum_of(spec), "O[n,m,p,q] += I[n,c,2*p+r,2*q+s] * W[m,c,r,s], n 1 m 4 p 6 q 5 c 3 r 3 s 2");
  EXPECT_EQ(nest_of(spec),
            "at DRAM: I W O\nfor n by 1\nfor m by 1\nfor c by 1\nfor p by 1\nfor q by 1\nfor r by 1\nfor s by 1\n");
  EXPECT_EQ(count_movement(spec)->operations, Count(4 * 3 * 6 * 5 * 3 * 2));
}

TEST(ReadLoops, TiledWindow) {
  const Spec spec = spec_in(R"(shapes: I[24]
for p1 in [0, 3):
  // Buffer: I
  for r in [0, 3):
    for p0 in [0, 4):
      O[p1*4+p0] += I[2*(p1*4+p0) + r - 1] * F[r]
)");
  EXPECT_EQ(einsum_of(spec), "O[p] += I[2*p+r-1] * F[r], p 12 r 3");
  EXPECT_EQ(spec.einsum.tensors[0].axes[0].stored_size, 24);
  // Positions -1..7, 7..15, 15..23 of which 0..23 are stored: 8 new, then 8 and 8 (one is kept each time).
  EXPECT_EQ(counts_at(spec, "I", "Buffer").fills, Count(8 + 8 + 8));
}

TEST(ReadLoops, NvdlaStripes) {
  const Spec spec = spec_in(R"(
// DRAM: I F O
for q1 in [0, 2)
  // Accumulator: O
  for r in [0, 3)
    for c1 in [0, 2)
      spatial_for k in [0, 8)            // cells.k
        spatial_for c0 in [0, 4)         // cell.c
          // Weights: F
          for q0 in [0, 16)              // F stationary
            O[k, 16*q1+q0] += I[4*c1+c0, 16*q1+q0+r] * F[k, 4*c1+c0, r]
)");
  EXPECT_EQ(nest_of(spec),
            "at DRAM: I F O\nfor q by 16\nat Accumulator: O\nfor r by 1\nfor c by 4\npar k by 1 on cells.k\n"
            "par c by 1 on cell.c\nat Weights: F\nfor q by 1\n");
  EXPECT_EQ(counts_at(spec, "F", "Weights").fills, Count(2 * 3 * 2 * 32)) << "once for each stripe of 16 outputs";
  EXPECT_EQ(counts_at(spec, "O", "MAC").parent_updates, Count(2 * 3 * 2 * 16 * 8)) << "4 channels are added in a tree";
}

// ---- other statements, names and places

TEST(ReadLoops, OtherOperators) {
  EXPECT_EQ(einsum_of(spec_in("for q in [0,2):\n for t in [0,3):\n  M[q] = max(M[q], S[q,t])")),
            "M[q] max= S[q,t], q 2 t 3");
  EXPECT_EQ(einsum_of(spec_in("for q in [0,2):\n for t in [0,3):\n  E[q,t] = exp(S[q,t])")),
            "E[q,t] = exp(S[q,t]), q 2 t 3");
  EXPECT_EQ(einsum_of(spec_in("for q in [0,2):\n for t in [0,3):\n  E[q,t] = S[q,t] / L[q]")),
            "E[q,t] = S[q,t] / L[q], q 2 t 3");
  EXPECT_EQ(einsum_of(spec_in("for m in [0,4):\n  Y += X[m] * W[m]")), "Y[] += X[m] * W[m], m 4");
}

TEST(ReadLoops, SumsThatAreSetFirst) {
  const Document document = read("for q in [0,9):\n  O[q] = 0\n  for s in [0,3):\n    O[q] += I[q+s]*F[s]");
  EXPECT_EQ(document.conventions.back(), "O is set before the sum: that moves no data");
}

TEST(ReadLoops, RanksByOtherNames) {
  const Document document = read("for m_o in [0,4):\n for m_i in [0,8):\n  Y[m_o*8+m_i] += X[m_o*8+m_i]");
  EXPECT_EQ(nest_of(spec_of(document.layers[0]).value()), "at DRAM: X Y\nfor m by 8\nfor m by 1\n");
  EXPECT_EQ(document.conventions[0], "m_o, m_i are the loops of one rank, m");
  // Two ranks in one axis that occur nowhere else count as one; with a tensor of their own they stay two.
  EXPECT_EQ(einsum_of(spec_in("for a in [0,2):\n for b in [0,3):\n  Y += X[a*3+b]")), "Y[] += X[b], b 6");
  EXPECT_EQ(einsum_of(spec_in("for a in [0,2):\n for b in [0,3):\n  Y += X[a*3+b] * W[b]")),
            "Y[] += X[3*a+b] * W[b], a 2 b 3");
  EXPECT_EQ(einsum_of(spec_in("for x1 in [0,2):\n for x2 in [0,3):\n  Y[x1,x2] = X[x2,x1]")),
            "Y[x1,x2] = X[x2,x1], x1 2 x2 3");
}

TEST(ReadLoops, LoopsThatCountFromOne) {
  EXPECT_EQ(einsum_of(spec_in("for m = 1 to 8\n  Y[m-1] = X[m-1]")), "Y[m] = X[m], m 8");
  EXPECT_EQ(einsum_of(spec_in("for m = 1 to 8\n  Y[m-1] = X[m]")), "Y[m] = X[m+1], m 8");
}

TEST(ReadLoops, AnEinsumWithoutAStatement) {
  const Spec spec = spec_in("einsum: Y[m] += X[m,k]\nfor m1 in [0,4):\n for k in [0,2):\n  for m0 in [0,8):\n");
  EXPECT_EQ(einsum_of(spec), "Y[m] += X[m,k], m 32 k 2");
  EXPECT_EQ(nest_of(spec), "at DRAM: X Y\nfor m by 8\nfor k by 1\nfor m by 1\n");
}

TEST(ReadLoops, HeaderStatesTheProblem) {
  const Spec spec = spec_in(R"(name: "a // name"
einsum: S[q,t] += Q[q,e] * K[t,e]
ranks: q = 4, t = 4, e = 2
types: Q int8, K int8, S 12-bit
executes: 10/16 because "causal mask"
for q in [0, 4): for t in [0, 4): for e in [0, 2):
  S[q,t] += Q[q,e] * K[t,e]
)");
  EXPECT_EQ(spec.einsum.name, "a // name");
  EXPECT_EQ(spec.einsum.tensors[2].type.bits, 12);
  EXPECT_EQ(spec.einsum.executed.share, Ratio(Count(5), Count(8)));
  EXPECT_EQ(spec.einsum.executed.because, "causal mask");
}

TEST(ReadLoops, OpenSizesComeFromTheCommandLine) {
  ReadOptions options;
  options.ranks = {{"m", "64"}, {"K", "8"}};
  const char* const text = "for m in [0, M):\n for k in [0, K):\n  Y[m] += X[m,k]";
  EXPECT_EQ(einsum_of(spec_in(text, options)), "Y[m] += X[m,k], m 64 k 8");
  options.ranks["n"] = "3";
  EXPECT_EQ(refused(text, options), "-r n: the text leaves no size of this name open");
  options.ranks = {{"m", "many"}};
  EXPECT_EQ(refused(text, options), "-r m: found 'many', expected a size from 1 to 2^63 - 1");
  EXPECT_EQ(refused(text), "'M' is no loop variable outside this place and no size");
}

TEST(ReadLoops, LevelsOfAGivenMachine) {
  Machine machine;
  Mesh mesh;
  mesh.name = "array";
  mesh.axes = {{"x", 8}};
  Storage memory;
  memory.name = "HBM";
  Storage buffer;
  buffer.name = "Buffer";
  Compute compute;
  compute.name = "MAC";
  machine.levels = {memory, buffer, mesh, compute};
  ReadOptions options;
  options.machine = machine;
  const Spec spec = spec_in("for k in [0,2):\n// Buffer: X\nparallel-for m in [0,8):\nY[m] += X[m,k]", options);
  EXPECT_EQ(nest_of(spec), "at HBM: X Y\nfor k by 1\nat Buffer: X\npar m by 1 on array.x\n");
  EXPECT_EQ(spec.machine, machine);
  EXPECT_EQ(refused("// Bufer: X Y\nparallel-for m in [0,8):\nY[m] += X[m]", options), "unknown level 'Bufer'");
}

TEST(ReadLoops, ALevelThatHoldsEverything) {
  const Spec spec = spec_in("for m in [0,4):\n  // level: Buffer; all of k\n  for k in [0,2):\n    Y[m] += X[m,k]");
  EXPECT_EQ(nest_of(spec), "at DRAM: X Y\nfor m by 1\nat Buffer: X Y\nfor k by 1\n");
}

TEST(ReadLoops, AClaimThatTheLawDoesNotConfirmIsTold) {
  const Document document = read("for m in [0,4): // X stationary\n for k in [0,2): // Y stationary\n  Y[m] += X[m,k]");
  ASSERT_EQ(document.left_out.size(), 1U);
  EXPECT_EQ(document.left_out[0], "line 1: 'X stationary' says that X is stationary, but the loop over m moves it");
}

TEST(ReadLoops, Recognised) {
  EXPECT_TRUE(is_loops({"nest.txt", "M = 4\nfor m in [0, M):\n"}));
  EXPECT_TRUE(is_loops({"nest.txt", "for (m = 0; m < 4; m++)\n"}));
  EXPECT_TRUE(is_loops({"nest", "  parallel-for m in 4\n"}));
  EXPECT_FALSE(is_loops({"spec.yaml", "mapping: |\n  for m by 4\n"}));
  EXPECT_FALSE(is_loops({"spec.txt", "mapping: |\n  for m by 4\n  for m n into 4\n"}));
  EXPECT_FALSE(is_loops({"nest.txt", "Network net {\n"}));
}

// ---- size

TEST(ReadLoops, TenMegabytesOfComments) {
  std::string text = "M = 4\n";
  while (text.size() < 10'000'000) text += "// level: a comment that says nothing, Note: x\n# y: z\n";
  text += "for m in [0, M):\n  Y[m] = X[m]\n";
  const std::clock_t start = std::clock();  // of this process: the machine may be busy
  EXPECT_EQ(einsum_of(spec_in(text)), "Y[m] = X[m], m 4");
  EXPECT_LT(testing::processor_seconds_since(start), 2 * testing::kBusyMachine);
}

TEST(ReadLoops, TenMegabytesOfOtherThings) {
  const std::string nest = "for m in [0, 4):\n  Y[m] = X[m]\n";
  const auto repeated = [](const std::string& part) {
    std::string text;
    while (text.size() < 10'000'000) text += part;
    return text;
  };
  const std::clock_t start = std::clock();  // of this process: the machine may be busy
  EXPECT_NE(refused(repeated("for m in [0, 4):\n") + nest), "");
  EXPECT_NE(refused(repeated("M = 4; ") + nest), "");
  EXPECT_NE(refused("for m in [0, " + repeated("1+") + "1):\n  Y[m] = X[m]"), "the text has no end");
  EXPECT_NE(refused("for m in [0, " + repeated("(") + nest), "");
  EXPECT_NE(refused(repeated("\xC3\x97") + nest), "");
  EXPECT_NE(refused("einsum: " + repeated("A[m]*") + "\n" + nest), "");
  EXPECT_NE(refused("for m in [0, 4):\n  Y[m] += " + repeated("X[m]*") + "X[m]"), "");
  EXPECT_LT(testing::processor_seconds_since(start), 7 * 2 * testing::kBusyMachine);
}

}  // namespace
}  // namespace einflow
