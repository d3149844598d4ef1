#include "support/scheme_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cluster/gradient.hpp"
#include "cluster/traffic.hpp"
#include "support/unsplit_gradients.hpp"

namespace einflow::cluster {

namespace {

using devices::Inputs;
using devices::Run;
using devices::Section;
using devices::Tally;
using devices::Tensors;
using devices::Timed;
using devices::Values;
using testing::SchemeCase;

std::string message_of(const Diagnostics& errors) { return render(errors, SourceText{}); }

// ---- values

/// Sums in another order differ by rounding, in proportion to their terms.
std::string difference(const std::string& name, const Values& found, const Values& expected) {
  if (found.size() != expected.size()) return fmt::format("{} has {} elements\n", name, found.size());
  double scale = 1;
  for (const double value : expected) scale = std::max(scale, std::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::abs(found[i] - expected[i]) <= 1e-9 * scale) continue;
    return fmt::format("{}: element {} is {}, unsplit {}\n", name, i, found[i], expected[i]);
  }
  return {};
}

struct Expected {
  std::vector<Tensors> values;     ///< of all tensors, by microbatch
  std::vector<Tensors> gradients;  ///< by tensor
};

Expected unsplit(const SchemeCase& scheme_case, const Inputs& inputs, bool gradients) {
  const Scheme& scheme = scheme_case.scheme;
  std::vector<Einsum> einsums;
  for (const ShardedEinsum& sharded : scheme.forward) einsums.push_back(sharded.einsum);
  Expected expected;
  for (const Tensors& microbatch : inputs.microbatch) {
    Tensors given = inputs.shared;
    given.insert(microbatch.begin(), microbatch.end());
    expected.values.push_back(devices::evaluate(einsums, given).value());
    if (!gradients) continue;
    Tensors seeds;
    for (const auto& [name, count] : testing::outputs_of(scheme)) seeds[name] = microbatch.at("d" + name);
    expected.gradients.push_back(testing::unsplit_gradients(einsums, expected.values.back(), seeds, scheme.constant));
  }
  return expected;
}

/// The weight less the sum of its gradients over all microbatches.
Values updated(const std::string& weight, const Expected& expected) {
  Values values = expected.values.front().at(weight);
  for (const Tensors& gradients : expected.gradients) {
    const auto found = gradients.find(weight);
    for (std::size_t i = 0; found != gradients.end() && i < values.size(); ++i) values[i] -= found->second[i];
  }
  return values;
}

std::string value_faults(const SchemeCase& scheme_case, const Program& program, const Run& run,
                         const Expected& expected, bool training) {
  const Scheme& scheme = scheme_case.scheme;
  std::string faults;
  for (std::size_t m = 0; m < expected.values.size(); ++m) {
    for (const auto& [name, values] : expected.values[m]) {
      const auto found = run.microbatch[m].find(name);
      if (program.outputs.count(name) == 0) continue;
      faults += found == run.microbatch[m].end() ? name + " is not there after the microbatch\n"
                                                 : difference(name, found->second, values);
    }
    for (const auto& [name, count] : testing::inputs_of(scheme)) {
      if (!training || scheme.weights.count(name) != 0 || scheme.constant.count(name) != 0) continue;
      const auto values = expected.gradients[m].find(name);
      const auto found = run.microbatch[m].find(gradient_name(name));
      if (found == run.microbatch[m].end()) {
        faults += gradient_name(name) + " is not there\n";
      } else {
        faults += difference(gradient_name(name), found->second, values->second);
      }
    }
  }
  for (const auto& [name, storage] : scheme.weights) {
    if (!training) continue;
    const auto found = run.outputs.find(updated_name(name));
    faults += found == run.outputs.end() ? "no " + updated_name(name) + "\n"
                                         : difference(updated_name(name), found->second, updated(name, expected));
  }
  return faults;
}

// ---- traffic

const std::vector<Step>& steps_of(const Program& program, Section section) {
  if (section == Section::forward) return program.forward;
  return section == Section::backward ? program.backward : program.finish;
}

std::string name_of(CollectiveKind kind) {
  static const std::vector<std::string> kNames{"all-reduce", "reduce-scatter", "all-gather",
                                               "all-to-all", "slice",          "redistribute"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string to_text(const Collective& collective, const DeviceMesh& mesh) {
  std::string ranks;
  for (const Rank& rank : collective.ranks) ranks += fmt::format(" {}={}", rank.name, rank.extent);
  return fmt::format("{} of {}[{} ] on axis {} from {} to {}{}", name_of(collective.kind), collective.tensor, ranks,
                     collective.axis, to_text(collective.from, mesh), to_text(collective.to, mesh),
                     collective.time ? ", timed" : "");
}

/// What the closed forms say of one collective, and what devices did.
std::string exchange_faults(const Collective& collective, const DeviceMesh& mesh, const Tally& tally) {
  std::string faults;
  const auto complain = [&](const std::string& what, Count said, Count counted) {
    if (said == counted) return;
    faults += fmt::format("{}: {} {}, counted {}\n", to_text(collective, mesh), what, said.str(), counted.str());
  };
  for (std::size_t device = 0; device < tally.sent.size(); ++device) {
    complain(fmt::format("device {} sends", device), sent_by(collective, mesh, static_cast<std::int64_t>(device)),
             tally.sent[device]);
  }
  const Traffic traffic = traffic_of(collective, mesh);
  complain("all send", traffic.total, tally.total_sent());
  complain("all receive", traffic.total, tally.total_received());
  complain("the busiest sends", traffic.busiest, *std::max_element(tally.sent.begin(), tally.sent.end()));
  return faults;
}

std::string traffic_faults(const Program& program, const Run& run) {
  std::string faults;
  for (const devices::Exchange& exchange : run.exchanges) {
    const auto& collective = std::get<Collective>(steps_of(program, exchange.section)[exchange.step]);
    faults += exchange_faults(collective, program.mesh, exchange.tally);
  }
  const auto compare = [&](const char* name, const std::vector<Step>& steps, const Tally& tally, std::int64_t times) {
    const Traffic traffic = traffic_of(steps, program.mesh);
    if (traffic.total * Count(times) != Count(tally.total_sent()) ||
        traffic.busiest * Count(times) != Count(*std::max_element(tally.sent.begin(), tally.sent.end()))) {
      faults += fmt::format("{}: all send {}, the busiest {}, {} times; counted {}\n", name, traffic.total.str(),
                            traffic.busiest.str(), times, tally.total_sent());
    }
  };
  compare("forward", program.forward, run.forward, program.microbatches);
  compare("backward", program.backward, run.backward, program.microbatches);
  compare("finish", program.finish, run.finish, 1);
  std::size_t collectives = 0;
  for (const Section section : {Section::forward, Section::backward, Section::finish}) {
    const auto& steps = steps_of(program, section);
    const auto count = static_cast<std::size_t>(std::count_if(
        steps.begin(), steps.end(), [](const Step& step) { return std::holds_alternative<Collective>(step); }));
    collectives += count * static_cast<std::size_t>(section == Section::finish ? 1 : program.microbatches);
  }
  if (collectives != run.exchanges.size()) faults += "not every collective was carried out once\n";
  return faults;
}

// ---- a case

std::string rest_faults(const Scheme& scheme, const Program& program, bool training) {
  std::string faults;
  const auto expect = [&](const std::map<std::string, Placement>& where, const std::string& name,
                          const Placement& asked) {
    const auto found = where.find(name);
    if (found == where.end() || found->second == asked) return;
    faults += fmt::format("{} rests as {}, asked {}\n", name, to_text(found->second, scheme.mesh),
                          to_text(asked, scheme.mesh));
  };
  for (const auto& [name, asked] : scheme.storage) {
    expect(program.inputs, name, asked);
    expect(program.outputs, name, asked);
  }
  for (const auto& [name, storage] : scheme.weights) {
    expect(program.inputs, name, storage.weight);
    expect(program.outputs, updated_name(name), storage.weight);
    if (training && program.outputs.count(updated_name(name)) == 0) faults += "no " + updated_name(name) + "\n";
  }
  return faults;
}

}  // namespace

Outcome try_program(const SchemeCase& scheme_case, Result<Program> program, std::uint64_t seed, bool training) {
  Outcome outcome;
  if (!program) return {"no program: " + message_of(program.error()), false, 0};
  const Scheme& scheme = scheme_case.scheme;
  outcome.faults += rest_faults(scheme, *program, training);
  // Whatever rests somewhere is looked at there, not just the outputs.
  for (const ShardedEinsum& sharded : scheme.forward) {
    const std::string& name = sharded.einsum.tensors.back().name;
    if (const auto found = scheme.storage.find(name); found != scheme.storage.end()) {
      program->outputs[name] = found->second;
    }
  }
  const Inputs inputs = testing::random_inputs(scheme_case, seed, training);
  const Expected expected = unsplit(scheme_case, inputs, training);
  const Result<Run> pieces = devices::run(*program, inputs, Timed::in_pieces);
  const Result<Run> whole = devices::run(*program, inputs, Timed::whole);
  if (!pieces) return {outcome.faults + "in pieces: " + message_of(pieces.error()), false, 0};
  if (!whole) return {outcome.faults + "whole: " + message_of(whole.error()), false, 0};
  outcome.faults += value_faults(scheme_case, *program, *pieces, expected, training);
  outcome.faults += value_faults(scheme_case, *program, *whole, expected, training);
  outcome.faults += traffic_faults(*program, *pieces);
  outcome.faults += traffic_faults(*program, *whole);
  outcome.streamed = pieces->streamed > 0;
  outcome.collectives = static_cast<std::int64_t>(pieces->exchanges.size());
  return outcome;
}

}  // namespace einflow::cluster
