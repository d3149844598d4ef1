// The lines above a nest that state its problem: `einsum: ...`, `ranks: m = 64, n = 32`, `types: X int8, Y int32`.
#pragma once

#include <string_view>

#include "notation/loops/nest_text.hpp"

namespace einflow::loops {

/// Reads `KEY: VALUE` into the header; `span` is the value's place.
void read_header_line(const NestWord& key, std::string_view value, const Span& span, WrittenHeader& header,
                      Diagnostics& errors);

/// Gives the einsum its name, types, stored sizes and executed share. Tensors without a stated type are bf16, which is
/// a convention.
void apply_header(const WrittenHeader& header, Einsum& einsum, std::vector<std::string>& conventions,
                  Diagnostics& errors);

}  // namespace einflow::loops
