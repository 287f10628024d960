// SPDX-License-Identifier: BSL-1.0
// The check that one thread at a time uses an object; empty with NDEBUG.
#include "base/use_check.hpp"

#ifndef NDEBUG

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <sched.h>
#include <unistd.h>

namespace beck::detail {
namespace {

bool is_thread_here(int thread) noexcept { return ::tgkill(::getpid(), thread, 0) == 0; }

[[noreturn, gnu::cold]] void misused(const use_mark& mark, int other, int self, const char* object,
                                     const int* fd, const char* function) noexcept {
  const char* inside = nullptr;  // a thread that has just entered may not have stored it yet
  for (int tries = 0; inside == nullptr && tries < 1000; ++tries) {
    if (tries != 0) ::sched_yield();
    inside = mark.function.load(std::memory_order_relaxed);
  }
  char number[32] = "";
  if (fd != nullptr) std::snprintf(number, sizeof number, " (descriptor %d)", *fd);
  std::fprintf(stderr,
               "beck: a %s%s is used by two threads at once: %s in thread %d while thread %d is in "
               "%s; one object belongs to one thread at a time, or to a strand\n",
               object, number, function, self, other, inside != nullptr ? inside : "a function");
  std::abort();
}

}  // namespace

object_use::object_use(use_mark* mark, const char* object, const int* fd, const char* function,
                       kind how) noexcept
    : mark_(nullptr) {
  if (mark == nullptr || checks_of_thread.exemptions != 0) return;
  const int self = ::gettid();
  const int user = how == kind::beside_others ? -self : self;
  int seen = 0;
  while (!mark->user.compare_exchange_strong(seen, user, std::memory_order_relaxed)) {
    const int other = std::abs(seen);
    if (other == self || (seen < 0 && user < 0)) return;
    if (is_thread_here(other)) misused(*mark, other, self, object, fd, function);
    // That thread does not exist here: this is a child of fork, which takes the mark over.
    if (mark->user.compare_exchange_strong(seen, user, std::memory_order_relaxed)) break;
    seen = 0;
  }
  mark->function.store(function, std::memory_order_relaxed);
  mark_ = mark;
}

void object_use::leave() noexcept {
  if (mark_ == nullptr) return;
  mark_->function.store(nullptr, std::memory_order_relaxed);
  mark_->user.store(0, std::memory_order_relaxed);
  mark_ = nullptr;
}

}  // namespace beck::detail

#endif
