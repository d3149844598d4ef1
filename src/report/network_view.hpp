// A document as a network: its layers with their work and weights, totals, figures, and what is not counted.
#pragma once

#include <string>
#include <string_view>

#include "notation/document.hpp"
#include "report/json.hpp"
#include "report/layout.hpp"

namespace einflow {

/// "einflow-network-1"; `form` is the notation that the document was read from.
Json network_json(const Document& document, std::string_view form);
std::string network_text(const Document& document, std::string_view form, const TextStyle& style);

}  // namespace einflow
