// The operations of a transformer's forward pass, layer by layer, and its figures.
#pragma once

#include "notation/document.hpp"
#include "notation/huggingface/builder.hpp"
#include "notation/huggingface/settings.hpp"
#include "problem/constructors.hpp"

namespace einflow::huggingface {

/// Layers are named as in the library's transformer problems. Errors: sizes whose products leave 128 bits.
Result<Document> network_of(const Model& model, const Pass& pass);

/// One normalisation of the last axis: its einsums over `rows` ("m", or "m,h" for heads) and its weights.
void add_norm(NetworkBuilder& builder, const std::string& name, std::int64_t repeat, NormKind kind, bool weighted,
              const std::string& rows, RankSizes sizes, std::int64_t width);

/// A projection of `rows` tokens, with its bias.
void add_projection(NetworkBuilder& builder, const std::string& name, std::int64_t repeat, const Model& model,
                    std::int64_t rows, std::int64_t in, std::int64_t out, bool bias);

/// Z[m,i] = X[m,i] + Y[m,i]
void add_sum(NetworkBuilder& builder, const std::string& name, std::int64_t repeat, std::int64_t tokens,
             std::int64_t width);

/// E = exp(S - max S), P = E / sum E, over the last axis: "M[b,h,q] max= S[b,h,q,t]" ... for rows "b,h,q" and axis t.
std::vector<Einsum> softmax_of(const std::string& rows, const std::string& axis, RankSizes sizes,
                               const ExecutedShare& executed);

/// Projections, rotary embedding, scores, softmax, context.
void add_attention(NetworkBuilder& builder, const Model& model, const Pass& pass);
/// The layers with a MLP, and those with experts.
void add_feed_forward(NetworkBuilder& builder, const Model& model, const Pass& pass);

/// Parameters, KV cache, MACs, each with its derivation.
void add_figures(NetworkBuilder& builder, const Model& model, const Pass& pass);

}  // namespace einflow::huggingface
