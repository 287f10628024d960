// SPDX-License-Identifier: BSL-1.0
// Credentials in the field Authorization, and the comparison of secrets.
#include <beck/base/base64.hpp>
#include <beck/http/credentials.hpp>
#include <beck/http/router.hpp>

#include <string>

#include "http/both_streams.hpp"
#include "http/served.hpp"

using namespace beck::http::test;
namespace http = beck::http;

namespace {

std::string authorized(std::string_view path, std::string_view value) {
  return get(path, "Connection: close\r\nAuthorization: " + std::string(value) + "\r\n");
}

}  // namespace

CONFORMANCE_OVER_BOTH("http: a name and a password are taken from Authorization: Basic") {
  http::router site;
  site.get("/", [](http::request& q, http::response& r) {
    const http::basic_credentials given(q);
    r.send(given ? std::string(given.user()) + '|' + std::string(given.password()) : "none");
  });
  served s(site);
  const auto said = [&s](std::string_view value) {
    const auto seen = s.ask(authorized("/", value));
    return seen.empty() ? std::string() : seen[0].body;
  };
  const auto basic = [](std::string_view text) { return "Basic " + beck::to_base64(text); };
  CHECK(said("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==") == "Aladdin|open sesame");  // of RFC 7617
  CHECK(said("basic  " + beck::to_base64("a:b") + " ") == "a|b");
  CHECK(said(basic("a:b:c")) == "a|b:c");
  CHECK(said(basic(":")) == "|");
  CHECK(said(basic("caf\xc3\xa9:x")) == "caf\xc3\xa9|x");
  CHECK(said(basic("no colon")) == "none");
  CHECK(said(basic("a:b\r\n")) == "none");
  CHECK(said(basic(std::string_view("a:\0", 3))) == "none");
  CHECK(said("Basic !!!!") == "none");
  CHECK(said("Basic QTpC=") == "none");
  CHECK(said("Basic") == "none");
  CHECK(said("") == "none");
  CHECK(said("Bearer QTpC") == "none");
  CHECK(said("Basic QTpC\r\nAuthorization: Basic QTpC") == "none");
  const auto without = s.ask(last_get("/"));
  REQUIRE(without.size() == 1);
  CHECK(without[0].body == "none");
}

CONFORMANCE_OVER_BOTH("http: a token is taken from Authorization: Bearer") {
  http::router site;
  site.get("/", [](http::request& q, http::response& r) {
    r.send('[' + std::string(http::bearer_token(q)) + ']');
  });
  served s(site);
  const auto said = [&s](std::string_view value) {
    const auto seen = s.ask(authorized("/", value));
    return seen.empty() ? std::string() : seen[0].body;
  };
  CHECK(said("Bearer mF_9.B5f-4.1JqM") == "[mF_9.B5f-4.1JqM]");  // of RFC 6750
  CHECK(said("BEARER a+/~==") == "[a+/~==]");
  for (const char* bad : {"Bearer", "Bearer ", "Bearer a b", "Bearer a=b", "Bearer =", "Bearer a,b",
                          "Basic abc", "Bearer a\r\nAuthorization: Bearer a"}) {
    CAPTURE(bad);
    CHECK(said(bad) == "[]");
  }
}

TEST_CASE("http: secrets are equal if all bytes are") {
  CHECK(http::is_equal("", ""));
  CHECK(http::is_equal("secret", "secret"));
  CHECK_FALSE(http::is_equal("secret", "secre"));
  CHECK_FALSE(http::is_equal("secret", "secret "));
  const std::string secret = "0123456789abcdef";
  for (std::size_t i = 0; i < secret.size(); ++i) {
    for (const int change : {1, 0x80}) {
      std::string other = secret;
      other[i] = static_cast<char>(other[i] ^ change);
      CHECK_FALSE(http::is_equal(secret, other));
    }
  }
}
