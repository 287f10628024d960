// SPDX-License-Identifier: BSL-1.0
// UNIX stream sockets: pairs, paths and abstract names.
#include <beck/io/read_write.hpp>
#include <beck/net/local.hpp>

#include <cstring>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/open_descriptors.hpp"

using beck::buffer;
using beck::error_code;
using protocol = beck::local::stream_protocol;
using beck::test::note;
using beck::test::outcome;
namespace error = beck::error;

namespace {

/// A path that nothing has, removed at the end if something was made there.
class scratch_path {
 public:
  explicit scratch_path(const char* name)
      : path_("/tmp/beck-test-" + std::to_string(::getpid()) + "-" + name) {
    ::unlink(path_.c_str());
  }
  ~scratch_path() { ::unlink(path_.c_str()); }
  scratch_path(const scratch_path&) = delete;
  scratch_path& operator=(const scratch_path&) = delete;
  protocol::endpoint endpoint() const { return protocol::endpoint(path_); }
  const std::string& text() const { return path_; }

 private:
  std::string path_;
};

protocol::endpoint abstract_name(const char* name) {
  std::string text(1, '\0');
  text += "beck-test-" + std::to_string(::getpid()) + "-" + name;
  return protocol::endpoint(text);
}

std::string path_of(const protocol::endpoint& endpoint) { return endpoint.path(); }

}  // namespace

CONFORMANCE("connect_pair is found by its arguments and connects both ways") {
  beck::io_context ctx(context_options());
  protocol::socket a(ctx);
  protocol::socket b(ctx);
  connect_pair(a, b);
  char to_a[2] = {};
  char to_b[3] = {};
  outcome all[4];
  async_write(a, buffer("abc", 3), note(all[0]));
  async_write(b, buffer("de", 2), note(all[1]));
  async_read(b, buffer(to_b), note(all[2]));
  async_read(a, buffer(to_a), note(all[3]));
  beck::test::run_all(ctx);
  for (const outcome& one : all) CHECK(one.ok());
  CHECK(std::memcmp(to_b, "abc", 3) == 0);
  CHECK(std::memcmp(to_a, "de", 2) == 0);
}

CONFORMANCE("the ends of a pair are unnamed") {
  beck::io_context ctx(context_options());
  beck::test::local_connection c(ctx);
  CHECK(c.a.local_endpoint().is_unnamed());
  CHECK(c.a.remote_endpoint().is_unnamed());
}

CONFORMANCE("connect_pair with an open socket gives already_open and opens neither") {
  beck::io_context ctx(context_options());
  beck::test::local_connection c(ctx);
  protocol::socket free(ctx);
  error_code ec;
  connect_pair(c.a, free, ec);
  CHECK(ec == error::already_open);
  CHECK_FALSE(free.is_open());
  connect_pair(free, c.b, ec);
  CHECK(ec == error::already_open);
  CHECK_FALSE(free.is_open());
  CHECK_THROWS_AS(connect_pair(c.a, free), beck::io_error);
}

CONFORMANCE("connect_pair of a socket with itself gives already_open and opens nothing") {
  beck::io_context ctx(context_options());
  protocol::socket a(ctx);
  const std::set<int> before = beck::test::open_descriptors();
  error_code ec;
  connect_pair(a, a, ec);
  CHECK(ec == error::already_open);
  CHECK_FALSE(a.is_open());
  CHECK((beck::test::open_descriptors() == before));
}

CONFORMANCE("an acceptor on a path is reached by that path") {
  beck::io_context ctx(context_options());
  const scratch_path path("reach");
  protocol::acceptor acceptor(ctx, path.endpoint());
  CHECK(path_of(acceptor.local_endpoint()) == path.text());
  protocol::socket client(ctx);
  protocol::socket server(ctx);
  outcome connected;
  outcome accepted;
  acceptor.async_accept(server, note(accepted));
  client.async_connect(path.endpoint(), note(connected));
  beck::test::run_all(ctx);
  CHECK(connected.ok());
  CHECK(accepted.ok());
  CHECK(path_of(client.remote_endpoint()) == path.text());
  CHECK(server.remote_endpoint().is_unnamed());
  CHECK(path_of(server.local_endpoint()) == path.text());
}

CONFORMANCE("an abstract name needs no file and is free again after close") {
  beck::io_context ctx(context_options());
  const protocol::endpoint name = abstract_name("reach");
  for (int i = 0; i < 2; ++i) {
    protocol::acceptor acceptor(ctx, name);
    CHECK(acceptor.local_endpoint().is_abstract());
    CHECK(acceptor.local_endpoint() == name);
    protocol::socket client(ctx);
    protocol::socket server(ctx);
    outcome connected;
    outcome accepted;
    acceptor.async_accept(server, note(accepted));
    client.async_connect(name, note(connected));
    beck::test::run_all(ctx);
    CHECK(connected.ok());
    CHECK(accepted.ok());
    CHECK(client.remote_endpoint() == name);
  }
}

CONFORMANCE("a connect to a path that does not exist gives no_such_file_or_directory") {
  beck::io_context ctx(context_options());
  const scratch_path path("absent");
  protocol::socket client(ctx);
  outcome connected;
  client.async_connect(path.endpoint(), note(connected));
  CHECK(connected.calls == 0);
  beck::test::run_all(ctx);
  CHECK(connected.calls == 1);
  CHECK(connected.ec == beck::errc::no_such_file_or_directory);
}

CONFORMANCE("a connect to a path whose acceptor is gone gives connection_refused") {
  beck::io_context ctx(context_options());
  const scratch_path path("stale");
  { const protocol::acceptor acceptor(ctx, path.endpoint()); }
  protocol::socket client(ctx);
  outcome connected;
  client.async_connect(path.endpoint(), note(connected));
  beck::test::run_all(ctx);
  CHECK(connected.ended_with(error::connection_refused));
}

CONFORMANCE("a path that is taken gives address_in_use, also when its acceptor is gone") {
  beck::io_context ctx(context_options());
  const scratch_path path("taken");
  {
    protocol::acceptor first(ctx, path.endpoint());
    CHECK_THROWS_AS(protocol::acceptor(ctx, path.endpoint()), beck::io_error);
  }
  protocol::acceptor second(ctx);
  second.open(protocol());
  error_code ec;
  second.bind(path.endpoint(), ec);
  CHECK(ec == error::address_in_use);
}

CONFORMANCE("a path of the longest size works and one byte more is refused by name and limit") {
  beck::io_context ctx(context_options());
  std::string text = "/tmp/beck-test-" + std::to_string(::getpid()) + "-";
  text.append(beck::local::socket_path::path_max - text.size(), 'p');
  ::unlink(text.c_str());
  {
    protocol::acceptor acceptor(ctx, protocol::endpoint(text));
    CHECK(path_of(acceptor.local_endpoint()) == text);
    protocol::socket client(ctx);
    outcome connected;
    client.async_connect(acceptor.local_endpoint(), note(connected));
    beck::test::run_all(ctx);
    CHECK(connected.ok());
  }
  ::unlink(text.c_str());
  try {
    protocol::endpoint(text + "q");
    CHECK(false);
  } catch (const beck::io_error& refused) {
    CHECK(refused.code() == error::name_too_long);
    const std::string what = refused.what();
    CHECK(what.find("108") != std::string::npos);
    CHECK(what.find("107") != std::string::npos);
  }
}

CONFORMANCE("a client that bound a path shows it to the server") {
  beck::io_context ctx(context_options());
  const scratch_path there("server");
  const scratch_path here("client");
  protocol::acceptor acceptor(ctx, there.endpoint());
  protocol::socket client(ctx, here.endpoint());
  protocol::socket server(ctx);
  outcome connected;
  outcome accepted;
  acceptor.async_accept(server, note(accepted));
  client.async_connect(there.endpoint(), note(connected));
  beck::test::run_all(ctx);
  CHECK(accepted.ok());
  CHECK(path_of(server.remote_endpoint()) == here.text());
}

CONFORMANCE("UNIX connections are accepted in the order in which they were made") {
  beck::io_context ctx(context_options());
  protocol::acceptor acceptor(ctx, abstract_name("order"));
  std::vector<protocol::socket> clients;
  for (char c = 'a'; c < 'd'; ++c) {
    outcome connected;
    outcome sent;
    protocol::socket& client = clients.emplace_back(ctx);
    client.async_connect(acceptor.local_endpoint(), note(connected));
    beck::test::run_all(ctx);
    REQUIRE(connected.ok());
    async_write(client, buffer(&c, 1), note(sent));
    beck::test::run_all(ctx);
    REQUIRE(sent.ok());
  }
  std::string order;
  for (int i = 0; i < 3; ++i) {
    protocol::socket server(ctx);
    outcome accepted;
    acceptor.async_accept(server, note(accepted));
    beck::test::run_all(ctx);
    REQUIRE(accepted.ok());
    char c = 0;
    outcome received;
    async_read(server, buffer(&c, 1), note(received));
    beck::test::run_all(ctx);
    order += c;
  }
  CHECK(order == "abc");
}

CONFORMANCE_ON(beck::test::kernel,
               "a UNIX connect to an acceptor with a full backlog is refused, not hung") {
  beck::io_context ctx(context_options());
  protocol::acceptor acceptor(ctx);
  acceptor.open(protocol());
  acceptor.bind(abstract_name("full"));
  acceptor.listen(0);
  std::vector<protocol::socket> clients;
  outcome last;
  for (int i = 0; i < 8; ++i) {
    last = outcome();
    clients.emplace_back(ctx).async_connect(acceptor.local_endpoint(), note(last));
    beck::test::run_all(ctx);
    CHECK(last.calls == 1);
    if (last.ec) break;
  }
  CHECK(last.ec == error::connection_refused);
}

CONFORMANCE_ON(beck::test::kernel, "each accept gives the name that its own client has") {
  const scratch_path path("names"), named("names-client");
  std::string longest = path.text() + std::string(108, 'x');
  longest.resize(108);  // of sun_path, without a NUL behind it
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, longest.data(), longest.size());
  for (const bool waits : {true, false}) {
    beck::io_context ctx(context_options());
    protocol::acceptor acceptor(ctx, path.endpoint(), false);
    const protocol::endpoint abstract = abstract_name("names");
    std::vector<protocol::socket> clients, accepted;
    for (int i = 0; i < 4; ++i) {
      accepted.emplace_back(ctx);
      clients.emplace_back(ctx).open(protocol());
    }
    clients[1].bind(named.endpoint());
    clients[2].bind(abstract);
    const auto* const bound = reinterpret_cast<const sockaddr*>(&name);
    REQUIRE(::bind(clients[3].native_handle(), bound, sizeof name) == 0);
    protocol::endpoint peers[4];
    for (std::size_t i = 0; waits && i < 4; ++i) {
      acceptor.async_accept(peers[i], [&accepted, i](error_code, protocol::socket&& socket) {
        accepted[i] = std::move(socket);
      });
    }
    for (protocol::socket& one : clients) one.connect(path.endpoint());
    beck::test::run_all(ctx);
    for (std::size_t i = 0; !waits && i < 4; ++i) accepted[i] = acceptor.accept(peers[i]);
    CHECK(peers[0].is_unnamed());
    CHECK(peers[1] == named.endpoint());
    CHECK(peers[2] == abstract);
    CHECK(path_of(peers[3]) == longest);
    for (const std::string& made : {path.text(), named.text(), longest}) ::unlink(made.c_str());
  }
}
