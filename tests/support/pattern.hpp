// SPDX-License-Identifier: BSL-1.0
// Text for transfers.
#pragma once

#include <cstddef>
#include <string>

namespace beck::test {

/// Returns `bytes` printable characters, each other than its neighbours, of a text that repeats
/// after 91: pieces of any power of two that are lost, repeated or exchanged are seen. Begins at
/// character `first`.
std::string pattern(std::size_t bytes, std::size_t first = 0);

}  // namespace beck::test
