// What a text in any notation says, before a command asks for a part of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/count.hpp"
#include "mapping/mapping.hpp"
#include "notation/spec_reader.hpp"

namespace einflow {

/// One operation of a document: what is computed and, where the text says so, on what and in which order.
struct DocumentLayer {
  std::string name;         ///< unique in its document; may be empty where it is the only one
  std::int64_t repeat = 1;  ///< how often it occurs
  Cascade cascade;          ///< at least one einsum
  std::optional<Machine> machine;
  std::optional<Mapping> mapping;   ///< of the cascade's only einsum on `machine`
  std::optional<Count> parameters;  ///< elements of its weights, in one occurrence; absent = the text does not say
};

/// An operation that the text has and einflow has no einsum for.
struct Uncounted {
  std::string name;         ///< as the text names it ("/model/Softmax_3"); may be empty
  std::string operation;    ///< its kind in the text's words ("Softmax")
  std::int64_t repeat = 1;  ///< how many of them
  std::string because;      ///< why it has no einsum
  bool operator==(const Uncounted&) const = default;
};

/// An exact figure of the whole document that is no count of the law ("KV cache", 524288, "B per token").
struct DocumentFigure {
  std::string name;
  Count value;
  std::string unit;
  std::string derivation;  ///< the formula with values put in
};

/// A reader fills it, a writer prints it.
struct Document {
  std::string name;                   ///< of the network or problem; may be empty
  std::vector<DocumentLayer> layers;  ///< in the text's order; empty only where everything is uncounted
  std::vector<Uncounted> uncounted;
  std::vector<DocumentFigure> figures;
  std::vector<std::string> conventions;  ///< how the text's words were taken, where einflow has others or it is silent
  std::vector<std::string> left_out;     ///< what the text says and einflow does not count or keep, each with its place
};

/// A text in another notation, and what it could not say.
struct Writing {
  std::string text;
  std::vector<std::string> left_out;     ///< what the document says and this text does not; no count depends on it
  std::vector<std::string> conventions;  ///< how to read the text, where its notation leaves it open
};

/// What a reader may need beside the text.
struct ReadOptions {
  Library library;
  std::optional<Machine> machine;               ///< from --on, for texts that have none
  std::map<std::string, std::string> ranks;     ///< from -r RANK=SIZE, for texts that leave sizes open
  std::map<std::string, std::string> settings;  ///< from --set KEY=VALUE; a form rejects keys that it does not know
};

/// The document of a spec.
Document document_of(const ReadSpec& read);

/// The layer as a spec: its only einsum (or the one named `part`) with its machine and mapping. Errors: several
/// einsums and no part, no machine. Where the layer has no mapping, `mapping.holds` is empty.
Result<Spec> spec_of(const DocumentLayer& layer, const std::string& part = {});

/// The layer of that name; with an empty name the only one. Errors list the names.
Result<const DocumentLayer*> choose_layer(const Document& document, const std::string& name);

}  // namespace einflow
