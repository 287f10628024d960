// SPDX-License-Identifier: BSL-1.0
// The counters of servers and clients. One thread changes them without a lock or a locked
// instruction, and any thread reads them. server_stats and client_stats describe each counter.
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/http/client.hpp>
#include <beck/http/server.hpp>

#include "base/counter.hpp"

namespace beck::http::detail {

using beck::detail::counter;

/// The counters of one serve().
struct worker_counters {
  void add_to(server_stats& sum) const noexcept {
    sum.connections += connections.get();
    sum.accepted += accepted.get();
    sum.turned_away += turned_away.get();
    sum.evicted += evicted.get();
    sum.handshakes_failed += handshakes_failed.get();
    sum.taken_over += taken_over.get();
    sum.exchanges += exchanges.get();
    sum.failed += failed.get();
    sum.cut += cut.get();
    for (std::size_t i = 0; i < 64; ++i) sum.refused[i] += refused[i].get();
  }

  counter connections, accepted, turned_away, evicted, handshakes_failed, taken_over, exchanges,
      failed, cut;
  counter refused[64];
};

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
    now.replies = replies.get();
    return now;
  }

  counter connections, idle, waiting, made, reused, discarded, waits, retries, redirects, replies;
};

}  // namespace beck::http::detail
