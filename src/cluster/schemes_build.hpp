// How the named schemes are put together; private to cluster/schemes*.cpp.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "cluster/schemes.hpp"

namespace einflow::cluster {

/// A tensor in an einsum: its name, and its ranks, a letter each.
struct Operand {
  std::string name;
  std::string ranks;
};

/// States by axis; what is not named is replicated. Several splits of one rank: the first is the major one.
using StateList = std::vector<std::pair<std::string, State>>;

/// Makes a Scheme einsum by einsum.
class SchemeBuilder {
 public:
  SchemeBuilder(std::string name, DeviceMesh mesh, SizeReader& sizes);

  /// `output = map of the inputs`, summed over ranks that the output lacks.
  SchemeBuilder& add(const Operand& output, const std::string& map, const std::vector<Operand>& inputs,
                     const std::vector<ParLoop>& par = {}, const std::optional<TimeLoop>& time = {});
  /// Their product.
  SchemeBuilder& product(const Operand& output, const Operand& left, const Operand& right,
                         const std::vector<ParLoop>& par = {}, const std::optional<TimeLoop>& time = {}) {
    return add(output, "*", {left, right}, par, time);
  }
  /// The same with a maximum in place of the sum.
  SchemeBuilder& maximum(const Operand& output, const Operand& input, const std::vector<ParLoop>& par = {},
                         const std::optional<TimeLoop>& time = {});
  /// Where the tensor rests.
  SchemeBuilder& rest(const std::string& tensor, const StateList& states);
  /// A trained tensor that rests, has its gradient and is updated in the same states.
  SchemeBuilder& weight(const std::string& tensor, const StateList& states) {
    return weight(tensor, states, states, states);
  }
  SchemeBuilder& weight(const std::string& tensor, const StateList& stored, const StateList& gradient,
                        const StateList& optimizer);
  SchemeBuilder& constant(const std::string& tensor);
  /// Copies of it in other states stay from forward to backward.
  SchemeBuilder& keep(const std::string& tensor);
  Scheme done() { return std::move(scheme_); }
  Scheme& scheme() { return scheme_; }

 private:
  Placement placement(const StateList& states) const;

  Scheme scheme_;
  SizeReader& sizes_;
};

/// The mesh of one axis.
Result<DeviceMesh> line_of(const SizeReader& sizes, const std::string& axis, std::int64_t otherwise = 4);
/// A mesh of these axes: as given, one number for each; else made of the number of devices by `factors`, which
/// returns nothing where it cannot be; `shape` says what would do ("q x q").
Result<DeviceMesh> grid_of(const SizeReader& sizes, const std::vector<std::string>& axes, std::int64_t otherwise,
                           const std::string& shape,
                           const std::function<std::vector<std::int64_t>(std::int64_t)>& factors);

/// The axes over which heads are split: one over KV heads, or, with more devices than those, a second one over the
/// query heads of each.
struct HeadSplit {
  DeviceMesh mesh;
  std::vector<ParLoop> query;  ///< for einsums that have ranks g and u
  std::vector<ParLoop> key;    ///< for those that have g only
  StateList heads(bool query_heads) const;
};
Result<HeadSplit> heads_of(SizeReader& sizes, const std::string& axis);

/// softmax(Q K) V over query heads g x u, as einsums: Q[b,g,u,s,d], K[b,g,t,d], V[b,g,t,d] to O[b,g,u,s,d]. `par` is
/// for all of them; its loops over ranks that an einsum lacks are left out of that one.
void add_attention(SchemeBuilder& builder, const std::vector<ParLoop>& par, const std::optional<TimeLoop>& time = {});

std::vector<NamedScheme> data_schemes();
std::vector<NamedScheme> tensor_schemes();
std::vector<NamedScheme> grid_schemes();
std::vector<NamedScheme> sequence_schemes();
std::vector<NamedScheme> layer_schemes();

}  // namespace einflow::cluster
