// SPDX-License-Identifier: BSL-1.0
// Tasks that never end by themselves: they keep a context busy until they are stopped.
#pragma once

#include <beck/coro/task.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/io/read_write.hpp>

#include <array>

#include "support/stream_pair.hpp"

namespace beck::test {

/// Sends one byte to and fro through the pair, without end.
inline task<> bounce(stream_pair& pair) {
  char byte = 'x';
  for (;;) {
    const auto sent = co_await async_write(pair.a, buffer(&byte, 1));
    if (sent.error()) co_return;
    const auto got = co_await async_read(pair.b, buffer(&byte, 1));
    if (got.error()) co_return;
  }
}

/// Opens a file and reads its beginning, without end.
inline task<> read_files(io_context& ctx) {
  std::array<char, 4096> space;
  for (;;) {
    random_access_file file(ctx);
    const auto opened = co_await file.async_open("/proc/self/exe", random_access_file::read_only);
    if (opened.error()) co_return;
    const auto got = co_await file.async_read_some_at(0, buffer(space));
    if (got.error()) co_return;
  }
}

}  // namespace beck::test
