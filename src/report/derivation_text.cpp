#include "report/derivation_text.hpp"

#include <fmt/format.h>

#include "mapping/stationarity.hpp"

namespace einflow {

namespace {

std::string roles_text(const Spec& spec, int tensor, int hold, const TextStyle& style) {
  std::string out;
  for (const LoopRole& role : loop_roles(spec, tensor, hold)) {
    const Loop& loop = spec.mapping.loops[static_cast<std::size_t>(role.loop)];
    out += wrapped(fmt::format("{}, {} trips: {}", to_text(loop, spec.einsum, spec.machine), grouped(Count(loop.trips)),
                               to_text(role.role)),
                   style.width, "    ", "      ");
  }
  return out;
}

std::string value_text(Count value) { return grouped(value); }
std::string value_text(const Ratio& value) { return grouped(value); }
std::string value_text(double value) { return fmt::format("{}", value); }

}  // namespace

std::string derivations_text(const Spec& spec, const std::vector<Derivation>& derivations,
                             const std::vector<LevelDerivation>& levels, const TextStyle& style) {
  std::string out = section("Derivations", style);
  int tensor = -1;
  int hold = -1;
  for (const Derivation& derivation : derivations) {
    if (derivation.tensor != tensor || derivation.hold != hold) {
      tensor = derivation.tensor;
      hold = derivation.hold;
      const std::vector<Hold>& holds = spec.mapping.holds[static_cast<std::size_t>(tensor)];
      std::string title = fmt::format("{} at {}", spec.einsum.tensors[static_cast<std::size_t>(tensor)].name,
                                      spec.machine.level_name(holds[static_cast<std::size_t>(hold)].level));
      if (hold > 0) {
        title += ", parent " + spec.machine.level_name(holds[static_cast<std::size_t>(hold) - 1].level);
      }
      out += wrapped(title, style.width, "  ", "    ") + roles_text(spec, tensor, hold, style);
    }
    out +=
        wrapped(fmt::format("{} = {}", derivation.quantity, grouped(derivation.value)), style.width, "    ", "      ");
    if (derivation.formula != derivation.value.str()) {
      out += wrapped("= " + derivation.symbolic, style.width, "      ", "        ");
      out += wrapped("= " + derivation.formula, style.width, "      ", "        ");
    }
    if (!derivation.meaning.empty()) out += wrapped(derivation.meaning, style.width, "      ", "      ");
  }
  std::string level;
  for (const LevelDerivation& derivation : levels) {
    if (derivation.level != level) {
      level = derivation.level;
      out += wrapped(level, style.width, "  ", "    ");
    }
    const std::string value = std::visit([](const auto& v) { return value_text(v); }, derivation.value);
    out += wrapped(fmt::format("{} = {}", derivation.quantity, value), style.width, "    ", "      ");
    if (derivation.symbolic != derivation.quantity && derivation.formula != derivation.symbolic) {
      out += wrapped("= " + derivation.symbolic, style.width, "      ", "        ");
      out += wrapped("= " + derivation.formula, style.width, "      ", "        ");
    }
  }
  return out;
}

}  // namespace einflow
