// SPDX-License-Identifier: BSL-1.0
// Child processes for cases: the output of a process, its end, a process that waits, and whether a
// process was collected.
#pragma once

#include <string>

#include <sys/wait.h>

#include <doctest/doctest.h>
#include <beck/io/process.hpp>
#include <beck/io/read_write.hpp>

#include "support/outcome.hpp"

namespace beck::test {

struct ending {
  int calls = 0;
  error_code ec;
  exit_status status;
};

inline auto note_end(ending& of) {
  return [&of](error_code ec, exit_status status) {
    ++of.calls;
    of.ec = ec;
    of.status = status;
  };
}

inline exit_status end_of(io_context& ctx, process& child) {
  ending end;
  child.async_wait(note_end(end));
  run_all(ctx);
  CHECK(end.calls == 1);
  CHECK_FALSE(end.ec);
  return end.status;
}

/// Returns all bytes that come out of a pipe.
inline std::string all_of(io_context& ctx, readable_pipe& from) {
  std::string text(100'000, '\0');
  outcome read;
  async_read(from, buffer(text), note(read));
  run_all(ctx);
  CHECK(read.ended_with(error::eof));
  text.resize(read.bytes);
  return text;
}

/// Returns the text that a shell with `script` writes to its standard output.
inline std::string output_of(io_context& ctx, const std::string& script,
                             process_options how = process_options()) {
  readable_pipe from(ctx);
  process child(ctx, "/bin/sh", {"-c", script}, how.out(from));
  const std::string text = all_of(ctx, from);
  CHECK(end_of(ctx, child).success());
  return text;
}

/// Returns whether nothing is left of a child of this process, not even a zombie.
inline bool is_collected(int id) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(id), &info, WEXITED | WNOHANG | WNOWAIT) != 0;
}

/// Makes process objects, which collect abandoned children, until the child `id` has been
/// collected; returns false if it never was.
inline bool is_collected_by_the_way(io_context& ctx, int id) {
  for (int i = 0; i < 10'000; ++i) {
    if (is_collected(id)) return true;
    process next(ctx, "true");
    next.wait();
  }
  return false;
}

/// A process that runs until its input ends.
struct waiting_child {
  explicit waiting_child(io_context& ctx)
      : input(ctx), child(ctx, "cat", {}, process_options().in(input).out(nullptr)) {}
  writable_pipe input;
  process child;
};

}  // namespace beck::test
