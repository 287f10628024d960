// SPDX-License-Identifier: BSL-1.0
// Names for the arguments of handlers in std::bind.
#pragma once

#include <functional>

#include <beck/asio/config.hpp>

BECK_ASIO_BEGIN

namespace placeholders {

inline constexpr auto& error = std::placeholders::_1;
inline constexpr auto& bytes_transferred = std::placeholders::_2;
inline constexpr auto& endpoint = std::placeholders::_2;
inline constexpr auto& results = std::placeholders::_2;
inline constexpr auto& signal_number = std::placeholders::_2;

}  // namespace placeholders

BECK_ASIO_END
