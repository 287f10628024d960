// SPDX-License-Identifier: BSL-1.0
// Puts a scripted kernel below the io_uring driver of an ordinary io_context, or a faulty system
// below an io_context.
#pragma once

#include <beck/io/io_context.hpp>
#include <memory>
#include <utility>

#include "io/loop/io_loop.hpp"

namespace beck::testing {
using namespace detail;

struct context_seam {
  static io_context::options on_ring(uring::ring_kernel& kernel, bool lazy_speculation = true) {
    return {.backend = backend::io_uring, .lazy_speculation = lazy_speculation, .kernel = &kernel};
  }

  /// Replaces the system of a context. Requires a context without objects.
  static void replace_system(io_context& context, std::unique_ptr<system> with) {
    static_cast<io_loop*>(context.get_executor().target())->core().sys = std::move(with);
  }
};

}  // namespace beck::testing
