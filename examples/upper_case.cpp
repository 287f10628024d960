// SPDX-License-Identifier: BSL-1.0
// A filter: copies standard input, a terminal, a pipe or a file, to standard output in capitals.
//
//   echo hello | upper_case
#include <beck/beck.hpp>
#include <cctype>
#include <cstdio>
#include <exception>

#include <unistd.h>

using beck::posix::stream_descriptor;

namespace {

beck::task<> filter(stream_descriptor& input, stream_descriptor& output) {
  char data[4096];
  for (;;) {
    auto [ec, n] = co_await input.async_read_some(beck::buffer(data));
    if (ec) break;
    for (std::size_t i = 0; i < n; ++i) {
      data[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(data[i])));
    }
    auto written = co_await beck::async_write(output, beck::buffer(data, n));
    if (written.error()) break;  // no reader is left: broken_pipe, and no SIGPIPE
  }
}

}  // namespace

int main() {
  try {
    beck::io_context ctx;
    stream_descriptor input(ctx, ::dup(STDIN_FILENO));
    stream_descriptor output(ctx, ::dup(STDOUT_FILENO));
    beck::co_spawn(ctx, filter(input, output), beck::detached);
    ctx.run();
  } catch (const std::exception& failure) {  // a directory cannot be waited for
    std::fprintf(stderr, "upper_case: %s\n", failure.what());
    return 1;
  }
}
