// The operations that are read, by what they compute; each adds einsums to the call's Lowering.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "notation/python/arguments.hpp"

namespace einflow::python {

void list_products(std::vector<Operation>& operations);
void list_elementwise(std::vector<Operation>& operations);
void list_reductions(std::vector<Operation>& operations);
void list_normalisations(std::vector<Operation>& operations);
void list_convolutions(std::vector<Operation>& operations);
void list_tensorflow_convolutions(std::vector<Operation>& operations);
void list_pooling(std::vector<Operation>& operations);
void list_attention(std::vector<Operation>& operations);
void list_patterns(std::vector<Operation>& operations);
void list_movement(std::vector<Operation>& operations);

/// Whether numpy, JAX and TensorFlow have an elementwise function of that name that does the same ("exp").
bool is_elementwise(const std::string& name);

/// Name of an axis that no einsum named yet: ..., b, m, n from the right; m where there is one.
std::string default_rank(std::size_t axis, std::size_t axes);

/// The shape to which shapes broadcast, or an error.
std::optional<std::vector<std::int64_t>> broadcast_shape(const std::vector<const TensorValue*>& tensors,
                                                         const Place& place, Lowering& lowering);

/// One operation for each element of the broadcast shape; `body.map` is an operator or a function.
std::optional<TensorValue> elementwise(const Body& body, std::vector<TensorValue*> operands, const std::string& output,
                                       const Place& place, Lowering& lowering);

/// Reduces axes by "+", "max", "min" or "*"; an axis that is kept has size 1.
std::optional<TensorValue> reduce_axes(TensorValue& tensor, const std::vector<std::size_t>& axes, bool keep,
                                       const Body& body, const std::string& output, const Place& place,
                                       Lowering& lowering);

/// Softmax over one axis: maximum, difference, exp, sum, quotient.
std::optional<TensorValue> softmax(TensorValue& tensor, std::size_t axis, const ExecutedShare& executed,
                                   const Place& place, Lowering& lowering);

/// X[..., m, k] @ W[..., k, n] with matmul's rules for one axis and for batches.
std::optional<TensorValue> matmul(TensorValue& left, TensorValue& right, const Place& place, Lowering& lowering);

/// Adds a bias along one axis of a tensor.
std::optional<TensorValue> add_bias(TensorValue& tensor, TensorValue& bias, std::size_t axis, const std::string& output,
                                    const Place& place, Lowering& lowering);

/// "128 x 64 x 3 x 3"
std::string product_text(const std::vector<std::int64_t>& shape);
Count elements_of(const std::vector<std::int64_t>& shape);
/// A module's weight: its parameters are told.
TensorValue weight_of(std::vector<std::int64_t> shape, const TensorValue& like, const std::string& what,
                      Lowering& lowering);
/// A weight that a function was given: its parameters are told.
void count_weight(const TensorValue& weight, const std::string& what, Lowering& lowering);

/// Keras' activation=...: None or the name of a function.
std::optional<TensorValue> activated(Call& call, TensorValue tensor);

}  // namespace einflow::python
