// SPDX-License-Identifier: BSL-1.0
// Connecting to the first endpoint that accepts: beck's forms, which take a range, and those of
// Asio that take two iterators, or a condition that moves an iterator on.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>
#include <beck/asio/token.hpp>
#include <beck/net/connect.hpp>

BECK_ASIO_BEGIN

using beck::async_connect;
using beck::connect;

namespace facade {

/// An iterator over things that are endpoints of the protocol.
template <class I, class Protocol>
concept endpoint_iterator =
    std::copyable<I> && !beck::detail::endpoint_range<I, typename Protocol::endpoint> &&
    requires(const I& at, I& moved) {
      static_cast<typename Protocol::endpoint>(*at);
      ++moved;
      at == at;
    };
/// A condition of before Asio 1.12: returns the iterator to go on with.
template <class Condition, class I>
concept moving_condition = requires(Condition& condition, const error_code& ec, const I& next) {
  { condition(ec, next) } -> std::same_as<I>;
};
/// Either kind of condition.
template <class Condition, class I, class Protocol>
concept any_condition = moving_condition<Condition, I> ||
                        beck::detail::connect_condition<Condition, typename Protocol::endpoint>;

/// Returns where the next attempt is, from `at` on: `end` if there is none.
template <class Protocol, class I, class Condition>
I next_attempt(Condition& condition, const error_code& ec, I at, const I& end) {
  if constexpr (moving_condition<Condition, I>) {
    return at == end ? at : condition(ec, at);
  } else {
    while (!(at == end) && !condition(ec, static_cast<typename Protocol::endpoint>(*at))) ++at;
    return at;
  }
}

/// Tries the endpoints. Returns the iterator of the one that was connected to, or `end`.
template <class Protocol, class Executor, class I, class Condition>
I connect_in_turn(beck::basic_stream_socket<Protocol, Executor>& socket, I at, const I& end,
                  Condition& condition, error_code& ec) {
  ec = error_code();
  bool is_tried = false;
  for (at = facade::next_attempt<Protocol>(condition, ec, at, end); !(at == end);
       at = facade::next_attempt<Protocol>(condition, ec, at, end)) {
    is_tried = true;
    socket.close(ec);
    socket.connect(static_cast<typename Protocol::endpoint>(*at), ec);
    if (!ec) return at;
    ++at;
  }
  if (!is_tried) ec = error::not_found;
  return end;
}

/// The steps of async_connect() with iterators.
template <class Socket, class I, class Condition>
class connect_steps {
  using protocol = typename Socket::protocol_type;

 public:
  connect_steps(Socket& socket, I at, I end, Condition condition)
      : socket_(&socket),
        at_(std::move(at)),
        end_(std::move(end)),
        condition_(std::move(condition)) {}

  template <class Self>
  void operator()(Self& self) {
    at_ = facade::next_attempt<protocol>(condition_, error_code(), at_, end_);
    if (at_ == end_) {
      self.complete(error::not_found, end_);
    } else {
      attempt(self);
    }
  }
  template <class Self>
  void operator()(Self& self, const error_code& ec) {
    if (!ec || !socket_->is_open()) {  // closed: cancelled by the program
      self.complete(ec ? error_code(error::operation_aborted) : ec, ec ? end_ : at_);
      return;
    }
    ++at_;
    at_ = facade::next_attempt<protocol>(condition_, ec, at_, end_);
    if (at_ == end_) {
      self.complete(ec, end_);
    } else {
      attempt(self);
    }
  }

 private:
  template <class Self>
  void attempt(Self& self) {
    Socket& socket = *socket_;  // `self` moves this object away
    const auto next = static_cast<typename protocol::endpoint>(*at_);
    error_code ignored;
    socket.close(ignored);
    socket.async_connect(next, static_cast<Self&&>(self));
  }

  Socket* socket_;
  I at_;
  I end_;
  Condition condition_;
};

/// Passes the endpoint of an iterator on, into a copy of a range that lives until then.
template <class Endpoint, class Range, class Handler>
class with_endpoint {
 public:
  with_endpoint(Handler handler, std::shared_ptr<const Range> kept)
      : handler_(std::move(handler)), kept_(std::move(kept)) {}
  const Handler& wrapped_handler() const noexcept { return handler_; }
  template <class I>
  void operator()(const error_code& ec, const I& at) {
    const Endpoint found = ec ? Endpoint() : static_cast<Endpoint>(*at);
    kept_.reset();
    static_cast<Handler&&>(handler_)(ec, found);
  }

 private:
  Handler handler_;
  std::shared_ptr<const Range> kept_;
};

/// The iterator of a constant range.
template <class Range>
using range_iterator = std::decay_t<decltype(std::declval<const Range&>().begin())>;

}  // namespace facade

/// Connects to the first endpoint from `begin` on that accepts, and that `condition` does not leave
/// out. Blocks. Returns its iterator, `end` after an error.
template <class Protocol, class Executor, facade::endpoint_iterator<Protocol> I,
          facade::any_condition<I, Protocol> Condition>
I connect(beck::basic_stream_socket<Protocol, Executor>& socket, I begin, I end,
          Condition condition, error_code& ec) {
  return facade::connect_in_turn(socket, begin, end, condition, ec);
}
/// As above. Throws a system_error.
template <class Protocol, class Executor, facade::endpoint_iterator<Protocol> I,
          facade::any_condition<I, Protocol> Condition>
I connect(beck::basic_stream_socket<Protocol, Executor>& socket, I begin, I end,
          Condition condition) {
  error_code ec;
  I found = facade::connect_in_turn(socket, begin, end, condition, ec);
  if (ec) throw system_error(ec, "connect");
  return found;
}
/// As above, without a condition.
template <class Protocol, class Executor, facade::endpoint_iterator<Protocol> I>
I connect(beck::basic_stream_socket<Protocol, Executor>& socket, I begin, I end, error_code& ec) {
  return BECK_ASIO::connect(socket, begin, end, beck::detail::any_endpoint(), ec);
}
/// As above. Throws a system_error.
template <class Protocol, class Executor, facade::endpoint_iterator<Protocol> I>
I connect(beck::basic_stream_socket<Protocol, Executor>& socket, I begin, I end) {
  return BECK_ASIO::connect(socket, begin, end, beck::detail::any_endpoint());
}
/// As beck::connect(), with a condition that moves an iterator of the range on.
template <class Protocol, class Executor,
          beck::detail::endpoint_range<typename Protocol::endpoint> Range,
          facade::moving_condition<facade::range_iterator<Range>> Condition>
typename Protocol::endpoint connect(beck::basic_stream_socket<Protocol, Executor>& socket,
                                    const Range& endpoints, Condition condition, error_code& ec) {
  const auto found =
      facade::connect_in_turn(socket, endpoints.begin(), endpoints.end(), condition, ec);
  using endpoint = typename Protocol::endpoint;
  return ec ? endpoint() : static_cast<endpoint>(*found);
}
/// As above. Throws a system_error.
template <class Protocol, class Executor,
          beck::detail::endpoint_range<typename Protocol::endpoint> Range,
          facade::moving_condition<facade::range_iterator<Range>> Condition>
typename Protocol::endpoint connect(beck::basic_stream_socket<Protocol, Executor>& socket,
                                    const Range& endpoints, Condition condition) {
  error_code ec;
  const auto found = BECK_ASIO::connect(socket, endpoints, std::move(condition), ec);
  if (ec) throw system_error(ec, "connect");
  return found;
}

/// Starts connecting to the first endpoint from `begin` on that accepts, and that `condition` does
/// not leave out. `token` takes (error_code, I): its iterator, `end` after an error. Requires that
/// the socket and what the iterators point to live until then.
template <class Protocol, class Executor, facade::endpoint_iterator<Protocol> I,
          facade::any_condition<I, Protocol> Condition, class Token = beck::deferred_t>
auto async_connect(beck::basic_stream_socket<Protocol, Executor>& socket, I begin, I end,
                   Condition condition, Token&& token = Token()) {
  using steps = facade::connect_steps<beck::basic_stream_socket<Protocol, Executor>, I, Condition>;
  return beck::async_compose<Token, void(error_code, I)>(
      steps(socket, begin, end, std::move(condition)), token, socket);
}
/// As above, without a condition.
template <class Protocol, class Executor, facade::endpoint_iterator<Protocol> I,
          class Token = beck::deferred_t>
  requires(!facade::any_condition<std::decay_t<Token>, I, Protocol>)
auto async_connect(beck::basic_stream_socket<Protocol, Executor>& socket, I begin, I end,
                   Token&& token = Token()) {
  return BECK_ASIO::async_connect(socket, begin, end, beck::detail::any_endpoint(),
                                  static_cast<Token&&>(token));
}
/// As beck::async_connect(), with a condition that moves an iterator of the range on. The range is
/// copied.
template <class Protocol, class Executor,
          beck::detail::endpoint_range<typename Protocol::endpoint> Range,
          facade::moving_condition<facade::range_iterator<Range>> Condition,
          class Token = beck::deferred_t>
auto async_connect(beck::basic_stream_socket<Protocol, Executor>& socket, const Range& endpoints,
                   Condition condition, Token&& token = Token()) {
  using endpoint = typename Protocol::endpoint;
  return beck::async_initiate<Token, void(error_code, endpoint)>(
      [&socket](auto&& handler, std::shared_ptr<const Range> kept, Condition moves) {
        using handler_type = std::decay_t<decltype(handler)>;
        const Range& range = *kept;
        BECK_ASIO::async_connect(
            socket, range.begin(), range.end(), std::move(moves),
            facade::with_endpoint<endpoint, Range, handler_type>(
                handler_type(static_cast<decltype(handler)&&>(handler)), std::move(kept)));
      },
      token, std::make_shared<const Range>(endpoints), std::move(condition));
}

BECK_ASIO_END
