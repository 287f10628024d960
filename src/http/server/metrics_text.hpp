// SPDX-License-Identifier: BSL-1.0
// Parts of Prometheus' text format.
#pragma once

#include <string>
#include <string_view>

namespace beck::http::detail {

/// Appends the HELP and the TYPE of a family of samples (metrics.cpp).
void begin_family(std::string& to, std::string_view name, std::string_view help,
                  std::string_view type);

}  // namespace beck::http::detail
