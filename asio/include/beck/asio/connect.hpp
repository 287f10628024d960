// SPDX-License-Identifier: BSL-1.0
// Connecting to the first endpoint that accepts: beck's forms, which take a range, and those of
// Asio that take two iterators, or a condition that moves an iterator on.
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include <beck/asio/compose.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>
#include <beck/asio/token.hpp>
#include <beck/net/connect.hpp>

BECK_ASIO_BEGIN

using beck::connect;

/// Whether a class is a sequence of endpoints for connect(): it has iterators.
template <class T>
    struct is_endpoint_sequence : std::bool_constant < requires(const T& all) {
  all.begin();
  all.end();
  typename std::iterator_traits<decltype(all.begin())>::value_type;
}>{};
/// Whether a class is a condition for connect() with such an iterator.
template <class T, class Iterator>
    struct is_connect_condition
    : std::bool_constant < requires(T& condition, const beck::error_code& ec, Iterator at) {
  { condition(ec, at) } -> std::same_as<Iterator>;
} || requires(T& condition, const beck::error_code& ec, Iterator at) {
  { condition(ec, *at) } -> std::same_as<bool>;
}>{};

namespace facade {

/// A socket that connects, also of datagrams.
template <class S>
concept connecting_socket =
    requires(S& socket, const typename S::endpoint_type& to, beck::error_code& ec) {
      typename S::protocol_type;
      typename S::executor_type;
      socket.connect(to, ec);
    };
template <class S>
using protocol_of = typename S::protocol_type;
template <class S>
using default_token_of = beck::default_completion_token_t<typename S::executor_type>;
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
concept moving_condition =
    requires(Condition& condition, const beck::error_code& ec, const I& next) {
      { condition(ec, next) } -> std::same_as<I>;
    };
/// Either kind of condition.
template <class Condition, class I, class Protocol>
concept any_condition = moving_condition<Condition, I> ||
                        beck::detail::connect_condition<Condition, typename Protocol::endpoint>;

/// Returns where the next attempt is, from `at` on: `end` if there is none.
template <class Protocol, class I, class Condition>
I next_attempt(Condition& condition, const beck::error_code& ec, I at, const I& end) {
  if constexpr (moving_condition<Condition, I>) {
    return at == end ? at : condition(ec, at);
  } else {
    while (!(at == end) && !condition(ec, static_cast<typename Protocol::endpoint>(*at))) ++at;
    return at;
  }
}

/// Tries the endpoints. Returns the iterator of the one that was connected to, or `end`.
template <class Socket, class I, class Condition>
I connect_in_turn(Socket& socket, I at, const I& end, Condition& condition, beck::error_code& ec) {
  using Protocol = protocol_of<Socket>;
  ec = beck::error_code();
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

/// The steps of async_connect(). A terminal or partial request ends them, and closing the socket.
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
    self.reset_cancellation_state(enable_partial_cancellation());
    go_on(self, beck::error_code(), error::not_found);
  }
  template <class Self>
  void operator()(Self& self, const beck::error_code& ec) {
    if (!socket_->is_open() || (ec && !!self.cancelled())) {
      self.complete(error::operation_aborted, at_);
    } else if (!ec) {
      self.complete(ec, at_);
    } else {
      ++at_;
      go_on(self, ec, ec);
    }
  }

 private:
  /// Tries the next endpoint, and ends with `none` if there is none.
  template <class Self>
  void go_on(Self& self, const beck::error_code& last, const beck::error_code& none) {
    at_ = facade::next_attempt<protocol>(condition_, last, at_, end_);
    if (at_ == end_) {
      self.complete(none, end_);
      return;
    }
    Socket& socket = *socket_;  // `self` moves this object away
    const auto next = static_cast<typename protocol::endpoint>(*at_);
    beck::error_code ignored;
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
  void operator()(const beck::error_code& ec, const I& at) {
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

/// The initiation of async_connect() with a range, of which it keeps a copy.
template <class Socket>
class range_connect_initiation {
  using endpoint = typename Socket::endpoint_type;

 public:
  explicit range_connect_initiation(Socket& socket) noexcept : socket_(&socket) {}
  any_io_executor get_executor() const noexcept { return any_io_executor(socket_->get_executor()); }

  template <class Handler, class Range, class Condition>
  void operator()(Handler&& handler, std::shared_ptr<const Range> kept, Condition condition) const {
    const Range& range = *kept;
    with_endpoint<endpoint, Range, std::decay_t<Handler>> passed(static_cast<Handler&&>(handler),
                                                                 std::move(kept));
    using iterator = range_iterator<Range>;
    using steps = connect_steps<Socket, iterator, Condition>;
    compose_function<decltype(passed), void(beck::error_code, iterator)>()(
        steps(*socket_, range.begin(), range.end(), std::move(condition)), passed, *socket_);
  }

 private:
  Socket* socket_;
};

/// Endpoints, as a range or from an iterator on whose default is the end.
template <class E, class Protocol>
concept endpoints = beck::detail::endpoint_range<E, typename Protocol::endpoint> ||
                    (endpoint_iterator<E, Protocol> && std::is_default_constructible_v<E>);
/// The iterator over them.
template <class E>
struct endpoints_iterator {
  using type = E;
};
template <class E>
  requires requires(const E& all) { all.begin(); }
struct endpoints_iterator<E> {
  using type = range_iterator<E>;
};
/// Whether T is a token that follows endpoints, and no condition or iterator.
template <class T, class E, class Protocol>
concept connect_token =
    !any_condition<std::decay_t<T>, typename endpoints_iterator<E>::type, Protocol> &&
    !std::is_same_v<std::decay_t<T>, E>;

struct connect_function {
  template <connecting_socket Socket, endpoint_iterator<protocol_of<Socket>> I,
            any_condition<I, protocol_of<Socket>> Condition, class Token = default_token_of<Socket>>
  auto operator()(Socket& to, I begin, I end, Condition condition, Token&& token = Token()) const {
    using steps = connect_steps<Socket, I, Condition>;
    return compose_function<Token, void(beck::error_code, I)>()(
        steps(to, std::move(begin), std::move(end), std::move(condition)), token, to);
  }
  template <connecting_socket Socket, endpoint_iterator<protocol_of<Socket>> I,
            connect_token<I, protocol_of<Socket>> Token = default_token_of<Socket>>
  auto operator()(Socket& to, I begin, I end, Token&& token = Token()) const {
    return (*this)(to, std::move(begin), std::move(end), beck::detail::any_endpoint(),
                   static_cast<Token&&>(token));
  }
  template <connecting_socket Socket, endpoints<protocol_of<Socket>> E,
            any_condition<typename endpoints_iterator<E>::type, protocol_of<Socket>> Condition,
            class Token = default_token_of<Socket>>
  auto operator()(Socket& to, const E& all, Condition condition, Token&& token = Token()) const {
    if constexpr (endpoint_iterator<E, protocol_of<Socket>>) {
      return (*this)(to, all, E(), std::move(condition), static_cast<Token&&>(token));
    } else {
      return beck::async_initiate<Token, void(beck::error_code, typename Socket::endpoint_type)>(
          range_connect_initiation<Socket>(to), token, std::make_shared<const E>(all),
          std::move(condition));
    }
  }
  template <connecting_socket Socket, endpoints<protocol_of<Socket>> E,
            connect_token<E, protocol_of<Socket>> Token = default_token_of<Socket>>
  auto operator()(Socket& to, const E& all, Token&& token = Token()) const {
    return (*this)(to, all, beck::detail::any_endpoint(), static_cast<Token&&>(token));
  }
};

}  // namespace facade

/// Starts connecting to the first of the endpoints that accepts, and that a condition does not
/// leave out. Parameters: the socket; a range, which is copied, or two iterators; perhaps a
/// condition, which returns whether to try an endpoint, or moves an iterator on; perhaps a token.
/// It takes (error_code, endpoint), with iterators (error_code, iterator): the end if none
/// accepted. Requires that the socket and what iterators point to live until then. Cancellation:
/// terminal and partial requests, and closing the socket, end it with operation_aborted. An
/// object, so that argument-dependent lookup does not find beck's functions beside it.
inline constexpr facade::connect_function async_connect{};

/// Connects to the first endpoint from `begin` on that accepts, and that `condition` does not leave
/// out. Blocks. Returns its iterator, `end` after an error.
template <facade::connecting_socket Socket,
          facade::endpoint_iterator<facade::protocol_of<Socket>> I,
          facade::any_condition<I, facade::protocol_of<Socket>> Condition>
I connect(Socket& socket, I begin, I end, Condition condition, beck::error_code& ec) {
  return facade::connect_in_turn(socket, begin, end, condition, ec);
}
/// As above. Throws a system_error.
template <facade::connecting_socket Socket,
          facade::endpoint_iterator<facade::protocol_of<Socket>> I,
          facade::any_condition<I, facade::protocol_of<Socket>> Condition>
I connect(Socket& socket, I begin, I end, Condition condition) {
  beck::error_code ec;
  I found = facade::connect_in_turn(socket, begin, end, condition, ec);
  if (ec) throw system_error(ec, "connect");
  return found;
}
/// As above, without a condition.
template <facade::connecting_socket Socket,
          facade::endpoint_iterator<facade::protocol_of<Socket>> I>
I connect(Socket& socket, I begin, I end, beck::error_code& ec) {
  return BECK_ASIO::connect(socket, begin, end, beck::detail::any_endpoint(), ec);
}
/// As above. Throws a system_error.
template <facade::connecting_socket Socket,
          facade::endpoint_iterator<facade::protocol_of<Socket>> I>
I connect(Socket& socket, I begin, I end) {
  return BECK_ASIO::connect(socket, begin, end, beck::detail::any_endpoint());
}
/// As beck::connect(), for datagram sockets, too, and with a condition that moves an iterator on.
template <
    facade::connecting_socket Socket,
    beck::detail::endpoint_range<typename Socket::endpoint_type> Range,
    facade::any_condition<facade::range_iterator<Range>, facade::protocol_of<Socket>> Condition>
typename Socket::endpoint_type connect(Socket& socket, const Range& endpoints, Condition condition,
                                       beck::error_code& ec) {
  const auto found =
      facade::connect_in_turn(socket, endpoints.begin(), endpoints.end(), condition, ec);
  using endpoint = typename Socket::endpoint_type;
  return ec ? endpoint() : static_cast<endpoint>(*found);
}
/// As above. Throws a system_error.
template <
    facade::connecting_socket Socket,
    beck::detail::endpoint_range<typename Socket::endpoint_type> Range,
    facade::any_condition<facade::range_iterator<Range>, facade::protocol_of<Socket>> Condition>
typename Socket::endpoint_type connect(Socket& socket, const Range& endpoints,
                                       Condition condition) {
  beck::error_code ec;
  const auto found = BECK_ASIO::connect(socket, endpoints, std::move(condition), ec);
  if (ec) throw system_error(ec, "connect");
  return found;
}
/// As above, without a condition.
template <facade::connecting_socket Socket,
          beck::detail::endpoint_range<typename Socket::endpoint_type> Range>
typename Socket::endpoint_type connect(Socket& socket, const Range& endpoints,
                                       beck::error_code& ec) {
  return BECK_ASIO::connect(socket, endpoints, beck::detail::any_endpoint(), ec);
}
/// As above. Throws a system_error.
template <facade::connecting_socket Socket,
          beck::detail::endpoint_range<typename Socket::endpoint_type> Range>
typename Socket::endpoint_type connect(Socket& socket, const Range& endpoints) {
  return BECK_ASIO::connect(socket, endpoints, beck::detail::any_endpoint());
}

BECK_ASIO_END
