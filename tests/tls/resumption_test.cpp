// SPDX-License-Identifier: BSL-1.0
// Tickets and the sessions that clients keep: what is resumed, what is not, and for how long.
#include <beck/testing/sim.hpp>
#include <beck/tls/ticket_keys.hpp>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include "support/conformance.hpp"
#include "tls/contexts.hpp"
#include "tls/handshake_pair.hpp"
#include "tls/ticket_store.hpp"

using namespace beck::tls::test;
using namespace std::chrono_literals;
namespace sim = beck::testing::sim;
namespace tls = beck::tls;
using tls::error;
using tls::version;

namespace {

/// A server and a client that meet several times.
struct acquaintance {
  explicit acquaintance(const tls::server_options& shown = tls::server_options(),
                        const tls::client_options& trust = trusting())
      : identity(files().chain(made::good), files().key(made::good), shown), client(trust) {}

  handshakes pair;
  tls::server_context identity;
  tls::client_context client;

  /// Returns whether a connection, which must succeed, was resumed, as both sides see it.
  bool meets(std::string_view name = "example.com") { return meets(identity, name); }
  bool meets(tls::server_context& other, std::string_view name = "example.com") {
    const both_sides got = pair.shake(other, client, name);
    CAPTURE(got.client.text);
    CAPTURE(got.server.text);
    CHECK(got.good());
    CHECK(got.client.resumed == got.server.resumed);
    CHECK(got.client.peer == "example.com");
    return got.client.resumed;
  }
};

/// Keys with this byte everywhere.
std::string key_of(char fill) { return std::string(tls::ticket_keys::bytes, fill); }

beck::const_buffer all(const std::string& keys) { return {keys.data(), keys.size()}; }

}  // namespace

CONFORMANCE("tls resumption: the second connection resumes the first, in both versions") {
  for (const version which : {version::tls_1_2, version::tls_1_3}) {
    acquaintance a({}, trusting().versions(which, which));
    CHECK(!a.meets());
    for (int i = 0; i < 5; ++i) CHECK(a.meets());
  }
}

CONFORMANCE("tls resumption: a connection may have ended without a close_notify") {
  for (const version which : {version::tls_1_2, version::tls_1_3}) {
    acquaintance a({}, trusting().versions(which, which));
    a.pair.shuts_down = false;
    CHECK(!a.meets());
    CHECK(a.meets());
    CHECK(a.meets());
  }
}

CONFORMANCE("tls resumption: a session is resumed under the name that was verified alone") {
  acquaintance a;
  CHECK(!a.meets("example.com"));
  CHECK(!a.meets("www.example.com"));
  CHECK(a.meets("www.example.com"));
  CHECK(a.meets("example.com"));
  const both_sides wrong = a.pair.shake(a.identity, a.client, "other.example");
  CHECK(wrong.client.ec == error::wrong_name);
}

CONFORMANCE("tls resumption: a session of an address is resumed, however the address is written") {
  handshakes pair;
  tls::server_context identity(files().chain(made::address), files().key(made::address));
  for (const char* first : {"127.0.0.1", "::1", "[::1]"}) {
    tls::client_context client(trusting());
    CAPTURE(first);
    CHECK(!pair.shake(identity, client, first).client.resumed);
    CHECK(pair.shake(identity, client, first).client.resumed);
    if (std::string_view(first).find(':') == std::string_view::npos) continue;
    CHECK(pair.shake(identity, client, "0:0:0:0:0:0:0:1").client.resumed);
  }
}

CONFORMANCE("tls resumption: each side may turn it off") {
  acquaintance no_tickets(tls::server_options().resumption(false));
  CHECK(!no_tickets.meets());
  CHECK(!no_tickets.meets());
  for (const version which : {version::tls_1_2, version::tls_1_3}) {
    acquaintance none({}, trusting().versions(which, which).resumption(false));
    CHECK(!none.meets());
    CHECK(!none.meets());
  }
}

CONFORMANCE("tls resumption: reload() of a server keeps sessions, that of a client forgets them") {
  acquaintance a;
  CHECK(!a.meets());
  a.identity.reload();
  CHECK(a.meets());
  a.client.reload();
  CHECK(!a.meets());
  CHECK(a.meets());
}

CONFORMANCE(
    "tls resumption: a ticket that comes after reload() is of the old trust, and not kept") {
  acquaintance a;
  a.pair.on_shaken = [&] { a.client.reload(); };  // in 1.3 the ticket comes behind the handshake
  CHECK(!a.meets());
  a.pair.on_shaken = [] {};
  CHECK(!a.meets());
  CHECK(a.meets());
}

CONFORMANCE("tls resumption: servers that share keys resume each other's sessions") {
  const tls::ticket_keys keys;
  acquaintance a(tls::server_options().tickets(keys));
  tls::server_context second(files().chain(made::good), files().key(made::good),
                             tls::server_options().tickets(keys));
  tls::server_context stranger(files().chain(made::good), files().key(made::good));
  CHECK(!a.meets());
  CHECK(a.meets(second));
  CHECK(a.meets());
  CHECK(!a.meets(stranger));
}

CONFORMANCE("tls resumption: keys that are set decrypt as long as they are among the generations") {
  tls::ticket_keys keys;
  keys.set(all(key_of('a')));
  tls::ticket_keys elsewhere;  // another process with the same keys
  elsewhere.set(all(key_of('a')));
  acquaintance a(tls::server_options().tickets(keys));
  tls::server_context other(files().chain(made::good), files().key(made::good),
                            tls::server_options().tickets(elsewhere));
  CHECK(!a.meets());
  CHECK(a.meets(other));
  keys.set(all(key_of('b') + key_of('a')));
  CHECK(a.meets());
  CHECK(!a.meets(other));  // it does not know b yet
  keys.set(all(key_of('c') + key_of('b')));
  CHECK(!a.meets());  // the ticket of the other server was made with a
  for (const std::size_t bytes : {0U, 79U, 81U, 320U}) {
    CHECK_THROWS_AS(keys.set(all(std::string(bytes, 'x'))), std::invalid_argument);
  }
}

CONFORMANCE("tls resumption: a ticket that names no key is not decrypted with another one") {
  for (const version which : {version::tls_1_2, version::tls_1_3}) {
    for (const char byte : {'\0', 'a'}) {  // 0: what keys are that no one has set
      const std::string named =
          "no name of a key" + std::string(tls::ticket_keys::bytes - 16, byte);
      tls::ticket_keys forged;
      forged.set(all(named));
      tls::ticket_keys known;
      known.set(all(key_of('a')));
      acquaintance a(tls::server_options().tickets(known), trusting().versions(which, which));
      tls::server_context forger(files().chain(made::good), files().key(made::good),
                                 tls::server_options().tickets(forged));
      CHECK(!a.meets(forger));
      CHECK(!a.meets());  // offers the ticket of the forger
      CHECK(a.meets());
    }
  }
}

CONFORMANCE("tls resumption: a ticket of one identity is no session of another") {
  tls::server_options options;
  options.identity(files().chain(made::wildcard), files().key(made::wildcard));
  handshakes pair;
  tls::server_context identity(files().chain(made::good), files().key(made::good), options);
  tls::client_context client(trusting());
  CHECK(!pair.shake(identity, client, "a.example.com").client.resumed);
  CHECK(pair.shake(identity, client, "a.example.com").client.resumed);
  CHECK(!pair.shake(identity, client, "example.com").client.resumed);
  CHECK(pair.shake(identity, client, "example.com").client.peer == "example.com");
  const tls::ticket_keys keys;  // the same name, another identity, and keys that could decrypt
  acquaintance a(tls::server_options().tickets(keys));
  tls::server_context other(files().chain(made::wildcard), files().key(made::wildcard),
                            tls::server_options().tickets(keys));
  CHECK(!a.meets("www.example.com"));
  const both_sides got = a.pair.shake(other, a.client, "www.example.com");
  CHECK(!got.client.resumed);
  CHECK(got.client.peer == "wildcard");
}

CONFORMANCE(
    "tls resumption: a server that asks for certificates resumes none of one that does not") {
  const tls::ticket_keys keys;
  const auto roots = tls::authorities().file(files().path("root.pem"));
  const auto showing = trusting().identity(files().chain(made::client), files().key(made::client));
  for (const version which : {version::tls_1_2, version::tls_1_3}) {
    acquaintance a(tls::server_options().tickets(keys),
                   tls::client_options(showing).versions(which, which));
    tls::server_context asks(files().chain(made::good), files().key(made::good),
                             tls::server_options().tickets(keys).clients(roots));
    CHECK(!a.meets());
    const both_sides first = a.pair.shake(asks, a.client, "example.com");
    CHECK(first.good());
    CHECK(!first.server.resumed);
    CHECK(first.server.peer == "client seven");
    const both_sides second = a.pair.shake(asks, a.client, "example.com");
    CHECK(second.server.resumed);
    CHECK(second.server.peer == "client seven");
  }
}

CONFORMANCE("tls resumption: a server that demands certificates resumes none that had no need") {
  const tls::ticket_keys keys;
  const auto roots = tls::authorities().file(files().path("root.pem"));
  for (const version which : {version::tls_1_2, version::tls_1_3}) {
    acquaintance a(
        tls::server_options().tickets(keys).clients(roots, tls::client_certificate::optional),
        trusting().versions(which, which));
    tls::server_context demands(files().chain(made::good), files().key(made::good),
                                tls::server_options().tickets(keys).clients(roots));
    CHECK(!a.meets());
    const both_sides got = a.pair.shake(demands, a.client, "example.com");
    CHECK(!got.server.resumed);
    CHECK(got.server.ec == error::no_certificate);
  }
}

CONFORMANCE("tls resumption: a new revocation list ends the sessions of clients") {
  const identity_files own;
  const auto roots =
      tls::authorities().file(own.path("root.pem")).revocation_list(own.path("lists.crl"));
  acquaintance a(tls::server_options().clients(roots),
                 trusting().identity(own.chain(made::client), own.key(made::client)));
  CHECK(!a.meets());
  CHECK(a.meets());
  own.write("lists.crl", revocation_lists() + revocation_lists());
  a.identity.reload();
  CHECK(!a.meets());
}

TEST_CASE("tls resumption: keys rotate by date, tickets live for two rotations, and not longer") {
  sim::world w(1);
  sim::host& host = w.host("a");
  handshakes pair(host);
  const auto forward = [&](std::chrono::seconds by) {
    host.set_date(
        beck::system_time_point(beck::duration(host.date().nanoseconds()) + beck::duration(by)));
  };
  const tls::ticket_keys keys(beck::duration(1h));
  tls::detail::ticket_store& store = *keys.share().store;
  const auto age_of = [&](const tls::detail::ticket_key& key) {
    int age = 0;
    pair.run([&] {
      age = store.with_key(key.name, -1, [](const tls::detail::ticket_key&, std::size_t at) {
        return static_cast<int>(at);
      });
    });
    return age;
  };
  const auto newest = [&] {
    std::optional<tls::detail::ticket_key> key;
    pair.run([&] { key = store.newest(); });
    return *key;
  };
  const tls::detail::ticket_key first = newest();
  CHECK(age_of(first) == 0);
  forward(59min);
  CHECK(age_of(first) == 0);
  forward(1min);
  CHECK(age_of(first) == 1);
  tls::detail::ticket_key second = newest();
  CHECK(age_of(second) == 0);
  CHECK(std::memcmp(first.cipher, second.cipher, sizeof first.cipher) != 0);
  forward(1h);
  CHECK(age_of(first) == 2);
  forward(1h);
  CHECK(age_of(first) == -1);
  CHECK(age_of(second) == 2);
  second = newest();
  CHECK(age_of(second) == 0);
  forward(100h);  // nobody came: rotations were missed
  CHECK(age_of(second) == -1);
  second = newest();
  forward(-50h);  // a date that is set back makes a new key, too
  CHECK(age_of(second) != 0);
  tls::server_context identity(files().chain(made::good), files().key(made::good),
                               tls::server_options().tickets(keys));
  SSL_CTX* const context = SSL_get_SSL_CTX(identity.state().make_session().get());
  CHECK(SSL_CTX_get_timeout(context) == 2 * 3600);
}

TEST_CASE("tls resumption: a client offers no session whose certificate has expired since") {
  sim::world w(1);
  sim::host& host = w.host("a");
  handshakes pair(host);
  tls::server_context identity(files().chain(made::good), files().key(made::good));
  tls::client_context client(trusting());
  CHECK(!pair.shake(identity, client, "example.com").client.resumed);
  CHECK(pair.shake(identity, client, "example.com").client.resumed);
  host.set_date(beck::system_time_point(beck::duration(2'524'608'000LL * 1'000'000'000)));  // 2050
  const both_sides late = pair.shake(identity, client, "example.com");
  CHECK(late.client.ec == error::expired);
  CHECK(has(late.client.text, "the date here is 2050-01-01 00:00:00 UTC"));
}

TEST_CASE("tls resumption: a server resumes no session of a client whose certificate has expired") {
  sim::world w(1);
  sim::host& host = w.host("a");
  handshakes pair(host);
  tls::ticket_keys keys;
  keys.set(all(key_of('k')));  // which do not age
  tls::server_context identity(files().chain(made::good), files().key(made::good),
                               tls::server_options().tickets(keys).clients(
                                   tls::authorities().file(files().path("root.pem"))));
  tls::client_context client(
      trusting().identity(files().chain(made::client), files().key(made::client)));
  CHECK(pair.shake(identity, client, "example.com").good());
  CHECK(pair.shake(identity, client, "example.com").server.resumed);
  pair.on_offer = [&] {  // 2041
    host.set_date(beck::system_time_point(beck::duration(2'240'611'200LL * 1'000'000'000)));
  };
  const both_sides late = pair.shake(identity, client, "example.com");
  CHECK(late.server.ec == error::expired);
  CHECK(late.client.ec == error::alert_certificate_expired);
}

CONFORMANCE("tls resumption: a ticket of 1.3 is offered once, a session of 1.2 again and again") {
  for (const version which : {version::tls_1_2, version::tls_1_3}) {
    acquaintance a({}, trusting().versions(which, which));
    CHECK(!a.meets());
    const auto offers = [&](std::string_view name) {
      return SSL_get_session(a.client.state().make_session(name).get()) != nullptr;
    };
    CHECK(!offers("www.example.com"));
    CHECK(offers("example.com"));
    CHECK(offers("example.com") == (which == version::tls_1_2));
  }
}

TEST_CASE("tls resumption: the sessions of a client have a bound for each name, and for all") {
  const tls::detail::ssl_ctx_ptr context(SSL_CTX_new(TLS_client_method()));
  tls::detail::session_cache cache;
  const auto add = [&](const std::string& name) {
    cache.add(name, tls::detail::session_ptr(SSL_SESSION_new()));
  };
  for (int i = 0; i < 10; ++i) add("a");
  CHECK(cache.size() == tls::detail::session_cache::per_name_max);
  add("");
  CHECK(cache.size() == tls::detail::session_cache::per_name_max);
  for (int i = 0; i < 600; ++i) add("name " + std::to_string(i));
  CHECK(cache.size() == tls::detail::session_cache::sessions_max);
}

TEST_CASE("tls key log: only a build that allows it looks at SSLKEYLOGFILE; the file is private") {
  const identity_files own;
  const std::string path = own.path("keys.log");
  ::setenv("SSLKEYLOGFILE", path.c_str(), 1);
  {
    acquaintance a;
    CHECK(!a.meets());
  }
  ::unsetenv("SSLKEYLOGFILE");
  CHECK(std::filesystem::exists(path) == (BECK_TLS_KEY_LOG != 0));
  own.write("keys.log", "");  // by another program, for all to read
  const tls::detail::ssl_ctx_ptr context(SSL_CTX_new(TLS_client_method()));
  CHECK(tls::detail::log_keys_to(context.get(), path.c_str()));
  SSL_CTX_get_keylog_callback(context.get())(tls::detail::ssl_ptr(SSL_new(context.get())).get(),
                                             "CLIENT_RANDOM 00 11");
  using std::filesystem::perms;
  CHECK(std::filesystem::status(path).permissions() == (perms::owner_read | perms::owner_write));
  CHECK(own.read("keys.log") == "CLIENT_RANDOM 00 11\n");
  CHECK(!tls::detail::log_keys_to(context.get(), own.path("none/keys.log").c_str()));
}
