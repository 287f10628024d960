// SPDX-License-Identifier: BSL-1.0
//
// Where connections to the server go: to one address, or to the primary that sentinels name, and
// how they learn that it is another server.
#pragma once

#include <beck/coro/task.hpp>
#include <beck/io/io_context.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>
#include <beck/redis/primary_watch.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "counters.hpp"
#include "settings.hpp"

namespace beck_redis_proxy {

/// Connects sockets to the server. Thread: that of the context.
class server_target {
 public:
  /// Refers to both arguments, which must outlive it. Throws wrong_usage for a URL of sentinels
  /// that the library refuses.
  server_target(beck::io_context& context, const settings& asked);
  server_target(const server_target&) = delete;
  server_target& operator=(const server_target&) = delete;

  /// Connects within --connect. Returns the number of the primary, for left(). Requires that the
  /// server is on TCP.
  beck::task<beck::io_result<std::uint64_t>> connect(beck::ip::tcp::socket& server);
  /// As above, of a server on a UNIX socket.
  beck::task<beck::io_result<std::uint64_t>> connect(beck::local::stream_protocol::socket& server);
  /// Returns the reason of an error of connect() in words.
  std::string reason(const beck::error_code& ec) const;

  /// Returns whether the server may become another one, and connections to it have to end then.
  bool may_change() const noexcept { return group_.has_value(); }
  /// Waits until the primary is another one than that with this number. Requires may_change().
  beck::task<beck::io_result<>> left(std::uint64_t number) {
    return group_->wait_for_change(number);
  }
  /// Watches the sentinels, and logs each primary, until close(). Requires may_change().
  beck::task<> follow();
  /// Ends follow() and left().
  void close() noexcept {
    if (group_) group_->close();
  }

  switch_counters& counts() noexcept { return counts_; }

 private:
  beck::task<beck::io_result<std::uint64_t>> open(beck::ip::tcp::socket& server);

  const settings& asked_;
  std::optional<beck::redis::primary_watch> group_;
  switch_counters counts_;
};

}  // namespace beck_redis_proxy
