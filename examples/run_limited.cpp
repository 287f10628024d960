// SPDX-License-Identifier: BSL-1.0
// Runs a program for at most the given number of seconds and numbers the lines of its output.
// Returns the exit code of that program, or 124 if the time has run out.
//
//   run_limited 5 make -j2
#include <beck/beck.hpp>
#include <beck/io/process.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "number.hpp"

using beck::process;
using beck::readable_pipe;

namespace {

constexpr int time_is_over = 124;
constexpr int not_started = 127;

beck::task<beck::exit_status> watch(process& child, readable_pipe& output) {
  std::string text;
  for (int number = 1;; ++number) {
    auto [ec, n] = co_await beck::async_read_until(output, beck::dynamic_buffer(text), '\n');
    const std::size_t line = ec ? text.size() : n;  // the last line may lack its newline
    if (line != 0) std::printf("%4d  %.*s", number, static_cast<int>(line), text.data());
    if (ec) break;
    text.erase(0, line);
  }
  auto [ec, status] = co_await child.async_wait();
  co_return status;
}

beck::task<int> run(process& child, readable_pipe& output, beck::duration limit) {
  auto [ec, status] = co_await beck::timeout(watch(child, output), limit);
  if (ec) {
    child.terminate();
    beck::ignore(co_await child.async_wait());
    co_return time_is_over;
  }
  if (status.signal() != 0) std::fprintf(stderr, "ended by signal %d\n", status.signal());
  co_return status.signal() != 0 ? 128 + status.signal() : status.code();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fputs("usage: run_limited SECONDS PROGRAM [ARGUMENT...]\n", stderr), 2;
  try {
    const std::chrono::seconds limit(example::number(argv[1]));
    const std::vector<std::string> arguments(argv + 3, argv + argc);
    beck::io_context ctx;
    readable_pipe output(ctx);
    process child(ctx, argv[2], arguments, beck::process_options().out(output).err_to_out());
    int code = 0;
    beck::co_spawn(ctx, run(child, output, limit),
                   [&code](std::exception_ptr, int result) { code = result; });
    ctx.run();
    return code;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return not_started;
  }
}
