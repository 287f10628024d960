// SPDX-License-Identifier: BSL-1.0
// The conformance list: a behaviour of I/O is written once and registered once per backend, as the
// cases
// "<sentence>/epoll", "<sentence>/uring" and "<sentence>/sim".
//
//   CONFORMANCE("a zero-length read completes at once with 0") {
//     beck::io_context ctx(context_options());     // support/context_options.hpp
//     ...                                          // `where` is the backend of this run
//   }
//
// CONFORMANCE_ON(mask, sentence) is for behaviour that does not exist everywhere; elsewhere the
// case counts as skipped.
#pragma once

#include <doctest/doctest.h>

#include "support/report.hpp"

namespace beck {

enum class backend : unsigned char;  // io/io_context.hpp; support/context_options.hpp checks the
                                     // order below

namespace test {

inline constexpr auto automatic = static_cast<backend>(0);
inline constexpr auto on_uring = static_cast<backend>(1);
inline constexpr auto on_epoll = static_cast<backend>(2);
inline constexpr auto on_sim = static_cast<backend>(3);

enum backend_mask : unsigned {
  uring = 1,
  epoll = 2,
  sim = 4,
  kernel = uring | epoll,
  everywhere = 7
};

// Returns the backend of the running conformance case; `automatic` outside of such cases.
backend current_backend();

// Returns whether BECK_BACKEND=epoll says that this run is meant for epoll. If not, a ring that the
// kernel refuses is a failure.
bool uring_is_switched_off();

// Runs one case of the list: decides whether it applies here, then calls it.
void run_conformance(void (*body)(backend), backend where, unsigned mask);

}  // namespace test
}  // namespace beck

#define CONFORMANCE(sentence) CONFORMANCE_ON(::beck::test::everywhere, sentence)
#define CONFORMANCE_ON(mask, sentence) \
  BECK_CONFORMANCE(DOCTEST_ANONYMOUS(conformance_), mask, sentence)
#define BECK_CONFORMANCE(body, mask, sentence)                                                    \
  static void body(::beck::backend where);                                                        \
  TEST_CASE(sentence "/epoll") {                                                                  \
    ::beck::test::run_conformance(body, ::beck::test::on_epoll, mask);                            \
  }                                                                                               \
  TEST_CASE(sentence "/uring") {                                                                  \
    ::beck::test::run_conformance(body, ::beck::test::on_uring, mask);                            \
  }                                                                                               \
  TEST_CASE(sentence "/sim") { ::beck::test::run_conformance(body, ::beck::test::on_sim, mask); } \
  static void body([[maybe_unused]] ::beck::backend where)

// For cases that open a ring by themselves, with the result of open_probed().
#define NEEDS_RING(probed)                                                          \
  do {                                                                              \
    if ((probed).opened) break;                                                     \
    REQUIRE_MESSAGE(::beck::test::uring_is_switched_off(), (probed).text);          \
    SKIP_CASE("the kernel refuses rings, and BECK_BACKEND=epoll says that it may"); \
  } while (false)
