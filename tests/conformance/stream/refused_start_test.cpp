// SPDX-License-Identifier: BSL-1.0
// Operations that cannot even be started (S18), one behind the other in their direction: each ends
// with the error, and the stack does not grow with their number (K3).
#include <beck/io/read_until.hpp>
#include <beck/io/read_write.hpp>

#include <cerrno>
#include <string>

#include <sys/syscall.h>
#include <unistd.h>

#include "base/sanitizers.hpp"
#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/outcome.hpp"
#include "support/refused_call.hpp"
#include "support/small_stack.hpp"

using beck::buffer;
using beck::error_code;
using beck::test::note;
using beck::test::outcome;
using beck::test::refuse_call;
using beck::test::said_by_child;
namespace error = beck::error;

namespace {

constexpr int operations = 50'000;
constexpr unsigned seconds_max = 20;  // of a child that hangs

/// Reads that wait behind one in steps; when its second step finds nothing none can wait for
/// the kernel.
std::string read_unwatched() {
  ::alarm(seconds_max);
  beck::io_context ctx(context_options());
  beck::test::local_connection c(ctx);
  std::string got;
  char more[1];
  outcome line;
  int ended = 0;
  c.b.write_some(buffer("x", 1));
  async_read_until(c.a, beck::dynamic_buffer(got), '\n', note(line));
  for (int i = 0; i < operations; ++i) {
    c.a.async_read_some(buffer(more), [&ended](const error_code& ec, std::size_t) {
      if (ec == error::no_permission) ++ended;
    });
  }
  beck::test::on_stack(beck::test::stack_sizes[1], [&] {
    if (refuse_call(__NR_epoll_ctl, EPERM)) ctx.run();
  });
  if (!line.ended_with(error::no_permission) || got != "x") return "wrong result";
  return std::to_string(ended) + " ended";
}

}  // namespace

CONFORMANCE_ON(beck::test::epoll,
               "S18, K3: any number of reads that cannot be watched end with the error") {
  if (beck::detail::thread_sanitizer)
    SKIP_CASE("ThreadSanitizer ends a child that seccomp restricts");
  CHECK(said_by_child([] { return read_unwatched(); }) == std::to_string(operations) + " ended");
}
