// SPDX-License-Identifier: BSL-1.0
// Cookies: what a response sets, what is refused, and what a request brings.
#include <beck/http/cookie.hpp>
#include <beck/http/router.hpp>

#include <chrono>
#include <stdexcept>
#include <string>

#include "http/both_streams.hpp"
#include "http/served.hpp"

using namespace beck::http::test;
using namespace std::chrono_literals;
namespace http = beck::http;
using http::cookie;
using http::same_site;

namespace {

/// Returns the text of the std::invalid_argument or std::length_error that `call` throws.
template <class Call>
std::string refused(Call call) {
  try {
    static_cast<void>(call());
  } catch (const std::invalid_argument& e) {
    return e.what();
  } catch (const std::length_error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("http: a cookie is secure, unless the program says otherwise") {
  CHECK(cookie("a", "b").text() == "a=b; Secure; HttpOnly; SameSite=Lax");
  CHECK(cookie("a", "").text() == "a=; Secure; HttpOnly; SameSite=Lax");
  CHECK(cookie("id", "x-1")
            .path("/shop")
            .domain("example.org")
            .max_age(90min)
            .to(same_site::strict)
            .text() ==
        "id=x-1; Path=/shop; Domain=example.org; Max-Age=5400; Secure; HttpOnly; SameSite=Strict");
  CHECK(cookie("a", "b").insecure().readable_by_scripts().text() == "a=b; SameSite=Lax");
  CHECK(cookie("a", "b").to(same_site::none).text() == "a=b; Secure; HttpOnly; SameSite=None");
  CHECK(cookie("a", "b").max_age(1999ms).text() ==
        "a=b; Max-Age=1; Secure; HttpOnly; SameSite=Lax");
  CHECK(cookie::removed("a").path("/").text() ==
        "a=; Path=/; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Secure; HttpOnly; "
        "SameSite=Lax");
  CHECK(cookie("__Host-a", "b").path("/").text() ==
        "__Host-a=b; Path=/; Secure; HttpOnly; SameSite=Lax");
}

TEST_CASE("http: what browsers would refuse, or read as something else, is no cookie") {
  for (const char* name : {"", "a b", "a=b", "a;b", "a\nb", "\xc3\xa9", "a,b"}) {
    CAPTURE(name);
    CHECK(refused([&] { return cookie(name, "x"); }).starts_with("http::cookie: the name is not"));
  }
  for (const char* value :
       {"a b", "a;b", "a,b", "a\"b", "a\\b", "a\r\nSet-Cookie: c=d", "\xc3\xa9", "\x7f"}) {
    CAPTURE(value);
    CHECK(refused([&] { return cookie("x", value); }).starts_with("http::cookie: the value has"));
  }
  CHECK(refused([] { return cookie("x", "a;b"); }).ends_with(": \"a;b\""));
  CHECK(refused([] { return cookie("x", std::string(4096, 'a')); }) ==
        "http::cookie: name and value of 4097 bytes (limit: 4096)");
  CHECK(refused([] { return cookie("x", std::string(4095, 'a')); }).empty());
  for (const char* path : {"", "shop", "/a;b", "/a\r\n"}) {
    CAPTURE(path);
    CHECK_FALSE(refused([&] { return cookie("x", "y").path(path); }).empty());
  }
  CHECK_FALSE(refused([] { return cookie("x", "y").path('/' + std::string(1024, 'a')); }).empty());
  for (const char* host : {"", "a b", "a;b", "a/b", "a\n", "a:1"}) {
    CAPTURE(host);
    CHECK_FALSE(refused([&] { return cookie("x", "y").domain(host); }).empty());
  }
  CHECK(refused([] { return cookie("x", "y").max_age(999ms); }) ==
        "http::cookie: a max_age of 999000000 ns, below a second; cookie::removed() removes one");
  CHECK_FALSE(refused([] { return cookie("x", "y").max_age(-1h); }).empty());
  const auto text = [](const cookie& made) { return [&made] { return made.text(); }; };
  CHECK_FALSE(refused(text(cookie("x", "y").insecure().to(same_site::none))).empty());
  CHECK_FALSE(refused(text(cookie("__secure-x", "y").insecure())).empty());
  CHECK_FALSE(refused(text(cookie("__Host-x", "y").path("/").insecure())).empty());
  CHECK_FALSE(refused(text(cookie("__Host-x", "y").path("/").domain("a.example"))).empty());
  CHECK_FALSE(refused(text(cookie("__Host-x", "y").path("/shop"))).empty());
  CHECK_FALSE(refused(text(cookie("__HOST-x", "y"))).empty());
}

CONFORMANCE_OVER_BOTH("http: cookies of a request are found by name, in all its fields") {
  http::router site;
  site.get("/", [](http::request& q, http::response& r) {
    r.send('[' + std::string(http::cookie_of(q, "id")) + ']');
  });
  served s(site);
  const struct {
    const char* fields;
    const char* value;
  } cases[] = {
      {"", "[]"},
      {"Cookie: id=1\r\n", "[1]"},
      {"Cookie: a=2; id=1\r\n", "[1]"},
      {"Cookie: a=2;id=1;b=3\r\n", "[1]"},
      {"Cookie: id=1; id=2\r\n", "[1]"},
      {"Cookie: ID=1\r\n", "[]"},
      {"Cookie: xid=1; id2=3\r\n", "[]"},
      {"Cookie: id\r\n", "[]"},
      {"Cookie: id=\r\n", "[]"},
      {"Cookie: id=a=b=c\r\n", "[a=b=c]"},
      {"Cookie: id=\"quoted\"\r\n", "[quoted]"},
      {"Cookie: id=\"\r\n", "[\"]"},
      {"Cookie: ;;; id=1 ;\r\n", "[1]"},
      {"Cookie: a=1\r\nCookie: id=2\r\n", "[2]"},
  };
  for (const auto& [fields, value] : cases) {
    CAPTURE(fields);
    const auto seen = s.ask(get("/", std::string(fields) + "Connection: close\r\n"));
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].body == value);
  }
}

CONFORMANCE_OVER_BOTH("http: a response sets several cookies") {
  http::router site;
  site.get("/", [](http::request&, http::response& r) {
    r.set_cookie(cookie("a", "1")).set_cookie(cookie::removed("b")).redirect("/next");
  });
  site.get("/bad", [](http::request&, http::response& r) {
    r.set_cookie(cookie("a", "1").insecure().to(same_site::none));
  });
  served s(site);
  const auto seen = s.ask(last_get("/"));
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].status == 303);
  CHECK(has(seen[0].fields, "Location: /next\r\n"));
  CHECK(has(seen[0].fields, "Set-Cookie: a=1; Secure; HttpOnly; SameSite=Lax\r\n"));
  CHECK(has(seen[0].fields, "Set-Cookie: b=; Max-Age=0;"));
  const auto bad = s.ask(last_get("/bad"));
  REQUIRE(bad.size() == 1);
  CHECK(bad[0].status == 500);
  CHECK_FALSE(has(bad[0].fields, "Set-Cookie"));
}
