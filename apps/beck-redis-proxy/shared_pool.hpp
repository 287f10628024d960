// SPDX-License-Identifier: BSL-1.0
//
// --shared: the shared connections, and the clients on them.
#pragma once

#include <beck/coro/task.hpp>
#include <beck/io/io_context.hpp>
#include <beck/redis/request.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "counters.hpp"
#include "server_log.hpp"
#include "server_target.hpp"
#include "settings.hpp"
#include "shared_connection.hpp"
#include "shared_session.hpp"

namespace beck_redis_proxy {

/// How a client has left the shared connections.
struct shared_leave {
  shared_end how = shared_end::none;
  beck::redis::request introduction;  ///< of moved: what its own connection is told before all
  bool needs_hello = false;           ///< the introduction begins with HELLO
  std::string rest;                   ///< of moved: what its own connection is sent first
  std::size_t wait_bytes = 0;         ///< of the command in front of that, if it waits for replicas
};

/// The shared connections; each client uses one of them. Thread: that of the context.
class shared_pool {
 public:
  /// Refers to all arguments, which must outlive it.
  shared_pool(beck::io_context& context, const settings& asked, server_target& target,
              counters& counts, const statistics& all, server_log& log);
  shared_pool(const shared_pool&) = delete;
  shared_pool& operator=(const shared_pool&) = delete;

  /// Shares the commands of a client as long as that is possible.
  template <class Socket>
  beck::task<shared_leave> serve(Socket& client) {
    const std::size_t place = next_++ % resp2_.size();
    const shared_servers servers{*resp2_[place], *resp3_[place]};
    const auto session =
        std::make_shared<shared_session<Socket>>(client, servers, asked_, counts_, all_);
    auto running = session->run();
    shared_leave left;
    left.how = co_await std::move(running);
    count(left.how, session->reason());
    if (left.how == shared_end::moved) {
      left.rest = session->rest();
      left.needs_hello = session->needs_hello();
      session->introduce(left.introduction);
    }
    left.wait_bytes = session->wait_bytes();
    co_return left;
  }

  /// Ends the connections. Requires that there are no clients.
  void close() noexcept;
  const shared_counters& counts() const noexcept { return shared_counts_; }

 private:
  void count(shared_end how, move_reason why) noexcept;

  const settings& asked_;
  counters& counts_;
  const statistics& all_;
  shared_counters shared_counts_;
  std::vector<std::unique_ptr<shared_connection>> resp2_;
  std::vector<std::unique_ptr<shared_connection>> resp3_;  // made where a client says HELLO 3
  std::size_t next_ = 0;
};

}  // namespace beck_redis_proxy
