#include <fmt/format.h>

#include "report/scheme_view.hpp"
#include "report/scheme_words.hpp"

namespace einflow {

using namespace cluster;

namespace {

const char* part_name(SchemePart part) {
  switch (part) {
    case SchemePart::forward:
      return "forward";
    case SchemePart::backward:
      return "backward";
    case SchemePart::finish:
      return "finish";
  }
  return "";
}

const char* kind_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "all_reduce";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveKind::all_gather:
      return "all_gather";
    case CollectiveKind::all_to_all:
      return "all_to_all";
    case CollectiveKind::slice:
      return "slice";
    case CollectiveKind::redistribute:
      return "redistribute";
  }
  return "";
}

Json mesh_json(const DeviceMesh& mesh) {
  Json json = Json::object();
  for (const MeshAxis& axis : mesh.axes) json.set(axis.name, Count(axis.size));
  return json;
}

Json placement_json(const SchemeTensor& tensor, const Placement& placement, const DeviceMesh& mesh) {
  Json states = Json::object();
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    states.set(mesh.axes[axis].name, to_text(placement.states[axis]));
  }
  Json json = Json::object();
  json.set("states", std::move(states));
  if (const std::string order = cut_order(placement, mesh); !order.empty()) json.set("order", order);
  const Spelling spelling = spelling_of(tensor.ranks, placement, mesh);
  json.set("dtensor", spelling.dtensor);
  if (!spelling.jax.empty()) json.set("jax", spelling.jax);
  return json;
}

Json tensor_json(const SchemeTensor& tensor, const DeviceMesh& mesh) {
  Json ranks = Json::object();
  for (const Rank& rank : tensor.ranks) ranks.set(rank.name, Count(rank.extent));
  Json computes = Json::array();
  for (const Placement& placement : tensor.computes) computes.push(placement_json(tensor, placement, mesh));
  Json json = Json::object();
  json.set("tensor", tensor.name).set("part", part_name(tensor.part)).set("ranks", std::move(ranks));
  json.set("computes", std::move(computes)).set("rests", placement_json(tensor, tensor.rests, mesh));
  json.set("whole_bytes", tensor.whole_bytes).set("computing_bytes", tensor.computing_bytes);
  json.set("resting_bytes", tensor.resting_bytes);
  if (tensor.in_pieces) json.set("in_pieces", true);
  return json;
}

Json move_json(const SchemeMove& move, const DeviceMesh& mesh) {
  const Collective& collective = move.collective;
  Json json = Json::object();
  json.set("part", part_name(move.part)).set("kind", kind_name(collective.kind));
  json.set("tensor", shown_tensor_name(collective.tensor));
  if (collective.kind != CollectiveKind::redistribute) {
    json.set("axis", mesh.axes[static_cast<std::size_t>(collective.axis)].name);
  }
  json.set("from", to_text(collective.from, mesh)).set("to", to_text(collective.to, mesh));
  if (collective.time) {
    json.set("by", collective.time->rank);
    json.set("delivery", collective.time->delivery == Delivery::shift ? "shift" : "broadcast");
  }
  if (!move.formula.empty()) json.set("formula", move.formula);
  json.set("bytes_per_device", move.bytes).set("bytes", move.total).set("messages", move.messages);
  return json;
}

Json einsum_json(const ShardedEinsum& sharded, const DeviceMesh& mesh) {
  Json par = Json::array();
  for (const ParLoop& loop : sharded.par) {
    par.push(Json::object()
                 .set("rank", loop.rank)
                 .set("axis", loop.axis)
                 .set("ways", Count(mesh.axes[static_cast<std::size_t>(mesh.axis_named(loop.axis))].size)));
  }
  Json json = Json::object();
  json.set("einsum", to_text(sharded.einsum)).set("par", std::move(par));
  if (sharded.time) json.set("time", sharded.time->rank);
  return json;
}

}  // namespace

Json scheme_json(const SchemeFacts& facts) {
  const NamedScheme& named = *facts.named;
  const DeviceMesh& mesh = facts.scheme.mesh;
  Json json = Json::object();
  json.set("format", "einflow-scheme-1").set("scheme", named.name).set("called", Json::array_of(named.synonyms));
  json.set("is", named.sentence).set("split", named.split).set("mesh", mesh_json(mesh));
  json.set("type", facts.scheme.forward.front().einsum.tensors.front().type.name);
  json.set("microbatches", Count(facts.program.microbatches));
  Json einsums = Json::array();
  for (const ShardedEinsum& sharded : facts.scheme.forward) einsums.push(einsum_json(sharded, mesh));
  Json backward = Json::array();
  for (const Step& step : facts.program.backward) {
    if (const auto* const local = std::get_if<LocalEinsum>(&step)) backward.push(einsum_json(local->work, mesh));
  }
  json.set("einsums", std::move(einsums));
  if (named.training) json.set("backward_einsums", std::move(backward));
  Json tensors = Json::array();
  for (const SchemeTensor& tensor : facts.tensors) tensors.push(tensor_json(tensor, mesh));
  Json moves = Json::array();
  for (const SchemeMove& move : facts.moves) moves.push(move_json(move, mesh));
  json.set("tensors", std::move(tensors)).set("collectives", std::move(moves));
  Json bytes = Json::object();
  bytes.set("forward", facts.forward_bytes);
  if (named.training) {
    bytes.set("backward", facts.backward_bytes).set("finish", facts.finish_bytes).set("step", facts.step_bytes);
  }
  json.set("bytes_per_device", std::move(bytes));
  if (named.boundary) {
    json.set("stage_boundary", Json::object()
                                   .set("tensor", named.boundary->tensor)
                                   .set("formula", facts.boundary_text)
                                   .set("bytes_per_microbatch", facts.boundary_bytes));
  }
  if (!facts.schedules.empty()) {
    Json schedules = Json::array();
    for (const SchemeSchedule& schedule : facts.schedules) {
      schedules.push(Json::object()
                         .set("schedule", to_text(schedule.schedule))
                         .set("chunks", Count(schedule.chunks))
                         .set("total", Count(schedule.total))
                         .set("ideal", Count(schedule.ideal))
                         .set("live_microbatches", schedule.live));
    }
    json.set("schedules", std::move(schedules));
  }
  if (!named.notes.empty()) json.set("notes", Json::array_of(named.notes));
  Json questions = Json::array();
  for (const AmbiguousTerm* const term : questions_of(named)) {
    questions.push(Json::object().set("term", term->name).set("ask", term->question));
  }
  json.set("questions", std::move(questions));
  return json;
}

Json term_json(const AmbiguousTerm& term, const SchemeSizes& sizes) {
  Json readings = Json::array();
  for (const auto& [name, who] : term.readings) {
    const NamedScheme& scheme = *find_scheme(name)->scheme;
    Json reading = Json::object();
    reading.set("scheme", name).set("who", who).set("is", scheme.sentence);
    const auto facts = scheme_facts(scheme, sizes_for(scheme, sizes));
    if (!facts) {
      readings.push(reading.set("misfit", facts.error().front().message));
      continue;
    }
    Json bytes = Json::object();
    bytes.set("forward", facts->forward_bytes);
    if (scheme.training) bytes.set("backward", facts->backward_bytes).set("finish", facts->finish_bytes);
    if (scheme.boundary) bytes.set("stage_boundary", facts->boundary_bytes);
    readings.push(reading.set("mesh", mesh_json(facts->scheme.mesh)).set("bytes_per_device", std::move(bytes)));
  }
  Json json = Json::object();
  json.set("format", "einflow-term-1").set("term", term.name).set("called", Json::array_of(term.synonyms));
  return json.set("ask", term.question).set("readings", std::move(readings));
}

Json schemes_json() {
  Json schemes = Json::array();
  for (const NamedScheme& scheme : named_schemes()) {
    schemes.push(Json::object()
                     .set("scheme", scheme.name)
                     .set("called", Json::array_of(scheme.synonyms))
                     .set("is", scheme.sentence)
                     .set("split", scheme.split)
                     .set("mesh", scheme.axes));
  }
  Json terms = Json::array();
  for (const AmbiguousTerm& term : ambiguous_terms()) {
    std::vector<std::string> names;
    for (const auto& [name, who] : term.readings) names.push_back(name);
    terms.push(Json::object().set("term", term.name).set("ask", term.question).set("readings", Json::array_of(names)));
  }
  return Json::object()
      .set("format", "einflow-schemes-1")
      .set("schemes", std::move(schemes))
      .set("terms", std::move(terms));
}

}  // namespace einflow
