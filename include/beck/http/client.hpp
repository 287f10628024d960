// SPDX-License-Identifier: BSL-1.0
//
// The HTTP/1.1 client: calls that share a pool of connections for each origin. It is strict,
// follows redirects only if the options say so, and has no cookies.
#pragma once

#include <beck/coro/task.hpp>
#include <beck/detail/deferred_init.hpp>
#include <beck/http/call.hpp>
#include <beck/http/call_record.hpp>
#include <beck/http/callback.hpp>
#include <beck/http/client_error.hpp>
#include <beck/http/client_options.hpp>
#include <beck/http/client_response.hpp>
#include <beck/http/connector.hpp>
#include <beck/http/proxies.hpp>
#include <beck/io/stream_layer.hpp>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace beck::http {

/// Counters of a client since it was made. The first three are the present numbers.
struct client_stats {
  std::uint64_t connections = 0;  ///< open, or being made
  std::uint64_t idle = 0;         ///< connections without a call
  std::uint64_t waiting = 0;      ///< calls that wait for a connection
  std::uint64_t made = 0;         ///< connections
  std::uint64_t reused = 0;       ///< calls that got an idle connection
  std::uint64_t discarded = 0;    ///< idle connections that have ended, or were closed
  std::uint64_t waits = 0;        ///< calls that had to wait for a connection
  std::uint64_t retries = 0;      ///< requests that were sent a second time
  std::uint64_t redirects = 0;    ///< redirects that were followed
  std::uint64_t responses = 0;    ///< heads of responses, except 1xx and followed redirects
};

namespace detail {
struct client_handle;

/// A call that a function of client::before_call() prepares, and the work that it leaves.
struct call_preparation {
  call& what;
  beck::detail::deferred_init<task<>>& left;
};

}  // namespace detail

/// A client. Each call gets an idle connection to its origin, or a new one. At the limits of
/// client_options calls wait, in their order. A call is sent once more if it fails on a connection
/// that was idle, before any byte of a response: the server may have closed that connection. Its
/// method must be idempotent, and its body no stream.
///   http::client web(ctx, {.per_origin = 8});
///   auto got = co_await timeout(web.async_get("http://api.example/a.json"), 5s);
/// Thread: that of the context; stats(): any. Requires: an exclusive context, which is an
/// io_context. Lifetime: the context outlives it. The destructor ends all operations with
/// operation_aborted, also reads of bodies. An idle connection is work of the context: run()
/// returns when it has ended; see close_idle().
class client {
 public:
  /// Makes a client. Throws std::logic_error on a shared context.
  template <class Context>
    requires(!std::is_convertible_v<Context&, any_io_executor>)
  explicit client(Context& context, const client_options& limits = client_options())
      : client(any_io_executor(context.get_executor()), limits) {}
  /// As above, on the context of `executor`.
  explicit client(const any_io_executor& executor, const client_options& limits = client_options());
  ~client();
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  /// Enables https: `with` encrypts the connections of later calls, and verifies the host. It must
  /// outlive the client.
  void secure(stream_layer& with) noexcept;
  /// Makes the connections of later calls with `how` instead of TCP and of secure(). It must
  /// outlive the client.
  void connect_with(connector& how) noexcept;

  /// Makes the connections of later calls through proxies, unless connect_with() says otherwise.
  /// Copies the rules. Connections that are open are kept: see close_idle(). Throws std::bad_alloc.
  void through(const proxies& by);

  /// Calls `function(call&)` for each call before it connects, to set fields such as traceparent,
  /// or a token. It returns nothing, or a task<>, which is awaited; that sees the coroutine-local
  /// values (local_key) of the coroutine that awaits the call. Several functions are called in the
  /// order of this function. It may use call::set(), add(), time(), body_limit() and the like. A
  /// call that begins with a write has them before its first write connects. A redirect or a retry
  /// does not call it again. An exception ends the call with its error_code, or with
  /// client_error::before_call_failed. Copied or moved into the client; before the first call.
  /// Throws std::bad_alloc.
  template <class Function>
  void before_call(Function&& function) {
    prepare_with(detail::callback<detail::call_preparation&>::of(
        [prepare = std::decay_t<Function>(static_cast<Function&&>(function))](
            detail::call_preparation& of) mutable {
          if constexpr (std::is_void_v<decltype(prepare(of.what))>) {
            prepare(of.what);
          } else {
            of.left.emplace(prepare(of.what));
          }
        }));
  }
  /// Calls `function(const call_record&)` for each call that has begun and ended: its response was
  /// read whole, or dropped, or the call has failed. Several functions are called in the order of
  /// this function. It must not throw, and not destroy the client. Copied or moved into the client;
  /// before the first call. Throws std::bad_alloc.
  template <class Function>
  void on_finish(Function&& function) {
    report_to(detail::callback<const call_record&>::of(static_cast<Function&&>(function)));
  }

  /// Gets a URL. Completes with (error_code, client_response), errors and cancellation as
  /// call::async_finish(). `url` is copied. Throws std::bad_alloc.
  detail::call_finish async_get(std::string_view url);
  /// As above. `token` takes (error_code, client_response).
  template <class Token>
  auto async_get(std::string_view url, Token&& token) {
    return beck::detail::launch(async_get(url), static_cast<Token&&>(token));
  }
  /// Gets the head of a URL's response; else as async_get().
  detail::call_finish async_head(std::string_view url);
  /// As above. `token` takes (error_code, client_response).
  template <class Token>
  auto async_head(std::string_view url, Token&& token) {
    return beck::detail::launch(async_head(url), static_cast<Token&&>(token));
  }
  /// Deletes a URL; else as async_get().
  detail::call_finish async_delete(std::string_view url);
  /// As above. `token` takes (error_code, client_response).
  template <class Token>
  auto async_delete(std::string_view url, Token&& token) {
    return beck::detail::launch(async_delete(url), static_cast<Token&&>(token));
  }
  /// Posts a body, which must live until completion; else as async_get(). Throws
  /// std::invalid_argument if `content_type` has a control character.
  detail::call_finish async_post(std::string_view url, std::string_view content_type,
                                 const_buffer body);
  /// As above. `token` takes (error_code, client_response).
  template <class Token>
  auto async_post(std::string_view url, std::string_view content_type, const_buffer body,
                  Token&& token) {
    return beck::detail::launch(async_post(url, content_type, body), static_cast<Token&&>(token));
  }
  /// Puts a body; else as async_post().
  detail::call_finish async_put(std::string_view url, std::string_view content_type,
                                const_buffer body);
  /// As above. `token` takes (error_code, client_response).
  template <class Token>
  auto async_put(std::string_view url, std::string_view content_type, const_buffer body,
                 Token&& token) {
    return beck::detail::launch(async_put(url, content_type, body), static_cast<Token&&>(token));
  }

  /// Closes the connections that are idle now.
  void close_idle() noexcept;
  /// Returns the counters.
  client_stats stats() const noexcept;
  /// Returns the executor of the context.
  any_io_executor get_executor() const noexcept;

 private:
  friend class call;

  void prepare_with(const detail::callback<detail::call_preparation&>& function);
  void report_to(const detail::callback<const call_record&>& function);

  detail::client_handle* state_;
};

}  // namespace beck::http
