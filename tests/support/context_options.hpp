// SPDX-License-Identifier: BSL-1.0
// Makes the options of an io_context in a conformance case. The backend is that on which the case
// runs, unless the case sets another one.
#pragma once

#include <beck/io/io_context.hpp>

#include "support/conformance.hpp"

static_assert(beck::backend::automatic == beck::test::automatic);
static_assert(beck::backend::io_uring == beck::test::on_uring);
static_assert(beck::backend::epoll == beck::test::on_epoll);
static_assert(beck::backend::sim == beck::test::on_sim);

inline beck::io_context::options context_options(beck::io_context::options how = {}) {
  if (how.backend == beck::backend::automatic) how.backend = beck::test::current_backend();
  return how;
}
