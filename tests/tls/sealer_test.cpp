// SPDX-License-Identifier: BSL-1.0
// Sealed texts: opened again, by the same keys only, until they expire; and none that was changed.
#include <doctest/doctest.h>
#include <beck/base/base64.hpp>
#include <beck/base/error.hpp>
#include <beck/tls/sealer.hpp>

#include <chrono>
#include <set>
#include <stdexcept>
#include <string>

#include "support/file_place.hpp"

namespace tls = beck::tls;
using namespace std::chrono_literals;

namespace {

const std::string key_a(64, 'a');
const std::string key_b = std::string(63, '0') + "B";
constexpr long long now = 1'700'000'000;

std::string opened(const tls::sealer& by, std::string_view sealed, long long at = now) {
  std::string to = "before";
  return by.open_at(at, sealed, to) ? '[' + to + ']' : to + "no";
}

std::string refused(std::string_view keys) {
  try {
    static_cast<void>(tls::sealer::from_text(keys));
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("tls: a sealed text is opened again, and shows nothing") {
  const auto seal = tls::sealer::from_text(key_a);
  for (const std::size_t bytes : {0U, 1U, 15U, 16U, 17U, 1000U, 100'000U}) {
    CAPTURE(bytes);
    const std::string text(bytes, 'x');
    const std::string sealed = seal.seal_at(now, text, 1h);
    CHECK(sealed.size() == ((bytes + 41) * 8 + 5) / 6);
    CHECK(sealed.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "-_") == std::string::npos);
    CHECK(opened(seal, sealed) == '[' + text + ']');
    CHECK(seal.seal_at(now, text, 1h) != sealed);
  }
  CHECK(opened(seal, seal.seal_at(now, std::string("a\0b", 3), 1h)) == std::string("[a\0b]", 5));
  std::string to;
  CHECK(seal.open(seal.seal("by the system's clock", 1h), to));
  CHECK(to == "by the system's clock");
  CHECK_FALSE(seal.open(seal.seal_at(now, "of 2023", 1h), to));
}

TEST_CASE("tls: a sealed text ends with its lifetime") {
  const auto seal = tls::sealer::from_text(key_a);
  const std::string sealed = seal.seal_at(now, "text", 10s);
  CHECK(opened(seal, sealed, now + 9) == "[text]");
  CHECK(opened(seal, sealed, now + 10) == "no");
  CHECK(opened(seal, sealed, now + 1'000'000) == "no");
  CHECK(opened(seal, seal.seal_at(now, "text", 1999ms), now + 1) == "no");
  CHECK_THROWS_AS(seal.seal("text", 999ms), std::invalid_argument);
  CHECK_THROWS_AS(seal.seal("text", -1h), std::invalid_argument);
}

TEST_CASE("tls: a changed text does not open, whichever bit it is") {
  const auto seal = tls::sealer::from_text(key_a);
  std::string bytes;
  REQUIRE(beck::from_base64(seal.seal_at(now, "user 7", 1h), bytes, beck::base64_form::url));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ (1U << bit));
      CHECK(opened(seal, beck::to_base64(changed, beck::base64_form::url)) == "no");
    }
  }
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK(opened(seal, beck::to_base64(bytes.substr(0, size), beck::base64_form::url)) == "no");
  CHECK(opened(seal, beck::to_base64(bytes + 'x', beck::base64_form::url)) == "no");
  CHECK(opened(seal, beck::to_base64(bytes)) == "no");  // the other alphabet, filled up
  for (const char* text : {"", "x", "!", "AAAA"}) CHECK(opened(seal, text) == "no");
}

TEST_CASE("tls: the first key seals, each key opens, and purposes keep texts apart") {
  const auto a = tls::sealer::from_text(key_a);
  const auto b = tls::sealer::from_text("# the new one\n" + key_b + "\r\n\n" + key_a + '\n');
  CHECK(opened(b, a.seal_at(now, "old", 1h)) == "[old]");
  CHECK(opened(a, b.seal_at(now, "new", 1h)) == "no");
  const auto login = tls::sealer::from_text(key_a, "login");
  const auto mail = tls::sealer::from_text(key_a, "mail");
  CHECK(opened(mail, login.seal_at(now, "x", 1h)) == "no");
  CHECK(opened(a, login.seal_at(now, "x", 1h)) == "no");
  CHECK(opened(login, a.seal_at(now, "x", 1h)) == "no");
  tls::sealer copy = login;
  CHECK(opened(copy, login.seal_at(now, "x", 1h)) == "[x]");
  copy = mail;
  CHECK(opened(copy, login.seal_at(now, "x", 1h)) == "no");
}

TEST_CASE("tls: what is no file of keys is refused, with the line") {
  CHECK(refused("") == "tls::sealer: a text: there is no key");
  CHECK(refused("# only this\n\n") == "tls::sealer: a text: there is no key");
  const std::string not_a_key = ": not a key of 64 hexadecimal digits";
  CHECK(refused(key_a + '\n' + key_a + '0') == "tls::sealer: a text, line 2" + not_a_key);
  CHECK(refused(std::string(63, 'a')) == "tls::sealer: a text, line 1" + not_a_key);
  CHECK(refused(std::string(63, 'a') + 'g') == "tls::sealer: a text, line 1" + not_a_key);
  CHECK(refused(' ' + std::string(63, 'a')) == "tls::sealer: a text, line 1" + not_a_key);
  std::string many;
  for (std::size_t i = 0; i < tls::sealer::keys_max; ++i) many += key_a + '\n';
  CHECK(refused(many).empty());
  CHECK(refused(many + key_a) == "tls::sealer: a text, line 17: more than 16 keys");
  CHECK_THROWS_AS(tls::sealer("/nowhere/session.keys"), beck::io_error);
  CHECK_THROWS_AS(tls::sealer("/"), beck::io_error);
  CHECK_THROWS_AS(tls::sealer("/dev/null"), std::invalid_argument);
}

TEST_CASE("tls: tokens have the size that is asked for, and no two are the same") {
  CHECK(tls::random_token().size() == 22);
  CHECK(tls::random_token(0).empty());
  CHECK(tls::random_token(3).size() == 4);
  std::set<std::string> all;
  for (int i = 0; i < 1000; ++i) all.insert(tls::random_token());
  CHECK(all.size() == 1000);
}
