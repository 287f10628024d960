// SPDX-License-Identifier: BSL-1.0
// CONFORMANCE_OVER_BOTH: a case that runs on every backend, over plain sockets and through a layer.
#pragma once

#include "http/masked_layer.hpp"
#include "support/conformance.hpp"

namespace beck::http::test {

inline void run_over_both(void (*body)(backend), backend where) {
  struct restore {
    ~restore() { layered = false; }
  } const at_end;
  for (const bool with_layer : {false, true}) {
    layered = with_layer;
    CAPTURE(with_layer);
    body(where);
  }
}

}  // namespace beck::http::test

#define CONFORMANCE_OVER_BOTH(sentence) BECK_BOTH_STREAMS(DOCTEST_ANONYMOUS(over_both_), sentence)
#define BECK_BOTH_STREAMS(body, sentence)              \
  static void body(::beck::backend where);             \
  CONFORMANCE_ON(::beck::test::everywhere, sentence) { \
    ::beck::http::test::run_over_both(body, where);    \
  }                                                    \
  static void body([[maybe_unused]] ::beck::backend where)
