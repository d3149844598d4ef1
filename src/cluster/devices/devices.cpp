#include "cluster/devices/devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/message.hpp"
#include "cluster/devices/companions.hpp"
#include "cluster/devices/copies.hpp"
#include "cluster/devices/stream.hpp"

namespace einflow::cluster::devices {

namespace {

tl::unexpected<Diagnostics> not_there(const std::string& tensor, const Placement& placement, const DeviceMesh& mesh) {
  return fail(fmt::format("tensor {} is not there in placement {}", in_quotes(tensor), to_text(placement, mesh)));
}

class Executor {
 public:
  Executor(const Program& program, Shapes shapes, Timed timed)
      : program_(program),
        mesh_(program.mesh),
        shapes_(std::move(shapes)),
        timed_(timed),
        devices_(device_count(program.mesh)),
        copies_(program.mesh) {
    result_.forward = result_.backward = result_.finish = Tally(devices_);
  }

  Result<Run> run(const Inputs& inputs) {
    if (auto loaded = load(inputs.shared, true); !loaded) return tl::unexpected(loaded.error());
    for (microbatch_ = 0; microbatch_ < program_.microbatches; ++microbatch_) {
      if (!inputs.microbatch.empty()) {
        if (inputs.microbatch.size() != static_cast<std::size_t>(program_.microbatches)) {
          return fail(fmt::format("expected inputs of {} microbatches, found {}", program_.microbatches,
                                  inputs.microbatch.size()));
        }
        auto loaded = load(inputs.microbatch[static_cast<std::size_t>(microbatch_)], false);
        if (!loaded) return tl::unexpected(loaded.error());
      }
      if (auto done = section(Section::forward, program_.forward); !done) return tl::unexpected(done.error());
      if (auto done = section(Section::backward, program_.backward); !done) return tl::unexpected(done.error());
      if (auto done = gather(result_.microbatch.emplace_back()); !done) return tl::unexpected(done.error());
      copies_.end_microbatch();
    }
    if (auto done = section(Section::finish, program_.finish); !done) return tl::unexpected(done.error());
    if (auto done = gather(result_.outputs); !done) return tl::unexpected(done.error());
    for (const auto& [tensor, placement] : program_.outputs) {
      const bool found = result_.outputs.count(tensor) != 0 ||
                         (!result_.microbatch.empty() && result_.microbatch.back().count(tensor) != 0);
      if (!found) return not_there(tensor, placement, mesh_);
    }
    result_.peak = copies_.peak();
    return std::move(result_);
  }

 private:
  Result<void> load(const Tensors& tensors, bool lasts) {
    for (const auto& [name, values] : tensors) {
      const auto placement = program_.inputs.find(name);
      if (placement == program_.inputs.end()) return fail(fmt::format("the program has no input {}", in_quotes(name)));
      const auto shape = shapes_.find(name);
      if (shape == shapes_.end()) continue;  // no step names it
      const std::vector<Rank>* const ranks = ranks_for(shape->second, placement->second);
      if (ranks == nullptr) return not_there(name, placement->second, mesh_);
      auto arrays = scattered(*ranks, placement->second, mesh_, values);
      if (!arrays) return fail(fmt::format("input {}: {}", in_quotes(name), arrays.error().front().message));
      copies_.put(name, {*ranks, placement->second, std::move(*arrays), lasts});
    }
    copies_.note_peak();
    return {};
  }

  Result<void> gather(Tensors& into) {
    for (const auto& [name, placement] : program_.outputs) {
      const Copy* const copy = copies_.find(name, placement);
      if (copy == nullptr) continue;
      auto values = gathered(name, *copy, mesh_);
      if (!values) return tl::unexpected(values.error());
      into[name] = std::move(*values);
    }
    return {};
  }

  Result<void> section(Section which, const std::vector<Step>& steps) {
    section_ = which;
    never_whole_.clear();
    std::map<std::size_t, std::vector<std::size_t>> streams;
    std::set<std::size_t> taken;
    for (std::size_t i = 0; timed_ == Timed::in_pieces && i < steps.size(); ++i) {
      const auto* const step = std::get_if<LocalEinsum>(&steps[i]);
      if (step == nullptr) continue;
      const std::vector<std::size_t> found = companions(steps, i);
      if (!go_together(*step, mesh_, streams_of(steps, *step, found))) continue;
      streams[i] = found;
      taken.insert(found.begin(), found.end());
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      Result<void> done;
      if (const auto* const collective = std::get_if<Collective>(&steps[i])) {
        if (taken.count(i) == 0) done = carry_out_one(i, *collective);
      } else if (const auto* const step = std::get_if<LocalEinsum>(&steps[i])) {
        done = streams.count(i) != 0 ? compute_in_pieces(steps, *step, streams[i]) : compute_whole(*step);
      } else {
        done = drop(std::get<Release>(steps[i]));
      }
      if (!done) return done;
    }
    return {};
  }

  static std::vector<Stream> streams_of(const std::vector<Step>& steps, const LocalEinsum& step,
                                        const std::vector<std::size_t>& positions) {
    std::vector<Stream> streams;
    for (const std::size_t position : positions) {
      Stream stream;
      stream.collective = &std::get<Collective>(steps[position]);
      stream.tensor = static_cast<std::size_t>(step.work.einsum.tensor_named(stream.collective->tensor));
      streams.push_back(std::move(stream));
    }
    return streams;
  }

  Result<void> drop(const Release& release) {
    const bool there = copies_.drop(release.tensor, release.placement);
    const bool never_was = std::find(never_whole_.begin(), never_whole_.end(), release) != never_whole_.end();
    const bool unread_input = program_.inputs.count(release.tensor) != 0 && shapes_.count(release.tensor) == 0;
    if (!there && !never_was && !unread_input) return not_there(release.tensor, release.placement, mesh_);
    return {};
  }

  void record(std::size_t step, const Tally& tally) {
    Tally& sum = section_ == Section::forward    ? result_.forward
                 : section_ == Section::backward ? result_.backward
                                                 : result_.finish;
    sum += tally;
    result_.exchanges.push_back({section_, microbatch_, step, tally});
  }

  Result<void> carry_out_one(std::size_t position, const Collective& collective) {
    const Copy* const before = copies_.find(collective.tensor, collective.from);
    if (before == nullptr) return not_there(collective.tensor, collective.from, mesh_);
    Wires wires(devices_);
    auto after = carry_out(collective, mesh_, before->arrays, wires);
    if (!after) return tl::unexpected(after.error());
    copies_.put(collective.tensor, {collective.ranks, collective.to, std::move(*after)});
    copies_.note_peak();
    record(position, wires.tally());
    return {};
  }

  Result<Copy> fresh_output(const LocalEinsum& step) const {
    const Einsum& einsum = step.work.einsum;
    const auto output = static_cast<std::size_t>(einsum.output());
    auto ranks = ranks_of(einsum, output);
    if (!ranks) return tl::unexpected(ranks.error());
    const Placement& placement = step.placements[output];
    Spread arrays = spread_of(*ranks, placement, mesh_, identity_of(reduction_of(einsum)));
    for (std::int64_t device = 0; device < devices_; ++device) {
      const Box share = part_of(einsum, output, share_of(step.work, mesh_, device));
      if (!(share == arrays[static_cast<std::size_t>(device)].box)) {
        return fail(fmt::format("{}: device {} computes other elements of the output than its placement has",
                                to_text(einsum), device));
      }
    }
    return Copy{*ranks, placement, std::move(arrays)};
  }

  /// Null where a stream brings the operand.
  Result<std::vector<const Spread*>> operands_of(const LocalEinsum& step, const std::vector<Stream>& streams) {
    std::vector<const Spread*> operands;
    for (std::size_t t = 0; t + 1 < step.work.einsum.tensors.size(); ++t) {
      const bool streamed = std::any_of(streams.begin(), streams.end(), [&](const Stream& s) { return s.tensor == t; });
      const std::string& name = step.work.einsum.tensors[t].name;
      const Copy* const copy = streamed ? nullptr : copies_.find(name, step.placements[t]);
      if (!streamed && copy == nullptr) return not_there(name, step.placements[t], mesh_);
      operands.push_back(streamed ? nullptr : &copy->arrays);
    }
    return operands;
  }

  Result<void> compute_whole(const LocalEinsum& step) {
    auto operands = operands_of(step, {});
    if (!operands) return tl::unexpected(operands.error());
    auto output = fresh_output(step);
    if (!output) return tl::unexpected(output.error());
    for (std::int64_t device = 0; device < devices_; ++device) {
      std::vector<const LocalArray*> arrays;
      for (const Spread* const spread : *operands) arrays.push_back(&(*spread)[static_cast<std::size_t>(device)]);
      auto done = compute(step.work.einsum, share_of(step.work, mesh_, device), arrays,
                          output->arrays[static_cast<std::size_t>(device)]);
      if (!done) return done;
    }
    store(step, std::move(*output));
    copies_.note_peak();
    return {};
  }

  void store(const LocalEinsum& step, Copy output) {
    const std::string& name = step.work.einsum.tensors.back().name;
    output.lasts = step.accumulate;
    if (const Copy* const there = step.accumulate ? copies_.find(name, output.placement) : nullptr) {
      const std::string op = reduction_of(step.work.einsum);
      for (std::size_t device = 0; device < output.arrays.size(); ++device) {
        Values& values = output.arrays[device].values;
        values = combine(op, there->arrays[device].values, values);
      }
    }
    copies_.put(name, std::move(output));
  }

  Result<void> compute_in_pieces(const std::vector<Step>& steps, const LocalEinsum& step,
                                 const std::vector<std::size_t>& positions) {
    std::vector<Stream> streams = streams_of(steps, step, positions);
    const auto output_number = static_cast<std::size_t>(step.work.einsum.output());
    bool takes_output = false;
    for (Stream& stream : streams) {
      const Collective& collective = *stream.collective;
      if (auto fits = check_states(collective, mesh_); !fits) return fits;
      never_whole_.push_back({collective.tensor, stream.tensor == output_number ? collective.from : collective.to});
      if (stream.tensor == output_number) {
        takes_output = true;
        stream.result = spread_of(collective.ranks, collective.to, mesh_, 0);
        continue;
      }
      const Copy* const stored = copies_.find(collective.tensor, collective.from);
      if (stored == nullptr) return not_there(collective.tensor, collective.from, mesh_);
      stream.stored = &stored->arrays;
    }
    auto operands = operands_of(step, streams);
    if (!operands) return tl::unexpected(operands.error());
    auto output = fresh_output(step);
    if (!output) return tl::unexpected(output.error());
    if (takes_output) output->arrays.assign(static_cast<std::size_t>(devices_), {});
    std::vector<std::int64_t> buffers;
    auto done = compute_streamed(step, mesh_, *operands, takes_output ? nullptr : &output->arrays, streams, buffers);
    if (!done) return done;
    ++result_.streamed;
    for (std::size_t s = 0; s < streams.size(); ++s) {
      const Collective& collective = *streams[s].collective;
      if (streams[s].tensor == output_number) {
        copies_.put(collective.tensor, {collective.ranks, collective.to, std::move(streams[s].result)});
      }
      record(positions[s], streams[s].tally);
    }
    if (!takes_output) store(step, std::move(*output));
    copies_.note_peak(buffers);
    return {};
  }

  const Program& program_;
  const DeviceMesh& mesh_;
  Shapes shapes_;
  Timed timed_;
  std::int64_t devices_;
  Copies copies_;
  Run result_;
  Section section_ = Section::forward;
  std::int64_t microbatch_ = 0;
  std::vector<Release> never_whole_;  ///< copies of this section that came or went piece by piece
};

/// What would be undefined later on: sizes and states that are not there.
Result<void> check_form(const Program& program) {
  for (const MeshAxis& axis : program.mesh.axes) {
    if (axis.size < 1) return fail(fmt::format("axis {} of the mesh has size {}", in_quotes(axis.name), axis.size));
  }
  for (const std::map<std::string, Placement>* placements : {&program.inputs, &program.outputs}) {
    for (const auto& [tensor, placement] : *placements) {
      if (placement.states.size() == program.mesh.axes.size()) continue;
      return fail(fmt::format("tensor {}: one state for each axis of the mesh", in_quotes(tensor)));
    }
  }
  for (const std::vector<Step>* steps : {&program.forward, &program.backward, &program.finish}) {
    for (const Step& step : *steps) {
      if (const auto* const collective = std::get_if<Collective>(&step)) {
        if (auto fits = check_states(*collective, program.mesh); !fits) return fits;
      }
      if (const auto* const release = std::get_if<Release>(&step)) {
        if (release->placement.states.size() != program.mesh.axes.size()) {
          return fail(fmt::format("tensor {}: one state for each axis of the mesh", in_quotes(release->tensor)));
        }
      }
      const auto* const einsum = std::get_if<LocalEinsum>(&step);
      if (einsum == nullptr) continue;
      bool fits = einsum->placements.size() == einsum->work.einsum.tensors.size();
      for (const Placement& placement : einsum->placements) {
        fits = fits && placement.states.size() == program.mesh.axes.size();
      }
      if (!fits) {
        return fail(fmt::format("{}: one placement for each tensor, one state for each axis of the mesh",
                                to_text(einsum->work.einsum)));
      }
    }
  }
  return {};
}

}  // namespace

Result<Run> run(const Program& program, const Inputs& inputs, Timed timed) {
  if (auto fits = check_form(program); !fits) return tl::unexpected(fits.error());
  auto shapes = shapes_of(program);
  if (!shapes) return tl::unexpected(shapes.error());
  return Executor(program, std::move(*shapes), timed).run(inputs);
}

}  // namespace einflow::cluster::devices
