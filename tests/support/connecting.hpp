// SPDX-License-Identifier: BSL-1.0
// For cases about connecting: a port without a listener, and the outcome of a connect to one of
// several endpoints.
#pragma once

#include <beck/io/steady_timer.hpp>
#include <beck/net/tcp.hpp>

#include "support/connections.hpp"

namespace beck::test {

/// A port that stays bound and on which no socket listens.
class deaf_port {
 public:
  explicit deaf_port(io_context& context, const ip::tcp::endpoint& where = loopback_v4())
      : holder_(context) {
    holder_.open(where.protocol());
    holder_.bind(where);
  }
  operator ip::tcp::endpoint() const { return holder_.local_endpoint(); }

 private:
  ip::tcp::acceptor holder_;
};

struct connected {
  int calls = 0;
  error_code ec = error::interrupted;
  ip::tcp::endpoint to;
  time_point at;

  auto handler() {
    return [this](error_code e, const ip::tcp::endpoint& where) {
      ++calls;
      ec = e;
      to = where;
      at = steady_now();
    };
  }
  bool failed(const error_code& expected) const {
    return calls == 1 && ec == expected && to == ip::tcp::endpoint();
  }
};

}  // namespace beck::test
