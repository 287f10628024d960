// SPDX-License-Identifier: BSL-1.0
// Contexts in a process that has no descriptors left (U13): each descriptor that a backend needs is
// refused once, in a child process, so that the limit harms no other case.
#include <beck/io/io_context.hpp>
#include <beck/io/read_write.hpp>

#include <cerrno>
#include <cstdlib>
#include <ostream>
#include <string>
#include <system_error>

#include "base/sanitizers.hpp"
#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/no_descriptors.hpp"
#include "support/open_descriptors.hpp"
#include "support/outcome.hpp"

using beck::test::no_descriptors;
using beck::test::note;
using beck::test::outcome;
using beck::test::said_by_child;

namespace {

constexpr int descriptors_max = 8;  // no backend needs so many

struct attempt {
  bool made = false;
  std::string words;  // what was wrong with the refusal, or ""
};

/// Makes a context where `left` descriptors are left.
attempt make_with(int left, beck::backend which) {
  const no_descriptors nothing_left(left);
  const std::string limit = std::to_string(no_descriptors::limit());
  try {
    const beck::io_context ctx({.backend = which});
    return {true, {}};
  } catch (const beck::io_error& refused) {
    const std::string what = refused.what();
    const auto names = [&what](const std::string& part) {
      return what.find(part) != std::string::npos;
    };
    const bool call = names("io_uring_setup") || names("epoll_create1") || names("eventfd");
    const bool reason = names(std::generic_category().message(EMFILE));
    const bool value = which != beck::backend::io_uring || names("limit " + limit);
    if (refused.code() == beck::error::no_descriptors && call && reason && value) return {};
    return {false, "unclear: " + std::to_string(refused.code().value()) + ' ' + what + '\n'};
  }
}

bool works(beck::io_context& ctx) {
  beck::test::local_connection c(ctx);
  char got[2] = {};
  outcome received;
  outcome sent;
  async_read(c.a, beck::buffer(got), note(received));
  async_write(c.b, beck::buffer("ok", 2), note(sent));
  ctx.run();
  return received.ok() && sent.ok();
}

/// "<how often it was refused>", and everything that was wrong.
std::string refusals(beck::backend which) {
  std::string said;
  const auto before = beck::test::open_descriptors();
  int left = 0;
  for (; left < descriptors_max; ++left) {
    const attempt one = make_with(left, which);
    said += one.words;
    if (beck::test::open_descriptors() != before) said += "a descriptor is left behind\n";
    if (one.made) break;
  }
  beck::io_context ctx({.backend = which});
  if (!works(ctx)) said += "does not work afterwards\n";
  return std::to_string(left) + ' ' + said;
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel,
               "U13: without descriptors a context is an error that names the call, and is made "
               "once there are some") {
  // Where the parent has run virtual threads, the child never hears of its own descriptors.
  if (beck::detail::thread_sanitizer) SKIP_CASE("ThreadSanitizer loses events of a child of fork");
  // Two each: the ring or the poll set, and what wakes it.
  CHECK(said_by_child([where] { return refusals(where); }) == "2 ");
}

CONFORMANCE_ON(beck::test::kernel,
               "U13: automatic without descriptors is an error too, and leaves nothing behind") {
  if (beck::detail::thread_sanitizer) SKIP_CASE("ThreadSanitizer loses events of a child of fork");
  const std::string said = said_by_child([] {
    ::unsetenv("BECK_BACKEND");
    return refusals(beck::backend::automatic);
  });
  CHECK(said == "2 ");
}
