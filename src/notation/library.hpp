// Machines, clusters, models and problems by name, from the library's folders (and from texts of the same form).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "cluster/cluster.hpp"
#include "cluster/model.hpp"
#include "machine/machine.hpp"
#include "notation/spec_reader.hpp"
#include "problem/einsum.hpp"

namespace einflow {

/// One entry of a problem file: an operation of a network.
struct Layer {
  std::string name;
  std::int64_t repeat = 1;                        ///< how often it occurs in the network
  Cascade cascade;                                ///< usually one einsum
  std::vector<std::vector<std::string>> untyped;  ///< per einsum, the tensors whose type was not stated (bf16)
};

struct ProblemFile {
  std::string name;
  std::string source;
  std::vector<std::string> notes;
  std::vector<Layer> layers;
};

/// A machine and what was assumed where its text is silent.
struct ReadMachine {
  Machine machine;
  std::vector<std::string> conventions;
};

/// Reads the text of a machine file. Errors carry the source's name.
Result<ReadMachine> read_machine_text(const SourceText& source);
/// Reads the text of a problem file.
Result<ProblemFile> read_problem_text(const SourceText& source);

/// machines/NAME.yaml of the first folder that has it. An unknown name is an error with the nearest valid ones, a
/// cluster's name one that tells its device.
Result<ReadMachine> machine_named(const std::string& name, const Library& library);
/// Likewise a cluster: a file of machines/ with the key `networks`.
Result<cluster::Cluster> cluster_named(const std::string& name, const Library& library);
/// models/NAME.yaml likewise.
Result<cluster::Transformer> model_named(const std::string& name, const Library& library);
/// problems/NAME.yaml likewise.
Result<ProblemFile> problem_named(const std::string& name, const Library& library);

/// An einsum chosen from a problem file.
struct ChosenProblem {
  Einsum einsum;
  std::vector<std::string> untyped;
  std::vector<std::string> conventions;
};
/// By "FILE", "FILE/LAYER" or "FILE/LAYER/PART"; what may be left out must be unambiguous.
Result<ChosenProblem> choose_problem(const std::string& path, const Library& library);

/// Names of all machines, clusters, models or problems, sorted, each once. A file of machines/ that cannot be read as
/// YAML counts as a machine.
std::vector<std::string> machine_names(const Library& library);
std::vector<std::string> cluster_names(const Library& library);
std::vector<std::string> model_names(const Library& library);
std::vector<std::string> problem_names(const Library& library);

}  // namespace einflow
