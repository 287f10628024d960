// SPDX-License-Identifier: BSL-1.0
// How a test puts a scripted kernel below the io_uring driver of an ordinary io_context.
#pragma once

#include <beck/io/io_context.hpp>

namespace beck::testing {

struct context_seam {
  static io_context::options on_ring(uring::ring_kernel& kernel) {
    io_context::options how;
    how.backend(backend::io_uring);
    how.kernel_ = &kernel;
    return how;
  }
};

}  // namespace beck::testing
