// SPDX-License-Identifier: BSL-1.0
// The harness of Asio's unit tests for another library: the macros that the tests use, without
// Asio's internals. It is included before each file of tests, in place of its own unit_test.hpp.
// A case that throws has failed, and the next one runs. The standard headers are those that come
// along with Asio's own headers: the facade's are lighter, and a case is to show what it does.
#pragma once
#define UNIT_TEST_HPP

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace unit_test {

inline std::atomic<long> errors{0};

/// Names a function, so that it is compiled, and does not call it.
template <void (*)()>
void compiled() {}

inline void run(const char* name, void (*test)()) {
  const long before = errors;
  std::cerr << name << " begins" << std::endl;
  try {
    test();
  } catch (const std::exception& error) {
    ++errors;
    std::cerr << "exception(0): " << name << ": " << error.what() << std::endl;
  }
  std::cerr << name << (errors == before ? " passed" : " failed") << std::endl;
}

}  // namespace unit_test

// Internal names of Asio that its tests use.
#include <asio/append.hpp>
#define ASIO_DETAIL_ATOMIC_COUNT_HPP
#define ASIO_DETAIL_THREAD_HPP
BECK_ASIO_BEGIN
namespace detail {

using atomic_count = std::atomic<long>;

class thread : public std::jthread {
 public:
  template <class Function>
  explicit thread(Function function) : std::jthread(std::move(function)) {}
};

template <class Handler, class... Args>
auto bind_handler(Handler&& handler, const Args&... args) {
  return asio::append(static_cast<Handler&&>(handler), args...);
}

}  // namespace detail
BECK_ASIO_END

#define ASIO_TEST_IOSTREAM std::cerr
#define ASIO_CHECK(expr) ASIO_CHECK_MESSAGE(expr, #expr)
#define ASIO_CHECK_MESSAGE(expr, msg)                                        \
  do {                                                                       \
    if (!(expr)) {                                                           \
      ++unit_test::errors;                                                   \
      std::cerr << __FILE__ << "(" << __LINE__ << "): " << msg << std::endl; \
    }                                                                        \
  } while (false)
#define ASIO_WARN_MESSAGE(expr, msg) static_cast<void>(expr)
#define ASIO_ASSERT(expr) ASIO_CHECK(expr)
#define ASIO_ERROR(msg) ASIO_CHECK_MESSAGE(false, msg)
#define ASIO_TEST_SUITE(name, tests) \
  int main() {                       \
    tests;                           \
    return unit_test::errors != 0;   \
  }
#define ASIO_TEST_CASE(a) unit_test::run(#a, &a);
#define ASIO_TEST_CASE2(a, b) unit_test::run(#a "," #b, &a, b);
#define ASIO_TEST_CASE3(a, b, c) unit_test::run(#a "," #b "," #c, &a, b, c);
#define ASIO_TEST_CASE4(a, b, c, d) unit_test::run(#a "," #b "," #c "," #d, &a, b, c, d);
#define ASIO_TEST_CASE5(a, b, c, d, e) \
  unit_test::run(#a "," #b "," #c "," #d "," #e, &a, b, c, d, e);
#define ASIO_COMPILE_TEST_CASE(a) unit_test::run(#a, unit_test::compiled<&a>);

inline void null_test() {}
