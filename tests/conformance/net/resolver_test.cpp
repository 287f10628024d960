// SPDX-License-Identifier: BSL-1.0
//
// What lookups give, and what they give it for: ip::tcp::resolver.
#include <beck/coro/co_spawn.hpp>
#include <beck/net/resolver.hpp>
#include <beck/net/tcp.hpp>
#include <beck/net/udp.hpp>

#include <algorithm>
#include <iterator>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "support/name_server.hpp"
#include "support/outcome.hpp"

using beck::error_code;
using beck::ip::make_address;
using beck::ip::tcp;
using beck::test::named_machine;
namespace error = beck::error;
using results = tcp::resolver::results_type;

namespace {

struct answer {
  int calls = 0;
  error_code ec = error::interrupted;
  results found;

  auto handler() {
    return [this](error_code e, results r) {
      ++calls;
      ec = e;
      found = std::move(r);
    };
  }
  bool ok() const { return calls == 1 && !ec; }
  bool failed(const error_code& expected) const {
    return calls == 1 && ec == expected && found.empty();
  }
  std::vector<tcp::endpoint> endpoints() const { return {found.begin(), found.end()}; }
};

tcp::endpoint at(const std::string& address, beck::ip::port_type port) {
  return {make_address(address), port};
}

template <class... Question>
answer ask(named_machine& m, const Question&... question) {
  tcp::resolver resolver(m.ctx());
  answer got;
  resolver.async_resolve(question..., got.handler());
  beck::test::run_all(m.ctx());
  return got;
}

}  // namespace

CONFORMANCE("a host has endpoints of both versions of IP, with the names that were asked for") {
  named_machine m;
  const answer got = ask(m, "there", "80");
  REQUIRE(got.ok());
  CHECK(got.endpoints() == std::vector{at(m.v6(), 80), at(m.v4(), 80)});
  for (const auto& entry : got.found) {
    CHECK(entry.host_name() == "there");
    CHECK(entry.service_name() == "80");
    const std::string kept = entry.host_name();
    CHECK(kept == "there");
    CHECK(entry.host_name(std::allocator<char>()) == "there");
    CHECK(entry.service_name(std::allocator<char>()) == "80");
  }
  CHECK(got.found.begin()->endpoint() == at(m.v6(), 80));
  CHECK(got.found.size() == 2);
}

CONFORMANCE("an entry is made without a lookup, and copies share its names") {
  const tcp::endpoint endpoint(beck::ip::address_v4::loopback(), 8080);
  const auto made =
      std::make_unique<tcp::resolver::results_type::value_type>(endpoint, "a host", "a service");
  const auto copy = *made;
  CHECK(copy.endpoint() == endpoint);
  CHECK(copy.host_name() == "a host");
  CHECK(copy.service_name() == "a service");
  const tcp::resolver::results_type::value_type none;
  CHECK(none.host_name().empty());
  CHECK(none.service_name(std::allocator<char>()).empty());
}

CONFORMANCE("services have names") {
  named_machine m;
  const answer got = ask(m, "there", "http");
  REQUIRE(got.ok());
  CHECK(got.found.begin()->endpoint().port() == 80);
  CHECK(got.found.begin()->service_name() == "http");
  CHECK(ask(m, "there", "no-such").failed(error::service_not_found));
}

CONFORMANCE("a number that no port has is service_not_found, and nobody is asked") {
  named_machine m;
  for (const char* none : {"65536", "65616", "99999", "100080", "4294967376"}) {
    CAPTURE(none);
    CHECK(ask(m, "there", none).failed(error::service_not_found));
    CHECK(ask(m, "127.0.0.1", none).failed(error::service_not_found));
    CHECK(ask(m, "", none, tcp::resolver::passive).failed(error::service_not_found));
  }
  CHECK(m.asked() == 0);
  CHECK(ask(m, "127.0.0.1", "65535").endpoints() == std::vector{at("127.0.0.1", 65535)});
  CHECK(ask(m, "127.0.0.1", "0000080").endpoints() == std::vector{at("127.0.0.1", 80)});
  error_code ec;
  tcp::resolver resolver(m.ctx());
  CHECK(resolver.resolve("there", "65616", ec).empty());
  CHECK(ec == error::service_not_found);
}

CONFORMANCE("a protocol asks for addresses of its version only") {
  named_machine m;
  CHECK(ask(m, tcp::v4(), "there", "1").endpoints() == std::vector{at(m.v4(), 1)});
  CHECK(ask(m, tcp::v6(), "there", "1").endpoints() == std::vector{at(m.v6(), 1)});
}

CONFORMANCE("an unknown host is host_not_found, and no results") {
  named_machine m;
  CHECK(ask(m, "nowhere", "80").failed(error::host_not_found));
  CHECK(ask(m, "", "").failed(error::host_not_found));
}

CONFORMANCE("a name server that does not answer is an error to try again after") {
  named_machine m;
  m.fail(-(EAI_AGAIN));
  CHECK(ask(m, "there", "80").failed(error::host_not_found_try_again));
}

CONFORMANCE_ON(beck::test::kernel, "every error of getaddrinfo has its code") {
  named_machine m;
  const std::pair<int, error_code> all[] = {
      {-(EAI_FAIL), error::no_recovery},
      {-(EAI_NODATA), error::no_data},
      {-(EAI_ADDRFAMILY), error::host_not_found},
      {-(EAI_SERVICE), error::service_not_found},
      {-(EAI_SOCKTYPE), error::socket_type_not_supported},
      {-(EAI_FAMILY), error::make_error_code(error::address_family_not_supported)},
      {-(EAI_MEMORY), error::make_error_code(error::no_memory)},
      {-(EAI_BADFLAGS), error::make_error_code(error::invalid_argument)},
      {-EMFILE, error::make_error_code(error::no_descriptors)},
  };
  for (const auto& [status, expected] : all) {
    CAPTURE(expected.message());
    m.fail(status);
    CHECK(ask(m, "there", "80").failed(expected));
  }
}

CONFORMANCE("a numeric host and service need no lookup: a coroutine does not suspend") {
  named_machine m;
  const auto body = [](beck::io_context& ctx) -> beck::task<> {
    tcp::resolver resolver(ctx);
    const auto hops = ctx.stats().entries_run;
    for (int i = 0; i < 3; ++i) {
      const auto v4 = co_await resolver.async_resolve("192.0.2.7", "8080");
      CHECK(!v4.error());
      CHECK(v4->begin()->endpoint() == at("192.0.2.7", 8080));
      const auto v6 = co_await resolver.async_resolve("2001:db8::7", "0");
      CHECK(v6->size() == 1);
      CHECK(v6->begin()->endpoint() == at("2001:db8::7", 0));
    }
    CHECK(ctx.stats().entries_run == hops);
  };
  beck::co_spawn(m.ctx(), body(m.ctx()), beck::detached);
  m.ctx().run();
  CHECK(m.asked() == 0);
}

CONFORMANCE("a numeric answer reaches a handler, never inside the call") {
  named_machine m;
  tcp::resolver resolver(m.ctx());
  answer got;
  resolver.async_resolve("127.0.0.1", "7", got.handler());
  CHECK(got.calls == 0);
  m.ctx().run();
  CHECK(got.endpoints() == std::vector{at("127.0.0.1", 7)});
}

CONFORMANCE("a name that is too long or has a NUL is refused, and nobody is asked") {
  named_machine m;
  const std::string long_host(256, 'h');
  const std::string long_service(33, '1');
  CHECK(ask(m, long_host, "80").failed(error::invalid_host_name));
  CHECK(ask(m, std::string("the\0re", 6), "80").failed(error::invalid_host_name));
  CHECK(ask(m, "there", long_service).failed(error::invalid_service_name));
  CHECK(ask(m, "there", std::string("8\0", 2)).failed(error::invalid_service_name));
  CHECK(ask(m, std::string(255, 'h'), "80").failed(error::host_not_found));
  CHECK(m.asked() == (m.is_virtual() ? 0 : 1));
}

CONFORMANCE("the throwing form shows the name that it failed for") {
  named_machine m;
  tcp::resolver resolver(m.ctx());
  const auto text_of = [&](const std::string& host, const std::string& service) -> std::string {
    try {
      resolver.resolve(host, service);
    } catch (const beck::io_error& e) {
      return e.what();
    }
    return "";
  };
  CHECK(text_of("nowhere", "80").find("\"nowhere\"") != std::string::npos);
  CHECK(text_of("there", "no-such").find("\"no-such\"") != std::string::npos);
  CHECK(text_of(std::string(300, 'h'), "80").find("\"hhhhhh") != std::string::npos);
  CHECK(text_of(std::string("a\0b", 3), "80").find("\"a?b\"") != std::string::npos);
}

CONFORMANCE("a synchronous lookup gives what an asynchronous one does") {
  named_machine m;
  tcp::resolver resolver(m.ctx());
  error_code ec;
  const results found = resolver.resolve("there", "80", ec);
  CHECK(!ec);
  CHECK(found.size() == 2);
  CHECK(resolver.resolve(tcp::v4(), "there", "80").size() == 1);
  CHECK(resolver.resolve("192.0.2.1", "80").begin()->endpoint() == at("192.0.2.1", 80));
  CHECK(resolver.resolve("nowhere", "80", ec).empty());
  CHECK(ec == error::host_not_found);
}

CONFORMANCE("numeric_host and numeric_service ask nobody for names") {
  named_machine m;
  CHECK(ask(m, "there", "80", tcp::resolver::numeric_host).failed(error::host_not_found));
  CHECK(ask(m, "there", "http", tcp::resolver::numeric_service).failed(error::host_not_found));
  CHECK(ask(m, "127.0.0.1", "80", tcp::resolver::numeric_host | tcp::resolver::numeric_service)
            .endpoints() == std::vector{at("127.0.0.1", 80)});
}

CONFORMANCE("without a host there are loopback addresses, and passive ones to listen on") {
  named_machine m;
  CHECK(ask(m, "", "80").endpoints() == std::vector{at("::1", 80), at("127.0.0.1", 80)});
  CHECK(ask(m, "", "80", tcp::resolver::passive).endpoints() ==
        std::vector{at("0.0.0.0", 80), at("::", 80)});
  CHECK(ask(m, tcp::v4(), "", "80", tcp::resolver::passive).endpoints() ==
        std::vector{at("0.0.0.0", 80)});
}

CONFORMANCE("the canonical name is what the host calls itself") {
  named_machine m;
  const answer got = ask(m, "there", "80", tcp::resolver::canonical_name);
  REQUIRE(got.ok());
  CHECK(got.found.begin()->host_name() == (m.is_virtual() ? "there" : "www.example.org"));
}

CONFORMANCE("an endpoint has names, too") {
  named_machine m;
  const tcp::endpoint asked = at("127.0.0.1", 65'001);
  const answer got = ask(m, asked);
  REQUIRE(got.ok());
  REQUIRE(got.found.size() == 1);
  CHECK(got.found.begin()->endpoint() == asked);
  CHECK(!got.found.begin()->host_name().empty());  // the machine's own files decide
  CHECK(got.found.begin()->service_name() == "65001");
}

CONFORMANCE("localhost is this machine, by the machine's own files") {
  beck::io_context ctx(context_options());
  tcp::resolver resolver(ctx);
  answer got;
  resolver.async_resolve("localhost", "80", got.handler());
  ctx.run();
  REQUIRE(got.ok());
  const auto found = got.endpoints();
  CHECK(std::find(found.begin(), found.end(), at("127.0.0.1", 80)) != found.end());
}

CONFORMANCE("results outlive their resolver and their context, and are shared by copies") {
  results copy;
  {
    named_machine m;
    copy = ask(m, "there", "80").found;
  }
  const results another = copy;
  copy = results();
  CHECK(another.size() == 2);
  const auto entry = *another.begin();
  CHECK(entry.host_name() == "there");
  CHECK(copy.empty());
  CHECK(results().begin() == results().end());
}

TEST_CASE("an iterator stays valid when its results are moved or get others") {
  results one = results::create(at("192.0.2.1", 80), "example.org", "http");
  results other = results::create(at("192.0.2.2", 443), "example.net", "https");
  const auto begin = one.begin();
  const auto end = one.end();
  const results moved = std::move(one);
  one = std::move(other);
  REQUIRE(begin != end);
  CHECK(begin->endpoint() == at("192.0.2.1", 80));
  CHECK(begin->host_name() == "example.org");
  CHECK(++results::iterator(begin) == moved.end());
}

TEST_CASE("results are made without a lookup, too") {
  const results one = results::create(at("192.0.2.1", 80), "example.org", "http");
  REQUIRE(one.size() == 1);
  const tcp::endpoint endpoint = *one.begin();
  CHECK(endpoint == at("192.0.2.1", 80));
  CHECK(one.begin()->host_name() == "example.org");
}

TEST_CASE("the entries of results are objects, which references, algorithms and copies take") {
  const results two = results::create(at("192.0.2.1", 80), "example.org", "http");
  int seen = 0;
  for (auto& entry : two) {
    static_assert(std::is_same_v<decltype(entry), const results::value_type&>);
    CHECK(&entry == &*two.begin());
    ++seen;
  }
  CHECK(seen == 1);
  static_assert(std::forward_iterator<results::iterator>);
  const std::vector<tcp::endpoint> endpoints(two.begin(), two.end());
  CHECK(endpoints == std::vector{at("192.0.2.1", 80)});
  results::value_type kept;
  {
    const results gone = results::create(at("192.0.2.7", 7), "example.net", "echo");
    const auto& first = *gone.begin();
    kept = first;
    const results::value_type copy(first);
    CHECK(copy.host_name() == "example.net");
  }
  CHECK(kept.endpoint() == at("192.0.2.7", 7));
  CHECK(kept.host_name() == "example.net");
  CHECK(kept.service_name() == "echo");
}

TEST_CASE("name errors have Asio's names and texts, in categories of their own") {
  const error_code host = error::host_not_found;
  CHECK(host.category() == beck::detail::netdb_category());
  CHECK(host.message() == "Host not found (authoritative)");
  CHECK(std::string(host.category().name()) == "beck.netdb");
  const error_code service = error::service_not_found;
  CHECK(service.category() == beck::detail::addrinfo_category());
  CHECK(service.message() == "Service not found");
  CHECK(host != service);
  for (const auto e : {error::host_not_found_try_again, error::no_recovery, error::no_data,
                       error::invalid_host_name}) {
    CHECK(error::make_error_code(e).message().find("Unknown") == std::string::npos);
  }
  for (const auto e : {error::socket_type_not_supported, error::invalid_service_name}) {
    CHECK(error::make_error_code(e).message().find("Unknown") == std::string::npos);
  }
}

CONFORMANCE("lookups for UDP give its endpoints") {
  beck::io_context ctx(context_options());
  beck::ip::udp::resolver resolver(ctx);
  const auto found = resolver.resolve("127.0.0.1", "53");
  REQUIRE(found.begin() != found.end());
  const beck::ip::udp::endpoint first = *found.begin();
  CHECK(first == beck::ip::udp::endpoint(make_address("127.0.0.1"), 53));
}
