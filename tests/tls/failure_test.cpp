// SPDX-License-Identifier: BSL-1.0
// Sentences for people: for peers that beck's own are not, and about certificates that lie.
#include "tls/failure.hpp"

#include <beck/tls/error.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "tls/engine_pair.hpp"
#include "tls/openssl.hpp"

using namespace beck::tls::test;
using namespace beck::tls::detail;
namespace tls = beck::tls;
using tls::error;

namespace {

/// Lets a client with these settings of OpenSSL meet a server of beck's, and returns the server's
/// failure.
template <class Set>
std::pair<beck::error_code, std::string> refused_by_server(Set set) {
  const ssl_ctx_ptr context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_security_level(context.get(), 0);
  set(context.get());
  ssl_ptr foreign(SSL_new(context.get()));
  SSL_set_connect_state(foreign.get());
  engine client(std::move(foreign));
  engine server(both_contexts::get().identity.state().make_session());
  client.shake();
  std::string to_server = output_of(client), to_client;
  while (!to_server.empty() && server.state() == engine_state::shaking) {
    feed(server, std::exchange(to_server, {}), to_client);
    feed(client, std::exchange(to_client, {}), to_server);
  }
  REQUIRE(server.state() == engine_state::failed);
  return {server.error(), std::string(server.error_text())};
}

std::string text_of_server_fed(std::string_view bytes, error expected) {
  engine server(both_contexts::get().identity.state().make_session());
  std::string answer;
  feed(server, bytes, answer);
  CHECK(server.error() == expected);
  return std::string(server.error_text());
}

/// Returns a certificate with this name, which may hold any byte.
x509_ptr certificate_for(std::string_view name, int count = 1) {
  x509_ptr made(X509_new());
  names_ptr names(sk_GENERAL_NAME_new_null());
  for (int i = 0; i < count; ++i) {
    GENERAL_NAME* one = GENERAL_NAME_new();
    ASN1_IA5STRING* text = ASN1_IA5STRING_new();
    ASN1_STRING_set(text, name.data(), static_cast<int>(name.size()));
    GENERAL_NAME_set0_value(one, GEN_DNS, text);
    sk_GENERAL_NAME_push(names.get(), one);
  }
  X509_add1_ext_i2d(made.get(), NID_subject_alt_name, names.get(), 0, 0);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.data()),
                             static_cast<int>(std::min<std::size_t>(name.size(), 60)), -1, 0);
  return made;
}

bool has_control(const std::string& text) {
  for (const char c : text) {
    if (c < ' ' || c > '~') return true;
  }
  return false;
}

}  // namespace

TEST_CASE("tls failure: a client of old versions is told apart from one of other ciphers") {
  auto [code, text] = refused_by_server([](SSL_CTX* c) {
    SSL_CTX_ctrl(c, SSL_CTRL_SET_MAX_PROTO_VERSION, TLS1_1_VERSION, nullptr);
    SSL_CTX_ctrl(c, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_VERSION, nullptr);
  });
  CHECK(code == error::no_shared_version);
  CHECK(text.find("The client speaks no version that is allowed here") == 0);
  const auto old_cipher = refused_by_server([](SSL_CTX* c) {
    SSL_CTX_ctrl(c, SSL_CTRL_SET_MAX_PROTO_VERSION, TLS1_2_VERSION, nullptr);
    SSL_CTX_set_cipher_list(c, "AES128-SHA:ECDHE-ECDSA-AES128-SHA");
  });
  CHECK(old_cipher.first == error::no_shared_cipher);
  CHECK(old_cipher.second.find("shares no cipher, group or signature") != std::string::npos);
  const auto other_group = refused_by_server([](SSL_CTX* c) {
    char groups[] = "X448";
    SSL_CTX_ctrl(c, SSL_CTRL_SET_GROUPS_LIST, 0, groups);
  });
  CHECK(other_group.first == error::no_shared_cipher);
}

TEST_CASE("tls failure: a peer that speaks something else is not_tls") {
  const std::string http = text_of_server_fed("GET / HTTP/1.1\r\nHost: a\r\n\r\n", error::not_tls);
  CHECK(http.find("The client does not speak TLS: http request") == 0);
  text_of_server_fed("SSH-2.0-OpenSSH_9.2\r\n", error::not_tls);
  engine client(both_contexts::get().trust.state().make_session("example.com"));
  client.shake();
  output_of(client);
  std::string answer;
  feed(client, "HTTP/1.1 400 Bad Request\r\n\r\n", answer);
  CHECK(client.error() == error::not_tls);
  CHECK(std::string(client.error_text()).find("The server \"example.com\" does not speak TLS") ==
        0);
}

TEST_CASE("tls failure: every alert of a peer has a code and a text") {
  for (int number = 0; number < 256; ++number) {
    const failure got = explain_alert(number);
    CHECK(got.code.value() == 256 + number);
    CHECK(got.code.category() == tls::error_category());
    CHECK(got.text == got.code.message());
  }
}

TEST_CASE("tls failure: names of a certificate are shortened, and no byte of theirs is a control") {
  const std::string evil = "a\x1b[31m\n\r\t\x80\xff.example" + std::string(1, '\0') + "b";
  const x509_ptr lies = certificate_for(evil);
  for (const std::string& text :
       {name_list(*lies), subject_of(*lies), description_of(*lies), names_of(*lies, 1).at(0)}) {
    CHECK(!has_control(text));
    CHECK(!text.empty());
  }
  const x509_ptr long_name = certificate_for(std::string(5'000, 'x'), 300);
  CHECK(description_of(*long_name).size() < 600);
  CHECK(name_list(*long_name).find(" and 96 more") != std::string::npos);
  CHECK(names_of(*long_name, 7).size() == 7);
  const x509_ptr none(X509_new());
  CHECK(name_list(*none) == "no name");
  CHECK(subject_of(*none) == "an empty subject");
  CHECK(issuer_of(*none) == "an empty name");
}

TEST_CASE(
    "tls failure: dates are of the proleptic calendar, in UTC; one that is malformed is past") {
  const auto seconds = [](const char* text) {
    ASN1_TIME* time = ASN1_TIME_new();
    ASN1_STRING_set(time, text, -1);
    time->type = std::string_view(text).size() == 13 ? V_ASN1_UTCTIME : V_ASN1_GENERALIZEDTIME;
    const std::int64_t result = seconds_of(time);
    ASN1_TIME_free(time);
    return result;
  };
  CHECK(seconds("19700101000000Z") == 0);
  CHECK(seconds("20000301000000Z") == 951'868'800);
  CHECK(seconds("491231235959Z") == 2'524'607'999);
  CHECK(seconds("20380119031408Z") == 2'147'483'648);
  CHECK(seconds("99991231235959Z") == 253'402'300'799);
  CHECK(seconds("20001399000000Z") == 0);
  CHECK(seconds("garbage") == 0);
  CHECK(seconds_of(nullptr) == 0);
  CHECK(date_text(0) == "1970-01-01 00:00:00 UTC");
  CHECK(date_text(951'868'799) == "2000-02-29 23:59:59 UTC");
  CHECK(date_text(253'402'300'799) == "9999-12-31 23:59:59 UTC");
  CHECK(date_text(-1) == "1969-12-31 23:59:59 UTC");
}
