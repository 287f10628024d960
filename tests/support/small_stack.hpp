// SPDX-License-Identifier: BSL-1.0
// Runs code on a thread with a stack of a given size, which overflows if the code's use of stack
// grows with the number of steps.
#pragma once

#include <doctest/doctest.h>
#include <pthread.h>

#include <cstddef>
#include <exception>

namespace beck::test {
using namespace detail;

inline constexpr std::size_t stack_sizes[] = {8u << 20, 256u << 10};

// Calls `body` on a thread with a stack of `bytes` bytes. Throws the exception of `body`.
template <class Body>
void on_stack(std::size_t bytes, Body body) {
  struct job {
    Body& body;
    std::exception_ptr error;
  } work{body, nullptr};
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, bytes) == 0);
  pthread_t thread;
  const int refused = pthread_create(
      &thread, &attributes,
      [](void* argument) -> void* {
        auto& mine = *static_cast<job*>(argument);
        try {
          mine.body();
        } catch (...) {
          mine.error = std::current_exception();
        }
        return nullptr;
      },
      &work);
  pthread_attr_destroy(&attributes);
  REQUIRE(refused == 0);
  pthread_join(thread, nullptr);
  if (work.error) std::rethrow_exception(work.error);
}

}  // namespace beck::test
