// SPDX-License-Identifier: BSL-1.0
// Runs a task in a context that has run out of work before, as cases with several steps do.
#pragma once

#include <utility>

#include "support/outcome.hpp"
#include "support/stream_pair.hpp"

namespace beck::test {
using namespace detail;

template <class Work>
void run_next(io_context& context, Work&& work) {
  context.restart();
  run_task(context, std::forward<Work>(work));
}

}  // namespace beck::test
