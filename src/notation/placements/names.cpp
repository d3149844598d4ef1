#include "notation/placements/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "notation/placements/assignment.hpp"

namespace einflow::placements {

namespace {

bool names_weights(std::string name) {
  static constexpr std::array<std::string_view, 9> kNames = {"w",       "f",      "weight",  "weights", "filter",
                                                             "filters", "kernel", "kernels", "wt"};
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

/// The input that holds the weights, of two inputs of which one has such a name; -1 where there is none.
int weights_of(const Einsum& einsum) {
  if (einsum.output() != 2) return -1;
  const bool first = names_weights(einsum.tensors[0].name);
  const bool second = names_weights(einsum.tensors[1].name);
  return first == second ? -1 : (first ? 0 : 1);
}

/// Which tensors have the rank.
enum class Split { output_less, everywhere, with_weights, with_activations, other };

Split split_of(const Einsum& einsum, int rank) {
  if (!einsum.has_rank(einsum.output(), rank)) return Split::output_less;
  bool everywhere = true;
  for (int t = 0; t < einsum.output(); ++t) everywhere = everywhere && einsum.has_rank(t, rank);
  if (everywhere) return Split::everywhere;
  const int weights = weights_of(einsum);
  if (weights < 0) return Split::other;
  return einsum.has_rank(weights, rank) ? Split::with_weights : Split::with_activations;
}

std::string tensors_with(const Einsum& einsum, int rank, bool with) {
  std::string names;
  for (int t = 0; t < static_cast<int>(einsum.tensors.size()); ++t) {
    if (einsum.has_rank(t, rank) != with) continue;
    names += (names.empty() ? "" : " and ") + einsum.tensors[static_cast<std::size_t>(t)].name;
  }
  return names;
}

/// Whether the input has the rank in an axis with a window: a convolution's output pixels.
bool is_pixel(const Einsum& einsum, int rank) {
  for (int t = 0; t < einsum.output(); ++t) {
    for (const Axis& axis : einsum.tensors[static_cast<std::size_t>(t)].axes) {
      const auto own = [&](const Term& term) { return term.rank == rank; };
      if (axis.terms.size() > 1 && std::any_of(axis.terms.begin(), axis.terms.end(), own)) return true;
    }
  }
  return false;
}

/// MAESTRO's letter for the rank of a 2-D convolution as einflow's constructors name them, or of a product of matrices:
/// M is in the first input, N in the second, K in both.
std::string maestro_letter(const Einsum& einsum, int rank) {
  static const std::map<std::string, std::string> letters{{"n", "N"},  {"k", "K"}, {"c", "C"}, {"p", "Y'"},
                                                          {"q", "X'"}, {"r", "R"}, {"s", "S"}};
  const auto known = [&](const Rank& r) { return letters.count(r.name) != 0; };
  if (einsum.rank_named("p") >= 0 && is_pixel(einsum, einsum.rank_named("p")) &&
      std::all_of(einsum.ranks.begin(), einsum.ranks.end(), known)) {
    return letters.at(einsum.ranks[static_cast<std::size_t>(rank)].name);
  }
  if (!einsum.is_mac() || einsum.ranks.size() != 3) return {};
  for (const Tensor& tensor : einsum.tensors) {
    if (tensor.axes.size() != 2) return {};
  }
  if (!einsum.has_rank(einsum.output(), rank)) return "K";
  return einsum.has_rank(0, rank) ? (einsum.has_rank(1, rank) ? "" : "M") : "N";
}

}  // namespace

std::string parallelism_name(const Einsum& einsum, int rank) {
  switch (split_of(einsum, rank)) {
    case Split::output_less:
      return "row parallel (tensor parallel)";
    case Split::everywhere:
      return "separate problems side by side: batch, head or expert parallel";
    case Split::with_weights:
      return "column parallel (tensor parallel)";
    case Split::with_activations:
      return is_pixel(einsum, rank) ? "spatial parallel"
                                    : "data parallel (batch), sequence or context parallel (tokens)";
    case Split::other:
      break;
  }
  if (einsum.output() != 2)
    return fmt::format("{} split, {} copied", tensors_with(einsum, rank, true), tensors_with(einsum, rank, false));
  const std::string with = tensors_with(einsum, rank, true);
  return fmt::format("column parallel if {} is the weights, data parallel if {} is", with.substr(0, with.find(" and ")),
                     tensors_with(einsum, rank, false));
}

std::string tangram_name(const Einsum& einsum, int rank) {
  if (einsum.output() != 2) return "no name (it has layers of two inputs)";
  switch (split_of(einsum, rank)) {
    case Split::output_less:
      return is_pixel(einsum, rank) ? "no name (filter taps stay whole)" : "INPP (input channels)";
    case Split::everywhere:
      return "no name (it has no groups)";
    case Split::with_weights:
      return "OUTP (output channels)";
    case Split::with_activations:
      return is_pixel(einsum, rank) ? "OFMP (output pixels, inputs with a halo)" : "BATP (batch)";
    case Split::other:
      break;
  }
  const std::string with = tensors_with(einsum, rank, true);
  return fmt::format("OUTP if {} is the weights, BATP if {} is", with.substr(0, with.find(" and ")),
                     tensors_with(einsum, rank, false));
}

std::string maestro_name(const Spec& spec, const Loop& loop) {
  const std::string letter = maestro_letter(spec.einsum, loop.rank);
  const std::string& rank = spec.einsum.ranks[static_cast<std::size_t>(loop.rank)].name;
  const std::int64_t units = spec.machine.mesh(loop.mesh)->axes[static_cast<std::size_t>(loop.axis)].size;
  return fmt::format(
      "SpatialMap({0},{0}) {1} in a cluster level of {2} unit{3}{4}", loop.tile, letter.empty() ? rank : letter, units,
      units == 1 ? "" : "s",
      letter.empty() ? fmt::format(" (it has letters for convolutions and products only, none for {})", rank) : "");
}

std::string torch_weight(const Einsum& einsum, int rank) {
  const int weights = weights_of(einsum);
  if (weights < 0 || !einsum.is_mac()) return {};
  const Tensor& tensor = einsum.tensors[static_cast<std::size_t>(weights)];
  if (tensor.axes.size() != 2 || tensor.axes[0].terms.size() != 1 || tensor.axes[1].terms.size() != 1) return {};
  const int first = tensor.axes[0].terms[0].rank;
  const int second = tensor.axes[1].terms[0].rank;
  // [in, out]: the first is summed over, the second is the output's.
  if (einsum.has_rank(einsum.output(), first) || !einsum.has_rank(einsum.output(), second)) return {};
  const auto name = [&](int r) { return einsum.ranks[static_cast<std::size_t>(r)].name; };
  const auto axis = plain_axis(einsum, weights, rank);
  if (!axis) return {};
  return fmt::format("nn.Linear keeps {} as [out, in] = [{},{}]: there it is Shard({})", tensor.name, name(second),
                     name(first), 1 - *axis);
}

}  // namespace einflow::placements
