// SPDX-License-Identifier: BSL-1.0
// Reads a stream of TLS to its end.
#pragma once

#include <cstddef>
#include <string>

#include <beck/coro/task.hpp>
#include <beck/tls/stream.hpp>

namespace beck::tls::test {

/// Appends to `text` what comes, up to `piece` bytes at a time, until the error `end`.
inline task<> read_all(stream& from, std::string& text, error_code& end, std::size_t piece = 1000) {
  std::string part(piece, ' ');
  while (!end) {
    auto got = co_await from.async_read_some(beck::buffer(part));
    text.append(part, 0, got.value_);
    end = got.error();
  }
}

}  // namespace beck::tls::test
