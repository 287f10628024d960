// SPDX-License-Identifier: BSL-1.0
// What a server shows: the identity for a name, protocols, versions, OCSP, what it asks of clients;
// and what changes when its files are read again.
#include <beck/testing/sim.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/conformance.hpp"
#include "tls/contexts.hpp"
#include "tls/handshake_pair.hpp"

using namespace beck::tls::test;
using beck::error_code;
namespace tls = beck::tls;
using tls::error;

namespace {

tls::server_options with_identity(tls::server_options options, made which) {
  return options.identity(files().chain(which), files().key(which));
}

both_sides shake(const tls::server_options& options, const tls::client_options& trust,
                 std::string_view name = "example.com") {
  handshakes pair;
  tls::server_context identity(files().chain(made::good), files().key(made::good), options);
  tls::client_context client(trust);
  return pair.shake(identity, client, name);
}

/// Returns the options of a server that asks for certificates of clients.
tls::server_options asking(tls::client_certificate need) {
  return tls::server_options().clients(tls::authorities().file(files().path("root.pem")), need);
}

tls::client_options showing(made which) {
  return trusting().identity(files().chain(which), files().key(which));
}

}  // namespace

CONFORMANCE("tls server: the name that a client asks for chooses the identity") {
  tls::server_options options = with_identity(tls::server_options(), made::other_name);
  options = with_identity(options, made::wildcard);
  handshakes pair;
  tls::server_context identity(files().chain(made::good), files().key(made::good), options);
  tls::client_context client(trusting());
  const struct {
    const char* name;
    const char* peer;
  } cases[] = {{"other.example", "other.example"},
               {"OTHER.example", "other.example"},
               {"example.com", "example.com"},
               {"www.example.com", "example.com"},  // exact, before the wildcard
               {"b.example.com", "wildcard"}};
  for (const auto& one : cases) {
    const both_sides got = pair.shake(identity, client, one.name);
    CAPTURE(one.name);
    CAPTURE(got.client.text);
    CHECK(got.good());
    CHECK(got.client.peer == one.peer);
  }
  const both_sides unknown = pair.shake(identity, client, "nobody.example");
  CHECK(unknown.client.ec == error::wrong_name);
  CHECK(has(unknown.client.text, "certificate for example.com"));  // the first identity
}

CONFORMANCE("tls server: ALPN chooses the server's first protocol that the client offers") {
  CHECK(shake({}, trusting()).client.protocol.empty());
  CHECK(shake({}, trusting().protocols("h2 http/1.1")).client.protocol == "http/1.1");
  CHECK(shake({}, trusting().protocols("http/1.0")).client.protocol == "http/1.0");
  const auto two = tls::server_options().protocols("b a");
  const both_sides got = shake(two, trusting().protocols("a b"));
  CHECK(got.client.protocol == "b");
  CHECK(got.server.protocol == "b");
  CHECK(shake(tls::server_options().protocols(""), trusting().protocols("a")).good());
  CHECK_THROWS_AS(tls::client_options().protocols(std::string(256, 'a')), std::invalid_argument);
}

CONFORMANCE("tls server: a client that offers other protocols only is refused, and told apart") {
  const both_sides got = shake({}, trusting().protocols("h2 spdy/3"));
  CHECK(got.server.ec == error::no_shared_protocol);
  CHECK(has(got.server.text, "offers the protocols h2, spdy/3, this server http/1.1, http/1.0"));
  CHECK(got.client.ec == error::alert_no_application_protocol);
}

CONFORMANCE("tls server: versions are those that both sides allow, and 1.2 or 1.3 by default") {
  using tls::version;
  const auto old = tls::server_options().versions(version::tls_1_2, version::tls_1_2);
  const auto young = tls::server_options().versions(version::tls_1_3, version::tls_1_3);
  CHECK(shake(old, trusting()).client.version == "TLSv1.2");
  CHECK(shake(young, trusting()).client.version == "TLSv1.3");
  const auto only_old = trusting().versions(version::tls_1_2, version::tls_1_2);
  CHECK(shake({}, only_old).client.version == "TLSv1.2");
  const both_sides got = shake(young, only_old);
  CHECK(got.server.ec == error::no_shared_version);
  CHECK(has(got.server.text, "no version that is allowed here, TLS 1.3 to TLS 1.3"));
  CHECK(got.client.ec == error::alert_protocol_version);
  CHECK_THROWS_AS(trusting().versions(version::tls_1_3, version::tls_1_2), std::invalid_argument);
}

CONFORMANCE("tls server: a required certificate of a client is checked, and its name is known") {
  const auto options = asking(tls::client_certificate::required);
  for (const tls::version which : {tls::version::tls_1_2, tls::version::tls_1_3}) {
    const auto good = shake(options, showing(made::client).versions(which, which));
    CAPTURE(good.client.text);
    CAPTURE(good.server.text);
    CHECK(good.good());
    CHECK(good.server.peer == "client seven");
    const both_sides none = shake(options, trusting().versions(which, which));
    CHECK(none.server.ec == error::no_certificate);
    CHECK(has(none.server.text, "The client sent no certificate"));
    CHECK(none.client.ec == (which == tls::version::tls_1_3 ? error::alert_certificate_required
                                                            : error::alert_handshake_failure));
    const both_sides foreign = shake(options, showing(made::other_client).versions(which, which));
    CHECK(foreign.server.ec == error::unknown_issuer);
    CHECK(has(foreign.server.text, "issued by \"Foreign Root\""));
    CHECK(foreign.client.ec == error::alert_unknown_ca);
    const both_sides wrong = shake(options, showing(made::other_name).versions(which, which));
    CHECK(wrong.server.ec == error::wrong_usage);
  }
}

CONFORMANCE("tls server: an optional certificate may be missing, but not wrong") {
  const auto options = asking(tls::client_certificate::optional);
  const both_sides none = shake(options, trusting());
  CHECK(none.good());
  CHECK(none.server.peer.empty());
  CHECK(shake(options, showing(made::client)).server.peer == "client seven");
  CHECK(shake(options, showing(made::other_client)).server.ec == error::unknown_issuer);
}

CONFORMANCE("tls server: a revoked certificate of a client is refused") {
  const auto roots =
      tls::authorities().file(files().path("root.pem")).revocation_list(files().path("lists.crl"));
  const auto options = tls::server_options().clients(roots);
  CHECK(shake(options, showing(made::client)).good());
  const both_sides got = shake(options, showing(made::revoked));
  CHECK(got.server.ec == error::revoked);
  CHECK(got.client.ec == error::alert_certificate_revoked);
}

CONFORMANCE("tls server: the OCSP response of a file is sent to clients that demand it") {
  const auto options = tls::server_options().ocsp(files().path("good.ocsp"));
  const both_sides got = shake(options, trusting().demand_ocsp());
  CAPTURE(got.client.text);
  CHECK(got.good());
  CHECK(shake(options, trusting()).good());
  handshakes pair;  // and for the identity that was added before it
  tls::server_context identity(files().chain(made::other_name), files().key(made::other_name),
                               with_identity({}, made::good).ocsp(files().path("good.ocsp")));
  tls::client_context client(trusting().demand_ocsp());
  CHECK(pair.shake(identity, client, "example.com").good());
  CHECK(pair.shake(identity, client, "other.example").client.ec == error::revocation_unknown);
}

TEST_CASE("tls server: an OCSP response is sent until it is too old") {
  const auto date = [](std::chrono::sys_days day) {
    return beck::system_time_point(
        beck::duration(std::chrono::nanoseconds(day.time_since_epoch()).count()));
  };
  using std::chrono::January, std::chrono::June;
  beck::testing::sim::world w(1);
  beck::testing::sim::host& host = w.host("a");
  host.set_date(date(std::chrono::year(2001) / June / 1));
  const identity_files own;
  own.write("old.ocsp", ocsp_response(made::good, ocsp_says::too_old));
  handshakes pair(host);
  std::optional<tls::server_context> identity;
  pair.run([&] {
    identity.emplace(own.chain(made::good), own.key(made::good),
                     tls::server_options().ocsp(own.path("old.ocsp")));
  });
  tls::client_context client(trusting().demand_ocsp().resumption(false));
  CHECK(pair.shake(*identity, client, "example.com").good());
  host.set_date(date(std::chrono::year(2002) / January / 2));
  const both_sides late = pair.shake(*identity, client, "example.com");
  CHECK(late.client.ec == error::revocation_unknown);
  CHECK(has(late.client.text, "the server sent none"));
}

CONFORMANCE(
    "tls server: reload() serves the new files to new connections, and errors change nothing") {
  const identity_files own;
  const auto put = [&](made which) {
    own.write("now.pem", identity_of(which).chain);
    own.write("now.key", identity_of(which).key);
  };
  put(made::good);
  handshakes pair;
  tls::server_context identity(own.path("now.pem"), own.path("now.key"));
  tls::client_context client(trusting());
  CHECK(pair.shake(identity, client, "example.com").client.peer == "example.com");
  put(made::other_name);
  CHECK(pair.shake(identity, client, "example.com").good());  // not before reload()
  identity.reload();
  CHECK(pair.shake(identity, client, "other.example").good());
  own.write("now.key", identity_of(made::rsa).key);
  CHECK_THROWS_AS(identity.reload(), beck::io_error);
  CHECK(pair.shake(identity, client, "other.example").good());
  put(made::expired);
  CHECK_THROWS_AS(identity.reload(), beck::io_error);
  CHECK(pair.shake(identity, client, "other.example").good());
}

CONFORMANCE("tls server: a connection outlives a reload(), before and behind its handshake") {
  const identity_files own;
  handshakes pair;
  tls::server_context identity(own.chain(made::good), own.key(made::good));
  tls::client_context client(trusting());
  beck::ip::tcp::acceptor acceptor(pair.ctx, {beck::ip::address_v4::loopback(), std::uint16_t{0}});
  std::string echoed;
  co_spawn(
      pair.ctx,
      [](beck::ip::tcp::acceptor& from, tls::server_context& with) -> beck::task<> {
        auto accepted = co_await from.async_accept();
        tls::stream one(std::move(accepted).value(), with);
        with.reload();  // the stream has the generation before this one
        auto shaken = co_await one.async_handshake();
        CHECK(!shaken.error());
        with.reload();
        char data[5];
        auto got = co_await beck::async_read(one, beck::buffer(data));
        CHECK(!got.error());
        auto sent = co_await beck::async_write(one, beck::buffer(data));
        CHECK(!sent.error());
        beck::ignore(co_await one.async_shutdown());
      }(acceptor, identity),
      beck::detached);
  co_spawn(
      pair.ctx,
      [](beck::io_context& ctx, beck::ip::tcp::endpoint to, tls::client_context& with,
         std::string& text) -> beck::task<> {
        beck::ip::tcp::socket socket(ctx);
        beck::ignore(co_await socket.async_connect(to));
        tls::stream one(std::move(socket), with, "example.com");
        beck::ignore(co_await beck::async_write(one, beck::buffer("hello", 5)));
        with.reload();
        char data[5];
        auto got = co_await beck::async_read(one, beck::buffer(data));
        text.assign(data, got.value_);
      }(pair.ctx, acceptor.local_endpoint(), client, echoed),
      beck::detached);
  pair.ctx.run();
  CHECK(echoed == "hello");
}

TEST_CASE("tls server: reload() by one thread while others make sessions") {
  const identity_files own;
  tls::server_context identity(own.chain(made::good), own.key(made::good));
  tls::client_context client(trusting());
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      beck::io_context ctx;
      for (int round = 0; round < 200; ++round) {
        tls::stream made(beck::owned_stream(new beck::socket_stream(beck::ip::tcp::socket(ctx))),
                         identity);
        tls::stream other(beck::owned_stream(new beck::socket_stream(beck::ip::tcp::socket(ctx))),
                          client, "example.com");
      }
    });
  }
  std::atomic<bool> reloaded = false;
  bool always = true;
  threads.emplace_back([&] {  // without the locks of OpenSSL, which would hide a race
    while (!reloaded) always = always && identity.expires_in() > beck::duration::zero();
  });
  threads.emplace_back([&] {
    for (int round = 0; round < 20; ++round) {
      identity.reload();
      client.reload();
    }
    reloaded = true;
  });
  for (std::thread& one : threads) one.join();
  CHECK(always);
}

TEST_CASE(
    "tls server: threads shake hands over shared contexts while one of them reads all again") {
  const identity_files own;
  constexpr int threads_max = 2, rounds = 40;
  tls::server_options options;
  options.identity(own.chain(made::wildcard), own.key(made::wildcard));
  tls::server_context identity(own.chain(made::good), own.key(made::good), options);
  tls::client_context client(trusting());
  std::atomic<int> running = threads_max, good = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < threads_max; ++i) {
    threads.emplace_back([&] {
      handshakes pair{beck::io_context::options()};
      for (int round = 0; round < rounds; ++round) {
        const char* const name = round % 3 == 0 ? "b.example.com" : "example.com";
        if (pair.shake(identity, client, name).good()) ++good;
      }
      --running;
    });
  }
  for (int round = 0; running != 0; ++round) {
    identity.reload();
    if (round % 8 == 0) client.reload();  // which forgets the sessions
  }
  for (std::thread& one : threads) one.join();
  CHECK(good == threads_max * rounds);
}
