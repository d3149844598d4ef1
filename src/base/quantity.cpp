#include "base/quantity.hpp"

#include <fmt/format.h>

#include <array>

#include "base/message.hpp"
#include "base/utf8.hpp"

namespace einflow {
namespace {

struct Unit {
  std::string name;
  Measure measure = Measure::size;
  Ratio scale;
  bool common = false;  // named when a message lists the units allowed
};

struct Prefix {
  std::string_view name;
  int power = 0;  // of 10, or of 2
  bool binary = false;
};

constexpr std::array<Prefix, 12> kPrefixes{{{"", 0, false},
                                            {"k", 3, false},
                                            {"M", 6, false},
                                            {"G", 9, false},
                                            {"T", 12, false},
                                            {"P", 15, false},
                                            {"E", 18, false},
                                            {"Ki", 10, true},
                                            {"Mi", 20, true},
                                            {"Gi", 30, true},
                                            {"Ti", 40, true},
                                            {"Pi", 50, true}}};

Ratio power(int base, int exponent) {
  Count value = 1;
  for (int i = 0; i < exponent; ++i) value *= base;
  return {value};
}

void add_prefixed(std::vector<Unit>& units, std::string_view base, std::string_view per, Measure measure, Ratio scale,
                  bool binary, std::string_view common) {
  for (const Prefix& prefix : kPrefixes) {
    if (prefix.binary && !binary) continue;
    const std::string name = fmt::format("{}{}{}", prefix.name, base, per);
    const bool listed = fmt::format(" {} ", common).find(fmt::format(" {} ", name)) != std::string::npos;
    units.push_back({name, measure, scale * power(prefix.binary ? 2 : 10, prefix.power), listed});
  }
}

/// femto to micro joules, per byte, bit, element ...
void add_energies(std::vector<Unit>& units, std::string_view per, Measure measure, Ratio scale, bool common) {
  constexpr std::array<std::pair<std::string_view, int>, 4> kJoules{{{"fJ", -3}, {"pJ", 0}, {"nJ", 3}, {"uJ", 6}}};
  for (const auto& [joule, exponent] : kJoules) {
    const Ratio factor = exponent < 0 ? Ratio(Count(1), Count(1000)) : power(10, exponent);
    units.push_back({fmt::format("{}{}", joule, per), measure, scale * factor, common && joule == "pJ"});
  }
}

void add_times(std::vector<Unit>& units) {
  constexpr std::array<std::pair<std::string_view, int>, 5> kTimes{
      {{"s", 0}, {"ms", 3}, {"us", 6}, {"ns", 9}, {"ps", 12}}};
  for (const auto& [name, exponent] : kTimes) {
    units.push_back({std::string(name), Measure::seconds, Ratio(Count(1)) / power(10, exponent), name != "ps"});
  }
}

std::vector<Unit> units_for(Measure measure) {
  std::vector<Unit> units;
  const Ratio one(Count(1));
  const Ratio half(Count(1), Count(2));
  const Ratio eighth(Count(1), Count(8));
  switch (measure) {
    case Measure::size:
      add_prefixed(units, "B", "", measure, Ratio(Count(8)), true, "B kB MB GB KiB MiB GiB");
      add_prefixed(units, "bit", "", measure, one, true, "bit");
      break;
    case Measure::frequency:
      add_prefixed(units, "Hz", "", measure, one, false, "Hz kHz MHz GHz");
      break;
    case Measure::bytes_per_cycle:
      add_prefixed(units, "B", "/cycle", measure, one, true, "B/cycle");
      add_prefixed(units, "bit", "/cycle", measure, eighth, true, "bit/cycle");
      break;
    case Measure::bytes_per_second:
      add_prefixed(units, "B", "/s", measure, one, true, "MB/s GB/s TB/s GiB/s");
      add_prefixed(units, "bit", "/s", measure, eighth, true, "Gbit/s");
      break;
    case Measure::picojoules_per_byte:
      add_energies(units, "/B", measure, one, true);
      add_energies(units, "/bit", measure, Ratio(Count(8)), true);
      break;
    case Measure::picojoules_per_element:
      add_energies(units, "/element", measure, one, true);
      break;
    case Measure::picojoules_per_access:
      add_energies(units, "/access", measure, one, true);
      break;
    case Measure::picojoules_per_operation:
      add_energies(units, "", measure, one, true);
      add_energies(units, "/op", measure, one, true);
      add_energies(units, "/MAC", measure, one, false);
      add_energies(units, "/FLOP", measure, Ratio(Count(2)), true);
      break;
    case Measure::operations_per_cycle:
      add_prefixed(units, "op", "/cycle", measure, one, false, "op/cycle");
      add_prefixed(units, "MAC", "/cycle", measure, one, false, "MAC/cycle");
      add_prefixed(units, "FLOP", "/cycle", measure, half, false, "FLOP/cycle");
      break;
    case Measure::operations_per_second:
      add_prefixed(units, "op", "/s", measure, one, false, "Gop/s Top/s");
      add_prefixed(units, "MAC", "/s", measure, one, false, "");
      add_prefixed(units, "FLOP", "/s", measure, half, false, "GFLOP/s TFLOP/s");
      break;
    case Measure::seconds:
      add_times(units);
      break;
  }
  return units;
}

std::vector<Unit> units_for(const std::vector<Measure>& measures) {
  std::vector<Unit> units;
  for (const Measure measure : measures) {
    for (Unit& unit : units_for(measure)) units.push_back(std::move(unit));
  }
  return units;
}

bool is_number_character(std::string_view text, std::size_t at) {
  const char c = text[at];
  if ((c >= '0' && c <= '9') || c == '.') return true;
  if (at == 0) return c == '-' || c == '+';
  const bool exponent = c == 'e' || c == 'E';
  if (exponent) {  // "2e3", but the E of "2EB" begins a unit
    const std::size_t next = at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+') ? at + 2 : at + 1;
    return next < text.size() && text[next] >= '0' && text[next] <= '9';
  }
  return (c == '-' || c == '+') && (text[at - 1] == 'e' || text[at - 1] == 'E');
}

Span part(std::string_view text, std::size_t from, std::size_t length) {
  return {1, code_points(text.substr(0, from)) + 1, std::max(1, code_points(text.substr(from, length)))};
}

}  // namespace

std::string units_of(const std::vector<Measure>& measures) {
  std::vector<std::string> names;
  for (const Unit& unit : units_for(measures)) {
    if (unit.common) names.push_back(unit.name);
  }
  return comma_list(names);
}

Result<Quantity> parse_quantity(std::string_view text, const std::vector<Measure>& measures) {
  std::size_t end = 0;
  while (end < text.size() && is_number_character(text, end)) ++end;
  const std::string_view number = text.substr(0, end);
  const Span number_span = part(text, 0, std::max<std::size_t>(end, 1));
  const std::string allowed = "units: " + units_of(measures);
  if (number.empty()) {
    return fail(fmt::format("found {}, expected a number with its unit", in_quotes(text)), allowed,
                part(text, 0, text.size()));
  }
  if (number[0] == '-') return fail(fmt::format("{} is negative", in_quotes(number)), "", number_span);
  const auto value = parse_decimal(number);
  if (!value) {
    return fail(fmt::format("{} is not a number that can be held exactly", in_quotes(number)), "", number_span);
  }

  std::size_t start = end;
  while (start < text.size() && text[start] == ' ') ++start;
  const std::string_view name = text.substr(start);
  if (name.empty()) return fail(fmt::format("{} has no unit", in_quotes(number)), allowed, number_span);
  std::vector<std::string> names;
  for (const Unit& unit : units_for(measures)) {
    if (unit.name == name) {
      const Ratio scaled = *value * unit.scale;
      if (scaled.overflowed())
        return fail(fmt::format("{} is too large", in_quotes(text)), "", part(text, 0, text.size()));
      return Quantity{scaled, unit.measure};
    }
    names.push_back(unit.name);
  }
  const std::string nearest = nearest_name(name, names);
  return fail(fmt::format("the unit {} is not one that is expected here", in_quotes(name)),
              nearest.empty() ? allowed : fmt::format("did you mean {}? {}", in_quotes(nearest), allowed),
              part(text, start, name.size()));
}

std::optional<Ratio> parse_share(std::string_view text) {
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const auto numerator = parse_count(text.substr(0, slash));
    const auto denominator = parse_count(text.substr(slash + 1));
    if (!numerator || !denominator || *denominator == Count(0)) return std::nullopt;
    return Ratio(*numerator, *denominator);
  }
  const bool percent = !text.empty() && text.back() == '%';
  if (percent) text.remove_suffix(1);
  const auto value = parse_decimal(text);
  if (!value) return std::nullopt;
  return percent ? *value * Ratio(Count(1), Count(100)) : *value;
}

}  // namespace einflow
