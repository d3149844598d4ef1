// A transformer as operations with named ranks: what a parallel plan cuts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.hpp"
#include "cluster/placement.hpp"
#include "cluster/scheme.hpp"
#include "problem/einsum.hpp"

namespace einflow::cluster {

enum class Norm { layer, rms };

/// Feed-forward networks of which a router chooses some for each token.
struct Experts {
  std::int64_t count = 0;
  std::int64_t chosen = 0;        ///< of each token (top-k)
  std::int64_t ffn = 0;           ///< width of one
  std::int64_t shared = 0;        ///< that every token passes, each of that width
  std::int64_t every = 1;         ///< of the layers after the dense ones, one in so many has experts (rounded down)
  std::int64_t dense_layers = 0;  ///< so many first layers have the dense network of width Transformer::ffn
  bool operator==(const Experts&) const = default;
};

/// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1).
struct LatentAttention {
  std::int64_t query_rank = 0;  ///< width of the queries' latent vector; 0: queries are projected directly
  std::int64_t key_value_rank = 0;
  std::int64_t rope_dim = 0;  ///< of a head's query, and of the one key that all heads share: rotated
  std::int64_t nope_dim = 0;  ///< of a head's query and key: not rotated
  std::int64_t value_dim = 0;
  bool operator==(const LatentAttention&) const = default;
};

struct Transformer {
  std::string name;
  std::string source;
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  ///< divides heads; with latent attention as many as heads
  std::int64_t head_dim = 0;  ///< of no meaning with latent attention
  std::int64_t ffn = 0;       ///< of layers without experts
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;  ///< learned position embeddings; 0 = none
  bool gated = false;          ///< SwiGLU: two matrices up, one down; else GELU between two
  bool tied = false;           ///< logits use the embedding's matrix
  bool biases = false;         ///< of all projections but the logits', the router's and latent attention's
  bool dropout = false;        ///< of the attention's probabilities (inside the operation with FlashAttention), of what
                               ///< is added to the residual stream, and of the embedding; in training only
  Norm norm = Norm::rms;
  bool causal = true;
  std::int64_t window = 0;  ///< keys that a query sees, its own among them; 0 = all
  std::optional<Experts> experts;
  std::optional<LatentAttention> latent;

  /// Elements of all weights, as blocks_of has them. 0 for a model that check() rejects.
  Count parameters() const;
  /// Of those that a token passes: of the experts the chosen ones and the shared ones.
  Count active_parameters() const;
  bool operator==(const Transformer&) const = default;
};

/// Something wrong with a model, and the key in question: "kv_heads", "experts.chosen".
struct ModelFault {
  std::string key;
  std::string message;
};

/// Everything that is wrong: sizes below 1, heads that KV heads do not divide, more experts chosen than there are, ...
std::vector<ModelFault> faults_of(const Transformer& model);
/// The same as errors without a place.
Result<void> check(const Transformer& model);

enum class Phase { training, prefill, decode };

/// How many (query, key) pairs a causal attention counts.
enum class CausalFlops {
  full,   ///< all s * t: as Megatron-LM counts, and what is executed without FlashAttention
  exact,  ///< those that the mask leaves: s (s + 1) / 2
};

struct Workload {
  Phase phase = Phase::training;
  std::int64_t batch = 1;    ///< sequences of one (micro)batch, on all devices that share it
  std::int64_t queries = 1;  ///< new tokens of each
  std::int64_t keys = 1;     ///< keys of each, the new ones among them
  bool flash = true;         ///< scores never leave the chip (FlashAttention); false: scores and softmax are stored
  CausalFlops causal_flops = CausalFlops::full;  ///< of no effect where a window hides keys: always exact
};

enum class OperationKind {
  product,    ///< an einsum of * and +
  softmax,    ///< along `along`
  norm,       ///< along `along`
  function,   ///< elementwise of one tensor (gelu)
  gate,       ///< silu of one tensor times another, elementwise
  sum,        ///< residual
  bias,       ///< adds a vector
  dropout,    ///< of a tensor, with a mask
  attention,  ///< scores, softmax and context in one (FlashAttention)
  embedding,  ///< rows of a table
  loss,       ///< softmax and cross entropy over the vocabulary
  dispatch,   ///< tokens to their experts
  combine,    ///< and back, weighed
  rename,     ///< the same elements under another rank: keys by token become keys by the token that looks at them
};

enum class Role {
  activation,
  weight,
  mask,        ///< of a dropout: a byte each
  cache,       ///< keys and values (or their latent vectors) of all tokens so far; inference only
  statistics,  ///< of a softmax: the logarithm of its sum
  tokens,      ///< the data: token numbers
};

struct ModelTensor {
  std::string name;
  std::vector<std::string> ranks;
  Role role = Role::activation;
  int bits = 16;
  bool elsewhere = false;  ///< a weight that another block has already (tied embedding)
  bool operator==(const ModelTensor&) const = default;
};

/// A tensor, or its gradient, that an operation reads or writes, and the share of its elements that it touches (rows
/// of an embedding, experts that have tokens, the new part of a cache).
struct Access {
  std::string tensor;
  bool gradient = false;
  Ratio share = Ratio(Count(1));
  bool operator==(const Access&) const = default;
};

/// One operation of a layer. `shape` has its ranks and tensors, so that `par` loops give states by the one rule
/// (states_of). Reductions of `shape`: "+", and "log-sum-exp" of an attention whose keys are split.
struct Operation {
  std::string name;
  OperationKind kind = OperationKind::product;
  Einsum shape;
  std::string along;  ///< the rank that must not be split while it runs (softmax, norm), or that is reduced with more
                      ///< than a sum (attention: t, loss: v); or empty
  /// (s, t): a piece of s of the input is that piece of t in the output. rename, dispatch, combine only.
  std::vector<std::pair<std::string, std::string>> renames;
  std::vector<std::string> also_writes;  ///< beside shape's output, of some of its ranks (log-sum-exp)
  std::vector<std::string> keeps;        ///< tensors that its backward operations read; training only
  std::vector<Access> reads;             ///< forward, each tensor once
  std::vector<Access> writes;
  std::vector<Access> backward_reads;  ///< of all its gradients' operations: a tensor that two of them read twice
  std::vector<Access> backward_writes;
  Count forward_flops;   ///< on the whole tensors; 2 per multiply-add of products and attention, the executed share
                         ///< only; elementwise operations have 0
  Count backward_flops;  ///< likewise: twice the forward's; training only
  Count repeated_flops;  ///< of backward beyond that: scores that FlashAttention computes again
  std::string flops_formula;  ///< of forward_flops, ranks by name with their extents; empty where it is 0
};

/// Operations in order; tensors are shared by name, ranks have one name throughout.
///
/// b sequences, s queries (new tokens), t keys, i hidden, g KV heads, u query heads of each, d head dimension,
/// f feed-forward, v vocabulary, p rows of the position table; x experts that the router rates, e experts, c tokens of
/// an expert, j shared experts; q and l latent ranks of queries and of keys and values, n, r and m head dimensions
/// not rotated, rotated, and of values (latent attention).
///
/// Tokens are the rank s in everything but attention, where keys and values have the rank t: a `rename` takes K[b,s,..]
/// to Kt[b,t,..]. `par s` (context parallelism) leaves Kt split in t; attention with `par s` reads Kt whole, hence a
/// gather or a time loop over t.
struct Block {
  std::string name;         ///< "embedding", "layer", "expert layer", "head"
  std::int64_t repeat = 1;  ///< so many layers
  std::vector<Rank> ranks;
  std::vector<ModelTensor> tensors;
  std::vector<Operation> operations;
  std::string input;   ///< the activation (tokens) that the block before it gives
  std::string output;  ///< its result

  const ModelTensor* tensor_named(std::string_view name) const;  ///< or nullptr
  std::int64_t extent(std::string_view rank) const;              ///< 1 where the block does not have it
  Count elements(const ModelTensor& tensor) const;               ///< of the whole
  std::vector<Rank> ranks_of(const ModelTensor& tensor) const;
};

/// Embedding, layers (dense ones and those with experts apart), head; blocks that do not occur are left out.
///
/// Conventions. Rotary embedding, scaling and masking of scores are parts of the products beside them: no operations,
/// no bytes. A bias is added by the product before it: only the vector moves. Routers are balanced: an expert has
/// ceil(b s chosen / count) tokens, the executed share is exact. Prefill's head sees the last token only. Decode with
/// latent attention multiplies the up-projections into queries and contexts ("absorbed"), so that only latent vectors
/// are cached and read.
///
/// Errors: those of check(), sizes below 1, fewer keys than queries, more tokens than learned positions.
Result<std::vector<Block>> blocks_of(const Transformer& model, const Workload& workload);

/// (query, key) pairs of one sequence and head that are counted, of all queries * keys.
Count attention_pairs(const Transformer& model, const Workload& workload);

/// States of shape's tensors by the one rule, renames taken into account: an axis on either rank of a renaming splits
/// the input in the first and the output in the second.
std::vector<Placement> states_of(const Operation& operation, const std::vector<ParLoop>& par, const DeviceMesh& mesh);

/// Elements of a tensor that are counted: all, or those of one device.
using Elements = std::function<Count(const ModelTensor&)>;

/// All of them. `block` must outlive the result.
Elements whole_tensors(const Block& block);
/// Of the device that has most, of tensors that rest as stated (BlockPlan::rest); others are whole. `block` must
/// outlive the result.
Elements largest_pieces(const Block& block, const DeviceMesh& mesh, std::map<std::string, Placement> rest);

/// Bytes of the accesses; a gradient has its tensor's type. Each access is rounded up to whole bytes.
Count bytes_of(const Block& block, const std::vector<Access>& accesses, const Elements& elements);
/// On the whole tensors.
Count bytes_of(const Block& block, const std::vector<Access>& accesses);

}  // namespace einflow::cluster
