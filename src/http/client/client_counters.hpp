// SPDX-License-Identifier: BSL-1.0
// The counters of a client. Its thread changes them without a lock or a locked instruction, and any
// thread reads them; client_stats says what they count.
#pragma once

#include <beck/http/client.hpp>

#include "base/counter.hpp"

namespace beck::http::detail {

/// The counters of a client.
struct client_counters {
  client_stats read() const noexcept {
    client_stats now;
    now.connections = connections.get();
    now.idle = idle.get();
    now.waiting = waiting.get();
    now.made = made.get();
    now.reused = reused.get();
    now.discarded = discarded.get();
    now.waits = waits.get();
    now.retries = retries.get();
    now.redirects = redirects.get();
    now.responses = responses.get();
    return now;
  }

  beck::detail::counter connections, idle, waiting, made, reused, discarded, waits, retries,
      redirects, responses;
};

}  // namespace beck::http::detail
