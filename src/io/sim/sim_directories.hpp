// SPDX-License-Identifier: BSL-1.0
// Names of directories on simulated disks.
#pragma once

#include <string>
#include <string_view>

namespace beck::detail {

/// Returns the name of the directory at `path`: with one slash at its end; "" for "." and "./".
inline std::string directory_name(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  if (path == ".") return {};
  return path == "/" ? std::string(path) : std::string(path) + '/';
}

}  // namespace beck::detail
