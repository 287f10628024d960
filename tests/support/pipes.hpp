// SPDX-License-Identifier: BSL-1.0
// Both ends of a pipe, for cases that are not about making pipes.
#pragma once

#include <beck/io/pipe.hpp>

namespace beck::test {

struct pipe_ends {
  explicit pipe_ends(io_context& context) : out(context), in(context) { connect_pipe(out, in); }

  readable_pipe out;
  writable_pipe in;
};

}  // namespace beck::test
