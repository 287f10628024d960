// SPDX-License-Identifier: BSL-1.0
// connect and async_connect with several endpoints, one after the other, such as the results of a
// lookup. With Asio's names and meaning; net/connect_race.hpp tries several at once.
#pragma once

#include <beck/net/stream_socket.hpp>
#include <beck/run/cancellation.hpp>
#include <beck/run/op.hpp>

namespace beck {

namespace detail {

/// A range whose elements are endpoints of a socket, or convert to them, as results of a lookup do.
template <class Range, class Endpoint>
concept endpoint_range = requires(const Range& range) {
  range.begin() == range.end();
  static_cast<Endpoint>(*range.begin());
};

/// Called before each attempt, with the error of the last one (none before the first) and the next
/// endpoint; false: that one is left out.
template <class Condition, class Endpoint>
concept connect_condition =
    requires(Condition& condition, const error_code& ec, const Endpoint& next) {
      { condition(ec, next) } -> std::convertible_to<bool>;
    };

/// Leaves out none.
struct any_endpoint {
  template <class Endpoint>
  bool operator()(const error_code&, const Endpoint&) const noexcept {
    return true;
  }
};

/// Connects a socket to the first endpoint that can be connected to.
template <class Socket, class Range, class Condition>
class [[nodiscard]] range_connect_operation
    : public op<range_connect_operation<Socket, Range, Condition>,
                void(error_code, typename Socket::endpoint_type)> {
  using endpoint_type = typename Socket::endpoint_type;
  using base = op<range_connect_operation, void(error_code, endpoint_type)>;

 public:
  using handler = typename base::handler;
  static constexpr const char* waits_for = "connect";

  range_connect_operation(Socket& socket, const Range& endpoints, Condition condition)
      : socket_(&socket), endpoints_(endpoints), condition_(static_cast<Condition&&>(condition)) {}
  /// Moves an inert one.
  range_connect_operation(range_connect_operation&& other) noexcept(false)
      : base(static_cast<base&&>(other)),
        socket_(other.socket_),
        endpoints_(static_cast<Range&&>(other.endpoints_)),
        condition_(static_cast<Condition&&>(other.condition_)) {}

  any_io_executor get_executor() const noexcept { return any_io_executor(socket_->get_executor()); }
  void initiate(handler done) {
    // Where entries run side by side a request would race with the steps.
    const any_io_executor home = done.get_executor();
    serial_ = !home || !home.table()->concurrent;
    next_ = endpoints_.begin();
    go_on(error_code(), static_cast<handler&&>(done));
  }
  void cancel() noexcept {
    if (!serial_) return;
    cancelled_ = true;
    step_.emit(cancellation_type::all);
  }

 private:
  /// The handler of one attempt. It owns `done_`: destroyed un-run, it abandons the operation.
  class step {
   public:
    using executor_type = any_io_executor;
    step(range_connect_operation& self, handler done) noexcept
        : self_(&self), done_(static_cast<handler&&>(done)) {}

    executor_type get_executor() const noexcept { return done_.get_executor(); }
    cancellation_slot get_cancellation_slot() const noexcept {
      return self_->serial_ ? self_->step_.slot() : cancellation_slot();
    }
    void operator()(const error_code& ec) { self_->attempted(ec, static_cast<handler&&>(done_)); }

   private:
    range_connect_operation* self_;
    handler done_;
  };

  void go_on(error_code last, handler done) {
    for (; next_ != endpoints_.end(); ++next_) {
      current_ = static_cast<endpoint_type>(*next_);
      if (!condition_(last, current_)) continue;
      ++next_;
      tried_ = true;
      error_code ignored;
      socket_->close(ignored);
      socket_->async_connect(current_, step(*this, static_cast<handler&&>(done)));
      return;
    }
    done(tried_ ? last : error::make_error_code(error::not_found), endpoint_type());
  }
  void attempted(const error_code& ec, handler done) {
    if (!ec) return done(ec, current_);
    if (cancelled_ || ec == error::operation_aborted) {  // or the socket was closed
      return done(error::make_error_code(error::operation_aborted), endpoint_type());
    }
    go_on(ec, static_cast<handler&&>(done));
  }

  using iterator = decltype(std::declval<const Range&>().begin());

  Socket* socket_;
  Range endpoints_;
  iterator next_{};
  Condition condition_;
  endpoint_type current_;
  cancellation_signal step_;
  bool serial_ = true;
  bool tried_ = false;
  bool cancelled_ = false;
};

}  // namespace detail

/// Connects `socket` to the first of the endpoints that can be connected to: tries them in order,
/// and closes the socket before each attempt. Completes with (error_code, endpoint): the endpoint
/// that was connected to.
/// Requires that the socket lives and is not moved until completion; the range is copied. Errors:
/// that of the last attempt; not_found if there was none.
/// Thread: as the socket. Cancellation: ends with operation_aborted, as does closing the socket; on
/// a shared context only in coroutines that run on a strand.
template <class Protocol, class Executor, detail::endpoint_range<typename Protocol::endpoint> Range>
detail::range_connect_operation<basic_stream_socket<Protocol, Executor>, Range,
                                detail::any_endpoint>
async_connect(basic_stream_socket<Protocol, Executor>& socket, const Range& endpoints) {
  return {socket, endpoints, detail::any_endpoint()};
}
/// As above, for the endpoints for which `condition(ec, endpoint)` returns true. `ec` is the error
/// of the last attempt, none before the first.
template <class Protocol, class Executor, detail::endpoint_range<typename Protocol::endpoint> Range,
          detail::connect_condition<typename Protocol::endpoint> Condition>
detail::range_connect_operation<basic_stream_socket<Protocol, Executor>, Range, Condition>
async_connect(basic_stream_socket<Protocol, Executor>& socket, const Range& endpoints,
              Condition condition) {
  return {socket, endpoints, static_cast<Condition&&>(condition)};
}
/// As above. `token` takes (error_code, endpoint).
template <class Protocol, class Executor, detail::endpoint_range<typename Protocol::endpoint> Range,
          completion_token_for<void(error_code, typename Protocol::endpoint)> Token>
  requires(!detail::connect_condition<std::decay_t<Token>, typename Protocol::endpoint>)
auto async_connect(basic_stream_socket<Protocol, Executor>& socket, const Range& endpoints,
                   Token&& token) {
  return detail::launch(beck::async_connect(socket, endpoints), static_cast<Token&&>(token));
}
/// As above, with a condition and a token.
template <class Protocol, class Executor, detail::endpoint_range<typename Protocol::endpoint> Range,
          detail::connect_condition<typename Protocol::endpoint> Condition,
          completion_token_for<void(error_code, typename Protocol::endpoint)> Token>
auto async_connect(basic_stream_socket<Protocol, Executor>& socket, const Range& endpoints,
                   Condition condition, Token&& token) {
  return detail::launch(beck::async_connect(socket, endpoints, static_cast<Condition&&>(condition)),
                        static_cast<Token&&>(token));
}

/// Connects as async_connect(), in this call, which blocks. Returns the endpoint that was connected
/// to, a default one after an error.
template <class Protocol, class Executor, detail::endpoint_range<typename Protocol::endpoint> Range,
          detail::connect_condition<typename Protocol::endpoint> Condition>
typename Protocol::endpoint connect(basic_stream_socket<Protocol, Executor>& socket,
                                    const Range& endpoints, Condition condition, error_code& ec) {
  using endpoint_type = typename Protocol::endpoint;
  bool tried = false;
  ec = error_code();
  for (auto at = endpoints.begin(); at != endpoints.end(); ++at) {
    const auto next = static_cast<endpoint_type>(*at);
    if (!condition(static_cast<const error_code&>(ec), next)) continue;
    tried = true;
    socket.close(ec);
    socket.connect(next, ec);
    if (!ec) return next;
  }
  if (!tried) ec = error::make_error_code(error::not_found);
  return endpoint_type();
}
/// As above, without a condition.
template <class Protocol, class Executor, detail::endpoint_range<typename Protocol::endpoint> Range>
typename Protocol::endpoint connect(basic_stream_socket<Protocol, Executor>& socket,
                                    const Range& endpoints, error_code& ec) {
  return beck::connect(socket, endpoints, detail::any_endpoint(), ec);
}
/// As above, and throws io_error on failure.
template <class Protocol, class Executor, detail::endpoint_range<typename Protocol::endpoint> Range>
typename Protocol::endpoint connect(basic_stream_socket<Protocol, Executor>& socket,
                                    const Range& endpoints) {
  error_code ec;
  const auto endpoint = beck::connect(socket, endpoints, detail::any_endpoint(), ec);
  detail::throw_if(ec, "connect");
  return endpoint;
}
/// As above, with a condition.
template <class Protocol, class Executor, detail::endpoint_range<typename Protocol::endpoint> Range,
          detail::connect_condition<typename Protocol::endpoint> Condition>
typename Protocol::endpoint connect(basic_stream_socket<Protocol, Executor>& socket,
                                    const Range& endpoints, Condition condition) {
  error_code ec;
  const auto endpoint = beck::connect(socket, endpoints, static_cast<Condition&&>(condition), ec);
  detail::throw_if(ec, "connect");
  return endpoint;
}

}  // namespace beck
