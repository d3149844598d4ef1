// A parallel scheme by name, for `explain`: loops, states, what moves, memory, other people's words.
#pragma once

#include <string>
#include <vector>

#include "cluster/schemes.hpp"
#include "report/json.hpp"
#include "report/layout.hpp"
#include "report/scheme_facts.hpp"

namespace einflow {

std::string scheme_text(const SchemeFacts& facts, const TextStyle& style);
/// "einflow-scheme-1".
Json scheme_json(const SchemeFacts& facts);

/// A term with several readings: the question, and what each reading moves with these sizes where they fit it.
std::string term_text(const cluster::AmbiguousTerm& term, const cluster::SchemeSizes& sizes, const TextStyle& style);
/// "einflow-term-1".
Json term_json(const cluster::AmbiguousTerm& term, const cluster::SchemeSizes& sizes);

/// All schemes and terms.
std::string schemes_text(const TextStyle& style);
/// "einflow-schemes-1".
Json schemes_json();

}  // namespace einflow
