// SPDX-License-Identifier: BSL-1.0
//
// A connection of one's own: for commands that change the state of their connection, or block it.
#pragma once

#include <beck/redis/exec_functions.hpp>
#include <cstdint>
#include <utility>

namespace beck::redis {

/// A connection to the client's server that no other caller has; made by client::lane(). It has the
/// client's functions, and sends the commands that the client refuses with needs_lane: WATCH,
/// SELECT, blocking commands, CLIENT REPLY, TRACKING and the like.
///
///   auto lane = co_await db.lane();
///   if (!lane) co_return;  // lane.error() says why
///   auto watched = co_await lane->exec<void>("WATCH", "n");
///   auto n = co_await lane->exec<long>("GET", "n");
///   auto set = co_await lane->transaction(redis::cmd<void>("SET", "n", 2 * *n));
///   if (set.error() == redis::error::watch_failed) ...
///
/// Commands are sent in the order of the calls, and none behind a blocking one before that is
/// answered. A command behind CLIENT REPLY OFF or SKIP ends when it was written and all before it
/// have ended: its reply is read as a null, and its outcome is maybe_executed.
/// The connection is not made again, because the server drops its state with it. When it is lost,
/// the calls under way and all later ones end with the reason, and nothing is sent twice. Take a
/// new lane then.
/// Errors: as client; not_on_lane for HELLO, AUTH, RESET, QUIT, MULTI, EXEC, DISCARD, SUBSCRIBE and
/// its like, MONITOR, SYNC, SCRIPT DEBUG, and CLIENT REPLY in a transaction. protocol_error if a
/// server refuses CLIENT REPLY with busy or noperm, or does not know it.
/// Cancellation: as client. A blocking command that was sent is ended with CLIENT UNBLOCK, over the
/// client's connection, and its reply decides: a value is delivered, or else the call ends with
/// operation_aborted (a scope's limit makes timeout of it) and outcome::executed: the server has
/// taken nothing. After a second without answer the lane is closed, and the outcome is
/// maybe_executed.
/// A blocking command may make the server silent for as long as its own argument says, and
/// client_options::silence_timeout longer. With no end of that time only the kernel looks for a
/// peer that is gone (SO_KEEPALIVE, TCP_USER_TIMEOUT); a process that was stopped it does not find.
/// Thread: that of the client. Lifetime: the context outlives it, the client need not: its end ends
/// the calls. The destructor returns the connection to the client for the next lane; if calls are
/// under way, it ends them and closes the connection.
class lane : public detail::exec_functions {
 public:
  /// Makes an object without a connection; only assignment and destruction are allowed.
  lane() noexcept : exec_functions(detail::sender_ref(nullptr)) {}
  /// For the client: takes over a connection.
  explicit lane(detail::sender_ref of) noexcept : exec_functions(std::move(of)) {}
  lane(lane&&) noexcept = default;
  lane& operator=(lane&& other) noexcept {
    std::swap(sender_, other.sender_);
    return *this;
  }
  ~lane();

  /// Returns the number of the connection at the server: that of CLIENT ID, for CLIENT LIST and
  /// CLIENT KILL. 0: the server does not say it.
  std::int64_t id() const noexcept;
  /// Ends the calls under way with operation_aborted, and closes the connection. Later calls end in
  /// the same way.
  void close() noexcept;
};

}  // namespace beck::redis
