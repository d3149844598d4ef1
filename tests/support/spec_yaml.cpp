#include "support/spec_yaml.hpp"

#include <stdexcept>

#include "notation/spec_writer.hpp"

namespace einflow::testing {

std::string to_yaml(const Spec& spec) {
  const auto text = spec_text(spec);
  if (!text) throw std::runtime_error(text.error().front().message);
  return *text;
}

}  // namespace einflow::testing
