// SPDX-License-Identifier: BSL-1.0
//
// A Redis server in memory, for tests of programs: over real sockets and simulated ones, with
// replies that depend on the commands and the context's clock alone, and with faults on request.
#pragma once

#include <beck/io/io_context.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>
#include <beck/redis/arguments.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace beck::redis {

/// The settings of a memory_server.
struct memory_server_options {
  /// The password of the user "default", valid until the constructor of the server returns. Empty:
  /// none.
  std::string_view password = {};
  /// The most connections at a time; one more is answered with "ERR max number of clients reached"
  /// and closed.
  std::size_t connections = 10'000;
  /// The bytes of replies that may wait for a client, 64 MiB; one that has more is cut.
  std::size_t output_bytes = 67'108'864;
};
static_assert(std::is_trivially_destructible_v<memory_server_options>);

namespace detail {

struct memory_server_handle;

/// A function of the program that takes each command, of any type; owned.
class command_hook {
 public:
  command_hook() noexcept = default;
  template <class Function>
    requires(!std::is_same_v<std::decay_t<Function>, command_hook>)
  explicit command_hook(Function&& function)
      : object_(new std::decay_t<Function>(static_cast<Function&&>(function))),
        call_([](void* object, const arguments& command) {
          (*static_cast<std::decay_t<Function>*>(object))(command);
        }),
        destroy_(
            [](void* object) noexcept { delete static_cast<std::decay_t<Function>*>(object); }) {}
  command_hook(command_hook&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)),
        call_(other.call_),
        destroy_(other.destroy_) {}
  command_hook& operator=(command_hook&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(call_, other.call_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~command_hook() {
    if (object_ != nullptr) destroy_(object_);
  }

  void call(const arguments& command) const {
    if (object_ != nullptr) call_(object_, command);
  }

 private:
  void* object_ = nullptr;
  void (*call_)(void* object, const arguments& command) = nullptr;
  void (*destroy_)(void* object) noexcept = nullptr;
};

}  // namespace detail

/// A server that keeps sixteen databases in memory and speaks RESP2 and RESP3, with the replies and
/// errors of redis-server 7.0. docs/redis.md lists the commands. Unlike there, sets and hashes are
/// listed in the order of their elements' bytes, and nothing is written to a disk.
///
///   beck::redis::memory_server server(context, 6379);
///   ...                                             // run the context, with clients
///   check(server.integer("hits") == 3);
///
/// Requires an exclusive context. Thread: that of the context, or any while no thread runs it.
/// Lifetime: destroyed before the context; its coroutines end by themselves.
class memory_server {
 public:
  /// Listens on this port of all IPv4 addresses of the context's host; 0: a free port. Accepts when
  /// the context runs. Throws io_error.
  memory_server(io_context& context, std::uint16_t port,
                const memory_server_options& how = memory_server_options());
  /// As above, on an endpoint.
  memory_server(io_context& context, const ip::tcp::endpoint& at,
                const memory_server_options& how = memory_server_options());
  /// As above, on a UNIX socket, whose file must not exist; it is not removed.
  memory_server(io_context& context, const local::stream_protocol::endpoint& at,
                const memory_server_options& how = memory_server_options());
  /// Does as close().
  ~memory_server();
  memory_server(const memory_server&) = delete;
  memory_server& operator=(const memory_server&) = delete;

  /// Returns the endpoint that it listens on, with the port that was chosen; of a UNIX socket an
  /// endpoint with port 0.
  ip::tcp::endpoint endpoint() const noexcept;
  /// Returns the port of endpoint().
  std::uint16_t port() const noexcept { return endpoint().port(); }
  /// Stops listening, and cuts all connections. The keys stay, for the observers below.
  void close() noexcept;

  // Observers, for the checks of tests. They see database 0.

  /// Returns whether a key exists.
  bool exists(std::string_view key) const;
  /// Returns the integer that a key holds, 0 if it does not exist. Throws std::invalid_argument if
  /// it holds anything else.
  long long integer(std::string_view key) const;
  /// Returns the string that a key holds, an empty one if it does not exist; valid until the next
  /// command. Throws std::invalid_argument if the key holds another type.
  std::string_view text(std::string_view key) const;
  /// Returns how many commands were executed: not those that were refused or only queued, and each
  /// of a transaction besides its EXEC.
  std::uint64_t commands() const noexcept;
  /// Returns how many connections are open now.
  std::size_t connections() const noexcept;

  // Faults.

  /// Closes all connections now; replies that were not sent are lost. New ones are accepted.
  void cut() noexcept;
  /// Stops executing commands, as a process that was stopped: connections are accepted, bytes are
  /// received, and nothing is answered until resume().
  void pause() noexcept;
  /// Executes the commands that have arrived meanwhile, and goes on.
  void resume() noexcept;
  /// Refuses the next `times` commands of this name with an error, such as "LOADING Redis is
  /// loading the dataset in memory", instead of executing them. `name`: a command, or one with its
  /// subcommand, as "client|id". Several plans for a name take effect one behind the other.
  void fail_next(std::string_view name, std::string_view error, std::size_t times = 1);
  /// Cuts each connection behind this many bytes sent to it, counted from its begin, `times` times
  /// in all. A connection that has been sent more already is cut with its next reply. Commands
  /// whose replies are lost may have been executed. A new call replaces the plan.
  void cut_after(std::size_t bytes, std::size_t times = static_cast<std::size_t>(-1)) noexcept;
  /// Refuses commands that write with READONLY, and answers ROLE as a replica of the primary at
  /// this address. No data are copied, and connections stay open.
  void become_replica(std::string_view host, std::uint16_t port);
  /// Takes writes again. Thus it begins.
  void become_primary() noexcept;
  /// Calls `function(const arguments&)` before each command that is executed, also those in a
  /// transaction. The function is copied or moved into the server; it must not throw, and the
  /// arguments are valid until it returns. It may call the functions for faults.
  template <class Function>
  void on_command(Function&& function) {
    set_hook(detail::command_hook(static_cast<Function&&>(function)));
  }

 private:
  void set_hook(detail::command_hook hook) noexcept;

  detail::memory_server_handle* handle_;
};

}  // namespace beck::redis
