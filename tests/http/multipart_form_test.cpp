// SPDX-License-Identifier: BSL-1.0
// Forms with files at a server: parts are read as a text, in pieces or into files, and forms that
// are malformed, too long or cut short are answered, and leave no file behind.
#include <beck/http/failure.hpp>
#include <beck/http/multipart_form.hpp>

#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "http/both_streams.hpp"
#include "http/multipart_site.hpp"
#include "http/served.hpp"
#include "support/file_place.hpp"

using namespace beck::http::test;
using beck::task;
using beck::test::file_place;
namespace http = beck::http;

namespace {

/// A server that takes forms.
struct form_site {
  explicit form_site(beck::backend where, const http::multipart_limits& bounds = {})
      : place(where),
        taker(place.path(""), bounds),
        s([this](http::request& q, http::response& r) { return taker(q, r); }) {}

  /// Returns the status and the body of the last response.
  std::string said(const std::string& text, std::size_t piece = 0) {
    const auto seen = s.ask(text, piece);
    return seen.empty() ? "nothing" : std::to_string(seen.back().status) + ' ' + seen.back().body;
  }
  std::string names() {
    std::string found;
    bool done = false;
    beck::co_spawn(s.ctx, list_names(s.ctx, place.path(""), found),
                   [&done](std::exception_ptr) { done = true; });
    s.run_until([&] { return done; });
    return found;
  }
  std::string content(const char* name) {
    beck::random_access_file file(s.ctx, place.path(name), beck::file_object::read_only);
    std::string text(static_cast<std::size_t>(file.size()), '\0');
    if (!text.empty()) file.read_some_at(0, beck::buffer(text));
    return text;
  }

  file_place place;
  form_taker taker;
  served s;
};

std::string pattern_of(std::size_t bytes) {
  constexpr std::string_view some = "\r\n--c";
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = i % 7 < 5 ? some[i % 7] : static_cast<char>(i);
  return text;
}

constexpr std::string_view ends = "Connection: close\r\n";

}  // namespace

CONFORMANCE_OVER_BOTH(
    "http: the parts of a form are read as texts, in pieces, into files, or not") {
  form_site site(where);
  const std::string file = pattern_of(200'000);
  const std::string body =
      form_field("t1", "0123456789") + form_field("skipped", pattern_of(50'000)) +
      form_field("p1", "abcdefgh", "; filename=\"../x\"\r\nContent-Type: Image/PNG; a=b") +
      form_field("f1", file, "; filename=\"\"") + form_field("t2", "") + form_field("f2", "") +
      "--b--\r\n";
  const std::string answer =
      "200 t1(text/plain)=0123456789 skipped(text/plain) p1[../x](image/png)/abc/def/gh "
      "f1[](text/plain)=200000 t2(text/plain)= f2(text/plain)=0 ";
  const auto check = [&](const std::string& request, std::size_t piece) {
    CHECK(site.said(request, piece) == answer);
    CHECK(site.names() == "f1 f2 ");
    CHECK(site.content("f1") == file);
    CHECK(site.content("f2") == "");
  };
  check(form_post(body, ends), 0);
  check(form_post(body, ends), 4097);
  check(form_chunks(body, 5000, ends), 0);
  check(form_chunks(body, 1'000'000, ends), 10'001);
  CHECK(site.taker.whole == 4);
  CHECK(site.s.server.stats().failed == 0);
}

CONFORMANCE_OVER_BOTH("http: a form may come byte by byte, and the connection goes on after it") {
  form_site site(where);
  const std::string body = "preamble\r\n" + form_field("t1", "\r\n--") + form_field("f1", "\r") +
                           form_field("t2", "-b\r") + "--b--\r\nepilogue";
  const std::string answer = "t1(text/plain)=\r\n-- f1(text/plain)=1 t2(text/plain)=-b\r ";
  const auto seen = site.s.ask(form_post(body) + form_chunks(body, 1) + form_post(body, ends), 1);
  REQUIRE(seen.size() == 3);
  for (const auto& one : seen) {
    CHECK(one.status == 200);
    CHECK(one.body == answer);
  }
}

CONFORMANCE_OVER_BOTH("http: requests without a form are refused before the first part") {
  form_site site(where);
  const auto refused = [&site](std::string_view fields) {
    const std::string said = site.said("POST / HTTP/1.1\r\nHost: a\r\n" + std::string(fields) +
                                       "Connection: close\r\nContent-Length: 0\r\n\r\n");
    return said;
  };
  CHECK(refused("") == "415 the media type is not multipart/form-data\n");
  CHECK(refused("Content-Type: application/x-www-form-urlencoded\r\n") ==
        "415 the media type is not multipart/form-data\n");
  CHECK(refused("Content-Type: multipart/form-data\r\n") ==
        "400 Content-Type has no boundary, or one that is not of RFC 2046\n");
  CHECK(refused("Content-Type: multipart/form-data; boundary=b\r\n"
                "Content-Type: multipart/form-data; boundary=c\r\n") ==
        "400 Content-Type is malformed, or is there twice\n");
  CHECK(refused("Content-Type: multipart/form-data; boundary=b\r\n") ==
        "400 the form ends before its last boundary\n");
  CHECK(site.taker.began == 5);
  CHECK(site.s.server.stats().failed == 0);
}

CONFORMANCE_OVER_BOTH("http: malformed forms are answered with 400, and leave no file") {
  form_site site(where);
  const auto said = [&site](const std::string& body) { return site.said(form_post(body, ends)); };
  const std::string file = form_field("f1", pattern_of(100'000));
  CHECK(said(file) == "400 the form ends before its last boundary\n");
  CHECK(said(file.substr(0, 90'000)) == "400 the form ends before its last boundary\n");
  CHECK(said("--b\r\nContent-Disposition: form-data; name=f\r\n\r\nx\r\n--bx\r\n") ==
        "400 a line of the form begins with the boundary, but has no end of a boundary line\n");
  CHECK(said(form_field("f", "x", "; name=b")) ==
        "400 a Content-Disposition has a parameter twice\n");
  CHECK(said(form_field("f", "x", "; filename=a; filename*=UTF-8''a")) ==
        "400 a part has filename and filename*\n");
  CHECK(said(form_field(std::string_view("f\0x", 3), "x")) ==
        "400 the head of a part is malformed\n");
  CHECK(said("--b\r\n\r\nx\r\n--b--") == "400 a part has no Content-Disposition: form-data\n");
  // One file was whole before the line behind it was found to be bad.
  CHECK(site.names() == "f ");
  CHECK(site.taker.whole == 0);
  CHECK(site.s.server.stats().failed == 0);
}

CONFORMANCE_OVER_BOTH("http: forms that are too long are answered with 413, and leave no file") {
  form_site site(where,
                 {.parts = 2, .head_bytes = 300, .part_bytes = 80'000, .body_bytes = 170'000});
  const auto said = [&site](const std::string& body) {
    return site.said(form_chunks(body, 7000, ends));
  };
  const std::string two =
      form_field("f1", pattern_of(80'000)) + form_field("f2", pattern_of(80'000));
  CHECK(said(two + "--b--") == "200 f1(text/plain)=80000 f2(text/plain)=80000 ");
  CHECK(site.names() == "f1 f2 ");
  CHECK(said(two + form_field("x", "") + "--b--") ==
        "413 the form has too many parts (limit: 2, set by multipart_limits::parts)\n");
  CHECK(said(form_field("f3", pattern_of(80'001)) + "--b--") ==
        "413 a part is too long (limit: 80000, set by multipart_limits::part_bytes)\n");
  CHECK(said(form_field("f3", "", "\r\nX: " + std::string(300, 'x')) + "--b--") ==
        "413 the head of a part is too long (limit: 300, set by multipart_limits::head_bytes)\n");
  CHECK(said(two + "--b--\r\n" + std::string(10'000, 'x')) ==
        "413 the form is too long (limit: 170000, set by multipart_limits::body_bytes)\n");
  CHECK(said(form_field("t", "0123456789x") + "--b--") ==
        "413 a field of the form is too long (limit: 10 bytes)\n");
  CHECK(site.names() == "f1 f2 ");
  const int began = site.taker.began;
  const auto announced = site.s.ask(
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\n"
      "Expect: 100-continue\r\nContent-Length: 170001\r\n\r\n");
  REQUIRE(announced.size() == 1);  // without 100
  CHECK(announced[0].status == 413);
  CHECK(site.taker.began == began + 1);
  CHECK(site.s.server.stats().failed == 0);
}

CONFORMANCE_OVER_BOTH("http: the body of a form has the bound of the server, too") {
  form_site site(where);
  std::string body = form_field("f1", std::string((1 << 20) + 1, 'x')) + "--b--";
  CHECK(site.said(form_chunks(body, 100'000, ends)).starts_with("413 "));
  CHECK(site.said(form_post(body, ends)).starts_with("413 "));
  CHECK(site.names() == "");
  CHECK(site.taker.saving == 1);
}

CONFORMANCE_OVER_BOTH("http: a client that leaves within a file leaves nothing of it") {
  for (const bool resets : {false, true}) {
    CAPTURE(resets);
    std::vector<std::string> thrown;
    form_site site(where);
    note_thrown(site.s.server, thrown);
    const std::string whole = form_post(form_field("f1", pattern_of(300'000)) + "--b--");
    peer& one = site.s.start(whole.substr(0, 250'000));
    site.s.run_until([&] { return site.taker.saving == 1 && one.sent; });
    beck::error_code ec;
    if (resets) {
      one.socket.set_option(beck::socket_base::linger(true, 0), ec);
      one.socket.close();
    } else {
      one.socket.shutdown(beck::ip::tcp::socket::shutdown_send, ec);
    }
    site.s.run_until([&] { return one.done && site.s.server.stats().connections == 0; });
    if (!resets) CHECK(one.responses().at(0).status == 400);
    REQUIRE(thrown.size() == 1);
    CHECK(!has(thrown[0], "the form ends"));  // an error of the body, or of the file
    CHECK(site.names() == "");
    CHECK(site.taker.saved == 0);
    CHECK(site.s.server.stats().failed == 0);
  }
}

CONFORMANCE_OVER_BOTH("http: a handler that ends while a file is written leaves nothing of it") {
  std::optional<form_site> site(std::in_place, where);
  const std::string whole = form_post(form_field("f1", pattern_of(300'000)) + "--b--");
  peer& one = site->s.start(whole.substr(0, 200'000));
  site->s.run_until([&] { return site->taker.saving == 1 && one.sent; });
  for (int i = 0; i < 50; ++i) site->s.ctx.poll_one();
  site->s.server.stop(beck::duration(0));
  site->s.run_until([&] { return site->s.ended; });
  CHECK(site->names() == "");
  CHECK(site->taker.saved == 0);
}

CONFORMANCE_OVER_BOTH(
    "http: a context that is destroyed while a file is written leaves nothing of it") {
  if (where == beck::backend::sim) SKIP_CASE("its disk goes with the context");
  const file_place place(where);
  const std::string whole = form_post(form_field("f1", pattern_of(300'000)) + "--b--");
  for (int turns = 0; turns < 40; ++turns) {
    CAPTURE(turns);
    {
      form_taker taker(place.path(""));
      served s([&taker](http::request& q, http::response& r) { return taker(q, r); });
      s.start(whole.substr(0, 250'000));
      s.run_until([&] { return taker.saving == 1; });
      for (int i = 0; i < turns; ++i) s.ctx.poll_one();
    }
    beck::io_context other(context_options());
    std::string names;
    beck::co_spawn(other, list_names(other, place.path(""), names), beck::detached);
    other.run();
    CHECK(names == "");
  }
}

CONFORMANCE_OVER_BOTH("http: a file that cannot be written is an error of the handler") {
  const file_place place(where);
  std::vector<std::string> thrown;
  std::string path;
  served s([&](http::request& q, http::response& r) -> task<> {
    http::multipart_form form(q);
    http::form_part part = co_await form.next();
    const std::uint64_t bytes = co_await part.save(path);
    r.send(std::to_string(bytes));
  });
  s.ctx.on_log([](const char*, void*) {}, nullptr);
  note_thrown(s.server, thrown);
  const std::string post = form_post(form_field("f", "x") + "--b--", ends);
  for (const std::string& bad : {place.path("none/file"), place.path("a/"), std::string()}) {
    if (bad.empty() || bad.back() == '/' || where != beck::backend::sim) {
      CAPTURE(bad);
      path = bad;
      thrown.clear();
      const auto seen = s.ask(post);
      REQUIRE(seen.size() == 1);
      CHECK(seen[0].status == 500);
      REQUIRE(thrown.size() == 1);
      if (bad.empty() || bad.back() == '/') {
        CHECK(has(thrown[0], "a path with a file name"));
      } else {
        CHECK(has(thrown[0], "none/file"));
      }
    }
  }
}

CONFORMANCE_OVER_BOTH("http: a file that cannot get its name is removed") {
  if (where == beck::backend::sim) SKIP_CASE("a simulated directory is only a name");
  form_site site(where);
  REQUIRE(::mkdir(site.place.path("f1").c_str(), 0700) == 0);
  site.s.ctx.on_log([](const char*, void*) {}, nullptr);
  CHECK(site.said(form_post(form_field("f1", "x") + "--b--", ends)).starts_with("500 "));
  CHECK(site.names() == "f1 ");
}

CONFORMANCE_OVER_BOTH("http: a part that the form has left is not to be read") {
  std::vector<std::string> thrown;
  served s([&](http::request& q, http::response& r) -> task<> {
    http::multipart_form form(q);
    http::form_part first = co_await form.next();
    CHECK(first.name() == "a");
    http::form_part second = co_await form.next();
    CHECK(second.name() == "b");
    CHECK_THROWS_AS(first.name(), std::logic_error);
    CHECK_THROWS_AS(beck::ignore(first.text(1)), std::logic_error);
    char piece[5];
    const beck::mutable_buffer to(piece, sizeof piece);
    std::size_t bytes = co_await second.read_some(to);
    CHECK(bytes == 1);
    for (int i = 0; i < 3; ++i) {
      bytes = co_await second.read_some(to);
      CHECK(bytes == 0);
    }
    const std::string rest = co_await second.text(0);
    CHECK(rest.empty());
    http::form_part third = co_await form.next();
    CHECK(!third);
    CHECK_THROWS_AS(third.name(), std::logic_error);
    CHECK_THROWS_AS(second.media_type(), std::logic_error);
    http::form_part fourth = co_await form.next();
    CHECK(!fourth);
    r.send("well");
  });
  const auto seen = s.ask(form_post(form_field("a", "1") + form_field("b", "2") + "--b--", ends));
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].body == "well");
}
