// The parallel schemes that have names: each is `par` loops and storage states, made for given sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/scheme.hpp"

namespace einflow::cluster {

/// What a user gives of the sizes; the rest has defaults.
struct SchemeSizes {
  /// One number for all devices, or one for each axis of the scheme's mesh; empty = as the scheme has them.
  std::vector<std::int64_t> devices;
  /// Extents by rank; beside those, a = heads (g x u).
  std::map<std::string, std::int64_t> ranks;
  ElementType type;
  std::optional<std::int64_t> microbatches;
};

/// The sizes as a builder asks for them; knows which were asked for.
class SizeReader {
 public:
  explicit SizeReader(const SchemeSizes& given) : given_(given) {}

  /// The extent that was given, else the scheme's own default, else the usual one of the rank: b 4, s 8, t = s, h 64,
  /// f 256, k = h, n = f, m = b s, a 8, g 4 (KV heads), u = a / g, d = h / a, v 512, e 8, c 4, l 8.
  std::int64_t size(const std::string& rank);
  /// The scheme's own default of a rank.
  void by_default(const std::string& rank, std::int64_t size) { defaults_[rank] = size; }
  const SchemeSizes& given() const { return given_; }
  std::int64_t microbatches(std::int64_t otherwise = 1) const { return given_.microbatches.value_or(otherwise); }
  /// A rank that was given and not asked for.
  std::optional<std::string> unused() const;
  /// Names that were asked for.
  std::vector<std::string> names() const { return {asked_.begin(), asked_.end()}; }

 private:
  const SchemeSizes& given_;
  std::map<std::string, std::int64_t> defaults_;
  std::set<std::string> asked_;
};

/// Layers on devices one behind the other: what is sent from a stage to the next, which no einsum says.
struct StageBoundary {
  std::string axis;
  std::string tensor;  ///< a stage's output
  std::string rank;    ///< of layers
};

struct NamedScheme {
  std::string name;                   ///< "column"
  std::vector<std::string> synonyms;  ///< what other people call it
  std::string sentence;               ///< what it is
  std::string split;                  ///< which rank of which tensor
  std::string axes;                   ///< the mesh: "tp", "i x j"
  bool training = true;               ///< false: of inference only, has no backward
  std::vector<std::string> notes;     ///< what the einsums leave out or who does it otherwise
  std::optional<StageBoundary> boundary;
  std::function<Result<Scheme>(SizeReader&)> build;
};

/// All of them, in an order to read.
const std::vector<NamedScheme>& named_schemes();

/// A name under which people mean different schemes, and what to ask them.
struct AmbiguousTerm {
  std::string name;
  std::vector<std::string> synonyms;
  std::string question;
  std::vector<std::pair<std::string, std::string>> readings;  ///< scheme, and who means it
};
const std::vector<AmbiguousTerm>& ambiguous_terms();

/// What a text names: one of the two is set.
struct SchemeTerm {
  const NamedScheme* scheme = nullptr;
  const AmbiguousTerm* ambiguous = nullptr;
};

/// Case, spaces, hyphens and words such as "parallelism" make no difference. Error: the nearest names.
Result<SchemeTerm> find_scheme(std::string_view text);

/// The ambiguous terms among whose readings the scheme is.
std::vector<const AmbiguousTerm*> questions_of(const NamedScheme& scheme);

/// The sizes without ranks that the scheme lacks.
SchemeSizes sizes_for(const NamedScheme& scheme, SchemeSizes sizes);

/// The scheme for these sizes. Errors: sizes that its mesh or its ranks cannot have, ranks that it lacks.
Result<Scheme> build_scheme(const NamedScheme& scheme, const SchemeSizes& sizes);

}  // namespace einflow::cluster
