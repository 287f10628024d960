// SPDX-License-Identifier: BSL-1.0
//
// Sizes on the command line and in messages: 64K, 1M, 4GiB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace beck_copy {

/// A number with an optional unit: K, M, G, T, P, E and KiB, MiB, ... are powers of 1024, kB, MB,
/// ... powers of 1000, B is bytes; upper or lower case. Throws failure, which names the text and
/// says what is allowed.
std::uint64_t parse_size(std::string_view option, std::string_view text);

/// Returns a text for people: 1.50 GiB; below 1 KiB: 12 bytes.
std::string size_text(std::uint64_t bytes);

/// Returns size_text(), and the exact number where that is rounded: "1.50 GiB (1610612737 bytes)".
std::string exact_size_text(std::uint64_t bytes);

}  // namespace beck_copy
