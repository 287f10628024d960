// SPDX-License-Identifier: BSL-1.0
// Names, connections and options on Linux and on the simulated network.
#include <doctest/doctest.h>
#include <netinet/tcp.h>

#include "io/sim/both_systems.hpp"
#include "support/temporary_folder.hpp"

using namespace beck;
using namespace beck::detail;
using test::kernel_calls;
using test::on_both;

namespace {

template <class Address, class Call>
Address name_of(Call call) {
  Address address{};
  std::size_t bytes = sizeof address;
  REQUIRE(call(&address, bytes) == 0);
  CHECK(bytes == sizeof address);
  return address;
}

int accept_on(const kernel_calls& k, int fd) {
  std::size_t none = 0;
  return k.sys().accept(fd, nullptr, none);
}

int set_int(const kernel_calls& k, int fd, int level, int name, int value) {
  return k.sys().set_option(fd, level, name, &value, sizeof value);
}

int get_int(const kernel_calls& k, int fd, int level, int name) {
  int value = -1;
  std::size_t bytes = sizeof value;
  const int result = k.sys().get_option(fd, level, name, &value, bytes);
  return result < 0 ? result : value;
}

}  // namespace

TEST_CASE("a TCP connection has the names that Linux gives it") {
  on_both([](const kernel_calls& k) {
    const auto c = k.connected();
    const auto local = [&](int fd) {
      return name_of<sockaddr_in>(
          [&](void* a, std::size_t& n) { return k.sys().local_name(fd, a, n); });
    };
    const auto remote = [&](int fd) {
      return name_of<sockaddr_in>(
          [&](void* a, std::size_t& n) { return k.sys().remote_name(fd, a, n); });
    };
    CHECK(local(c.client).sin_addr.s_addr == htonl(INADDR_LOOPBACK));
    CHECK(ntohs(local(c.client).sin_port) >= 1024);
    CHECK(local(c.client).sin_port == remote(c.server).sin_port);
    CHECK(local(c.server).sin_port == remote(c.client).sin_port);
    CHECK(local(c.server).sin_port == local(c.listener).sin_port);
    sockaddr_in in{};
    std::size_t bytes = sizeof in;
    CHECK(k.sys().remote_name(c.listener, &in, bytes) == -ENOTCONN);
    // The first one collects the success, whatever the address is.
    CHECK(k.connect(c.client, k.v4(1)) == 0);
    CHECK(k.connect(c.client, k.v4(k.port(c.listener))) == -EISCONN);
    k.close(c);
  });
}

TEST_CASE("a connect to a port where nobody listens is refused, once") {
  on_both([](const kernel_calls& k) {
    const int listener = k.listener();
    const unsigned port = k.port(listener);
    k.sys().close(listener);
    const int fd = k.tcp();
    CHECK(k.connect(fd, k.v4(port)) == -EINPROGRESS);
    k.settle(fd, poll_in | poll_out | poll_error | poll_hang_up | poll_read_hang_up);
    CHECK(k.sys().pending_error(fd) == -ECONNREFUSED);
    CHECK(k.sys().pending_error(fd) == 0);
    CHECK(k.connect(fd, k.v4(port)) == -ECONNABORTED);  // Linux: the failed one is reported first
    CHECK(k.connect(fd, k.v4(port)) == -EINPROGRESS);
    k.settle(fd, poll_in | poll_out | poll_error | poll_hang_up | poll_read_hang_up);
    CHECK(k.receive_now(fd) == "ECONNREFUSED");
    k.sys().close(fd);
  });
}

TEST_CASE("addresses are checked as Linux checks them") {
  on_both([](const kernel_calls& k) {
    const int fd = k.tcp();
    CHECK(k.bind(fd, k.v4(0, 0xc0000201)) == -EADDRNOTAVAIL);  // 192.0.2.1, for documentation
    CHECK(k.bind(fd, k.v6(0, in6addr_loopback)) == -EAFNOSUPPORT);
    const sockaddr_in whole = k.v4(0);
    CHECK(k.sys().bind(fd, &whole, 7) == -EINVAL);
    CHECK(k.connect(fd, k.v6(1, in6addr_loopback)) == -EAFNOSUPPORT);
    CHECK(k.sys().connect(fd, &whole, 7) == -EINVAL);
    CHECK(k.bind(fd, k.v4(0)) == 0);
    CHECK(k.bind(fd, k.v4(0)) == -EINVAL);
    CHECK(accept_on(k, fd) == -EINVAL);
    k.sys().close(fd);
    CHECK(k.sys().open_socket(AF_INET, SOCK_STREAM, IPPROTO_UDP) == -EPROTONOSUPPORT);
    CHECK(k.sys().open_socket(1000, SOCK_STREAM, 0) == -EAFNOSUPPORT);
    int pair[2];
    CHECK(k.sys().open_pair(AF_INET, SOCK_STREAM, 0, pair) == -EOPNOTSUPP);
  });
}

TEST_CASE("a port in use is refused, and SO_REUSEADDR shares it until somebody listens") {
  on_both([](const kernel_calls& k) {
    const int first = k.tcp();
    REQUIRE(k.bind(first, k.v4(0)) == 0);
    const auto where = k.v4(k.port(first));
    const int second = k.tcp();
    CHECK(k.bind(second, where) == -EADDRINUSE);
    CHECK(k.bind(second, k.v4(k.port(first), INADDR_ANY)) == -EADDRINUSE);
    CHECK(k.bind(second, k.v4(k.port(first), 0x7f000002)) == 0);  // another address of this host
    const int third = k.tcp();
    set_int(k, first, SOL_SOCKET, SO_REUSEADDR, 1);
    set_int(k, third, SOL_SOCKET, SO_REUSEADDR, 1);
    CHECK(k.bind(third, where) == 0);
    CHECK(k.sys().listen(first, 1) == 0);
    CHECK(k.sys().listen(third, 1) == -EADDRINUSE);
    const int fourth = k.tcp();
    set_int(k, fourth, SOL_SOCKET, SO_REUSEADDR, 1);
    CHECK(k.bind(fourth, where) == -EADDRINUSE);
    for (const int fd : {first, second, third, fourth}) k.sys().close(fd);
  });
}

TEST_CASE("a listener comes back on its port beside its old connections, if it asked to") {
  on_both([](const kernel_calls& k) {
    const int old_one = k.tcp();
    set_int(k, old_one, SOL_SOCKET, SO_REUSEADDR, 1);
    REQUIRE(k.bind(old_one, k.v4(0)) == 0);
    REQUIRE(k.sys().listen(old_one, 4) == 0);
    const auto where = k.v4(k.port(old_one));
    const int client = k.tcp();
    REQUIRE(k.connect(client, where) == -EINPROGRESS);
    REQUIRE(k.wait(old_one, poll_in) == poll_in);
    const int server = accept_on(k, old_one);
    k.sys().close(old_one);
    const int hasty = k.tcp();
    CHECK(k.bind(hasty, where) == -EADDRINUSE);
    set_int(k, hasty, SOL_SOCKET, SO_REUSEADDR, 1);
    CHECK(k.bind(hasty, where) == 0);
    CHECK(k.sys().listen(hasty, 4) == 0);
    for (const int fd : {client, server, hasty}) k.sys().close(fd);
  });
}

TEST_CASE("connections are accepted in the order in which they came") {
  on_both([](const kernel_calls& k) {
    const int listener = k.listener();
    unsigned ports[3];
    int clients[3];
    for (int i = 0; i < 3; ++i) {
      clients[i] = k.tcp();
      REQUIRE(k.connect(clients[i], k.v4(k.port(listener))) == -EINPROGRESS);
      REQUIRE(k.wait(clients[i], poll_out) == poll_out);
      ports[i] = k.port(clients[i]);
    }
    for (int i = 0; i < 3; ++i) {
      REQUIRE(k.wait(listener, poll_in) == poll_in);
      sockaddr_in accepted{};
      std::size_t bytes = sizeof accepted;
      const int fd = k.sys().accept(listener, &accepted, bytes);
      CHECK(bytes == sizeof accepted);
      const auto peer = name_of<sockaddr_in>(
          [&](void* a, std::size_t& n) { return k.sys().remote_name(fd, a, n); });
      CHECK(ntohs(peer.sin_port) == ports[i]);
      CHECK(accepted.sin_port == peer.sin_port);
      CHECK(accepted.sin_addr.s_addr == peer.sin_addr.s_addr);
      CHECK(accepted.sin_family == AF_INET);
      k.sys().close(fd);
      k.sys().close(clients[i]);
    }
    CHECK(accept_on(k, listener) == -EAGAIN);
    k.sys().close(listener);
  });
}

TEST_CASE("closing a listener resets what it has not accepted") {
  on_both([](const kernel_calls& k) {
    const int listener = k.listener();
    const int client = k.tcp();
    REQUIRE(k.connect(client, k.v4(k.port(listener))) == -EINPROGRESS);
    REQUIRE(k.wait(client, poll_out) == poll_out);
    REQUIRE(k.wait(listener, poll_in) == poll_in);
    k.sys().close(listener);
    CHECK(k.receive(client) == "ECONNRESET");
    k.sys().close(client);
  });
}

TEST_CASE("an IPv6 listener takes IPv4 clients under mapped addresses, unless told not to") {
  on_both([](const kernel_calls& k) {
    for (const int only : {0, 1}) {
      const int listener = k.tcp(AF_INET6);
      REQUIRE(set_int(k, listener, IPPROTO_IPV6, IPV6_V6ONLY, only) == 0);
      REQUIRE(k.bind(listener, k.v6(0, in6addr_any)) == 0);
      CHECK(set_int(k, listener, IPPROTO_IPV6, IPV6_V6ONLY, only) == -EINVAL);
      REQUIRE(k.sys().listen(listener, 4) == 0);
      const auto own = name_of<sockaddr_in6>(
          [&](void* a, std::size_t& n) { return k.sys().local_name(listener, a, n); });
      const int client = k.tcp();
      REQUIRE(k.connect(client, k.v4(ntohs(own.sin6_port))) == -EINPROGRESS);
      static_cast<void>(k.wait(client, poll_out));
      CHECK(k.sys().pending_error(client) == (only == 1 ? -ECONNREFUSED : 0));
      if (only == 0) {
        REQUIRE(k.wait(listener, poll_in) == poll_in);
        const int server = accept_on(k, listener);
        const auto peer = name_of<sockaddr_in6>(
            [&](void* a, std::size_t& n) { return k.sys().remote_name(server, a, n); });
        CHECK(IN6_IS_ADDR_V4MAPPED(&peer.sin6_addr));
        CHECK(ntohs(peer.sin6_port) == k.port(client));
        k.sys().close(server);
      }
      const int v6_client = k.tcp(AF_INET6);
      REQUIRE(k.connect(v6_client, k.v6(ntohs(own.sin6_port), in6addr_any)) == -EINPROGRESS);
      CHECK(k.wait(v6_client, poll_out) == poll_out);
      for (const int fd : {client, v6_client, listener}) k.sys().close(fd);
    }
  });
}

TEST_CASE("UNIX paths outlive their sockets and are refused as on Linux") {
  on_both([](const kernel_calls& k) {
    const test::temporary_folder folder("/tmp");  // the path of a socket has to be short
    const std::string path = folder.path("s");
    const int client = k.local();
    CHECK(k.connect_path(client, path) == -ENOENT);
    const int bound = k.local();
    CHECK(k.sys().listen(bound, 1) == -EINVAL);
    CHECK(k.bind_path(bound, path) == 0);
    CHECK(k.bind_path(bound, path + "2") == -EINVAL);
    CHECK(k.connect_path(client, path) == -ECONNREFUSED);
    CHECK(k.sys().listen(bound, 0) == 0);
    CHECK(k.connect_path(client, path) == 0);
    const int second = k.local();
    CHECK(k.connect_path(second, path) == -EAGAIN);  // the backlog is full
    const int server = accept_on(k, bound);
    CHECK(server >= 0);
    CHECK(k.connect_path(client, path) == -EISCONN);
    CHECK(k.connect_path(bound, path) == -EINVAL);
    CHECK(k.connect_path(second, path) == 0);
    k.sys().close(bound);
    CHECK(k.receive(second) == "ECONNRESET");  // was never accepted
    const int late = k.local();
    CHECK(k.connect_path(late, path) == -ECONNREFUSED);
    CHECK(k.bind_path(late, path) == -EADDRINUSE);
    for (const int fd : {client, server, second, late}) k.sys().close(fd);
  });
}

TEST_CASE("UNIX names are reported as on Linux") {
  on_both([](const kernel_calls& k) {
    const test::temporary_folder folder;
    const std::string path = folder.path("s");
    const auto named = [&](auto call, int fd) {
      sockaddr_un un{};
      std::size_t bytes = sizeof un;
      REQUIRE((k.sys().*call)(fd, &un, bytes) == 0);
      CHECK(un.sun_family == AF_UNIX);
      return std::string(un.sun_path, bytes - offsetof(sockaddr_un, sun_path));
    };
    const int listener = k.local();
    CHECK(named(&beck::detail::system::local_name, listener).empty());
    REQUIRE(k.bind_path(listener, path) == 0);
    REQUIRE(k.sys().listen(listener, 4) == 0);
    const int client = k.local();
    REQUIRE(k.connect_path(client, path) == 0);
    const int server = accept_on(k, listener);
    const std::string with_end(path.c_str(), path.size() + 1);  // with its NUL
    CHECK(named(&beck::detail::system::local_name, listener) == with_end);
    CHECK(named(&beck::detail::system::local_name, server) == with_end);
    CHECK(named(&beck::detail::system::remote_name, client) == with_end);
    CHECK(named(&beck::detail::system::local_name, client).empty());
    CHECK(named(&beck::detail::system::remote_name, server).empty());
    const int automatic = k.local();
    REQUIRE(k.bind_path(automatic, "") == 0);
    CHECK(named(&beck::detail::system::local_name, automatic).size() == 6);
    CHECK(named(&beck::detail::system::local_name, automatic)[0] == '\0');
    const int abstract = k.local();
    const std::string name("\0beck\0test", 10);
    REQUIRE(k.bind_path(abstract, name) == 0);
    CHECK(named(&beck::detail::system::local_name, abstract) == name);
    const int again = k.local();
    CHECK(k.bind_path(again, name) == -EADDRINUSE);
    k.sys().close(abstract);
    CHECK(k.bind_path(again, name) == 0);  // nothing of an abstract name stays
    CHECK(k.connect_path(automatic, std::string("\0nobody", 7)) == -ECONNREFUSED);
    for (const int fd : {listener, client, server, automatic, again}) k.sys().close(fd);
  });
}

TEST_CASE("options are kept, checked and refused as on Linux") {
  on_both([](const kernel_calls& k) {
    const int fd = k.tcp();
    CHECK(get_int(k, fd, SOL_SOCKET, SO_TYPE) == SOCK_STREAM);
    CHECK(get_int(k, fd, SOL_SOCKET, SO_DOMAIN) == AF_INET);
    CHECK(get_int(k, fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP);
    CHECK(get_int(k, fd, SOL_SOCKET, SO_ACCEPTCONN) == 0);
    CHECK(get_int(k, fd, SOL_SOCKET, SO_ERROR) == 0);
    CHECK(set_int(k, fd, SOL_SOCKET, SO_TYPE, 1) == -ENOPROTOOPT);
    CHECK(get_int(k, fd, SOL_SOCKET, SO_RCVLOWAT) == 1);
    CHECK(get_int(k, fd, IPPROTO_TCP, TCP_NODELAY) == 0);
    CHECK(get_int(k, fd, IPPROTO_TCP, TCP_KEEPIDLE) == 7200);
    CHECK(get_int(k, fd, IPPROTO_TCP, TCP_KEEPINTVL) == 75);
    CHECK(get_int(k, fd, IPPROTO_TCP, TCP_KEEPCNT) == 9);
    CHECK(set_int(k, fd, IPPROTO_TCP, TCP_NODELAY, 5) == 0);
    CHECK(get_int(k, fd, IPPROTO_TCP, TCP_NODELAY) == 1);
    CHECK(set_int(k, fd, IPPROTO_TCP, TCP_KEEPIDLE, 40000) == -EINVAL);
    CHECK(set_int(k, fd, IPPROTO_TCP, TCP_KEEPIDLE, 40) == 0);
    CHECK(get_int(k, fd, IPPROTO_TCP, TCP_KEEPIDLE) == 40);
    CHECK(set_int(k, fd, SOL_SOCKET, SO_RCVBUF, 20'000) == 0);
    CHECK(get_int(k, fd, SOL_SOCKET, SO_RCVBUF) == 40'000);
    CHECK(set_int(k, fd, SOL_SOCKET, SO_SNDBUF, 1) == 0);
    CHECK(get_int(k, fd, SOL_SOCKET, SO_SNDBUF) == 4608);
    CHECK(set_int(k, fd, SOL_SOCKET, SO_LINGER, 1) == -EINVAL);  // too short
    const linger wanted{1, 7};
    CHECK(k.sys().set_option(fd, SOL_SOCKET, SO_LINGER, &wanted, sizeof wanted) == 0);
    linger got{};
    std::size_t bytes = sizeof got;
    CHECK(k.sys().get_option(fd, SOL_SOCKET, SO_LINGER, &got, bytes) == 0);
    CHECK(bytes == sizeof got);
    CHECK(got.l_onoff == 1);
    CHECK(got.l_linger == 7);
    CHECK(set_int(k, fd, SOL_SOCKET, 1000, 1) == -ENOPROTOOPT);
    CHECK(get_int(k, fd, SOL_SOCKET, 1000) == -ENOPROTOOPT);
    CHECK(set_int(k, fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) == -ENOPROTOOPT);
    const int local = k.local();
    CHECK(set_int(k, local, IPPROTO_TCP, TCP_NODELAY, 1) == -EOPNOTSUPP);
    CHECK(get_int(k, local, SOL_SOCKET, SO_DOMAIN) == AF_UNIX);
    k.sys().close(fd);
    k.sys().close(local);
  });
}
