#include "notation/placements/placements.hpp"

#include "notation/placements/device_text.hpp"
#include "notation/placements/table.hpp"

namespace einflow {

using placements::Words;

namespace {

/// Whether a line of the text begins with it.
bool has_line(const std::string& text, std::string_view start) {
  for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    if (at == 0 || text[at - 1] == '\n') return true;
  }
  return false;
}

bool is_device_text(const SourceText& source) {
  return source.text.size() <= (std::size_t{1} << 20) && has_line(source.text, "mesh:") &&
         has_line(source.text, "placements:") && has_line(source.text, "problem:");
}

/// What both forms write behind "mesh:".
bool names(const SourceText& source, std::string_view call) { return source.text.find(call) != std::string::npos; }

}  // namespace

bool is_placements(const SourceText& source) {
  return is_device_text(source) && (names(source, "DeviceMesh(") || names(source, "init_device_mesh("));
}

bool is_jax(const SourceText& source) { return is_device_text(source) && !is_placements(source); }

Result<Writing> write_placements(const Document& document) { return placements::write_table(document); }

Result<Document> read_dtensor(const std::vector<SourceText>& sources, const ReadOptions& options) {
  return placements::read_device_text(sources, options, Words::dtensor);
}
Result<Writing> write_dtensor(const Document& document) {
  return placements::write_device_text(document, Words::dtensor);
}
Result<Document> read_jax(const std::vector<SourceText>& sources, const ReadOptions& options) {
  return placements::read_device_text(sources, options, Words::jax);
}
Result<Writing> write_jax(const Document& document) { return placements::write_device_text(document, Words::jax); }

}  // namespace einflow
