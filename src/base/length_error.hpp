// SPDX-License-Identifier: BSL-1.0
//
// The one way the growing buffers refuse to grow: an error that names the size asked for and the
// limit.
#pragma once

#include <cstddef>

namespace beck::detail {

/// Throws std::length_error: "what: size + more bytes are over the limit of size_max bytes".
[[noreturn, gnu::cold]] void throw_length_error(const char* what, std::size_t size,
                                                std::size_t more, std::size_t size_max);

}  // namespace beck::detail
