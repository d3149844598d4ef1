// FORM/wrong/NAME.ext is a text in that form with errors, NAME.expected what the user sees: every message with its
// place. A folder FORM/wrong/NAME holds a text of several files. With EINFLOW_UPDATE_EXPECTED=1 the messages are
// written down, to be read by eye.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "notation/form.hpp"

namespace einflow {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(EINFLOW_SOURCE_DIR) / "tests" / "notation";

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<SourceText> sources_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {{path.filename(), text_of(path)}};
  std::vector<SourceText> sources;
  for (const auto& entry : fs::directory_iterator(path)) {
    sources.push_back({entry.path().filename(), text_of(entry.path())});
  }
  std::sort(sources.begin(), sources.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return sources;
}

/// "timeloop/wrong/no_problem.yaml", of all forms.
std::vector<std::string> wrong_texts() {
  std::vector<std::string> found;
  for (const auto& form : fs::directory_iterator(kFolder)) {
    const fs::path folder = form.path() / "wrong";
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() != ".expected") found.push_back(fs::relative(entry.path(), kFolder));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

class WrongText : public ::testing::TestWithParam<std::string> {};

TEST_P(WrongText, IsExplained) {
  const fs::path path = kFolder / GetParam();
  const auto form = form_named(path.parent_path().parent_path().filename().string());
  ASSERT_TRUE(form) << "the folder has no form's name";
  ASSERT_NE((*form)->read, nullptr);
  const std::vector<SourceText> sources = sources_of(path);
  const auto document = (*form)->read(sources, ReadOptions{});
  ASSERT_FALSE(document) << "accepted";
  const std::string shown = render_in(document.error(), sources);
  const fs::path expected = fs::path(path).replace_extension(".expected");
  if (std::getenv("EINFLOW_UPDATE_EXPECTED") != nullptr) std::ofstream(expected, std::ios::binary) << shown;
  EXPECT_EQ(shown, text_of(expected));
}

std::string test_name(const ::testing::TestParamInfo<std::string>& instance) {
  std::string name = instance.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Notation, WrongText, ::testing::ValuesIn(wrong_texts()), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WrongText);

}  // namespace
}  // namespace einflow
