#include "report/scheme_facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cluster/gradient.hpp"
#include "cluster/traffic.hpp"
#include "report/layout.hpp"

namespace einflow {

using namespace cluster;

namespace {

std::size_t index(int axis) { return static_cast<std::size_t>(axis); }

Count elements_of(const std::vector<Rank>& ranks) {
  Count elements = 1;
  for (const Rank& rank : ranks) elements *= rank.extent;
  return elements;
}

/// Whether every axis splits the tensor before and afterwards: one all-to-all over all of them.
bool split_everywhere(const Collective& collective) {
  const auto is_split = [](const State& state) { return state.kind == StateKind::split; };
  const auto all_split = [&](const Placement& placement) {
    return std::all_of(placement.states.begin(), placement.states.end(), is_split);
  };
  return all_split(collective.from) && all_split(collective.to);
}

std::vector<std::string> axis_names(const DeviceMesh& mesh) {
  std::vector<std::string> names;
  for (const MeshAxis& axis : mesh.axes) names.push_back(axis.name);
  return names;
}

std::string collective_words(const Collective& collective, const DeviceMesh& mesh) {
  const std::string& axis = mesh.axes[index(collective.axis)].name;
  const std::string tensor = shown_tensor_name(collective.tensor);
  const bool gathers = collective.kind == CollectiveKind::all_gather;
  if (collective.time) {
    const std::string& rank = collective.time->rank;
    if (collective.time->delivery == Delivery::shift) {
      return gathers ? fmt::format("pass {} round {}", tensor, axis)
                     : fmt::format("pass sums {} round {}", tensor, axis);
    }
    return fmt::format("{} {} on {} by {}", gathers ? "broadcast" : "reduce", tensor, axis, rank);
  }
  switch (collective.kind) {
    case CollectiveKind::all_reduce:
      return fmt::format("all-reduce {} on {}", tensor, axis);
    case CollectiveKind::reduce_scatter:
      return fmt::format("reduce-scatter {} on {}", tensor, axis);
    case CollectiveKind::all_gather:
      return fmt::format("all-gather {} on {}", tensor, axis);
    case CollectiveKind::all_to_all:
      return fmt::format("all-to-all {} on {}", tensor, axis);
    case CollectiveKind::slice:
      return fmt::format("slice {} on {}", tensor, axis);
    case CollectiveKind::redistribute:
      return fmt::format("{} {} on {}", split_everywhere(collective) ? "all-to-all" : "redistribute", tensor,
                         fmt::join(axis_names(mesh), " x "));
  }
  return {};
}

/// The textbook's formula with values, where it gives exactly these bytes.
std::string formula_of(const Collective& collective, const DeviceMesh& mesh, Count bytes) {
  if (collective.kind == CollectiveKind::slice) return {};
  const bool over_all = collective.kind == CollectiveKind::redistribute;
  if (over_all && !split_everywhere(collective)) return {};
  const std::int64_t p = over_all ? mesh.devices() : mesh.axes[index(collective.axis)].size;
  const bool gathers = collective.kind == CollectiveKind::all_gather;
  const Count n =
      bytes_of(largest_piece(collective.ranks, gathers ? collective.to : collective.from, mesh), collective.type);
  const bool twice = collective.kind == CollectiveKind::all_reduce;
  if (bytes * Count(p) != n * Count(p - 1) * Count(twice ? 2 : 1)) return {};
  return fmt::format("{}{}/{} x {} B", twice ? "2 x " : "", p - 1, p, grouped(n));
}

class Gatherer {
 public:
  explicit Gatherer(SchemeFacts& facts) : facts_(facts), mesh_(facts.scheme.mesh) {}

  void run() {
    const Program& program = facts_.program;
    take(program.forward, SchemePart::forward);
    take(program.backward, SchemePart::backward);
    take(program.finish, SchemePart::finish);
    for (SchemeTensor& tensor : facts_.tensors) measure(tensor);
    std::stable_sort(facts_.tensors.begin(), facts_.tensors.end(),
                     [](const SchemeTensor& a, const SchemeTensor& b) { return a.part < b.part; });
    const auto busiest = [&](const std::vector<Step>& steps) {
      return bytes_of(traffic_of(steps, mesh_).busiest, type_);
    };
    facts_.forward_bytes = busiest(program.forward);
    facts_.backward_bytes = busiest(program.backward);
    facts_.finish_bytes = busiest(program.finish);
    std::vector<Step> together = program.forward;
    together.insert(together.end(), program.backward.begin(), program.backward.end());
    facts_.step_bytes = busiest(together) * Count(program.microbatches) + facts_.finish_bytes;
    measure_boundary();
  }

 private:
  SchemeTensor& tensor_named(const std::string& name, const std::vector<Rank>& ranks, SchemePart part) {
    for (SchemeTensor& tensor : facts_.tensors) {
      if (tensor.name == name) return tensor;
    }
    SchemeTensor tensor;
    tensor.name = name;
    tensor.ranks = ranks;
    tensor.part = part;
    facts_.tensors.push_back(std::move(tensor));
    return facts_.tensors.back();
  }

  void take(const std::vector<Step>& steps, SchemePart part) {
    for (const Step& step : steps) {
      if (const auto* const collective = std::get_if<Collective>(&step)) take(*collective, part);
      if (const auto* const work = std::get_if<LocalEinsum>(&step)) take(*work, part);
    }
  }

  void take(const LocalEinsum& local, SchemePart part) {
    const Einsum& einsum = local.work.einsum;
    for (std::size_t t = 0; t < einsum.tensors.size(); ++t) {
      const std::string name = shown_tensor_name(einsum.tensors[t].name);
      if (name.find('.') != std::string::npos) continue;
      type_ = einsum.tensors[t].type;
      std::vector<Rank> ranks;
      for (const Axis& axis : einsum.tensors[t].axes) ranks.push_back(einsum.ranks[index(axis.terms.front().rank)]);
      SchemeTensor& tensor = tensor_named(name, ranks, part);
      // In the update a weight is read where its optimizer state is: that is said of the updated weight.
      if (part == SchemePart::finish && tensor.part != SchemePart::finish) continue;
      if (std::find(tensor.computes.begin(), tensor.computes.end(), local.placements[t]) == tensor.computes.end()) {
        tensor.computes.push_back(local.placements[t]);
      }
    }
  }

  void take(const Collective& collective, SchemePart part) {
    SchemeMove move;
    move.part = part;
    move.collective = collective;
    move.words = collective_words(collective, mesh_);
    const Traffic traffic = traffic_of(collective, mesh_);
    move.bytes = bytes_of(traffic.busiest, collective.type);
    move.total = bytes_of(traffic.total, collective.type);
    move.messages = traffic.steps;
    move.formula = formula_of(collective, mesh_, move.bytes);
    facts_.moves.push_back(std::move(move));
  }

  void measure(SchemeTensor& tensor) {
    const auto found = facts_.program.rest.find(tensor.name);
    if (found != facts_.program.rest.end()) {
      tensor.rests = found->second;
    } else if (const auto output = facts_.program.outputs.find(tensor.name); output != facts_.program.outputs.end()) {
      tensor.rests = output->second;
    } else {
      tensor.rests = tensor.computes.front();
    }
    const auto bytes = [&](const Placement& placement) {
      return bytes_of(largest_piece(tensor.ranks, placement, mesh_), type_);
    };
    tensor.whole_bytes = bytes_of(elements_of(tensor.ranks), type_);
    tensor.resting_bytes = bytes(tensor.rests);
    for (const Placement& placement : tensor.computes) {
      Count held = bytes(placement);
      for (const SchemeMove& move : facts_.moves) {
        if (!move.collective.time || shown_tensor_name(move.collective.tensor) != tensor.name) continue;
        const bool gathers = move.collective.kind == CollectiveKind::all_gather;
        if ((gathers ? move.collective.to : move.collective.from) != placement) continue;
        held = bytes(gathers ? move.collective.from : move.collective.to);
        tensor.in_pieces = true;
      }
      tensor.computing_bytes = std::max(tensor.computing_bytes, held);
    }
  }

  void measure_boundary() {
    const auto& boundary = facts_.named->boundary;
    if (!boundary) return;
    for (const SchemeTensor& tensor : facts_.tensors) {
      if (tensor.name != boundary->tensor) continue;
      Count elements = 1;
      for (const Rank& rank : tensor.ranks) {
        if (rank.name == boundary->rank) continue;
        elements *= rank.extent;
        facts_.boundary_text += fmt::format("{}{}", facts_.boundary_text.empty() ? "" : " x ", grouped(rank.extent));
      }
      facts_.boundary_bytes = bytes_of(elements, type_);
      facts_.boundary_text += fmt::format(" x {} B", grouped(Ratio(Count(type_.bits), Count(8))));
    }
  }

  SchemeFacts& facts_;
  const DeviceMesh& mesh_;
  ElementType type_;
};

/// The schedules of a pipeline of this scheme, executed.
std::vector<SchemeSchedule> schedules_of(const Scheme& scheme, const StageBoundary& boundary) {
  std::vector<SchemeSchedule> schedules;
  std::int64_t layers = 1;
  for (const Rank& rank : scheme.forward.front().einsum.ranks) {
    if (rank.name == boundary.rank) layers = rank.extent;
  }
  const std::int64_t devices = scheme.mesh.devices();
  const std::int64_t layers_each = layers / devices;
  constexpr std::int64_t kMostItems = 1'000'000;  // more take seconds
  if (devices * scheme.microbatches > kMostItems / std::max<std::int64_t>(1, layers_each)) return schedules;
  for (const Schedule schedule :
       {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved, Schedule::zero_bubble}) {
    SchemeSchedule fact;
    fact.schedule = schedule;
    fact.chunks = schedule == Schedule::interleaved ? layers_each : 1;
    if (schedule == Schedule::interleaved && layers_each < 2) continue;
    const PipelineShape shape{schedule, devices, scheme.microbatches, fact.chunks};
    const bool apart = schedule == Schedule::zero_bubble;
    const StageTimes<std::int64_t> stage{1, apart ? 1 : 2, apart ? 1 : 0};
    const auto run = run_pipeline<std::int64_t>(
        shape, std::vector<StageTimes<std::int64_t>>(static_cast<std::size_t>(devices * fact.chunks), stage), 0);
    if (!run) continue;
    fact.total = run->total;
    fact.ideal = run->ideal;
    fact.live = Ratio(Count(run->live.front()), Count(fact.chunks));
    schedules.push_back(fact);
  }
  return schedules;
}

}  // namespace

Result<SchemeFacts> scheme_facts(const NamedScheme& named, const SchemeSizes& sizes) {
  auto scheme = build_scheme(named, sizes);
  if (!scheme) return tl::unexpected(scheme.error());
  auto program = named.training ? training_program(*scheme) : forward_program(*scheme);
  if (!program) return tl::unexpected(program.error());
  SchemeFacts facts;
  facts.named = &named;
  facts.scheme = std::move(*scheme);
  facts.program = std::move(*program);
  Gatherer(facts).run();
  const bool overflowed = std::any_of(facts.tensors.begin(), facts.tensors.end(),
                                      [](const SchemeTensor& tensor) { return tensor.whole_bytes.overflowed(); });
  if (overflowed || facts.step_bytes.overflowed()) return fail("the sizes are too large: bytes leave 128 bits");
  if (named.boundary) facts.schedules = schedules_of(facts.scheme, *named.boundary);
  return facts;
}

std::string shown_tensor_name(const std::string& name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return name;
  const std::string tail = name.substr(dot + 1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return tail == "sum" || std::all_of(tail.begin(), tail.end(), is_digit) ? name.substr(0, dot) : name;
}

std::string states_text(const Placement& placement) {
  std::string text;
  for (const State& state : placement.states) text += (text.empty() ? "" : ", ") + to_text(state);
  return text;
}

std::string cut_order(const Placement& placement, const DeviceMesh& mesh) {
  const std::string text = to_text(placement, mesh);
  const std::size_t order = text.find("; ");
  return order == std::string::npos ? std::string{} : text.substr(order + 2);
}

}  // namespace einflow
