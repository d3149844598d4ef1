#include "simulate/executor.hpp"

#include <algorithm>

namespace einflow::execution {

namespace {

constexpr int kOperationsBetweenProgress = 1 << 18;

}  // namespace

Executor::Executor(const Spec& spec, const SimulateOptions& options)
    : spec_(spec), options_(options), arithmetic_(spec.einsum), pipeline_(spec), tally_(spec) {
  for (int t = 0; t <= spec.einsum.output(); ++t) {
    elements_.emplace_back(spec.einsum.tensors[static_cast<std::size_t>(t)], spec.einsum.ranks);
    residences_.emplace_back();
    const auto holds = static_cast<int>(spec.mapping.holds[static_cast<std::size_t>(t)].size());
    for (int h = 0; h < holds; ++h) residences_.back().push_back(make_residence(spec, t, h));
  }
  point_.resize(spec.einsum.ranks.size());
  operands_.resize(static_cast<std::size_t>(spec.einsum.output()));
  next_progress_ = kOperationsBetweenProgress;
}

Simulation Executor::run() {
  Walk(spec_, [this](int depth, const Active& active) { enter(depth, active); }).run();
  finish();
  return std::move(result_);
}

/// Notes what the coordinates want in the step that begins here; at the innermost depth executes it.
void Executor::enter(int depth, const Active& active) {
  if (outermost_change_ < 0) outermost_change_ = depth;
  for (std::vector<Residence>& holds : residences_) {
    for (Residence& residence : holds) {
      if (residence.depth != depth) continue;
      for (Tile& tile : residence.next) tile.clear();
      for (std::size_t i = 0; i < active.coordinates.size(); ++i) {
        const auto coordinate = static_cast<std::size_t>(active.coordinates[i]);
        Tile& tile = residence.next[coordinate];
        elements_[static_cast<std::size_t>(residence.tensor)].tile(active.box(i), tile);
        residence.ever_active[coordinate] = 1;
        residence.counts.tile_elements = std::max(residence.counts.tile_elements, Count(tile.size()));
      }
      residence.moved = true;
    }
  }
  if (depth < static_cast<int>(spec_.mapping.loops.size())) return;

  change_step();
  operate(active);
  forget();
  pipeline_.step();
  result_.counts.steps += 1;
  if (options_.progress && result_.counts.operations >= next_progress_) {
    options_.progress(result_.counts.operations, spec_.einsum.operations());
    next_progress_ = result_.counts.operations + kOperationsBetweenProgress;
  }
}

void Executor::change_step() {
  std::vector<Residence>& output = holds_of(spec_.einsum.output());
  for (std::size_t h = output.size(); h-- > 1;) {
    if (output[h].moved) leave(output[h], output[h - 1]);
  }
  for (std::vector<Residence>& holds : residences_) {
    if (holds.front().moved) start(holds.front());
  }
  for (int t = 0; t < spec_.einsum.output(); ++t) {
    std::vector<Residence>& holds = holds_of(t);
    for (std::size_t h = 1; h < holds.size(); ++h) {
      if (holds[h].moved) arrive(holds[h], holds[h - 1]);
    }
  }
  pipeline_.begin_tiles(outermost_change_);
  outermost_change_ = -1;
}

/// Inputs are in the outermost hold before the start, the output's elements wait there for their first update.
void Executor::start(Residence& outermost) {
  Buffer& buffer = outermost.now.front();
  buffer.elements = outermost.next.front();
  if (spec_.einsum.is_output(outermost.tensor)) {
    buffer.values.assign(buffer.elements.size(), arithmetic_.identity());
    buffer.written.assign(buffer.elements.size(), 0);
  } else {
    for (Element element : buffer.elements) buffer.values.push_back(Arithmetic::input(outermost.tensor, element));
  }
  outermost.moved = false;
}

/// An input's change of step: what a coordinate wants and does not have comes from its parent or from a sibling.
void Executor::arrive(Residence& residence, Residence& parent) {
  const Tensor& tensor = spec_.einsum.tensors[static_cast<std::size_t>(residence.tensor)];
  siblings_.clear();
  claims_.clear();
  if (residence.forwarding) {
    for (std::size_t c = 0; c < residence.coordinates(); ++c) {
      const Buffer& buffer = residence.now[c];
      for (std::size_t i = 0; i < buffer.elements.size(); ++i) {
        siblings_.push_back({residence.read_group[c], buffer.elements[i], 0, options_.values ? buffer.values[i] : 0});
      }
    }
    std::sort(siblings_.begin(), siblings_.end());
  }
  const auto at_a_sibling = [this](const Claim& claim) {
    const auto found = std::lower_bound(siblings_.begin(), siblings_.end(), claim);
    return found != siblings_.end() && found->same_transfer(claim) ? &*found : nullptr;
  };

  for (std::size_t c = 0; c < residence.coordinates(); ++c) {
    Buffer& buffer = residence.now[c];
    const Tile& wanted = residence.next[c];
    const std::size_t claims_before = claims_.size();
    renewed_.clear();
    for (std::size_t i = 0, kept = 0; i < wanted.size(); ++i) {
      const Element element = wanted[i];
      while (kept < buffer.elements.size() && buffer.elements[kept] < element) ++kept;
      const bool here_already = kept < buffer.elements.size() && buffer.elements[kept] == element;
      Claim claim{residence.read_group[c], element, residence.parent_of[c], 0, static_cast<std::int64_t>(c)};
      if (!here_already) claims_.push_back(claim);
      if (!options_.values) continue;
      if (here_already) {
        renewed_.values.push_back(buffer.values[kept]);
      } else if (const Claim* sibling = at_a_sibling(claim)) {
        renewed_.values.push_back(sibling->value);
      } else {
        const Buffer& source = parent.now[static_cast<std::size_t>(claim.parent)];
        const std::ptrdiff_t found = source.find(element);
        if (found < 0) mismatch(place(residence, element) + " is wanted, but not in the parent hold");
        renewed_.values.push_back(found < 0 ? 0 : source.values[static_cast<std::size_t>(found)]);
      }
    }
    buffer.elements = wanted;
    std::swap(buffer.values, renewed_.values);
    const Count arrived(claims_.size() - claims_before);
    residence.counts.fills += arrived;
    if (!residence.compute) {
      pipeline_.load(residence.level, static_cast<std::int64_t>(c), arrived * tensor.type.bits);
      tally_.written(residence.level, static_cast<std::int64_t>(c), arrived * tensor.type.bits);
    }
  }

  if (claims_.size() > 1) std::sort(claims_.begin(), claims_.end());
  crossed_.clear();
  for (const Claim& claim : claims_) {
    crossed_.push_back({claim.coordinate, claim.group, claim.element, at_a_sibling(claim) != nullptr});
  }
  tally_.change(residence, crossed_);
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    if (i > 0 && claims_[i].same_transfer(claims_[i - 1])) continue;
    if (at_a_sibling(claims_[i])) {
      residence.counts.forwarded += 1;
      continue;
    }
    residence.counts.parent_reads += 1;
    tally_.read(parent.level, claims_[i].parent, tensor.type.bits);
    if (!residence.compute) pipeline_.load_from(residence.level, parent.level, claims_[i].parent, tensor.type.bits);
  }
  residence.moved = false;
}

/// An output's change of step: what a coordinate has and does not keep goes to its parent, merged on the way with the
/// sums of siblings where the network can; what is new starts from the identity.
void Executor::leave(Residence& residence, Residence& parent) {
  const Tensor& tensor = spec_.einsum.tensors[static_cast<std::size_t>(residence.tensor)];
  claims_.clear();
  for (std::size_t c = 0; c < residence.coordinates(); ++c) {
    Buffer& buffer = residence.now[c];
    const Tile& kept = residence.next[c];
    renewed_.clear();
    renewed_.values.assign(kept.size(), arithmetic_.identity());
    renewed_.written.assign(kept.size(), 0);
    const std::size_t claims_before = claims_.size();
    for (std::size_t i = 0, k = 0; i < buffer.elements.size(); ++i) {
      const Element element = buffer.elements[i];
      while (k < kept.size() && kept[k] < element) ++k;
      if (k < kept.size() && kept[k] == element) {
        renewed_.values[k] = buffer.values[i];
        renewed_.written[k] = buffer.written[i];
      } else {
        claims_.push_back({residence.update_group[c], element, residence.parent_of[c], buffer.values[i],
                           static_cast<std::int64_t>(c)});
      }
    }
    buffer.elements = kept;
    std::swap(buffer.values, renewed_.values);
    std::swap(buffer.written, renewed_.written);
    const Count left(claims_.size() - claims_before);
    residence.counts.drains += left;
    if (!residence.compute) {
      pipeline_.drain(residence.level, static_cast<std::int64_t>(c), left * tensor.type.bits);
      tally_.read(residence.level, static_cast<std::int64_t>(c), left * tensor.type.bits);
    }
  }

  if (claims_.size() > 1) std::sort(claims_.begin(), claims_.end());
  crossed_.clear();
  for (const Claim& claim : claims_) crossed_.push_back({claim.coordinate, claim.group, claim.element, false});
  tally_.change(residence, crossed_);
  for (std::size_t i = 0; i < claims_.size();) {
    Claim merged = claims_[i++];
    for (; i < claims_.size() && claims_[i].same_transfer(merged); ++i) {
      merged.value = arithmetic_.reduce(merged.value, claims_[i].value);
    }
    update(residence, parent, merged);
  }
  residence.moved = false;
}

/// One update arrives at the parent: the first of a residency is written, later ones are read, reduced and written.
void Executor::update(Residence& residence, Residence& parent, const Claim& claim) {
  const Tensor& tensor = spec_.einsum.tensors[static_cast<std::size_t>(residence.tensor)];
  residence.counts.parent_updates += 1;
  tally_.written(parent.level, claim.parent, tensor.type.bits);
  if (!residence.compute) pipeline_.drain_to(residence.level, parent.level, claim.parent, tensor.type.bits);
  Buffer& target = parent.now[static_cast<std::size_t>(claim.parent)];
  const std::ptrdiff_t found = target.find(claim.element);
  if (found < 0) {
    mismatch(place(residence, claim.element) + " leaves, but the parent hold does not keep it");
    return;
  }
  const auto i = static_cast<std::size_t>(found);
  if (target.written[i]) {
    residence.counts.parent_rmw_reads += 1;
    tally_.read(parent.level, claim.parent, tensor.type.bits);
    target.values[i] = arithmetic_.reduce(target.values[i], claim.value);
  } else {
    target.written[i] = 1;
    target.values[i] = claim.value;
  }
}

/// Each active coordinate does the operations of what is left of every rank.
void Executor::operate(const Active& active) {
  const int output = spec_.einsum.output();
  for (std::size_t i = 0; i < active.coordinates.size(); ++i) {
    const Box box = active.box(i);
    Count operations = 1;
    for (std::size_t r = 0; r < point_.size(); ++r) {
      operations *= Count(box[r].end - box[r].begin);
      point_[r] = box[r].begin;
    }
    result_.counts.operations += operations;
    if (!options_.values) continue;

    const auto coordinate = static_cast<std::size_t>(active.coordinates[i]);
    for (bool more = true; more;) {
      for (int t = 0; t < output; ++t) {
        const Element element = elements_[static_cast<std::size_t>(t)].at(point_.data());
        const Buffer& buffer = holds_of(t).back().now[coordinate];
        const std::ptrdiff_t found = element < 0 ? -1 : buffer.find(element);
        if (element >= 0 && found < 0) mismatch(place(holds_of(t).back(), element) + " is missing in an operation");
        operands_[static_cast<std::size_t>(t)] = found < 0 ? 0 : buffer.values[static_cast<std::size_t>(found)];
      }
      const Element element = elements_[static_cast<std::size_t>(output)].at(point_.data());
      Buffer& sums = holds_of(output).back().now[coordinate];
      const std::ptrdiff_t found = element < 0 ? -1 : sums.find(element);
      if (element >= 0 && found < 0) mismatch(place(holds_of(output).back(), element) + " is missing in an operation");
      if (found >= 0) {
        Value& sum = sums.values[static_cast<std::size_t>(found)];
        sum = arithmetic_.reduce(sum, arithmetic_.map(operands_));
      }
      std::size_t rank = point_.size();
      while (rank > 0 && ++point_[rank - 1] == box[rank - 1].end) {
        point_[rank - 1] = box[rank - 1].begin;
        --rank;
      }
      more = rank > 0;
    }
  }
}

/// After a step: a compute level without operand latches keeps nothing.
void Executor::forget() {
  for (std::vector<Residence>& holds : residences_) {
    Residence& compute = holds.back();
    if (compute.remembers) continue;
    for (Tile& tile : compute.next) tile.clear();
    if (spec_.einsum.is_output(compute.tensor)) {
      leave(compute, holds[holds.size() - 2]);
    } else {
      for (Buffer& buffer : compute.now) buffer.clear();
    }
  }
}

void Executor::finish() {
  std::vector<Residence>& output = holds_of(spec_.einsum.output());
  for (std::size_t h = output.size(); h-- > 1;) {
    for (Tile& tile : output[h].next) tile.clear();
    leave(output[h], output[h - 1]);
  }
  result_.pipelined_cycles = pipeline_.finish();
  for (std::vector<Residence>& holds : residences_) {
    for (Residence& residence : holds) {
      residence.counts.instances =
          Count(std::count(residence.ever_active.begin(), residence.ever_active.end(), char{1}));
      result_.counts.holds.push_back(residence.counts);
    }
  }
  result_.busiest = tally_.busiest(residences_);
  result_.networks = tally_.networks(residences_);
  result_.accesses = tally_.accesses(residences_);
  if (options_.values) compare_result();
  if (options_.progress) options_.progress(result_.counts.operations, spec_.einsum.operations());
}

void Executor::compare_result() {
  const Buffer& computed = holds_of(spec_.einsum.output()).front().now.front();
  const std::vector<Value> expected = evaluate_plainly(spec_.einsum, arithmetic_, elements_);
  const Elements& elements = elements_.back();
  for (Element element = 0; element < elements.count(); ++element) {
    const std::ptrdiff_t found = computed.find(element);
    const Value should_be = expected[static_cast<std::size_t>(element)];
    if (found < 0) {
      mismatch(elements.name(element) + " is not in the outermost hold");
    } else if (const Value is = computed.values[static_cast<std::size_t>(found)]; is != should_be) {
      mismatch(elements.name(element) + " is " + std::to_string(is) + ", but the plain einsum gives " +
               std::to_string(should_be));
    }
  }
}

std::string Executor::place(const Residence& residence, Element element) const {
  return "at " + spec_.machine.level_name(residence.level) + ": " +
         elements_[static_cast<std::size_t>(residence.tensor)].name(element);
}

void Executor::mismatch(const std::string& text) {
  if (result_.result_matches) result_.first_mismatch = text;
  result_.result_matches = false;
}

}  // namespace einflow::execution
