// SPDX-License-Identifier: BSL-1.0
// A signal set that prints instead of having waits, so nothing is outstanding.
#include <beck/io/dump_on_signal.hpp>

#include "io/loop/io_loop.hpp"
#include "io/loop/signal_state.hpp"

namespace beck {
using namespace detail;

dump_on_signal::dump_on_signal(io_context& context, int number, int fd) : signals_(context) {
  signals_.state_->dumps_to = fd;  // before there can be a signal
  signals_.add(number);
}

void signal_state::dump() noexcept {
  signal_info info;
  bool any = false;
  while (inbox->take(info)) any = true;
  if (any) loop->dump(text_sink(dumps_to), io_context::dump_groups);
}

}  // namespace beck
