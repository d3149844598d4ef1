#include "cluster/devices/local_einsum.hpp"

#include <fmt/format.h>

#include "base/message.hpp"

namespace einflow::cluster::devices {

namespace {

/// Where a tensor's element is, as a function of a point of the iteration space.
struct Address {
  std::int64_t base = 0;
  std::vector<std::int64_t> stride;  ///< of each of the einsum's ranks

  std::size_t at(const std::vector<std::int64_t>& point) const {
    std::int64_t offset = base;
    for (std::size_t rank = 0; rank < point.size(); ++rank) offset += stride[rank] * point[rank];
    return static_cast<std::size_t>(offset);
  }
};

Address address_of(const Einsum& einsum, std::size_t tensor, const Box& box) {
  Address address{0, std::vector<std::int64_t>(einsum.ranks.size(), 0)};
  std::int64_t stride = 1;
  for (std::size_t axis = box.size(); axis-- > 0;) {
    const auto rank = static_cast<std::size_t>(einsum.tensors[tensor].axes[axis].terms.front().rank);
    address.stride[rank] = stride;
    address.base -= stride * box[axis].begin;
    stride *= box[axis].size();
  }
  return address;
}

}  // namespace

Result<std::vector<Rank>> ranks_of(const Einsum& einsum, std::size_t tensor) {
  std::vector<Rank> ranks;
  for (const Axis& axis : einsum.tensors[tensor].axes) {
    if (axis.terms.size() != 1 || axis.terms.front().coefficient != 1 || axis.constant != 0 || axis.stored_size) {
      return fail(fmt::format("{}: axis {} is not a single rank; devices compute on tensors whose axes are ranks",
                              to_text(einsum.tensors[tensor], einsum), in_quotes(to_text(axis, einsum))));
    }
    ranks.push_back(einsum.ranks[static_cast<std::size_t>(axis.terms.front().rank)]);
  }
  return ranks;
}

Box part_of(const Einsum& einsum, std::size_t tensor, const Box& box) {
  Box part;
  for (const Axis& axis : einsum.tensors[tensor].axes) {
    part.push_back(box[static_cast<std::size_t>(axis.terms.front().rank)]);
  }
  return part;
}

Box share_of(const ShardedEinsum& work, const DeviceMesh& mesh, std::int64_t device) {
  Box share = whole_box(work.einsum.ranks);
  for (const ParLoop& loop : work.par) {
    const int rank = work.einsum.rank_named(loop.rank);
    const int axis = mesh.axis_named(loop.axis);
    if (rank < 0 || axis < 0) continue;
    Interval& interval = share[static_cast<std::size_t>(rank)];
    const auto index = static_cast<std::size_t>(axis);
    interval = cut(interval, mesh.axes[index].size, coordinate_on(mesh, device, index));
  }
  return share;
}

std::string reduction_of(const Einsum& einsum) { return einsum.reduce.empty() ? "+" : einsum.reduce; }

Result<void> compute(const Einsum& einsum, const Box& box, const std::vector<const LocalArray*>& operands,
                     LocalArray& output) {
  auto map = MapOperator::of(einsum);
  if (!map) return tl::unexpected(map.error());
  const std::string reduce = reduction_of(einsum);
  if (!is_reduction(reduce)) return fail(fmt::format("{}: no reduction {} is known", to_text(einsum), reduce));
  if (elements_of(box) == 0) return {};
  std::vector<Address> addresses;
  for (std::size_t tensor = 0; tensor < einsum.tensors.size(); ++tensor) {
    const LocalArray& array = tensor < operands.size() ? *operands[tensor] : output;
    if (!contains(array.box, part_of(einsum, tensor, box))) {
      return fail(fmt::format("{}: a device has not all elements of {} that its share of the loops touches",
                              to_text(einsum), in_quotes(einsum.tensors[tensor].name)));
    }
    addresses.push_back(address_of(einsum, tensor, array.box));
  }
  std::vector<std::int64_t> point;
  for (const Interval& interval : box) point.push_back(interval.begin);
  std::vector<double> values(operands.size());
  while (true) {
    for (std::size_t i = 0; i < operands.size(); ++i) values[i] = operands[i]->values[addresses[i].at(point)];
    double& sum = output.values[addresses.back().at(point)];
    sum = combine(reduce, sum, (*map)(values));
    std::size_t rank = point.size();
    while (rank > 0 && ++point[rank - 1] == box[rank - 1].end) {
      point[rank - 1] = box[rank - 1].begin;
      --rank;
    }
    if (rank == 0) return {};
  }
}

Result<Tensors> evaluate(const std::vector<Einsum>& einsums, Tensors tensors) {
  for (const Einsum& einsum : einsums) {
    std::vector<LocalArray> arrays;
    for (std::size_t tensor = 0; tensor < einsum.tensors.size(); ++tensor) {
      auto ranks = ranks_of(einsum, tensor);
      if (!ranks) return tl::unexpected(ranks.error());
      LocalArray array = filled(whole_box(*ranks), identity_of(reduction_of(einsum)));
      if (!einsum.is_output(static_cast<int>(tensor))) {
        const auto found = tensors.find(einsum.tensors[tensor].name);
        if (found == tensors.end() || found->second.size() != array.values.size()) {
          return fail(fmt::format("{}: tensor {} must be there with {} elements", to_text(einsum),
                                  in_quotes(einsum.tensors[tensor].name), array.values.size()));
        }
        array.values = found->second;
      }
      arrays.push_back(std::move(array));
    }
    std::vector<const LocalArray*> operands;
    for (std::size_t i = 0; i + 1 < arrays.size(); ++i) operands.push_back(&arrays[i]);
    if (auto done = compute(einsum, whole_box(einsum.ranks), operands, arrays.back()); !done) {
      return tl::unexpected(done.error());
    }
    tensors[einsum.tensors.back().name] = std::move(arrays.back().values);
  }
  return tensors;
}

}  // namespace einflow::cluster::devices
