// SPDX-License-Identifier: BSL-1.0
// The counters of a server. One thread changes them without a lock or a locked instruction, and any
// thread reads them. server_stats describes each of them.
#pragma once

#include <cstddef>
#include <cstdint>

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

}  // namespace beck::http::detail
