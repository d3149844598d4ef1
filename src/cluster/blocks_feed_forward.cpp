// Feed-forward networks: dense, and experts of which a router chooses.
#include <string>

#include "cluster/blocks_build.hpp"

namespace einflow::cluster {

namespace {

struct Widening {
  std::string suffix;
  std::string before_weight;  ///< ranks of a weight before i and f
  std::string before_tensor;  ///< of an activation before f
};

/// Up and, where gated, gate; what the down projection reads. Experts have no biases.
std::string widen(BlockBuilder& builder, const std::string& input, const Widening& form) {
  const std::string weight = form.before_weight + "if";
  const std::string wide = form.before_tensor + "f";
  const bool biases = form.suffix.empty();
  const auto biased = [&](const std::string& tensor, const std::string& vector) {
    return biases ? builder.biased(tensor, vector, "f") : tensor;
  };
  const std::string name = form.suffix.empty() ? "" : " of" + std::string(form.suffix == "_e" ? " experts" : " shared");
  if (!builder.model().gated) {
    const std::string up =
        biased(builder.product("up" + name, {input}, {"Wup" + form.suffix, weight}, {"Up" + form.suffix, wide}), "Bup");
    return builder.apply(OperationKind::function, "gelu" + name, {up}, {"Wide" + form.suffix, wide}, {.map = "gelu"});
  }
  const std::string gate = biased(
      builder.product("gate" + name, {input}, {"Wgate" + form.suffix, weight}, {"Gate" + form.suffix, wide}), "Bgate");
  const std::string up =
      biased(builder.product("up" + name, {input}, {"Wup" + form.suffix, weight}, {"Up" + form.suffix, wide}), "Bup");
  return builder.apply(OperationKind::gate, "swiglu" + name, {gate, up}, {"Wide" + form.suffix, wide},
                       {.map = "swiglu"});
}

}  // namespace

std::string add_feed_forward(BlockBuilder& builder, const std::string& input) {
  const std::string wide = widen(builder, input, {"", "", "bs"});
  const std::string down = builder.product("down", {wide}, {"Wdown", "fi"}, {"Down", "bsi"});
  return builder.biased(down, "Bdown", "i");
}

std::string add_experts(BlockBuilder& builder, const std::string& input) {
  const std::string ratings =
      builder.product("router", {input}, {"Wrouter", "ix"}, {"Ratings", "bsx", Role::activation, 32});
  const std::string shares =
      builder.apply(OperationKind::softmax, "softmax of router", {ratings}, {"Shares", "bsx", Role::activation, 32},
                    {.map = "softmax", .reduce = "", .along = "x"});
  const std::string sent =
      builder.apply(OperationKind::dispatch, "dispatch", {input}, {"Sent", "eci"},
                    {.map = "dispatch", .reduce = "", .along = {}, .renames = {{"b", "c"}, {"s", "c"}}});
  const std::string wide = widen(builder, sent, {"_e", "e", "ec"});
  const std::string down = builder.product("down of experts", {wide}, {"Wdown_e", "efi"}, {"Down_e", "eci"});
  std::string result =
      builder.apply(OperationKind::combine, "combine", {down, shares}, {"Combined", "bsi"},
                    {.map = "combine", .reduce = "+", .along = {}, .renames = {{"c", "b"}, {"c", "s"}}});
  if (builder.model().experts->shared > 0) {
    const std::string shared_wide = widen(builder, input, {"_s", "j", "bsj"});
    const std::string shared = builder.product("down of shared", {shared_wide}, {"Wdown_s", "jfi"}, {"Down_s", "bsi"});
    result = builder.apply(OperationKind::sum, "sum of experts", {result, shared}, {"Mixed", "bsi"}, {.map = "+"});
  }
  return result;
}

}  // namespace einflow::cluster
