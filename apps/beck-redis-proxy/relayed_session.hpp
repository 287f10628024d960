// SPDX-License-Identifier: BSL-1.0
//
// A client with a connection of its own to the server: bytes are relayed both ways, and none is
// changed.
#pragma once

#include <fmt/format.h>

#include <beck/base/buffer.hpp>
#include <beck/coro/task.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <beck/transfer/relay.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "counters.hpp"
#include "introduction.hpp"
#include "proxy_command.hpp"
#include "replica_wait.hpp"
#include "server_log.hpp"
#include "server_target.hpp"
#include "settings.hpp"
#include "shared_pool.hpp"
#include "socket_steps.hpp"
#include "statistics.hpp"

namespace beck_redis_proxy {

/// The parts of the proxy that a relayed session uses; they outlive it.
struct relay_parts {
  const settings& asked;
  server_target& target;
  counters& counts;
  const statistics& all;
  server_log& log;
};

/// Two sockets, which must outlive run().
template <class Client, class Server>
class relayed_session {
 public:
  relayed_session(Client& client, Server& server, const relay_parts& of)
      : client_(client), server_(server), of_(of) {}
  relayed_session(const relayed_session&) = delete;
  relayed_session& operator=(const relayed_session&) = delete;

  /// Connects to the server, and relays to the end. What is left of sharing goes before all other
  /// bytes of the client.
  beck::task<> run(shared_leave& left) {
    auto connecting = of_.target.connect(server_);
    const auto primary = co_await std::move(connecting);
    if (primary.error()) {
      ++of_.counts.unreachable;
      const auto why = of_.log.note_lost(of_.target.reason(primary.error()));
      auto refused = refuse(client_, fmt::format("-ERR beck-redis-proxy {}\r\n", why));
      co_await std::move(refused);
      co_return;
    }
    of_.log.note_reached();
    limit_both();
    auto introducing = introduce(left);
    const bool is_introduced = co_await std::move(introducing);
    if (!is_introduced) {
      ++of_.counts.broken;
      reset(server_);
      co_return;
    }
    auto beginning = send_front(left);
    co_await std::move(beginning);
    auto relaying = relay(*primary);
    co_await std::move(relaying);
  }

 private:
  static constexpr std::size_t buffer_bytes = 64 * 1024;  // of each direction

  /// Tells the server what the client has said while it shared a connection.
  beck::task<bool> introduce(shared_leave& left) {
    const beck::redis::request& words = left.introduction;
    if (words.empty()) co_return true;
    auto telling =
        beck_redis_proxy::introduce(server_, words.bytes(), words.size(), left.needs_hello);
    const bool is_good = co_await std::move(telling);
    limit_both();
    co_return is_good;
  }

  beck::task<> send_front(shared_leave& left) {
    if (left.rest.empty()) {
      auto answering = answer_front(left.rest);
      co_await std::move(answering);
    }
    if (left.wait_bytes != 0) {
      auto covering = cover_earlier_writes(client_, server_, left);
      co_await std::move(covering);
    }
    if (left.rest.empty()) co_return;
    const auto wrote = co_await beck::async_write(server_, beck::buffer(left.rest));
    of_.counts.to_server += wrote.value_;  // the relay sees an error, too
    left.rest.clear();
    left.rest.shrink_to_fit();  // the client may stay for long
  }

  /// Answers PROXY INFO as long as the first bytes of the client are that. Takes no other bytes but
  /// those of its beginning, which are in `front` then. Returns also if the server sends first, or
  /// one side has ended.
  beck::task<> answer_front(std::string& front) {
    for (;;) {
      auto both = beck::when_any(client_.async_wait(beck::socket_base::wait_read),
                                 server_.async_wait(beck::socket_base::wait_read));
      const auto first = co_await std::move(both);
      if (first.index() != 0) co_return;
      const std::string seen = front + first_bytes(client_);
      const proxy_info_match found = match_proxy_info(seen);
      if (seen.size() == front.size() || (found.bytes == 0 && !found.may_come)) co_return;
      const std::size_t taken = (found.may_come ? seen.size() : found.bytes) - front.size();
      char room[first_bytes_most];
      beck::ignore(co_await client_.async_read_some(beck::buffer(room, taken)));
      front = found.may_come ? seen : std::string();
      limit_both();
      if (found.may_come) continue;
      beck::redis::reply_writer text;
      write_proxy_info(of_.all, text);
      const auto wrote = co_await beck::async_write(client_, beck::buffer(text.bytes()));
      of_.counts.to_clients += wrote.value_;
      if (wrote.error()) co_return;
    }
  }

  /// Relays until both sides have ended, or until the primary is another one than that with this
  /// number.
  beck::task<> relay(std::uint64_t primary) {
    beck::relay_report seen;
    auto count = [&](const beck::relay_report& now) {
      of_.counts.to_server += now.forth.bytes - seen.forth.bytes;
      of_.counts.to_clients += now.back.bytes - seen.back.bytes;
      seen = now;
      limit_both();
    };
    limit_both();
    auto relaying = beck::relay(client_, server_,
                                {.only = beck::transfer_mechanism::read_write,
                                 .buffer_bytes = buffer_bytes,
                                 .progress = count});
    if (!of_.target.may_change()) {
      const auto done = co_await std::move(relaying);
      co_await end(done.error(), seen.back.ended);
      co_return;
    }
    auto until_switch = beck::when_any(std::move(relaying), of_.target.left(primary));
    auto first = co_await std::move(until_switch);
    if (first.index() == 0) {
      const auto done = std::move(first.template get<0>()).value();
      co_await end(done.error(), seen.back.ended);
    } else {
      ++of_.target.counts().left;
      reset(server_);
      co_await see_off(client_);
    }
  }

  /// Carries the end of a relay over to both sides.
  beck::task<> end(beck::error_code ec, bool is_answered) {
    if (ec == beck::error::timeout) {
      ++of_.counts.idle;
    } else if (ec == beck::error::connection_reset || ec == beck::error::broken_pipe) {
      ++of_.counts.broken;
      reset(server_);
      if (is_answered) {  // the server has closed, and its last words are on their way
        co_await see_off(client_);
      } else {
        reset(client_);
      }
    }
  }

  void limit_both() {
    limit_silence(client_, of_.asked.idle);
    limit_silence(server_, of_.asked.idle);
  }

  Client& client_;
  Server& server_;
  const relay_parts of_;
};

}  // namespace beck_redis_proxy
