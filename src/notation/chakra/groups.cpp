#include "notation/chakra/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/count.hpp"
#include "base/utf8.hpp"
#include "base/yaml.hpp"
#include "notation/chakra/trace_check.hpp"

namespace einflow::chakra {

namespace {

YamlOptions json_options() {
  YamlOptions options;
  options.maximum_bytes = std::size_t{64} << 20;
  options.maximum_values = 4'000'000;
  return options;
}

std::optional<std::int64_t> device_of(const YamlNode& node) {
  const auto count = node.is_scalar() && !node.quoted ? parse_count(node.text) : std::nullopt;
  return count ? count->to_int64() : std::nullopt;
}

}  // namespace

std::string groups_text(const CommGroups& groups) {
  std::vector<std::string> names;
  for (const auto& [name, devices] : groups) names.push_back(name);
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  std::string text = "{";
  for (const std::string& name : names) {
    text +=
        fmt::format("{}\n  {}: [{}]", text.size() > 1 ? "," : "", json_quoted(name), fmt::join(groups.at(name), ", "));
  }
  return text + "\n}\n";
}

Result<CommGroups> read_groups(const std::string& text) {
  const auto root = parse_yaml(text, json_options());
  if (!root) return tl::unexpected(root.error());
  if (!root->is_map())
    return fail("groups are an object of lists of devices, found " + describe(*root), {}, root->span);
  CommGroups groups;
  for (const YamlEntry& entry : root->entries) {
    if (!is_group_name(entry.key.text)) {
      return fail(fmt::format("the group {} is no whole number above 0", describe(entry.key)),
                  "ASTRA-sim reads names of groups as numbers, and 0 is all devices", entry.key.span);
    }
    if (!entry.value.is_list()) {
      return fail("a group is a list of devices, found " + describe(entry.value), {}, entry.value.span);
    }
    std::set<std::int64_t> seen;
    for (const YamlNode& item : entry.value.items) {
      const auto device = device_of(item);
      if (!device) return fail("a device is a whole number, found " + describe(item), {}, item.span);
      if (!seen.insert(*device).second) {
        return fail(fmt::format("the device {} is in the group {} twice", *device, entry.key.text), {}, item.span);
      }
      groups[entry.key.text].push_back(*device);
    }
    groups.try_emplace(entry.key.text);
  }
  return groups;
}

}  // namespace einflow::chakra
