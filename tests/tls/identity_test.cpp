// SPDX-License-Identifier: BSL-1.0
// Loading certificates, keys, lists and responses: each fault is an exception that names the file,
// the place in it and the reason, and shows nothing of a key.
#include <beck/tls/client_context.hpp>
#include <beck/tls/server_context.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "tls/contexts.hpp"
#include "tls/handshake_pair.hpp"
#include "tls/pem_file.hpp"

using namespace beck::tls::test;
namespace tls = beck::tls;
using tls::error;

namespace {

/// What the making of a context throws.
struct thrown {
  beck::error_code code;
  std::string what;
};

template <class Make>
thrown catch_error(Make make) {
  try {
    make();
  } catch (const beck::io_error& e) {
    return {e.code(), e.what()};
  }
  return {};
}

thrown load(const std::string& chain, const std::string& key) {
  return catch_error([&] { const tls::server_context made(chain, key); });
}

/// Returns the text with line `number`, from 1, replaced.
std::string with_line(const std::string& text, std::size_t number, std::string_view line) {
  std::size_t at = 0;
  for (std::size_t i = 1; i < number; ++i) at = text.find('\n', at) + 1;
  const std::size_t end = text.find('\n', at);
  return text.substr(0, at) + std::string(line) + text.substr(end);
}

std::string leaf_of(made which) {
  const std::string& chain = identity_of(which).chain;
  return chain.substr(0, chain.find("-----BEGIN", 10));
}

}  // namespace

TEST_CASE("tls identity: a file that is not there is the system's error, with the path") {
  const identity_files own;
  thrown got = load(own.path("none.pem"), own.key(made::good));
  CHECK(got.code == beck::errc::no_such_file_or_directory);
  CHECK(has(got.what, "load certificate \"" + own.path("none.pem") + "\""));
  got = load(own.chain(made::good), own.path("none.key"));
  CHECK(got.code == beck::errc::no_such_file_or_directory);
  CHECK(has(got.what, "load key \"" + own.path("none.key") + "\""));
  CHECK(load(own.folder(), own.key(made::good)).code == beck::errc::is_a_directory);
}

TEST_CASE("tls identity: what is no PEM is bad_pem, with the line") {
  const identity_files own;
  const std::string good = identity_of(made::good).chain;
  const struct {
    std::string text;
    const char* part;
  } cases[] = {
      {"", "the file is empty"},
      {"hello\n", "there is no BEGIN in it"},
      {with_line(good, 3, "not base64!"), "line 3: no certificate can be decoded"},
      {with_line(good, 2, "AAAA"), "line 1: no certificate can be decoded"},
      {good.substr(0, good.size() / 4), "line 1: BEGIN without END"},
      {"-----END CERTIFICATE-----\n" + good, "line 1: END without BEGIN"},
      {"x\n-----BEGIN CERTIFICATE-----\n" + good, "line 3: BEGIN before the END"},
      {"-----BEGIN CERTIFICATE\n" + good, "line 1: a BEGIN without label or dashes"},
      {"-----BEGIN A-----\n-----END B-----\n", "line 2: END has another label"},
      {identity_of(made::good).key, "there is no certificate in it"},
  };
  for (const auto& one : cases) {
    const thrown got = load(own.write("bad.pem", one.text), own.key(made::good));
    CAPTURE(got.what);
    CHECK(got.code == error::bad_pem);
    CHECK(has(got.what, own.path("bad.pem")));
    CHECK(has(got.what, one.part));
  }
  CHECK(has(load(own.chain(made::good), own.chain(made::good)).what, "no private key in it"));
}

TEST_CASE("tls identity: a file cut at any byte is refused, or has the same certificates") {
  const identity_files own;
  const std::string whole = identity_of(made::good).chain;
  std::size_t loaded = 0;
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    try {
      const tls::detail::pem_file file("load", "cut", std::string_view(whole).substr(0, bytes));
      const auto found = file.certificates();
      CHECK((found.size() == 1 || found.size() == 2));
      ++loaded;
    } catch (const beck::io_error& e) {
      CHECK(e.code() == error::bad_pem);
    }
  }
  // Cut behind the first block, before or behind its line end, or with up to four dashes of the
  // next, one certificate is whole; without the last line end both are.
  CHECK(loaded == 7);
}

TEST_CASE("tls identity: CRLF, text around the blocks and a key in the same file do no harm") {
  const identity_files own;
  std::string text = "Subject: example\n" + identity_of(made::good).key + "\nmore text\n" +
                     identity_of(made::good).chain;
  std::string crlf;
  for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const std::string path = own.write("both.pem", crlf);
  CHECK(load(path, path).what.empty());
}

TEST_CASE("tls identity: the key of another certificate is key_mismatch, and both are named") {
  const thrown got = load(files().chain(made::good), files().key(made::expired));
  CHECK(got.code == error::key_mismatch);
  CHECK(has(got.what, "expired.key: not that of example.com in"));
  CHECK(has(got.what, "good.pem"));
  CHECK(load(files().chain(made::good), files().key(made::rsa)).code == error::key_mismatch);
}

TEST_CASE("tls identity: a key with a password is encrypted_key, and nothing is asked for") {
  const identity_files own;
  const std::string encrypted =
      "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n";
  const std::string old =
      "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n"
      "-----END EC PRIVATE KEY-----\n";
  for (const std::string& text : {encrypted, old}) {
    const thrown got = load(own.chain(made::good), own.write("secret.key", text));
    CHECK(got.code == error::encrypted_key);
    CHECK(has(got.what, "secret.key, line 1"));
  }
}

TEST_CASE("tls identity: certificates that are not valid now are refused, with the date") {
  thrown got = load(files().chain(made::expired), files().key(made::expired));
  CHECK(got.code == error::expired);
  CHECK(has(got.what, "certificate 1 (example.com): valid to 2010-01-31 23:59:59 UTC"));
  got = load(files().chain(made::not_yet_valid), files().key(made::not_yet_valid));
  CHECK(got.code == error::not_yet_valid);
  CHECK(has(got.what, "certificate 1 (example.com): valid from 2040-01-01 00:00:00 UTC"));
}

TEST_CASE("tls identity: a chain in the wrong order is broken_chain, with the number") {
  const identity_files own;
  const std::string wrong = leaf_of(made::good) + leaf_of(made::rsa) + intermediate();
  const thrown got = load(own.write("wrong.pem", wrong), own.key(made::good));
  CHECK(got.code == error::broken_chain);
  CHECK(has(got.what, "wrong.pem, certificate 2 (example.com) did not issue"));
  CHECK(has(got.what, "Test Intermediate"));
  const std::string whole = leaf_of(made::good) + intermediate() + root();
  CHECK(load(own.write("whole.pem", whole), own.key(made::good)).what.empty());
}

TEST_CASE("tls identity: a key of RSA 1024 is weak_certificate") {
  const thrown got = load(files().chain(made::weak), files().key(made::weak));
  CHECK(got.code == error::weak_certificate);
  CHECK(has(got.what, "less than 112 bits"));
}

TEST_CASE("tls identity: a response of OCSP that cannot be served is bad_ocsp_response") {
  const identity_files own;
  const auto with = [&](const std::string& bytes, made which = made::good) {
    const std::string path = own.write("x.ocsp", bytes);
    return catch_error([&] {
      const tls::server_context made(own.chain(which), own.key(which),
                                     tls::server_options().ocsp(path));
    });
  };
  CHECK(with(ocsp_response(made::good, ocsp_says::good)).what.empty());
  thrown got = with("not DER");
  CHECK(got.code == error::bad_ocsp_response);
  CHECK(has(got.what, "load OCSP response \"" + own.path("x.ocsp") + ": not a successful"));
  CHECK(has(with(ocsp_response(made::rsa, ocsp_says::good)).what, "nothing of the certificate"));
  CHECK(has(with(ocsp_response(made::good, ocsp_says::too_old)).what, "by 2002-01-01"));
  CHECK(has(with(ocsp_response(made::good, ocsp_says::revoked)).what, "certificate is good"));
  CHECK(has(with("").what, "not a successful"));
  // Without the certificate of the issuer only the number tells.
  const made alone = made::no_intermediate;
  CHECK(with(ocsp_response(alone, ocsp_says::good), alone).what.empty());
  CHECK(has(with(ocsp_response(made::good, ocsp_says::good), alone).what, "says nothing of"));
}

TEST_CASE("tls identity: roots and lists that cannot be loaded are named") {
  const identity_files own;
  const auto trust = [&](const tls::authorities& roots) {
    return catch_error([&] { const tls::client_context made(tls::client_options().trust(roots)); });
  };
  CHECK(trust(tls::authorities().file(own.path("none"))).code ==
        beck::errc::no_such_file_or_directory);
  CHECK(trust(tls::authorities().folder(own.path("none"))).code ==
        beck::errc::no_such_file_or_directory);
  thrown got = trust(tls::authorities().file(own.key(made::good)));
  CHECK(got.code == error::bad_pem);
  CHECK(has(got.what, "load roots"));
  got = trust(tls::authorities().pem("nothing"));
  CHECK(has(got.what, "roots in memory: there is no BEGIN in it"));
  got = trust(tls::authorities().revocation_list(own.path("root.pem")));
  CHECK(has(got.what, "load revocation list"));
  CHECK(has(got.what, "there is no revocation list in it"));
  own.write("der.crl", "\x30\x03garbage");
  CHECK(has(trust(tls::authorities().revocation_list(own.path("der.crl"))).what, "in DER"));
}

TEST_CASE("tls identity: no error shows a byte of a key, whichever line of its file is broken") {
  const identity_files own;
  const std::string key = identity_of(made::rsa).key;
  const std::size_t lines = static_cast<std::size_t>(std::count(key.begin(), key.end(), '\n'));
  for (std::size_t line = 1; line <= lines; ++line) {
    for (const char* put : {"*", "", "-----BEGIN X-----", "-----END X-----"}) {
      const thrown got = load(own.chain(made::rsa), own.write("k", with_line(key, line, put)));
      for (std::size_t at = 28; at + 8 < key.size() - 26; at += 8) {
        const std::string part = key.substr(at, 8);
        if (part.find('\n') == std::string::npos) CHECK(!has(got.what, part));
      }
      CHECK(!got.what.empty());
    }
  }
}

TEST_CASE("tls identity: expires_in() is the time to the first end of all that is served") {
  const auto seconds = [](const tls::server_context& of) {
    return of.expires_in().nanoseconds() / 1'000'000'000;
  };
  const long long day = 86'400;
  const tls::server_context good(files().chain(made::good), files().key(made::good));
  CHECK(seconds(good) > 20 * 365 * day);
  CHECK(seconds(good) < 30 * 365 * day);
  tls::server_options options;
  options.identity(files().chain(made::expired), files().key(made::expired));
  options.settings().identities.back().any_date = true;
  const tls::server_context late(files().chain(made::good), files().key(made::good), options);
  CHECK(seconds(late) < -15 * 365 * day);
}
