// SPDX-License-Identifier: BSL-1.0
//
// The HTTP/1.1 server: it accepts, parses, calls a handler for each request and keeps the limits.
// A handler is a function, a coroutine that awaits, or a callback that answers later (handler.hpp).
#pragma once

#include <beck/base/duration.hpp>
#include <beck/coro/task.hpp>
#include <beck/http/callback.hpp>
#include <beck/http/exchange_record.hpp>
#include <beck/http/handler.hpp>
#include <beck/http/limits.hpp>
#include <beck/http/listen_options.hpp>
#include <beck/http/per_context.hpp>
#include <beck/http/refusal.hpp>
#include <beck/http/request.hpp>
#include <beck/http/response.hpp>
#include <beck/io/stream_layer.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace beck::http {

class error_page;

/// Counters of a server since it was made. All but `connections` only grow.
struct server_stats {
  std::uint64_t connections = 0;  ///< open now
  std::uint64_t accepted = 0;     ///< connections
  std::uint64_t turned_away = 0;  ///< connections above limits::per_address
  std::uint64_t evicted = 0;      ///< connections closed for new ones; see limits::connections
  std::uint64_t handshakes_failed = 0;  ///< handshakes of a layer that failed or were too slow
  std::uint64_t taken_over = 0;         ///< connections that have become tunnels
  /// Requests whose handler, or a middleware around it, was called, and has ended.
  std::uint64_t exchanges = 0;
  std::uint64_t failed = 0;        ///< handlers that threw, or ended without a response
  std::uint64_t cut = 0;           ///< responses that were begun and not completed
  std::uint64_t refused[64] = {};  ///< messages, by refusal

  /// Returns how many messages were refused for `why`.
  std::uint64_t count(refusal why) const noexcept { return refused[static_cast<std::size_t>(why)]; }
};

namespace detail {

struct server_handle;
class serving_program;

}  // namespace detail

/// A server. Name the endpoints with listen(), then await serve() on one or several contexts, or
/// call run(). A handler runs on the context of its connection: with several contexts, several
/// handlers run at once. An exception of a handler is answered with 500; if the response has begun,
/// the connection is cut. If the client resets the connection while a handler waits, the scope of
/// the handler is stopped.
/// Thread: stop(), stats(), endpoint(): any; the rest before the first serve(). Requires: the
/// contexts are exclusive ones. Lifetime: tasks of serve() share the ownership of the handler and
/// the counters, so the server may be destroyed before the contexts.
class server {
 public:
  /// Makes a server. `handler` is copied or moved into it; std::ref keeps a reference.
  template <class H>
    requires any_handler<std::decay_t<H>>
  explicit server(H&& handler, const limits& bounds = limits())
      : server(new std::decay_t<H>(static_cast<H&&>(handler)),
               detail::handler_table_of<std::decay_t<H>>, bounds) {}
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// Accepts connections on this port of all IPv6 and IPv4 addresses; 0: a free port. Takes effect
  /// when serve() starts.
  void listen(std::uint16_t port);
  /// As above, and serves them over `layer`, as below.
  void listen(std::uint16_t port, stream_layer& layer);
  /// Accepts connections on this endpoint.
  void listen(const ip::tcp::endpoint& at);
  /// Accepts connections on this endpoint, and serves them over `layer`, such as TLS, which must
  /// outlive all tasks of serve(). A connection whose handshake fails or takes longer than
  /// limits::handshake_timeout is closed, and counted.
  void listen(const ip::tcp::endpoint& at, stream_layer& layer);
  /// Accepts connections on this UNIX socket, on every context that serves. Replaces the file of a
  /// socket that no process listens on, under a lock on the file "PATH.lock". Errors of serve():
  /// address_in_use if another process listens there, or is replacing the file; file_exists if
  /// "PATH.lock" is not empty. The last context that stops listening removes the socket's file, by
  /// the same path: a relative path needs the same working directory. The mode of the file follows
  /// the umask.
  void listen(const local::stream_protocol::endpoint& at);
  /// Listens as `how` says. Throws std::invalid_argument, which names the descriptor, if that is no
  /// listening stream socket; io_error if it cannot be duplicated.
  void listen(const listen_options& how);
  /// Accepts connections on the sockets that systemd passes to a service (socket activation), over
  /// `layer` if that is not nullptr. Returns their number, 0 if the process was started otherwise.
  /// Throws std::invalid_argument, which names the descriptor, if one of them is no listening
  /// stream socket; then none is taken. Throws std::logic_error if any server has taken them
  /// before. Source: sd_listen_fds(3).
  std::size_t listen_inherited(stream_layer* layer = nullptr);
  /// Lets several contexts, or several processes, listen on the same endpoints; the kernel
  /// distributes the connections. run() sets it for several contexts. Default: off, so that a
  /// second server on a port fails.
  void share_ports(bool on) noexcept;

  /// Trusts these proxies to report the addresses of their clients: request::client_address() then
  /// returns the rightmost address in the fields `how` that is not a proxy's. `proxies`: addresses
  /// and networks, separated by commas and spaces, and "unix" for peers of UNIX sockets, such as
  /// "10.0.0.0/8 fd00::1 unix". `how`: field::x_forwarded_for or field::forwarded, the field that
  /// the proxies write themselves; they forward the other one as the client sent it. Several calls
  /// add up; the last one sets `how`. Throws std::invalid_argument, which names the part that is no
  /// address.
  void behind_proxy(std::string_view proxies, field how = field::x_forwarded_for);
  /// Calls `function(const exchange_record&)` for each exchange that has ended and each message
  /// that was refused, on the thread of the connection: with several contexts on several at once.
  /// Several calls add up, and the functions are called in that order. Each is copied or moved into
  /// the server; it must not throw, and not block. Default: none. Throws std::bad_alloc.
  template <class Function>
  void on_finish(Function&& function) {
    using callback = detail::callback<const exchange_record&>;
    report_to(callback::of(static_cast<Function&&>(function)));
  }
  /// Calls `function(error_page&)`, see error_page.hpp, for each response with an error that the
  /// library makes: refused requests, 404 and 405 of routers, errors of static_files and
  /// websocket::accept(), exceptions of handlers, and what handlers send with response::fail() or
  /// throw as a failure. It may replace the body, the type, the status and fields, before the
  /// functions of before_head() run. It is also called for exceptions that come too late, see
  /// error_page::has_begun(). Called on the thread of the connection: with several contexts on
  /// several at once. It must not block. If it throws, the response has the library's text, and the
  /// exception is a line in the log. Copied or moved into the server; replaces an earlier one.
  /// Default: none, so each has the library's text, as text/plain. Throws std::bad_alloc.
  template <class Function>
  void on_error_page(Function&& function) {
    make_pages_with(detail::callback<error_page&>::of(static_cast<Function&&>(function)));
  }
  /// Calls `function(const handshake_record&)` for each handshake of a layer that has failed; else
  /// as on_finish().
  template <class Function>
  void on_handshake_failed(Function&& function) {
    using callback = detail::callback<const handshake_record&>;
    report_to(callback::of(static_cast<Function&&>(function)));
  }

  /// Serves on the context that awaits this until stop() is called or the awaiting scope is
  /// stopped, then drains as stop() does; completes when the last connection has ended. Throws
  /// io_error if it cannot listen, std::logic_error without endpoints or on a shared context. An
  /// error of a listening socket, such as the shutdown(2) of a process that shares it, stops the
  /// server with default_grace; the serve() that has this listener then ends with that io_error.
  task<> serve();

  /// Stops all serve(). Accepts the connections that the kernel has accepted already, then closes
  /// the listening sockets. Ends each connection after its present exchange, and an idle one after
  /// a second, so that a request on its way is still answered.
  /// After `grace` the remaining connections are cut, also those whose exchange object is kept; its
  /// response is then no longer sent. Idempotent: a later call may shorten the grace, but not
  /// extend it.
  void stop(duration grace = default_grace) noexcept;
  static constexpr duration default_grace = duration::seconds(20);
  /// Returns whether stop() was called, or run() has received its signal. During
  /// run_options::notice_timeout the server still accepts, so that a handler can tell a load
  /// balancer. Thread: any.
  bool is_stopping() const noexcept;

  /// Returns the endpoint of listen() number `index`, with the chosen port if the given one was 0.
  /// Its port is 0 before the first serve() has begun, and for a UNIX socket.
  ip::tcp::endpoint endpoint(std::size_t index = 0) const;
  /// Returns the counters.
  server_stats stats() const noexcept;

 private:
  void report_to(const detail::callback<const exchange_record&>& observer);
  void report_to(const detail::callback<const handshake_record&>& observer);
  void make_pages_with(const detail::callback<error_page&>& function) noexcept;
  friend class detail::serving_program;
  server(void* handler, const detail::handler_table& table, const limits& bounds);
  void listen_over(const ip::tcp::endpoint& at, stream_layer* layer, bool any_family);

  detail::server_handle* state_;
};

/// The settings of run():
///   return http::run(server, {.contexts = 4, .objects = {sessions, caches}});
struct run_options {
  /// How many per_context a run() may have.
  static constexpr std::size_t objects_max = 8;

  /// The number of contexts, each on a thread of its own. 0: one for each processor.
  std::size_t contexts = 0;
  /// How long connections may continue after a signal.
  duration drain_timeout = server::default_grace;
  /// How long the server still accepts after a signal, while server::is_stopping() is true, before
  /// it drains. 0: not at all.
  duration notice_timeout = duration::zero();
  /// The per_context whose objects each context makes; they outlive run(). Objects are started in
  /// this order, and stopped in the opposite one.
  detail::per_context_reference objects[objects_max] = {};
  /// A function that is called once, on the thread of run(), when all contexts listen and before
  /// the first of them accepts. An exception that it throws ends run().
  void (*on_listening)(void* data) = nullptr;
  /// The argument of `on_listening`.
  void* listening_data = nullptr;
};
static_assert(std::is_trivially_destructible_v<run_options>);

namespace functions {

/// Serves until SIGTERM or SIGINT, or server::stop(), then drains, and returns when that has ended.
/// Other work on the contexts is then dropped. A second signal cuts the remaining connections. A
/// third one, or one second after the second one, drops the handlers that ignore that. Handlers
/// that still run one second after the time of the drain are dropped, too, with a line on stderr. A
/// handler that computes is always waited for. Sends READY=1 to a service manager when all contexts
/// listen, and STOPPING=1 at the first signal, or when a server that the program itself has stopped
/// has drained; see notify_service_manager(). Returns 0; or 1, after a line on stderr, if it cannot
/// listen, a listener fails, or an object of run_options::objects cannot be made or started.
/// For main().
int run(server& what, const run_options& how = run_options());

}  // namespace functions
using namespace functions;

}  // namespace beck::http
