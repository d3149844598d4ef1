#include "cli/scheme_input.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>

#include "base/message.hpp"

namespace einflow {

namespace {

std::optional<std::int64_t> whole_number(const std::string& text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  const auto count = parse_count(text);
  return count ? count->to_int64() : std::nullopt;
}

/// "spec.yaml", "models/x": nothing that a scheme would be called.
bool looks_like_a_path(const std::string& word) {
  if (word.find('/') != std::string::npos) return true;
  const std::size_t dot = word.rfind('.');
  if (dot == std::string::npos || dot + 2 >= word.size()) return false;
  return std::all_of(word.begin() + static_cast<std::ptrdiff_t>(dot) + 1, word.end(),
                     [](unsigned char c) { return std::isalpha(c) != 0; });
}

bool is_regular_file(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode);
}

Result<std::vector<std::int64_t>> devices_of(const std::string& text) {
  std::vector<std::int64_t> devices;
  if (text.empty()) return devices;
  std::string number;
  for (const char c : text + "x") {
    if (c != 'x' && c != ',') {
      number += c;
      continue;
    }
    const auto value = whole_number(number);
    if (!value || *value < 1) {
      return fail(
          fmt::format("--devices: found {}, expected a number of devices, or one for each axis", in_quotes(text)),
          "for example: --devices 8, --devices 2x4");
    }
    devices.push_back(*value);
    number.clear();
  }
  return devices;
}

}  // namespace

void add_scheme_arguments(CommandArguments& command, SchemeArguments& arguments) {
  command.text("--devices", arguments.devices, "N|NxM", "Of a scheme: devices, or one number for each mesh axis");
  command.number("--microbatches", arguments.microbatches, "N", "Of a scheme: microbatches of a training step");
}

std::optional<std::string> term_of(const SpecArguments& arguments) {
  if (arguments.texts.empty() || !arguments.problem.empty()) return std::nullopt;
  std::string term;
  for (const std::string& text : arguments.texts) {
    if (text == "-" || is_regular_file(text)) return std::nullopt;
    term += (term.empty() ? "" : " ") + text;
  }
  if (term == "schemes" || cluster::find_scheme(term)) return term;
  const bool notation = term.find("->") != std::string::npos || term.find_first_of("[](),=@{}") != std::string::npos;
  if (notation || std::any_of(arguments.texts.begin(), arguments.texts.end(), looks_like_a_path)) return std::nullopt;
  struct stat status{};
  if (arguments.texts.size() == 1 && stat(term.c_str(), &status) == 0) return std::nullopt;
  return term;
}

Result<cluster::SchemeSizes> scheme_sizes(const SpecArguments& spec, const SchemeArguments& scheme) {
  for (const auto& [flag, given] :
       {std::pair{"--on", !spec.machine.empty()}, std::pair{"--from", !spec.from.empty()},
        std::pair{"--layer", !spec.layer.empty()}, std::pair{"--set", !spec.settings.empty()},
        std::pair{"--mapping", !spec.mapping_file.empty()}}) {
    if (given) return fail(fmt::format("{} belongs to a spec, not to a parallel scheme", flag));
  }
  cluster::SchemeSizes sizes;
  auto devices = devices_of(scheme.devices);
  if (!devices) return tl::unexpected(devices.error());
  sizes.devices = std::move(*devices);
  if (scheme.microbatches > 0) sizes.microbatches = static_cast<std::int64_t>(scheme.microbatches);
  for (const std::string& pair : spec.ranks) {
    const std::size_t equals = pair.find('=');
    const auto extent = equals == std::string::npos ? std::nullopt : whole_number(pair.substr(equals + 1));
    if (!extent || equals == 0) {
      return fail(fmt::format("-r: found {}, expected RANK=SIZE", in_quotes(pair)),
                  "for example: -r b=4,s=2048,h=4096");
    }
    if (!sizes.ranks.emplace(pair.substr(0, equals), *extent).second) {
      return fail(fmt::format("-r: {} is given twice", in_quotes(pair.substr(0, equals))));
    }
  }
  for (const std::string& name : spec.types) {
    const auto type = find_element_type(name);
    if (!type)
      return fail(fmt::format("--types: found {}, expected one type for all tensors", in_quotes(name)),
                  "for example: --types fp32");
    sizes.type = *type;
  }
  return sizes;
}

}  // namespace einflow
