// SPDX-License-Identifier: BSL-1.0
// Which commands a cache takes.
#pragma once

#include <string_view>

#include <beck/redis/arguments.hpp>

namespace beck::redis::detail {

/// Returns why the reply to a command is not cached; empty if it is.
std::string_view why_not_cached(const arguments& command) noexcept;

}  // namespace beck::redis::detail
