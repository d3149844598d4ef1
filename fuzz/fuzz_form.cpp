// Any bytes as a text in the form that EINFLOW_FORM names: a document or messages, never a crash; what the form writes
// of a document it reads again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "expect.hpp"
#include "notation/form.hpp"

using namespace einflow;

namespace {

const Form& chosen_form() {
  const char* const name = std::getenv("EINFLOW_FORM");
  expect(name != nullptr, "EINFLOW_FORM names a form");
  const auto form = form_named(name);
  expect(form.has_value() && (*form)->read != nullptr, "EINFLOW_FORM names a form that is read");
  return **form;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Form& form = chosen_form();
  const SourceText source{"fuzz", std::string(reinterpret_cast<const char*>(data), size)};
  const auto document = form.read({source}, ReadOptions{});
  if (!document) {
    expect_explained(document.error(), source);
    return 0;
  }
  for (const Form& recognised : forms()) {
    if (recognised.recognises != nullptr) recognised.recognises(source);
  }
  if (form.write == nullptr) return 0;
  const auto writing = form.write(*document);
  if (!writing) {
    expect_explained(writing.error(), source);
    return 0;
  }
  const SourceText written{"written", writing->text};
  const auto again = form.read({written}, ReadOptions{});
  if (!again) std::fprintf(stderr, "%s\n%s", writing->text.c_str(), render(again.error(), written).c_str());
  expect(again.has_value(), "what a form writes it reads");
  return 0;
}
