// wrong_specs/NAME.yaml is a spec with errors, NAME.expected what the user sees: every message with its place.
// library/ there is the library that they are read with.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "notation/spec_reader.hpp"

namespace einflow {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(EINFLOW_SOURCE_DIR) / "tests" / "notation" / "wrong_specs";

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".yaml") found.push_back(entry.path().stem().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

class WrongSpec : public ::testing::TestWithParam<std::string> {};

TEST_P(WrongSpec, IsExplained) {
  const std::string& name = GetParam();
  const SourceText source{name + ".yaml", text_of(kFolder / (name + ".yaml"))};
  const auto spec = read_spec(source, Library{{kFolder / "library"}});
  ASSERT_FALSE(spec) << "accepted";
  EXPECT_EQ(render(spec.error(), source), text_of(kFolder / (name + ".expected")));
}

INSTANTIATE_TEST_SUITE_P(Notation, WrongSpec, ::testing::ValuesIn(names()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace einflow
