// SPDX-License-Identifier: BSL-1.0
// Calls through proxies: which proxy they get, what it is sent, and what becomes of its refusals.
#include <beck/http/client.hpp>
#include <beck/http/proxies.hpp>

#include <beck/testing/sim.hpp>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "http/client/proxy_rules.hpp"
#include "http/client_site.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
using namespace std::chrono_literals;
using namespace std::string_literals;
namespace http = beck::http;
namespace error = beck::error;
namespace ip = beck::ip;
namespace sim = beck::testing::sim;
using http::detail::proxy_kind;
using http::detail::proxy_place;

namespace {

/// Pretends to encrypt.
class plain_layer final : public beck::stream_layer {
 public:
  task<beck::io_result<beck::owned_stream>> accept(beck::owned_stream carrier) override {
    co_return beck::io_result<beck::owned_stream>(error_code(), std::move(carrier));
  }
  task<beck::io_result<beck::owned_stream>> connect(beck::owned_stream carrier,
                                                    std::string_view name) override {
    names.emplace_back(name);
    co_return beck::io_result<beck::owned_stream>(error_code(), std::move(carrier));
  }

  std::vector<std::string> names;
};

/// A step of a scripted peer: it waits for bytes, and answers.
struct exchange_step {
  std::string expected, answer;
};

/// A scripted HTTP proxy on one machine of a world, at port 3128, and a client on another.
struct proxy_world {
  explicit proxy_world(std::string_view url = "http://10.0.0.1:3128", std::uint64_t seed = 1)
      : world(seed, sim::settings().calm()),
        web(world.host("web")),
        far(world.host("far")),
        proxy(web, ip::tcp::endpoint(ip::tcp::v4(), 3128)),
        socks(web, ip::tcp::endpoint(ip::tcp::v4(), 1080)),
        client(far) {
    client.secure(layer);
    client.through(http::proxies().all(url));
    world.run_until_idle();
  }
  outcome& get(std::string_view url) {
    outcome& made = outcomes.emplace_back();
    co_spawn(far, collect(client.async_get(url), made), beck::detached);
    world.run_for(5s);
    return made;
  }
  /// Serves one connection as `steps` say, each answer byte by byte, then ends it.
  void serve_socks(std::vector<exchange_step> steps, bool ends = false) {
    co_spawn(web, speak(std::move(steps), ends), beck::detached);
  }
  task<> speak(std::vector<exchange_step> steps, bool ends) {
    auto accepted = co_await socks.async_accept();
    if (accepted.error()) co_return;
    ip::tcp::socket socket = std::move(accepted).value();
    for (const exchange_step& one : steps) {
      std::string got(one.expected.size(), '\0');
      const beck::mutable_buffer room(got.data(), got.size());
      beck::ignore(co_await beck::async_read(socket, room));
      heard += got;
      CHECK(got == one.expected);
      for (const char& byte : one.answer) {
        const beck::const_buffer part(&byte, 1);
        beck::ignore(co_await beck::async_write(socket, part));
      }
    }
    char part[1];
    const beck::mutable_buffer more(part, 1);
    if (!ends) beck::ignore(co_await socket.async_read_some(more));
  }

  sim::world world;
  beck::io_context web, far;
  scripted_server proxy;
  ip::tcp::acceptor socks;
  plain_layer layer;
  http::client client;
  std::deque<outcome> outcomes;
  std::string heard;
};

bool begins(const std::string& text, std::string_view with) { return text.starts_with(with); }

http::origin origin_of(std::string_view text, http::url& parts) {
  REQUIRE(http::parse_url(text, parts) == http::url_error::none);
  return http::origin(parts);
}

/// Sets variables of the environment, and removes all of proxies at its end.
struct environment {
  environment(std::initializer_list<std::pair<const char*, const char*>> all) {
    clear();
    for (const auto& [name, value] : all) ::setenv(name, value, 1);
  }
  ~environment() { clear(); }
  static void clear() {
    for (const char* name : {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy",
                             "ALL_PROXY", "no_proxy", "NO_PROXY"})
      ::unsetenv(name);
  }
};

}  // namespace

TEST_CASE("http proxies: what names a proxy, and what does not") {
  const proxy_place plain = proxy_place::read("proxy.example");
  CHECK(plain.kind == proxy_kind::http);
  CHECK(plain.name == "http://proxy.example:80");
  CHECK(plain.authorization.empty());
  CHECK(proxy_place::read("http://[::1]:3128/").name == "http://[::1]:3128");
  CHECK(proxy_place::read("SOCKS5H://[::1]").name == "socks5://[::1]:1080");
  CHECK(proxy_place::read("socks5://a:80").port == 80);
  const proxy_place known = proxy_place::read("http://a%40b:p%3Aq+r@proxy:3128");
  CHECK(known.user == "a@b");
  CHECK(known.password == "p:q+r");
  CHECK(known.authorization == "Basic YUBiOnA6cSty");
  CHECK(known.name == "http://proxy:3128");
  for (const char* bad :
       {"https://proxy:1", "ftp://proxy", "http://", "http://a b", "proxy:0", "proxy:99999",
        "http://proxy/path", "http://proxy?q", "http://:secret@proxy", "http://u%zz:secret@proxy",
        "http://a%3ab:secret@proxy", "socks4://proxy", "http://user:secret@"}) {
    CAPTURE(bad);
    try {
      http::proxies().all(bad);
      FAIL("it was taken");
    } catch (const std::invalid_argument& refused) {
      CHECK(!contains(refused.what(), "secret"));
    }
  }
  const std::string longest(256, 'x');
  CHECK_THROWS_AS(proxy_place::read("http://u:" + longest + "@p"), std::invalid_argument);
  CHECK_NOTHROW(proxy_place::read("http://u:" + longest.substr(1) + "@p"));
}

TEST_CASE("http proxies: exceptions are names with all below them, addresses, networks, ports") {
  http::detail::proxy_rules rules;
  rules.set_http("proxy");
  rules.add_exceptions("example.com, .Corp.example\t*.wild.example local:8080");
  rules.add_exceptions("10.0.0.0/9 192.0.2.1 2001:db8::/33 [::1]:80");
  const auto is_direct = [&rules](std::string_view text) {
    http::url parts;
    return rules.find(origin_of(text, parts)) == nullptr;
  };
  for (const char* direct :
       {"http://example.com/", "http://EXAMPLE.com./", "http://a.b.example.com/",
        "http://corp.example/", "http://x.corp.example/", "http://y.wild.example/",
        "http://local:8080/", "http://10.127.255.255/", "http://192.0.2.1:99/",
        "http://[2001:db8:7fff::1]/", "http://[::1]/"}) {
    CAPTURE(direct);
    CHECK(is_direct(direct));
  }
  for (const char* proxied :
       {"http://badexample.com/", "http://example.com.evil/", "http://example.co/", "http://local/",
        "http://local:8081/", "http://10.128.0.0/", "http://192.0.2.2/",
        "http://[2001:db8:8000::1]/", "http://[::1]:81/", "http://[::a00:1]/"}) {
    CAPTURE(proxied);
    CHECK(!is_direct(proxied));
  }
  CHECK(is_direct("https://other.example/"));  // https has no proxy
  for (const char* bad : {"10.0.0.0/33", "10.0.0.0/", "::1/129", "name/8", "a:0", "a:x", "."})
    CHECK_THROWS_AS(rules.add_exceptions(bad), std::invalid_argument);
  CHECK(!is_direct("http://other.example/"));
  rules.add_exceptions("*");
  CHECK(is_direct("http://other.example/"));
}

TEST_CASE("http proxies: the environment names proxies, but not by what a CGI client has sent") {
  const auto proxy_of = [](std::string_view url) {
    proxy_world w;
    w.client.through(http::proxies::from_environment());
    w.proxy.will(ok("http"));
    w.get(url);
    return w.proxy.requests.size();
  };
  {
    const environment set({{"HTTP_PROXY", "http://10.0.0.1:3128"}});
    CHECK(proxy_of("http://10.0.0.9/") == 0);
  }
  {
    const environment set({{"http_proxy", "10.0.0.1:3128"}, {"NO_PROXY", "10.0.0.8"}});
    CHECK(proxy_of("http://10.0.0.9/") == 1);
    CHECK(proxy_of("http://10.0.0.8/") == 0);
    CHECK(proxy_of("https://10.0.0.9/") == 0);
  }
  {
    const environment set({{"ALL_PROXY", "10.0.0.1:3128"}, {"https_proxy", "10.0.0.1:1"}});
    CHECK(proxy_of("http://10.0.0.9/") == 1);
    CHECK(proxy_of("https://10.0.0.9/") == 0);
  }
  const environment set({{"HTTPS_PROXY", "ftp://u:secret@x"}});
  try {
    http::proxies::from_environment();
    FAIL("it was taken");
  } catch (const std::invalid_argument& refused) {
    CHECK(begins(refused.what(), "HTTPS_PROXY: "));
    CHECK(!contains(refused.what(), "secret"));
  }
}

TEST_CASE("http proxies: an HTTP proxy gets whole URLs for http") {
  proxy_world w("http://user:pass@10.0.0.1:3128");
  w.proxy.will(ok("a"));
  CHECK(w.get("http://origin.example:81/a?b=c").body == "a");
  w.proxy.will(ok("b"));
  CHECK(w.get("http://origin.example:81").body == "b");
  REQUIRE(w.proxy.requests.size() == 2);
  CHECK(begins(w.proxy.requests[0].head,
               "GET http://origin.example:81/a?b=c HTTP/1.1\r\nHost: origin.example:81\r\n"));
  CHECK(contains(w.proxy.requests[0].head, "\r\nProxy-Authorization: Basic dXNlcjpwYXNz\r\n"));
  CHECK(begins(w.proxy.requests[1].head, "GET http://origin.example:81/ HTTP/1.1\r\n"));
  CHECK(w.proxy.connections() == 1);
  // A target of the call's own, and "*", which stands for the whole server (RFC 9112, 3.2.4).
  for (const auto& [target, line] : {std::pair("/x?y[]=1", "OPTIONS http://o.example/x?y[]=1 "),
                                     std::pair("*", "OPTIONS http://o.example HTTP/1.1")}) {
    http::call ask(w.client, http::method::options, "http://o.example/");
    outcome& got = w.outcomes.emplace_back();
    w.proxy.will(ok("c"));
    ask.target(target).set(http::field::proxy_authorization, "Own");
    co_spawn(w.far, collect(ask.async_finish(), got), beck::detached);
    w.world.run_for(5s);
    CHECK(got.body == "c");
    CHECK(begins(w.proxy.requests.back().head, line));
    CHECK(contains(w.proxy.requests.back().head, "\r\nProxy-Authorization: Own\r\n"));
    CHECK(!contains(w.proxy.requests.back().head, "Basic"));
  }
}

TEST_CASE("http proxies: 407 is never a response of the origin") {
  proxy_world w;
  w.proxy.will("HTTP/1.1 407 No\r\nContent-Length: 4\r\n\r\npage");
  const outcome& refused = w.get("http://origin.example/");
  CHECK(refused.ec == http::client_error::proxy_refused);
  CHECK(contains(refused.failure, "the proxy http://10.0.0.1:3128: it answered 407"));
  CHECK(refused.status == 0);
  CHECK(w.client.stats().connections == 0);
  // Of an origin it is a response.
  w.client.through(http::proxies());
  proxy_world direct;
  direct.client.through(http::proxies());
  direct.proxy.will("HTTP/1.1 407 No\r\nContent-Length: 4\r\n\r\npage");
  CHECK(direct.get("http://10.0.0.1:3128/").status == 407);
  CHECK(begins(direct.proxy.requests[0].head, "GET / HTTP/1.1\r\n"));
  // Another error may be the origin's.
  proxy_world other;
  other.proxy.will("HTTP/1.1 502 No\r\nContent-Length: 4\r\n\r\npage");
  CHECK(other.get("http://origin.example/").status == 502);
}

TEST_CASE("http proxies: an HTTP proxy makes tunnels for https") {
  proxy_world w("http://user:pass@10.0.0.1:3128");
  w.proxy.will("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Connection established\r\n\r\n");
  w.proxy.will(ok("x"));
  CHECK(w.get("https://origin.example/x").body == "x");
  REQUIRE(w.proxy.requests.size() == 2);
  CHECK(w.proxy.requests[0].head ==
        "CONNECT origin.example:443 HTTP/1.1\r\nHost: origin.example:443\r\n"
        "Proxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n");
  CHECK(begins(w.proxy.requests[1].head, "GET /x HTTP/1.1\r\nHost: origin.example\r\n"));
  CHECK(!contains(w.proxy.requests[1].head, "Proxy-"));  // the origin does not learn the password
  CHECK(w.layer.names == std::vector<std::string>{"origin.example"});
  w.proxy.will(ok("y"));
  CHECK(w.get("https://origin.example/y").body == "y");
  CHECK(w.proxy.requests.size() == 3);  // through the same tunnel
  w.proxy.will("HTTP/1.1 204 Fine\r\n\r\n");
  w.proxy.will("HTTP/1.1 407 Of the origin\r\nContent-Length: 0\r\n\r\n");
  CHECK(w.get("https://[2001:db8::1]:444/").status == 407);
  CHECK(begins(w.proxy.requests[3].head, "CONNECT [2001:db8::1]:444 HTTP/1.1\r\n"));
}

TEST_CASE("http proxies: a tunnel that is refused is an error with the proxy's status") {
  const std::pair<std::string, const char*> answers[] = {
      {"HTTP/1.1 407 Who are you\r\nContent-Length: 4\r\n\r\npage", "407 Who are you"},
      {"HTTP/1.1 503 Full\r\n\r\npage", "503 Full"},
      {"HTTP/1.0 301 Moved\r\nLocation: http://evil.example/\r\n\r\n", "301 Moved"},
      {"HTTP/1.1 101 No\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "101"},
      {"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "bytes behind"},
      {"SSH-2.0-OpenSSH_9.2\r\n", "no HTTP"},
      {"HTTP/1.1 200 OK\r\nBad\r\n\r\n", "no HTTP"}};
  for (const auto& [answer, why] : answers) {
    CAPTURE(answer);
    proxy_world w;
    w.proxy.will(answer);
    w.proxy.will(ok("not from the origin"));
    const outcome& refused = w.get("https://origin.example/");
    CHECK(refused.ec == http::client_error::proxy_refused);
    CHECK(contains(refused.failure, "the proxy http://10.0.0.1:3128: "));
    CHECK(contains(refused.failure, why));
    CHECK(w.layer.names.empty());
    CHECK(w.client.stats().connections == 0);
  }
  {
    proxy_world w;
    w.proxy.will("HTTP/1.1 2", after::end);
    const outcome& refused = w.get("https://origin.example/");
    CHECK(refused.ec == http::client_error::proxy_refused);
    CHECK(contains(refused.failure, "closed the connection"));
  }
  {
    proxy_world w;  // it says nothing
    CHECK(w.get("https://origin.example/").ec == http::client_error::connect_late);
    CHECK(w.client.stats().connections == 0);
  }
  {
    proxy_world w;
    std::string many;
    for (int i = 0; i < 1000; ++i) many += "HTTP/1.1 102 Processing\r\n\r\n";
    w.proxy.will(many + "HTTP/1.1 200 OK\r\n\r\n");
    CHECK(contains(w.get("https://origin.example/").failure, "longer than 16 KiB"));
  }
  proxy_world w("http://10.0.0.1:99");  // nobody listens
  for (const char* url : {"https://origin.example/", "http://origin.example/"}) {
    const outcome& none = w.get(url);
    CHECK(none.ec == std::errc::connection_refused);
    CHECK(contains(none.failure, "the proxy http://10.0.0.1:99 cannot be reached"));
  }
}

TEST_CASE("http proxies: SOCKS5 gets the name, and addresses as they are") {
  const std::string bound = "\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50"s;
  const std::string asked = "GET /a HTTP/1.1\r\nHost: origin.example\r\n\r\n";
  for (const std::string& reply : {bound, "\x05\x00\x00\x03\x02hi\x00\x50"s,
                                   "\x05\x00\x00\x04"s + std::string(16, 'x') + "\x00\x50"s,
                                   "\x05\x00\x00\x03\x00\x00\x50"s}) {
    proxy_world w("socks5://10.0.0.1");
    w.serve_socks({{"\x05\x01\x00"s, "\x05\x00"s},
                   {"\x05\x01\x00\x03\x0e"s + "origin.example" + "\x00\x50"s, reply},
                   {asked, ok("a")}});
    CHECK(w.get("http://origin.example/a").body == "a");
  }
  {
    proxy_world w("socks5://10.0.0.1");
    w.serve_socks({{"\x05\x01\x00"s, "\x05\x00"s},
                   {"\x05\x01\x00\x01\xc0\x00\x02\x01\x01\xbb"s, bound},
                   {"GET / HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n", ok("b")}});
    CHECK(w.get("https://192.0.2.1/").body == "b");
    CHECK(w.layer.names == std::vector<std::string>{"192.0.2.1"});
  }
  proxy_world w("socks5h://u:pw@10.0.0.1:1080");
  w.serve_socks(
      {{"\x05\x02\x00\x02"s, "\x05\x02"s},
       {"\x01\x01u\x02pw"s, "\x01\x00"s},
       {"\x05\x01\x00\x04\x20\x01\x0d\xb8"s + std::string(11, '\0') + "\x01\x00\x50"s, bound},
       {"GET / HTTP/1.1\r\nHost: [2001:db8::1]\r\n\r\n", ok("c")}});
  CHECK(w.get("http://[2001:db8::1]/").body == "c");
}

TEST_CASE("http proxies: what a SOCKS5 proxy refuses is an error with its reason") {
  const std::string connect = "\x05\x01\x00\x03\x0e"s + "origin.example" + "\x00\x50"s;
  const exchange_step hello{"\x05\x01\x00"s, "\x05\x00"s};
  const auto refusal = [](std::string_view url, std::vector<exchange_step> steps) {
    proxy_world w(url);
    w.serve_socks(std::move(steps), true);
    const outcome& refused = w.get("http://origin.example/");
    CHECK(refused.ec == http::client_error::proxy_refused);
    CHECK(contains(refused.failure, "the proxy socks5://10.0.0.1:1080: "));
    CHECK(w.client.stats().connections == 0);
    return refused.failure;
  };
  const char* const plain = "socks5://10.0.0.1";
  const char* const named = "socks5://u:p@10.0.0.1";
  CHECK(contains(refusal(plain, {{"\x05\x01\x00"s, "\x05\xff"s}}), "asks for a user"));
  CHECK(contains(refusal(plain, {{"\x05\x01\x00"s, "\x05\x02"s}}), "asks for a user"));
  CHECK(contains(refusal(named, {{"\x05\x02\x00\x02"s, "\x05\xff"s}}), "neither this password"));
  CHECK(contains(refusal(plain, {{"\x05\x01\x00"s, "HT"}}), "does not speak SOCKS5"));
  CHECK(contains(
      refusal(named, {{"\x05\x02\x00\x02"s, "\x05\x02"s}, {"\x01\x01u\x01p"s, "\x01\x01"s}}),
      "refused the user"));
  CHECK(contains(refusal(plain, {hello, {connect, "\x05\x05\x00\x01\x00"s}}),
                 "5, the connection was refused"));
  CHECK(contains(refusal(plain, {hello, {connect, "\x05\x63\x00\x01\x00"s}}), "unknown failure"));
  CHECK(contains(refusal(plain, {hello, {connect, "\x04\x00\x00\x01\x00"s}}), "not speak SOCKS5"));
  CHECK(contains(refusal(plain, {hello, {connect, "\x05\x00\x00\x02\x00"s}}), "unknown type"));
  CHECK(contains(refusal(plain, {hello, {connect, "\x05\x00\x00"s}}), "closed the connection"));
  CHECK(contains(refusal(plain, {hello, {connect, "\x05\x00\x00\x01\x00\x00"s}}), "closed"));
  CHECK(contains(refusal(plain, {}), "closed the connection"));
}
