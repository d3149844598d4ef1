#include "notation/loops/stationary_claim.hpp"

#include <fmt/format.h>

#include "base/message.hpp"

namespace einflow::loops {

std::string wrong_stationary_claim(const Comment& comment, const RankedNest& ranked, const NestText& text,
                                   std::size_t loop) {
  constexpr std::string_view kWord = "stationary";
  const std::size_t end = comment.text.find(kWord);
  if (end == std::string_view::npos) return {};
  std::string_view names = comment.text.substr(0, end);
  const int rank = ranked.rank[loop];
  while (!names.empty()) {
    const std::size_t begin = names.find_first_not_of(" ,\t");
    if (begin == std::string_view::npos) break;
    const std::size_t length = std::min(names.find_first_of(" ,\t", begin), names.size()) - begin;
    const std::string name(names.substr(begin, length));
    names.remove_prefix(begin + length);
    const int tensor = ranked.einsum.tensor_named(name);
    if (tensor < 0) {
      if (name == "and") continue;
      return {};
    }
    if (ranked.trips[loop] > 1 && ranked.einsum.has_rank(tensor, rank)) {
      return fmt::format("line {}: {} says that {} is stationary, but the loop over {} moves it", comment.span.line,
                         in_quotes(comment.text), name, text.loops[loop].variable);
    }
  }
  return {};
}

}  // namespace einflow::loops
