// SPDX-License-Identifier: BSL-1.0
// Steps of the cases of subscriptions.
#pragma once

#include <beck/redis/subscription.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "redis/client_site.hpp"
#include "redis/hand_server.hpp"
#include "redis/queued.hpp"

namespace beck::redis::test {

inline task<> add(redis::subscription& to, std::string name) {
  const auto on = co_await to.add(name);
  CHECK(on);
}

/// Takes events up to `count` messages. A gap is noted as "gap".
inline task<> collect(redis::subscription& from, std::vector<std::string>& to, int count) {
  for (int i = 0; i < count;) {
    const auto e = co_await from.next();
    if (!e) {
      to.push_back(e.error() == beck::error::operation_aborted ? "aborted" : "ended");
      co_return;
    }
    i += e->is_gap() ? 0 : 1;
    to.push_back(e->is_gap() ? "gap" : std::string(e->payload()));
  }
}

inline task<> publish(redis::client& db, std::string channel, std::string payload, long receivers) {
  const auto r = co_await db.exec<long>("PUBLISH", channel, payload);
  CHECK(r);
  CHECK(*r == receivers);
}

/// Returns the payloads in the queue, and how it has ended.
inline std::string queued(redis::subscription& from) {
  return test::queued(from, [](const redis::push_event& e) {
    return e.is_gap() ? std::string("gap") : std::string(e.payload());
  });
}

/// Answers as a server with channels does.
inline void answer_all(const redis::arguments& c, redis::reply_writer& to) {
  if (c[0] == "PING") {
    c.size() > 1 ? to.bulk(c[1]) : to.simple("PONG");
  } else if (c[0].ends_with("subscribe")) {
    to.push(3).bulk(c[0]).bulk(c[1]).integer(1);
  } else {
    to.simple(c[0]);
  }
}

}  // namespace beck::redis::test
