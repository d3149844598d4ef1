#include "cli/library_folders.hpp"

#include <cstdlib>
#include <filesystem>

namespace einflow {

Library library_of(const std::vector<std::string>& own_folders) {
  Library library;
  library.folders = own_folders;
  library.folders.emplace_back(".");
  if (const char* listed = std::getenv("EINFLOW_LIBRARY")) {
    std::string folder;
    for (const char* c = listed;; ++c) {
      if (*c != ':' && *c != '\0') {
        folder += *c;
        continue;
      }
      if (!folder.empty()) library.folders.push_back(folder);
      folder.clear();
      if (*c == '\0') break;
    }
  }
  std::error_code failed;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) library.folders.push_back((program.parent_path() / ".." / "share" / "einflow").lexically_normal());
  library.folders.emplace_back(EINFLOW_INSTALL_DATA_DIR);
  library.folders.emplace_back(EINFLOW_DATA_DIR);
  return library;
}

}  // namespace einflow
