// SPDX-License-Identifier: BSL-1.0
// A directory for the files of one case: a real one on a real kernel, only a name in a simulation.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/conformance.hpp"

namespace beck::test {

class file_place {
 public:
  explicit file_place(backend where) {
    if (where == on_sim) return;
    std::string pattern = (std::filesystem::temp_directory_path() / "beck-files-XXXXXX").string();
    const char* const made = ::mkdtemp(pattern.data());
    REQUIRE(made != nullptr);
    directory_ = pattern + "/";
  }
  ~file_place() {
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }
  file_place(const file_place&) = delete;
  file_place& operator=(const file_place&) = delete;

  std::string path(const char* name) const { return directory_ + name; }

 private:
  std::string directory_;
};

}  // namespace beck::test
