// SPDX-License-Identifier: BSL-1.0
//
// The name and the description are the C library's.
#include "common/errno_text.hpp"

#include <fmt/format.h>

#include <cstring>

namespace beck_apps {

std::string errno_text(const std::string& what, int error) {
  const char* const name = ::strerrorname_np(error);
  const char* const text = ::strerrordesc_np(error);
  return fmt::format("{}: {} ({})", what, text != nullptr ? text : "?",
                     name != nullptr ? name : std::to_string(error));
}

}  // namespace beck_apps
