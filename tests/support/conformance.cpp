// SPDX-License-Identifier: BSL-1.0
// Decides where a conformance case runs. A ring that the kernel refuses is a failure, unless
// BECK_BACKEND=epoll says that the run is meant for epoll.
#include "support/conformance.hpp"

#include <cstdlib>
#include <string_view>

namespace beck::test {
namespace {

backend running = automatic;

unsigned mask_of(backend where) {
  if (where == on_uring) return uring;
  return where == on_epoll ? epoll : sim;
}

}  // namespace

bool uring_is_switched_off() {
  const char* wanted = std::getenv("BECK_BACKEND");
  return wanted != nullptr && std::string_view(wanted) == "epoll";
}

backend current_backend() { return running; }

void run_conformance(void (*body)(backend), backend where, unsigned mask) {
  mark_conformance();
  if ((mask & mask_of(where)) == 0) return mark_skipped("does not apply to this backend");
  if (where == on_uring && uring_is_switched_off()) return mark_skipped("BECK_BACKEND=epoll");
  struct restore {
    ~restore() { running = automatic; }
  } at_end;
  running = where;
  body(where);
}

}  // namespace beck::test
