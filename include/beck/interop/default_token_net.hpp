// SPDX-License-Identifier: BSL-1.0
// Sockets, acceptors and resolvers with a default token:
// `using tcp_socket = use_awaitable_t<>::as_default_on_t<ip::tcp::socket>;`. See default_token.hpp.
#pragma once

#include <beck/detail/functions.hpp>
#include <beck/interop/default_token.hpp>
#include <beck/net/connect.hpp>
#include <beck/net/connect_race.hpp>
#include <beck/net/datagram_batch.hpp>
#include <beck/net/datagram_socket.hpp>
#include <beck/net/resolver.hpp>
#include <beck/net/socket_acceptor.hpp>
#include <beck/net/stream_socket.hpp>
#include <string_view>

namespace beck {

namespace detail {

/// Adds the function for connecting.
template <class Base>
class connects_by_default : public Base {
 public:
  using Base::Base;

  template <class... Token>
  auto async_connect(const typename Base::endpoint_type& endpoint, Token&&... token) {
    return this->start(Base::async_connect(endpoint, deferred), static_cast<Token&&>(token)...);
  }
};

/// The bases of connected sockets with a default token.
template <class Base>
using socket_with_token = connects_by_default<waits_by_default<Base>>;

/// No token or one, which is no number with flags.
template <class... T>
concept at_most_a_token = sizeof...(T) <= 1 && (!std::is_convertible_v<T, int> && ...);

}  // namespace detail

/// A stream socket with a default token.
template <class Protocol, class Token, class Inner>
class basic_stream_socket<Protocol, detail::executor_with_token<Token, Inner>>
    : public detail::socket_with_token<detail::stream_with_token<
          basic_stream_socket<Protocol, Inner>, detail::executor_with_token<Token, Inner>>> {
  using base = typename basic_stream_socket::connects_by_default;

 public:
  using base::base;

  /// Starts async_write_some().
  template <class Buffers, class... Given>
  auto async_send(const Buffers& buffers, Given&&... token) {
    return this->async_write_some(buffers, static_cast<Given&&>(token)...);
  }
  /// Starts async_read_some().
  template <class Buffers, class... Given>
  auto async_receive(const Buffers& buffers, Given&&... token) {
    return this->async_read_some(buffers, static_cast<Given&&>(token)...);
  }
  /// Waits for a status of the peer, as the plain socket.
  template <class... Given>
  auto async_wait_peer(typename base::peer_status status, Given&&... token) {
    return this->start(base::async_wait_peer(status, deferred), static_cast<Given&&>(token)...);
  }
};

/// A datagram socket with a default token.
template <class Protocol, class Token, class Inner>
class basic_datagram_socket<Protocol, detail::executor_with_token<Token, Inner>>
    : public detail::socket_with_token<detail::object_with_token<
          basic_datagram_socket<Protocol, Inner>, detail::executor_with_token<Token, Inner>>> {
  using base = typename basic_datagram_socket::connects_by_default;

 public:
  /// The type of the endpoints.
  using endpoint_type = typename Protocol::endpoint;
  /// Flags of a transfer.
  using message_flags = int;

  using base::base;

  /// Receives a datagram and its sender, as the plain socket.
  template <class Buffers, class... Given>
    requires detail::at_most_a_token<Given...>
  auto async_receive_from(const Buffers& buffers, endpoint_type& sender, Given&&... token) {
    return async_receive_from(buffers, sender, message_flags(0), static_cast<Given&&>(token)...);
  }
  /// As above, with flags.
  template <class Buffers, class... Given>
  auto async_receive_from(const Buffers& buffers, endpoint_type& sender, message_flags flags,
                          Given&&... token) {
    return this->start(base::async_receive_from(buffers, sender, flags, deferred),
                       static_cast<Given&&>(token)...);
  }
  /// Receives a datagram, as the plain socket.
  template <class Buffers, class... Given>
    requires detail::at_most_a_token<Given...>
  auto async_receive(const Buffers& buffers, Given&&... token) {
    return async_receive(buffers, message_flags(0), static_cast<Given&&>(token)...);
  }
  /// As above, with flags.
  template <class Buffers, class... Given>
  auto async_receive(const Buffers& buffers, message_flags flags, Given&&... token) {
    return this->start(base::async_receive(buffers, flags, deferred),
                       static_cast<Given&&>(token)...);
  }
  /// Sends a datagram to `destination`, as the plain socket.
  template <class Buffers, class... Given>
    requires detail::at_most_a_token<Given...>
  auto async_send_to(const Buffers& buffers, const endpoint_type& destination, Given&&... token) {
    return async_send_to(buffers, destination, message_flags(0), static_cast<Given&&>(token)...);
  }
  /// As above, with flags.
  template <class Buffers, class... Given>
  auto async_send_to(const Buffers& buffers, const endpoint_type& destination, message_flags flags,
                     Given&&... token) {
    return this->start(base::async_send_to(buffers, destination, flags, deferred),
                       static_cast<Given&&>(token)...);
  }
  /// Sends a datagram to the peer, as the plain socket.
  template <class Buffers, class... Given>
    requires detail::at_most_a_token<Given...>
  auto async_send(const Buffers& buffers, Given&&... token) {
    return async_send(buffers, message_flags(0), static_cast<Given&&>(token)...);
  }
  /// As above, with flags.
  template <class Buffers, class... Given>
  auto async_send(const Buffers& buffers, message_flags flags, Given&&... token) {
    return this->start(base::async_send(buffers, flags, deferred), static_cast<Given&&>(token)...);
  }
  /// Receives several datagrams, as the plain socket.
  template <std::size_t Capacity, class... Given>
  auto async_receive_many(receive_batch<Protocol, Capacity>& batch, Given&&... token) {
    return this->start(base::async_receive_many(batch, deferred), static_cast<Given&&>(token)...);
  }
  /// Sends several datagrams, as the plain socket.
  template <std::size_t Capacity, class... Given>
  auto async_send_many(send_batch<Protocol, Capacity>& batch, Given&&... token) {
    return this->start(base::async_send_many(batch, deferred), static_cast<Given&&>(token)...);
  }
};

/// An acceptor with a default token. Its sockets have it, too.
template <class Protocol, class Token, class Inner>
class basic_socket_acceptor<Protocol, detail::executor_with_token<Token, Inner>>
    : public detail::waits_by_default<detail::object_with_token<
          basic_socket_acceptor<Protocol, Inner>, detail::executor_with_token<Token, Inner>>> {
  using base = typename basic_socket_acceptor::waits_by_default;

 public:
  /// The type of the endpoints.
  using endpoint_type = typename Protocol::endpoint;
  /// The type of accepted sockets.
  using socket_type =
      basic_stream_socket<Protocol, detail::executor_with_token<Token, any_io_executor>>;

  using base::base;

  /// Accepts the next connection, as the plain acceptor.
  template <class... Given>
    requires(sizeof...(Given) <= 1 &&
             (!detail::accept_target<std::decay_t<Given>, endpoint_type> && ...))
  auto async_accept(Given&&... token) {
    return this->start(this->template accept_on<socket_type>(this->object_executor()),
                       static_cast<Given&&>(token)...);
  }
  /// Accepts with a target, as the plain acceptor: an executor, a context, a socket of the caller
  /// or an endpoint.
  template <class Target, class... Given>
    requires(detail::accept_target<std::decay_t<Target>, endpoint_type> &&
             (!std::is_same_v<std::decay_t<Given>, endpoint_type> && ...))
  auto async_accept(Target&& target, Given&&... token) {
    if constexpr (detail::accept_place<Target>) {
      return this->start(this->template accept_on<socket_type>(target),
                         static_cast<Given&&>(token)...);
    } else if constexpr (std::is_same_v<std::decay_t<Target>, endpoint_type>) {
      return this->start(this->template accept_on<socket_type>(this->object_executor(), &target),
                         static_cast<Given&&>(token)...);
    } else {
      return this->start(base::async_accept(target, deferred), static_cast<Given&&>(token)...);
    }
  }
  /// As above, and writes the peer's endpoint.
  template <class Target, class... Given>
    requires detail::accept_target<std::decay_t<Target>, endpoint_type>
  auto async_accept(Target&& target, endpoint_type& endpoint, Given&&... token) {
    if constexpr (detail::accept_place<Target>) {
      return this->start(this->template accept_on<socket_type>(target, &endpoint),
                         static_cast<Given&&>(token)...);
    } else {
      return this->start(base::async_accept(target, endpoint, deferred),
                         static_cast<Given&&>(token)...);
    }
  }

  /// Accepts in this call, as the plain acceptor.
  template <class... Args>
  auto accept(Args&&... args) {
    if constexpr (std::is_void_v<decltype(base::accept(static_cast<Args&&>(args)...))>) {
      base::accept(static_cast<Args&&>(args)...);
    } else {
      return socket_type(base::accept(static_cast<Args&&>(args)...));
    }
  }
};

namespace detail {

template <class Protocol, class Token, class Inner>
class rebound<ip::basic_resolver<Protocol>, executor_with_token<Token, Inner>>
    : public object_with_token<ip::basic_resolver<Protocol>, executor_with_token<Token, Inner>> {
  using base = typename rebound::object_with_token;
  using flags = ip::resolver_base::flags;

 public:
  using base::base;

  template <class... Given>
    requires at_most_a_token<Given...>
  auto async_resolve(std::string_view host, std::string_view service, Given&&... token) {
    return async_resolve(host, service, flags(), static_cast<Given&&>(token)...);
  }
  template <class... Given>
  auto async_resolve(std::string_view host, std::string_view service, flags how, Given&&... token) {
    return this->start(base::async_resolve(host, service, how, deferred),
                       static_cast<Given&&>(token)...);
  }
  template <class... Given>
    requires at_most_a_token<Given...>
  auto async_resolve(const Protocol& protocol, std::string_view host, std::string_view service,
                     Given&&... token) {
    return async_resolve(protocol, host, service, flags(), static_cast<Given&&>(token)...);
  }
  template <class... Given>
  auto async_resolve(const Protocol& protocol, std::string_view host, std::string_view service,
                     flags how, Given&&... token) {
    return this->start(base::async_resolve(protocol, host, service, how, deferred),
                       static_cast<Given&&>(token)...);
  }
  template <class... Given>
  auto async_resolve(const typename Protocol::endpoint& endpoint, Given&&... token) {
    return this->start(base::async_resolve(endpoint, deferred), static_cast<Given&&>(token)...);
  }
};

}  // namespace detail

// --- connecting with several endpoints, without a token ------------------------------------------
/// As the function for plain sockets, with the socket's default token.
template <class Protocol, class Token, class Inner,
          detail::endpoint_range<typename Protocol::endpoint> Range>
auto async_connect(basic_stream_socket<Protocol, detail::executor_with_token<Token, Inner>>& socket,
                   const Range& endpoints) {
  basic_stream_socket<Protocol, Inner>& plain = socket;
  return beck::async_connect(plain, endpoints, deferred)(Token());
}
/// As above, with a condition.
template <class Protocol, class Token, class Inner,
          detail::endpoint_range<typename Protocol::endpoint> Range,
          detail::connect_condition<typename Protocol::endpoint> Condition>
auto async_connect(basic_stream_socket<Protocol, detail::executor_with_token<Token, Inner>>& socket,
                   const Range& endpoints, Condition condition) {
  basic_stream_socket<Protocol, Inner>& plain = socket;
  return beck::async_connect(plain, endpoints, static_cast<Condition&&>(condition),
                             deferred)(Token());
}
/// As above, with several attempts at once (net/connect_race.hpp).
template <class Token, class Inner, detail::endpoint_range<ip::tcp::endpoint> Range>
auto async_connect(basic_stream_socket<ip::tcp, detail::executor_with_token<Token, Inner>>& socket,
                   const Range& endpoints, const happy_eyeballs& how) {
  ip::tcp::socket& plain = socket;
  return beck::async_connect(plain, endpoints, how)(Token());
}
/// As above, by name.
template <class Token, class Inner>
auto async_connect(basic_stream_socket<ip::tcp, detail::executor_with_token<Token, Inner>>& socket,
                   std::string_view host, std::string_view service,
                   const happy_eyeballs& how = {}) {
  ip::tcp::socket& plain = socket;
  return beck::async_connect(plain, host, service, how)(Token());
}

}  // namespace beck
