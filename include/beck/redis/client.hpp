// SPDX-License-Identifier: BSL-1.0
//
// The client: one connection that carries the commands of any number of coroutines, is made when it
// is first needed, and made again when it is lost.
#pragma once

#include <beck/base/io_result.hpp>
#include <beck/coro/task.hpp>
#include <beck/redis/client_options.hpp>
#include <beck/redis/lane.hpp>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace beck {
class stream_layer;
}

namespace beck::redis {

class connector;
class credentials;
namespace detail {
class sentinels;
}

/// Counters of a client since it was made. The first two are those of now.
struct client_stats {
  std::uint64_t waiting = 0;      ///< calls that wait to be sent
  std::uint64_t in_flight = 0;    ///< commands that were sent and have no reply
  std::uint64_t connections = 0;  ///< that were ready for commands
  std::uint64_t writes = 0;       ///< to the kernel, or to the layer
  std::uint64_t reads = 0;        ///< from there
  std::uint64_t calls = 0;        ///< that were taken
};

/// A client of one server, or of the primary that sentinels name. Commands go over one connection:
/// those that are there at the end of a turn of the context are sent with one write, and none waits
/// for a timer.
///
///   redis::client db(ctx, "redis://app:secret@localhost/0");
///   auto set = co_await db.exec<void>("SET", "k", "hello", "EX", 60);
///   auto got = co_await timeout(db.exec<std::optional<std::string>>("GET", "k"), 50ms);
///   auto both = co_await db.exec(redis::cmd<long>("INCR", "hits"), redis::cmd<long>("DBSIZE"));
///   auto& [hits, size] = *both;  // each with its own error
///
/// A call completes with (error_code, redis::reply<T>); an await returns the reply. Commands whose
/// last byte the kernel had not taken when the connection is lost, and those that only read, are
/// sent again over the next one; others end with the reason, and reply::outcome() is
/// maybe_executed. A call is made once: its commands end with operation_aborted, not sent, if it is
/// awaited again.
/// See docs/redis.md.
/// Errors: the server's (redis::error by its first word); those of a connection that is not made or
/// was lost: eof, connection_refused, timeout, server_silent, a protocol_error; wrongpass, noauth,
/// noperm and err for a refused login; needs_lane, queue_full, request_too_large; with sentinels
/// not_primary, unknown_primary.
/// Cancellation: the call ends with operation_aborted (a scope's limit makes timeout of it) at
/// once. With a value from 16 KiB up it ends with the write that has the value. The reply is
/// dropped when it comes, and no other call notices.
/// Thread: that of the context, also for cancelling a call; stats(): any. A handler that is bound
/// to another executor completes there.
/// Requires: an exclusive context, which is an io_context. Lifetime: the context outlives it. The
/// destructor ends the calls under way with operation_aborted. A connection is work of the context:
/// run() returns when it has ended; see close().
class client : public detail::exec_functions {
 public:
  /// Makes a client of the server that `url` names, and connects when the first command comes:
  ///   redis://[user[:password]@]host[:port][/db]   TCP, port 6379 unless named
  ///   rediss://...                                 the same, over the layer of secure()
  ///   unix:///path, unix://user:password@/path
  ///   valkey://..., valkeys://...                  as redis and rediss
  ///   redis+sentinel://[user:password@]sentinel[:26379],.../name[/db][?sentinel_login=...]
  ///                                                the primary that these, at most 32, call so
  ///   rediss+sentinel://...                        the same, and the layer for the sentinels, too
  /// Those of one server may have a query with "&" between its parts: db=n, and protocol=2 or 3,
  /// the greatest version that is spoken. %xx stands for a byte in user, password, name and path.
  /// Throws std::invalid_argument for a malformed URL, without the password; std::logic_error on a
  /// shared context.
  template <class Context>
    requires(!std::is_convertible_v<Context&, any_io_executor>)
  client(Context& context, std::string_view url, const client_options& how = client_options())
      : client(any_io_executor(context.get_executor()), url, how) {}
  /// As above, on the context of `executor`.
  client(const any_io_executor& executor, std::string_view url,
         const client_options& how = client_options());
  ~client();
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  /// Makes rediss work: `with` encrypts later connections and verifies the host. It must outlive
  /// the client and its lanes.
  client& secure(stream_layer& with) noexcept;
  /// Makes later connections with `how`, which must outlive the client and its lanes, instead
  /// of those to the URL's address.
  client& connect_with(connector& how) noexcept;
  /// Asks `from` for the login of each later connection, instead of the URL's. It must outlive the
  /// client and its lanes.
  client& login_with(redis::credentials& from) noexcept;
  /// Leaves the present connection: commands that were sent are answered by it, later ones go over
  /// a new one, and subscriptions have a gap. An attempt that waits begins at once. Lanes in use
  /// stay. For a name that leads to another server, or a login that has changed.
  void reconnect() noexcept;

  /// Takes a connection that no other caller has, for commands that change the state of their
  /// connection or block it. Waits in order while client_options::lanes are taken. A task; the
  /// client may be destroyed while it waits.
  /// Errors: as those of a call; queue_full, operation_aborted. Cancellation: takes no lane.
  task<io_result<redis::lane>> lane();

  /// Ends the calls under way with operation_aborted, also those of lanes, and closes all
  /// connections. Later calls end in the same way.
  void close() noexcept;
  /// Returns the counters.
  client_stats stats() const noexcept;

 private:
  friend class cache;
  friend class subscription;
  friend class detail::sentinels;
  explicit client(detail::sender_ref of) noexcept : exec_functions(std::move(of)) {}
};

}  // namespace beck::redis
