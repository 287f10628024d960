// SPDX-License-Identifier: BSL-1.0
// A directory with some files for a case: a real one on a real kernel, only names in a simulation.
#pragma once

#include <beck/file/random_access_file.hpp>
#include <filesystem>
#include <initializer_list>
#include <string>

#include "support/file_place.hpp"

namespace beck::test {
using namespace detail;

class file_tree {
 public:
  /// Makes a file for each path; its contents are its path.
  file_tree(io_context& ctx, backend where, std::initializer_list<const char*> paths)
      : place_(where), root_(place_.path("tree")), is_real_(where != on_sim), ctx_(ctx) {
    if (is_real_) std::filesystem::create_directory(root_);
    for (const char* path : paths) add(path);
  }

  void add(const std::string& path) {
    const std::string whole = root_ + "/" + path;
    if (is_real_) {
      std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
    }
    random_access_file file(ctx_, whole, file_object::write_only | file_object::create);
    CHECK(file.write_some_at(0, buffer(path)) == path.size());
  }

  const std::string& root() const noexcept { return root_; }

 private:
  file_place place_;
  std::string root_;
  bool is_real_;
  io_context& ctx_;
};

}  // namespace beck::test
