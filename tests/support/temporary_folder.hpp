// SPDX-License-Identifier: BSL-1.0
// A folder for temporary files.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace beck::test {

/// Made in `parent` by the constructor, which throws std::system_error; removed with all files in
/// it by the destructor.
class temporary_folder {
 public:
  explicit temporary_folder(std::filesystem::path parent = std::filesystem::temp_directory_path())
      : path_((parent / "beck-test-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "make the folder " + path_);
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  const std::string& path() const noexcept { return path_; }
  /// Returns the path of a file in the folder.
  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

}  // namespace beck::test
