// SPDX-License-Identifier: BSL-1.0
// Fields of queries and forms, numbers in texts of clients, and bodies as texts.
#include <beck/http/failure.hpp>
#include <beck/http/form.hpp>
#include <beck/http/router.hpp>

#include <cstdint>
#include <limits>
#include <string>

#include "http/both_streams.hpp"
#include "http/served.hpp"

using namespace beck::http::test;
using beck::task;
namespace http = beck::http;
using http::form_fields;

namespace {

/// Returns the fields as "name=value" with "|" between, or the status and the text of the failure.
std::string fields_of(std::string_view encoded, std::size_t most = form_fields::fields_max) {
  try {
    const form_fields all(encoded, most);
    std::string text;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i != 0) text += '|';
      text.append(all[i].name).append("=").append(all[i].value);
    }
    return text;
  } catch (const http::failure& e) {
    return std::to_string(http::number_of(e.status())) + ": " + e.what();
  }
}

template <class T>
std::string number_in(std::string_view encoded) {
  try {
    return std::to_string(form_fields(encoded).number<T>("n"));
  } catch (const http::failure& e) {
    return std::to_string(http::number_of(e.status()));
  }
}

std::string post(std::string_view path, std::string_view body) {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}
std::string chunked(std::string_view path, std::string_view chunks) {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" +
         "Transfer-Encoding: chunked\r\n\r\n" + std::string(chunks);
}

}  // namespace

TEST_CASE("http: the fields of a form are decoded") {
  CHECK(fields_of("") == "");
  CHECK(fields_of("a=1") == "a=1");
  CHECK(fields_of("a=1&b=2&a=3") == "a=1|b=2|a=3");
  CHECK(fields_of("&&a=1&") == "a=1");
  CHECK(fields_of("a") == "a=");
  CHECK(fields_of("=") == "=");
  CHECK(fields_of("=x") == "=x");
  CHECK(fields_of("a==b=") == "a==b=");
  CHECK(fields_of("a+b=c+d") == "a b=c d");
  CHECK(fields_of("a%2Bb=%26%3d%25") == "a+b=&=%");
  CHECK(fields_of("%C3%a9=%FF") == "\xc3\xa9=\xff");
  CHECK(fields_of("a;b=1") == "a;b=1");
  CHECK(form_fields("a=x%00y").get("a") == std::string_view("x\0y", 3));
}

TEST_CASE("http: a malformed form is a failure, and so are too many fields") {
  for (const char* bad : {"%", "a=%", "a=%2", "a=%zz", "%2=1", "a=1&b=%g0"}) {
    CAPTURE(bad);
    CHECK(fields_of(bad) ==
          "400: a percent sign in a form is not followed by two hexadecimal digits");
  }
  CHECK(fields_of("a&b&c", 3) == "a=|b=|c=");
  CHECK(fields_of("a&b&c&d", 3) == "400: a form has too many fields (limit: 3)");
  std::string many;
  for (std::size_t i = 0; i < form_fields::fields_max; ++i) many += "a&";
  CHECK_FALSE(fields_of(many).starts_with("400"));
  CHECK(fields_of(many + 'a').starts_with("400"));
}

TEST_CASE("http: fields are found by name, the first one counts") {
  const form_fields form("a=1&b=&a=2&A=3");
  CHECK(form.has("a"));
  CHECK(form.has("b"));
  CHECK_FALSE(form.has("c"));
  CHECK(form.get("a") == "1");
  CHECK(form.get("A") == "3");
  CHECK(form.get("b") == "");
  CHECK(form.get("c") == "");
  CHECK(form.number<int>("a", 7) == 1);
  CHECK(form.number<int>("c", 7) == 7);
  const auto copy = form;
  CHECK(copy.get("a").data() != form.get("a").data());
}

TEST_CASE("http: numbers of forms are decimal and in the range of their type") {
  CHECK(number_in<int>("n=42") == "42");
  CHECK(number_in<int>("n=-42") == "-42");
  CHECK(number_in<std::uint8_t>("n=255") == "255");
  CHECK(number_in<std::uint8_t>("n=256") == "400");
  CHECK(number_in<std::int8_t>("n=-128") == "-128");
  CHECK(number_in<std::int8_t>("n=-129") == "400");
  CHECK(number_in<unsigned>("n=-1") == "400");
  CHECK(number_in<std::uint64_t>("n=18446744073709551615") == "18446744073709551615");
  CHECK(number_in<std::uint64_t>("n=18446744073709551616") == "400");
  CHECK(number_in<std::int64_t>("n=-9223372036854775808") == "-9223372036854775808");
  CHECK(number_in<double>("n=1.5e3") == "1500.000000");
  CHECK(number_in<double>("n=1e999") == "400");
  CHECK(number_in<float>("n=1e39") == "400");
  for (const char* bad : {"", "m=1", "n", "n=", "n=+1", "n=%2B1", "n= 1", "n=1+", "n=0x1", "n=1a",
                          "n=1.5", "n=--1", "n=x&n=1"}) {
    CAPTURE(bad);
    CHECK(number_in<int>(bad) == "400");
  }
  for (const char* bad : {"n=nan", "n=inf", "n=-inf", "n=infinity", "n=1.5x", "n=0x1p3"}) {
    CAPTURE(bad);
    CHECK(number_in<double>(bad) == "400");
  }
  try {
    form_fields("limit=x").number<int>("limit", 5);
    CHECK(false);
  } catch (const http::failure& e) {
    CHECK(std::string(e.what()) == "the field \"limit\" is not a number in range");
  }
}

CONFORMANCE_OVER_BOTH("http: a part of a path that is no number is no path") {
  http::router site;
  site.get("/books/{id}", [](http::request& q, http::response& r) {
    r.send_json("{\"id\":" + std::to_string(q.param_as<std::uint16_t>("id")) + '}');
  });
  served s(site);
  const auto found = s.ask(last_get("/books/65535"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].body == "{\"id\":65535}");
  CHECK(has(found[0].fields, "Content-Type: application/json\r\n"));
  for (const char* path : {"/books/65536", "/books/-1", "/books/x", "/books/1.0", "/books/%2B1"}) {
    CAPTURE(path);
    const auto seen = s.ask(last_get(path));
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].status == 404);
  }
}

CONFORMANCE_OVER_BOTH("http: a redirect has a status of its own") {
  http::router site;
  site.get("/{status}", [](http::request& q, http::response& r) {
    r.redirect("https://example.org/", q.param_as<unsigned>("status"));
  });
  served s(site);
  s.ctx.on_log([](const char*, void*) {}, nullptr);
  for (const unsigned status : {301U, 302U, 303U, 307U, 308U}) {
    const auto seen = s.ask(last_get('/' + std::to_string(status)));
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].status == status);
    CHECK(has(seen[0].fields, "Location: https://example.org/\r\n"));
    CHECK(seen[0].body.empty());
  }
  for (const unsigned status : {200U, 300U, 304U, 305U, 306U, 309U, 404U}) {
    const auto seen = s.ask(last_get('/' + std::to_string(status)));
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].status == 500);
    CHECK_FALSE(has(seen[0].fields, "Location"));
  }
}

CONFORMANCE_OVER_BOTH("http: a body is read whole as a text, up to a limit") {
  http::router site;
  int began = 0, read = 0;
  site.post("/", [&](http::request& q, http::response& r) -> task<> {
    ++began;
    const std::string text = co_await http::read_text(q, 10'000);
    ++read;
    r.send(std::to_string(text.size()) + ':' + text.substr(0, 3));
  });
  served s(site);
  const auto said = [&s](const std::string& request, std::size_t piece = 0) {
    const auto seen = s.ask(request, piece);
    return seen.size() == 1 ? std::to_string(seen[0].status) + ' ' + seen[0].body : std::string();
  };
  CHECK(said(post("/", "")) == "200 0:");
  CHECK(said(post("/", "hello")) == "200 5:hel");
  CHECK(said(post("/", "hello"), 7) == "200 5:hel");
  CHECK(said(post("/", std::string(10'000, 'x'))) == "200 10000:xxx");
  CHECK(said(chunked("/", "0\r\n\r\n")) == "200 0:");
  CHECK(said(chunked("/", "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n")) == "200 6:hel");
  CHECK(said(chunked("/", "2710\r\n" + std::string(10'000, 'x') + "\r\n0\r\n\r\n"), 1000) ==
        "200 10000:xxx");
  CHECK(said("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").starts_with("405"));
  CHECK(read == 7);
  CHECK(began == 7);

  const std::string too_long = "413 the body is too long (limit: 10000 bytes)\n";
  CHECK(said(post("/", std::string(10'001, 'x'))) == too_long);
  CHECK(said(chunked("/", "2711\r\n" + std::string(10'001, 'x') + "\r\n0\r\n\r\n")) == too_long);
  CHECK(said(chunked("/", "5\r\nhello\r\nx\r\n")).starts_with("400"));
  CHECK(read == 7);
  CHECK(began == 10);
}

CONFORMANCE_OVER_BOTH("http: a text that is announced as too long is refused before it is sent") {
  http::router site;
  site.post("/", [](http::request& q, http::response& r) -> task<> {
    const std::string text = co_await http::read_text(q, 4);
    r.send(text);
  });
  served s(site);
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: ";
  const auto refused = s.ask(head + "5\r\n\r\n");
  REQUIRE(refused.size() == 1);  // without 100
  CHECK(refused[0].status == 413);
  const auto taken = s.ask(head + "4\r\nConnection: close\r\n\r\nfour");
  REQUIRE(!taken.empty());
  CHECK(taken.back().status == 200);
  CHECK(taken.back().body == "four");
}
