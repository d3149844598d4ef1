// SCALE-Sim's array as a machine, and a matrix product on it as a nest.
//
// Rows and columns of the array take one rank each, the third streams, and the tensor without it stays in the cells
// (SCALE-Sim v3, scalesim/topology_utils.py, calc_spatio_temporal_params; ISPASS 2020, table 2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mapping/mapping.hpp"

namespace einflow::scalesim {

/// Which operand stays in the cells: outputs, weights (filters) or inputs (ifmap).
enum class Dataflow { output_stationary, weight_stationary, input_stationary };

/// "os", "ws", "is"; nothing for other words.
std::optional<Dataflow> dataflow_named(std::string_view word);
std::string_view name_of(Dataflow dataflow);

struct Array {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  Dataflow dataflow = Dataflow::output_stationary;
  SystolicTiming timing = SystolicTiming::last_operation;
};

/// Storage SRAM, mesh `array` of rows x cols, storage Reg in each cell, a MAC. Nothing outside the SRAM: what it takes
/// from DRAM depends on SCALE-Sim's prefetching.
Machine machine_of(const Array& array);

/// The nest of Y[m,n] += X[m,k] * W[k,n] (problem/constructors.hpp, matmul) on that machine: folds, then the array,
/// then the stream.
Mapping mapping_of(const Array& array, const Einsum& product);

}  // namespace einflow::scalesim
