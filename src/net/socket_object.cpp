// SPDX-License-Identifier: BSL-1.0
// The synchronous functions of sockets: a closed object fails with bad_descriptor, all other
// results are those of the system calls.
#include <beck/detail/socket_object.hpp>

#include <cerrno>

#include "io/driver/listed_sends.hpp"
#include "io/loop/io_loop.hpp"

namespace beck::detail {
namespace {

system& sys_of(const descriptor& d) noexcept { return d.loop->sys(); }

constexpr int tcp_number = 6;  // IPPROTO_TCP

/// Returns the nature of a socket of this kind, with the arguments of socket(2).
descriptor_nature nature_of(int family, int type, int protocol) noexcept {
  constexpr int unix_family = 1, stream = 1;  // AF_UNIX, SOCK_STREAM
  if (protocol == tcp_number) return descriptor_nature::tcp;
  return family == unix_family && type == stream ? descriptor_nature::unix_stream
                                                 : descriptor_nature::socket;
}

/// Returns the nature of a socket that was made elsewhere. It asks the kernel, because the protocol
/// that the program states may be wrong.
descriptor_nature nature_of(const descriptor& d, int fd) noexcept {
  const auto ask = [&](int name) {
    constexpr int socket_level = 1;  // SOL_SOCKET
    int value = 0;
    std::size_t bytes = sizeof value;
    return sys_of(d).get_option(fd, socket_level, name, &value, bytes) < 0 ? 0 : value;
  };
  constexpr int type = 3, protocol = 38, domain = 39;  // SO_TYPE, SO_PROTOCOL, SO_DOMAIN
  const int number = ask(protocol);
  if (number == tcp_number) return descriptor_nature::tcp;
  return nature_of(ask(domain), ask(type), number);
}

}  // namespace

int socket_calls::openable(const descriptor& d) noexcept { return detail::openable(d); }

void socket_calls::open(descriptor& d, int family, int type, int protocol, error_code& ec) {
  const object_use inside = use_of(d, "open");
  ec = make_error(openable(d));
  if (ec) return;
  const int fd = sys_of(d).open_socket(family, type, protocol);
  ec = make_error(fd);
  if (!ec) d.loop->descriptors().open(d, fd, nature_of(family, type, protocol));
}

int socket_calls::open_for_connect(descriptor& d, int family, int type, int protocol) noexcept {
  if (d.fd >= 0) return 0;
  if (const int refused = openable(d); refused != 0) return refused;
  const int fd = sys_of(d).open_socket(family, type, protocol);
  if (fd < 0) return fd;
  d.loop->descriptors().open(d, fd, nature_of(family, type, protocol));
  return 0;
}

void socket_calls::adopt(descriptor& d, int fd, error_code& ec) noexcept {
  const object_use inside = use_of(d, "assign");
  ec = make_error(openable(d));
  if (ec) return;
  ec = make_error(sys_of(d).adopt(fd));
  if (!ec) d.loop->descriptors().open(d, fd, nature_of(d, fd));
}

void socket_calls::bind(descriptor& d, const void* address, std::size_t bytes,
                        error_code& ec) noexcept {
  const object_use inside = use_of(d, "bind");
  ec = d.fd < 0 ? error_code(error::bad_descriptor)
                : make_error(sys_of(d).bind(d.fd, address, bytes));
}

void socket_calls::listen(descriptor& d, int backlog, error_code& ec) noexcept {
  const object_use inside = use_of(d, "listen");
  ec = d.fd < 0 ? error_code(error::bad_descriptor) : make_error(sys_of(d).listen(d.fd, backlog));
}

void socket_calls::shutdown(descriptor& d, int how, error_code& ec) noexcept {
  const object_use inside = use_of(d, "shutdown", object_use::kind::beside_others);
  flush_sends();
  ec = d.fd < 0 ? error_code(error::bad_descriptor) : make_error(sys_of(d).shutdown(d.fd, how));
}

void socket_calls::local_name(const descriptor& d, void* address, std::size_t& bytes,
                              error_code& ec) noexcept {
  ec = d.fd < 0 ? error_code(error::bad_descriptor)
                : make_error(sys_of(d).local_name(d.fd, address, bytes));
}

void socket_calls::remote_name(const descriptor& d, void* address, std::size_t& bytes,
                               error_code& ec) noexcept {
  ec = d.fd < 0 ? error_code(error::bad_descriptor)
                : make_error(sys_of(d).remote_name(d.fd, address, bytes));
}

void socket_calls::set_option(descriptor& d, int level, int name, const void* value,
                              std::size_t bytes, error_code& ec) noexcept {
  const object_use inside = use_of(d, "set_option");
  ec = d.fd < 0 ? error_code(error::bad_descriptor)
                : make_error(sys_of(d).set_option(d.fd, level, name, value, bytes));
}

std::size_t socket_calls::get_option(const descriptor& d, int level, int name, void* value,
                                     std::size_t bytes, error_code& ec) noexcept {
  ec = d.fd < 0 ? error_code(error::bad_descriptor)
                : make_error(sys_of(d).get_option(d.fd, level, name, value, bytes));
  return ec ? 0 : bytes;
}

void socket_calls::open_pair(descriptor& a, descriptor& b, int family, int type, int protocol,
                             error_code& ec) {
  ec = make_error(openable(a));
  if (!ec) ec = make_error(openable(b));
  if (!ec && &a == &b) ec = error::already_open;
  if (ec) return;
  int pair[2];
  ec = make_error(sys_of(a).open_pair(family, type, protocol, pair));
  if (ec) return;
  const descriptor_nature nature = nature_of(family, type, protocol);
  a.loop->descriptors().open(a, pair[0], nature);
  b.loop->descriptors().open(b, pair[1], nature);
}

error_code socket_calls::open_accepted(descriptor& d, descriptor& acceptor, int fd,
                                       int protocol) noexcept {
  const bool simulated =
      d.loop->drv().kind() == backend::sim || acceptor.loop->drv().kind() == backend::sim;
  const error_code ec = d.loop != acceptor.loop && simulated
                            ? make_error(-error::operation_not_supported)
                            : make_error(openable(d));
  if (ec) {
    close_number(acceptor, fd);
  } else {
    // An acceptor of UNIX streams may have adopted a socket of packets.
    d.loop->descriptors().open(d, fd,
                               protocol == tcp_number ? descriptor_nature::tcp : nature_of(d, fd));
  }
  return ec;
}

io_context& socket_calls::context_of(const descriptor& d) noexcept { return d.loop->context(); }

void socket_calls::close_number(descriptor& d, int fd) noexcept { sys_of(d).close(fd); }

int socket_calls::family_of(const descriptor& d, error_code& ec) noexcept {
  constexpr int socket_level = 1, domain = 39;  // SOL_SOCKET, SO_DOMAIN
  int family = 0;
  get_option(d, socket_level, domain, &family, sizeof family, ec);
  return family;
}

}  // namespace beck::detail
