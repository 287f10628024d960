// SPDX-License-Identifier: BSL-1.0
// Error codes and exceptions, as beck reports them. Codes are std::error_code in both namespaces.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/base/error.hpp>
#include <beck/net/name_error.hpp>

BECK_ASIO_BEGIN

using beck::error_code;
using beck::system_error;
using std::error_category;

namespace error {

using namespace beck::error;

/// Returns the category of basic_errors.
inline const error_category& get_system_category() noexcept { return std::system_category(); }
/// Returns the category of misc_errors.
inline const error_category& get_misc_category() noexcept { return beck::detail::misc_category(); }

}  // namespace error

/// The names of the Networking TS for eof and not_found.
namespace stream_errc = error;

BECK_ASIO_END
