// SPDX-License-Identifier: BSL-1.0
// A directory for the files of one case: a real one on a real kernel, only a name in a simulation.
#pragma once

#include <optional>
#include <string>

#include "support/conformance.hpp"
#include "support/temporary_folder.hpp"

namespace beck::test {

class file_place {
 public:
  explicit file_place(backend where) {
    if (where != on_sim) folder_.emplace();
  }

  std::string path(const char* name) const { return folder_ ? folder_->path(name) : name; }

 private:
  std::optional<temporary_folder> folder_;
};

}  // namespace beck::test
