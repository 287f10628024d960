// SPDX-License-Identifier: BSL-1.0
// reports_error: the results that have the error of their completion inside, such as a reply of a
// Redis server. An await returns them whole.
#pragma once

#include <beck/base/error.hpp>
#include <concepts>

namespace beck::detail {

template <class R>
concept reports_error = requires(const R& result) {
  { result.error() } -> std::convertible_to<error_code>;
};

}  // namespace beck::detail
