// SPDX-License-Identifier: BSL-1.0
// The engine against peers that stop, lie and repeat: every byte of a handshake and of a record is
// a place to end, to be changed, or to be split at.
#include "tls/engine.hpp"

#include <beck/tls/error.hpp>

#include <doctest/doctest.h>

#include <malloc.h>

#include <string>
#include <vector>

#include "support/allocations.hpp"
#include "support/pattern.hpp"
#include "support/small_random.hpp"
#include "support/stream_pair.hpp"
#include "tls/engine_pair.hpp"

using namespace beck::tls::test;
using beck::testing::small_random;
namespace tls = beck::tls;

namespace {

both_contexts& tls12() {
  static both_contexts made(tls::version::tls_1_2);
  return made;
}
both_contexts& tls13() {
  static both_contexts made(tls::version::tls_1_3);
  return made;
}

/// Returns the lengths of the records in `sealed`.
std::vector<std::size_t> records_in(std::string_view sealed) {
  std::vector<std::size_t> lengths;
  while (sealed.size() >= 5) {
    const std::size_t body = static_cast<std::size_t>(static_cast<unsigned char>(sealed[3])) * 256 +
                             static_cast<unsigned char>(sealed[4]);
    lengths.push_back(body);
    REQUIRE(sealed.size() >= 5 + body);
    sealed.remove_prefix(5 + body);
  }
  REQUIRE(sealed.empty());
  return lengths;
}

}  // namespace

TEST_CASE("tls engine: a handshake and bytes in both directions, with both versions") {
  for (both_contexts* contexts : {&tls12(), &tls13()}) {
    engine_pair p(*contexts);
    p.shake();
    const std::string text = beck::test::pattern(200'000);
    std::string none, got;
    const std::string sealed = seal(p.client, text);
    for (std::size_t at = 0; at < sealed.size(); at += 10'000)
      got += feed(p.server, std::string_view(sealed).substr(at, 10'000), none);
    CHECK((got == text));
    CHECK(none.empty());
    p.server.end();
    const std::string end = output_of(p.server);
    CHECK(!end.empty());
    CHECK(feed(p.client, end, none).empty());
    CHECK(p.client.state() == engine_state::ended);
    CHECK(feed(p.server, seal(p.client, "still"), none) == "still");
  }
}

TEST_CASE("tls engine: a handshake may come split at every byte") {
  for (both_contexts* contexts : {&tls12(), &tls13()}) {
    engine_pair whole(*contexts);
    whole.shake();
    engine_pair p(*contexts);
    std::string from_client, from_server;
    p.client.shake();
    from_client = output_of(p.client);
    while (!from_client.empty() || !from_server.empty()) {
      for (const char byte : std::exchange(from_client, {}))
        CHECK(feed(p.server, {&byte, 1}, from_server).empty());
      for (const char byte : std::exchange(from_server, {}))
        CHECK(feed(p.client, {&byte, 1}, from_client).empty());
    }
    CHECK(p.client.state() == engine_state::open);
    CHECK(p.server.state() == engine_state::open);
  }
}

TEST_CASE("tls engine: records may come split at every byte, also where several are joined") {
  for (both_contexts* contexts : {&tls12(), &tls13()}) {
    engine_pair p(*contexts);
    p.shake();
    const std::string text = beck::test::pattern(3'000);
    std::string none;
    for (std::size_t at = 0; at < 3'100; at += 7) {
      const std::string sealed = seal(p.client, text);
      const std::size_t cut = std::min(at, sealed.size());
      std::string got = feed(p.server, std::string_view(sealed).substr(0, cut), none);
      got += feed(p.server, std::string_view(sealed).substr(cut), none);
      REQUIRE((got == text));
    }
  }
}

TEST_CASE(
    "tls engine: a byte that is changed anywhere in a handshake ends it, or changes nothing") {
  for (both_contexts* contexts : {&tls12(), &tls13()}) {
    engine_pair good(*contexts);
    good.shake();
    for (std::size_t at = 0; at < good.to_server.size() + good.to_client.size(); at += 3) {
      engine_pair p(*contexts);
      std::string from_client, from_server;
      std::size_t sent = 0;
      p.client.shake();
      from_client = output_of(p.client);
      const auto spoil = [&](std::string& text) {
        if (at >= sent && at < sent + text.size()) text[at - sent] ^= 0x20;
        sent += text.size();
      };
      while (!from_client.empty() || !from_server.empty()) {
        spoil(from_client);
        feed(p.server, std::exchange(from_client, {}), from_server);
        spoil(from_server);
        feed(p.client, std::exchange(from_server, {}), from_client);
      }
      CAPTURE(at);
      // A version in the head of a record means nothing: what follows is then as good as ever. A
      // side may also wait, for a record whose length was spoilt.
      if (p.client.state() == engine_state::open && p.server.state() == engine_state::open) {
        std::string none;
        CHECK((feed(p.server, seal(p.client, "a"), none) == "a" || p.server.held() != 0));
        CHECK((feed(p.client, seal(p.server, "b"), none) == "b" || p.client.held() != 0));
      }
      for (const engine* e : {&p.client, &p.server}) {
        if (e->state() == engine_state::failed) CHECK(!e->error_text().empty());
      }
    }
  }
}

TEST_CASE("tls engine: a byte that is changed anywhere in a record ends the connection") {
  for (both_contexts* contexts : {&tls12(), &tls13()}) {
    const std::string text = beck::test::pattern(100);
    for (std::size_t at = 0;; ++at) {
      engine_pair p(*contexts);
      p.shake();
      std::string sealed = seal(p.client, text), answer;
      if (at == sealed.size()) break;
      sealed[at] ^= 0x01;
      const std::string got = feed(p.server, sealed + std::string(66'000, '\0'), answer);
      CAPTURE(at);
      CHECK(got.empty());
      CHECK(p.server.state() == engine_state::failed);
      CHECK(p.server.error() == tls::error::protocol_broken);
      CHECK(!answer.empty());  // an alert
      CHECK(feed(p.client, answer, answer).empty());
      CHECK(p.client.state() == engine_state::failed);
      CHECK(!p.client.error_text().empty());
    }
  }
}

TEST_CASE("tls engine: garbage is refused with a sentence") {
  small_random random(1);
  for (int i = 0; i < 500; ++i) {
    engine_pair p(tls13());
    std::string garbage, answer;
    for (unsigned n = 0; n < 64 + random.below(200); ++n)
      garbage += static_cast<char>(random.below(256));
    engine& e = i % 2 == 0 ? p.client : p.server;
    e.shake();
    output_of(e);
    feed(e, garbage, answer);
    if (e.state() == engine_state::shaking) continue;  // a long record that begins well
    CHECK(e.state() == engine_state::failed);
    CHECK(!e.error_text().empty());
  }
}

TEST_CASE("tls engine: a record of 16 KiB and one byte is refused") {
  engine_pair p(tls13());
  p.shake();
  std::string record("\x17\x03\x03", 3), answer;
  constexpr std::size_t bytes = 16'384 + 257;  // one more than a record of 1.3 may have
  record += static_cast<char>(bytes / 256);
  record += static_cast<char>(bytes % 256);
  record += std::string(bytes, 'x');
  CHECK(feed(p.server, record, answer).empty());
  CHECK(p.server.state() == engine_state::failed);
  CHECK(p.server.error() == tls::error::protocol_broken);
}

TEST_CASE("tls engine: key updates are counted by time, and not for the life of a connection") {
  constexpr std::int64_t second = 1'000'000'000;
  engine_pair p(tls13());
  p.shake();
  std::string none;
  std::int64_t now = 5 * second;
  for (int seconds = 0; seconds < 40; ++seconds, now += second) {
    for (int i = 0; i < 32; ++i) {
      SSL_key_update(p.client.ssl(), SSL_KEY_UPDATE_NOT_REQUESTED);
      REQUIRE(feed(p.server, seal(p.client, "x", now), none, now + i) == "x");
    }
  }
  CHECK(p.server.state() == engine_state::open);
  for (int i = 0; i < 33; ++i) {
    CHECK(p.server.state() == engine_state::open);
    SSL_key_update(p.client.ssl(), SSL_KEY_UPDATE_NOT_REQUESTED);
    feed(p.server, seal(p.client, "x", now), none, now + second - 1);
    if (i == 0) now += second - 1;  // a second begins with the first of them
  }
  CHECK(p.server.state() == engine_state::failed);
  CHECK(p.server.error() == tls::error::too_many_messages);
}

TEST_CASE("tls engine: key updates are followed, but not without end") {
  engine_pair p(tls13());
  p.shake();
  std::string none;
  for (int i = 0; i < 10; ++i) {
    SSL_key_update(p.client.ssl(), SSL_KEY_UPDATE_REQUESTED);
    CHECK(feed(p.server, seal(p.client, "new"), none) == "new");
    CHECK(feed(p.client, seal(p.server, "too"), none) == "too");
  }
  int updates = 0;
  while (p.server.state() == engine_state::open && updates < 1000) {
    SSL_key_update(p.client.ssl(), SSL_KEY_UPDATE_NOT_REQUESTED);
    feed(p.server, seal(p.client, "x"), none);
    ++updates;
  }
  CHECK(updates == 33 - 10);
  CHECK(p.server.error() == tls::error::too_many_messages);
  CHECK(!p.server.error_text().empty());
}

TEST_CASE("tls engine: renegotiation is refused, and the connection goes on") {
  engine_pair p(tls12());
  p.shake();
  SSL_clear_options(p.client.ssl(), SSL_OP_NO_RENEGOTIATION);
  REQUIRE(SSL_renegotiate(p.client.ssl()) == 1);
  std::string answer;
  const beck::const_buffer nothing;
  static_cast<void>(p.client.write(beck::const_buffer_span(&nothing, 1), 1));
  SSL_do_handshake(p.client.ssl());
  const std::string asked = output_of(p.client);
  REQUIRE(!asked.empty());
  CHECK(feed(p.server, asked, answer).empty());
  CHECK(p.server.state() == engine_state::open);
  CHECK(records_in(answer).size() == 1);  // an alert
  CHECK(!seal(p.server, "on").empty());
}

TEST_CASE("tls engine: records are small at first, large later, and small again after a pause") {
  constexpr std::int64_t second = 1'000'000'000;
  engine_pair p(tls13());
  p.shake();
  constexpr std::size_t overhead = 17;  // the type and the tag
  std::size_t small = 0, large = 0;
  for (int i = 0; i < 4; ++i) {
    for (const std::size_t bytes :
         records_in(seal(p.client, beck::test::pattern(65'536), second))) {
      REQUIRE((bytes == 1400 + overhead || bytes == 16'384 + overhead || large + small != 0));
      (bytes <= 1400 + overhead ? small : large) += bytes;
    }
  }
  CHECK(small >= 131'072);
  CHECK(small < 140'000);
  CHECK(large > 120'000);
  for (const std::size_t bytes :
       records_in(seal(p.client, beck::test::pattern(16'384), second + 2)))
    CHECK(bytes == 16'384 + overhead);
  for (const std::size_t bytes : records_in(seal(p.client, beck::test::pattern(5'600), 3 * second)))
    CHECK(bytes == 1400 + overhead);
}

TEST_CASE("tls engine: parts of a write share records") {
  engine_pair p(tls13());
  p.shake();
  seal(p.client, beck::test::pattern(131'072));  // large records from here on
  const std::string head = "head", body = beck::test::pattern(40'000), tail = "tail";
  const beck::const_buffer parts[] = {
      beck::buffer(head), {}, beck::buffer(body), beck::buffer(tail)};
  const std::size_t taken = p.client.write(beck::const_buffer_span(parts, 4), 1);
  CHECK(taken == head.size() + body.size() + tail.size());
  const std::string sealed = output_of(p.client);
  CHECK(records_in(sealed).size() == 3);
  const std::string large = beck::test::pattern(500'000);
  const beck::const_buffer too_much = beck::buffer(large);
  CHECK(p.client.write(beck::const_buffer_span(&too_much, 1), 1) == 81'920);
  output_of(p.client);
  const beck::const_buffer both[] = {beck::buffer(head), too_much};
  CHECK(p.client.write(beck::const_buffer_span(both, 2), 1) == 81'920);
  output_of(p.client);
}

TEST_CASE("tls engine: a peer's alert is explained") {
  engine_pair p(tls13());
  std::string answer, none;
  p.client.shake();
  output_of(p.client);
  const std::string alert("\x15\x03\x03\x00\x02\x02\x28", 7);  // fatal, 40
  feed(p.client, alert, answer);
  CHECK(p.client.state() == engine_state::failed);
  CHECK(p.client.error() == tls::error::alert_handshake_failure);
  CHECK(std::string(p.client.error_text()).find("alert 40") != std::string::npos);
}

TEST_CASE("tls engine: errors of others on the thread are none of a connection, nor the reverse") {
  engine_pair p(tls13());
  ERR_raise(ERR_LIB_USER, 1);
  p.shake();
  std::string none;
  const std::string sealed = seal(p.client, "text");
  ERR_raise(ERR_LIB_USER, 1);
  CHECK(feed(p.server, std::string_view(sealed).substr(0, 9), none).empty());  // needs more
  CHECK(p.server.state() == engine_state::open);
  ERR_raise(ERR_LIB_USER, 1);
  CHECK(feed(p.server, std::string_view(sealed).substr(9), none) == "text");
  ERR_raise(ERR_LIB_USER, 1);
  CHECK(feed(p.client, seal(p.server, "back"), none) == "back");
  feed(p.server, std::string(100, 'x'), none);
  CHECK(p.server.state() == engine_state::failed);
  CHECK(ERR_peek_error() == 0);
}

TEST_CASE("tls engine: a server that asks a client to negotiate again is refused, too") {
  engine_pair p(tls12());
  p.shake();
  SSL_clear_options(p.server.ssl(), SSL_OP_NO_RENEGOTIATION);
  REQUIRE(SSL_renegotiate(p.server.ssl()) == 1);
  std::string answer, none;
  const beck::const_buffer nothing;
  static_cast<void>(p.server.write(beck::const_buffer_span(&nothing, 1), 1));
  SSL_do_handshake(p.server.ssl());
  const std::string asked = output_of(p.server);
  REQUIRE(!asked.empty());
  CHECK(feed(p.client, asked, answer).empty());
  CHECK(p.client.state() == engine_state::open);
  CHECK(records_in(answer).size() == 1);  // an alert
}

TEST_CASE("tls engine: a client offers no authentication behind the handshake") {
  engine_pair p(tls13());
  p.shake();
  SSL_set_verify(p.server.ssl(), SSL_VERIFY_PEER, nullptr);
  CHECK(SSL_verify_client_post_handshake(p.server.ssl()) == 0);
  ERR_clear_error();
}

TEST_CASE("tls engine: a close_notify in the middle of a handshake is an end, in words") {
  const std::string close_notify("\x15\x03\x03\x00\x02\x01\x00", 7);
  engine_pair p(tls12());
  std::string answer;
  p.client.shake();
  feed(p.server, output_of(p.client), answer);
  for (engine* e : {&p.client, &p.server}) {
    feed(*e, close_notify, answer);
    CHECK(e->state() == engine_state::failed);
    CHECK(e->error() == tls::error::truncated);
    CHECK(std::string(e->error_text()).find("during the handshake") != std::string::npos);
  }
}

TEST_CASE("tls engine: between messages no memory of a record is held") {
  both_contexts with_tickets;
  for (both_contexts* contexts : {&tls12(), &tls13(), &with_tickets}) {
    engine_pair p(*contexts);
    const auto check = [&p](const std::string& when) {
      CAPTURE(when);
      for (const engine* e : {&p.client, &p.server}) {
        const struct mallinfo2 before = ::mallinfo2();
        SSL_free_buffers(e->ssl());
        const struct mallinfo2 after = ::mallinfo2();
        CHECK(before.uordblks == after.uordblks);
      }
    };
    std::string none;
    p.shake();
    check("behind the handshake");
    CHECK(feed(p.server, seal(p.client, "a"), none) == "a");
    CHECK(feed(p.client, seal(p.server, "b"), none) == "b");
    check("behind data");
    if (contexts == &tls12()) continue;
    SSL_key_update(p.client.ssl(), SSL_KEY_UPDATE_REQUESTED);
    SSL_do_handshake(p.client.ssl());
    std::string answer;
    CHECK(feed(p.server, output_of(p.client), answer).empty());
    CHECK(feed(p.client, answer, none).empty());
    check("behind a message");
  }
}

namespace {

/// Called by OpenSSL: makes the ticket larger than a small record.
int enlarge_ticket(SSL* ssl, void*) {
  const std::string data(2000, 'x');
  return SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), data.data(), data.size());
}

}  // namespace

TEST_CASE("tls engine: a write fails while a message has come in part only, and says so") {
  beck::tls::server_context identity(files().chain(made::good), files().key(made::good));
  beck::tls::detail::ssl_ptr ssl = identity.state().make_session();
  SSL_CTX_set_session_ticket_cb(SSL_get_SSL_CTX(ssl.get()), &enlarge_ticket, nullptr, nullptr);
  SSL_set_max_send_fragment(ssl.get(), 512);
  engine server(std::move(ssl));
  engine client(both_contexts::get().trust.state().make_session("example.com"));
  std::string to_server, to_client;
  client.shake();
  to_server = output_of(client);
  while (client.state() == engine_state::shaking) {
    feed(server, std::exchange(to_server, {}), to_client);
    feed(client, std::exchange(to_client, {}), to_server);
  }
  feed(server, std::exchange(to_server, {}), to_client);
  REQUIRE(records_in(to_client).size() > 3);
  std::string none;
  const std::size_t first = 5 + records_in(to_client)[0];
  feed(client, std::string_view(to_client).substr(0, first - 1), none);
  CHECK(feed(server, seal(client, "x"), none) == "x");
  feed(client, std::string_view(to_client).substr(first - 1, 1), none);
  CHECK(client.state() == engine_state::open);
  const beck::const_buffer part("y", 1);
  CHECK(client.write(beck::const_buffer_span(&part, 1), 1) == 0);
  CHECK(client.error() == tls::error::internal);
  CHECK(std::string(client.error_text()).find("in part") != std::string::npos);
}
