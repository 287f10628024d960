// SPDX-License-Identifier: BSL-1.0
// Files over HTTP: whole, in ranges, under conditions, compressed; paths that must not be served.
#include <beck/http/static_files.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_context.hpp>

#include <stdexcept>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/file_folder.hpp"
#include "support/no_descriptors.hpp"
#include "support/open_descriptors.hpp"
#include "support/pattern.hpp"

using namespace beck::http::test;
using beck::test::pattern;
namespace http = beck::http;

namespace {

std::string field_of(const seen_response& r, const std::string& name) {
  return file_folder::field_of(r, name);
}

}  // namespace

CONFORMANCE("http files: a file is sent with its type, length, date and tag") {
  file_folder f(where);
  f.write("a.html", "<p>a");
  f.write("sub/deep/b.txt", pattern(200'000));
  f.write("empty", "");
  f.write("100% \xc3\xa4+.txt", "odd name");
  f.wait(10);
  const seen_response a = f.ask("/a.html?x=1");
  CHECK(a.status == 200);
  CHECK(a.body == "<p>a");
  CHECK(field_of(a, "Content-Type") == "text/html; charset=utf-8");
  CHECK(field_of(a, "Content-Length") == "4");
  CHECK(field_of(a, "Accept-Ranges") == "bytes");
  CHECK(field_of(a, "ETag")[0] == '"');
  CHECK(field_of(a, "Vary") == "-");
  CHECK(field_of(a, "Content-Encoding") == "-");
  std::int64_t changed = 0, sent = 0;
  CHECK(http::parse_date(field_of(a, "Last-Modified"), 0, changed));
  CHECK(http::parse_date(field_of(a, "Date"), 0, sent));
  CHECK(changed < sent);
  const seen_response b = f.ask("/sub/deep/b.txt");
  CHECK(b.body == pattern(200'000));
  CHECK(field_of(b, "ETag") != field_of(a, "ETag"));
  CHECK(f.ask("/empty").body.empty());
  CHECK(field_of(f.ask("/empty"), "Content-Length") == "0");
  CHECK(f.ask("/100%25%20%C3%A4+.txt").body == "odd name");
  for (const char* path : {"/a.html", "/sub/deep/b.txt", "/empty"}) {
    const seen_response whole = f.ask(path);
    const seen_response head = f.ask(path, "", "HEAD");
    CHECK(head.status == 200);
    for (const char* name : {"Content-Length", "ETag", "Last-Modified", "Content-Type"})
      CHECK(field_of(head, name) == field_of(whole, name));
  }
}

CONFORMANCE("http files: only GET and HEAD are answered with files") {
  file_folder f(where);
  f.write("a", "a");
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "PROPFIND"}) {
    const seen_response r = f.ask("/a", "", method);
    CHECK(r.status == (method == std::string_view("PROPFIND") ? 501 : 405));
    CHECK(field_of(r, "Allow") == "GET, HEAD, OPTIONS");
  }
  const seen_response r = f.ask("/a", "", "OPTIONS");
  CHECK(r.status == 204);
  CHECK(field_of(r, "Allow") == "GET, HEAD, OPTIONS");
}

CONFORMANCE("http files: conditions are evaluated in their order") {
  file_folder f(where, http::file_options().cache_control("max-age=60"));
  f.write("a", "text");
  f.wait(10);
  const seen_response whole = f.ask("/a");
  const std::string tag = field_of(whole, "ETag"), date = field_of(whole, "Last-Modified");
  CHECK(field_of(whole, "Cache-Control") == "max-age=60");
  const std::string earlier = "Sun, 06 Nov 1994 08:49:37 GMT";
  const auto status = [&](const std::string& fields) { return f.ask("/a", fields).status; };
  CHECK(status("If-None-Match: " + tag + "\r\n") == 304);
  CHECK(status("If-None-Match: W/" + tag + "\r\n") == 304);
  CHECK(status("If-None-Match: \"x\", " + tag + "\r\n") == 304);
  CHECK(status("If-None-Match: *\r\n") == 304);
  CHECK(status("If-None-Match: \"x\"\r\n") == 200);
  CHECK(status("If-Modified-Since: " + date + "\r\n") == 304);
  CHECK(status("If-Modified-Since: " + earlier + "\r\n") == 200);
  CHECK(status("If-None-Match: \"x\"\r\nIf-Modified-Since: " + date + "\r\n") == 200);
  CHECK(status("If-Match: " + tag + "\r\n") == 200);
  CHECK(status("If-Match: \"x\"\r\n") == 412);
  CHECK(status("If-Unmodified-Since: " + earlier + "\r\n") == 412);
  CHECK(status("If-Match: " + tag + "\r\nIf-Unmodified-Since: " + earlier + "\r\n") == 200);
  CHECK(status("If-Match: \"x\"\r\nIf-None-Match: " + tag + "\r\n") == 412);
  const seen_response same = f.ask("/a", "If-None-Match: " + tag + "\r\n");
  CHECK(field_of(same, "ETag") == tag);
  CHECK(field_of(same, "Last-Modified") == date);
  CHECK(field_of(same, "Cache-Control") == "max-age=60");
  CHECK(field_of(same, "Content-Type") == "-");
  CHECK(same.body.empty());
  CHECK(f.ask("/a", "If-None-Match: " + tag + "\r\n", "HEAD").status == 304);
}

CONFORMANCE("http files: a file that has just changed has a weak tag") {
  file_folder f(where);
  f.write("a", "text", 0);
  CHECK(field_of(f.ask("/a"), "ETag").substr(0, 3) == "W/\"");
  if (f.is_real) f.write("a", "text");
  f.wait(10);
  CHECK(field_of(f.ask("/a"), "ETag")[0] == '"');
}

CONFORMANCE("http files: ranges, one and several, and none that exists") {
  file_folder f(where);
  const std::string text = pattern(100'000);
  f.write("a.txt", text);
  f.wait(10);
  const auto range = [&](const std::string& value, const std::string& more = {}) {
    return f.ask("/a.txt", "Range: bytes=" + value + "\r\n" + more);
  };
  const seen_response one = range("10-19");
  CHECK(one.status == 206);
  CHECK(one.body == text.substr(10, 10));
  CHECK(field_of(one, "Content-Range") == "bytes 10-19/100000");
  CHECK(field_of(one, "Content-Type") == "text/plain; charset=utf-8");
  CHECK(range("99990-").body == text.substr(99'990));
  CHECK(range("-5").body == text.substr(99'995));
  CHECK(range("0-").body == text);
  CHECK(range("0-").status == 206);
  const seen_response none = range("100000-");
  CHECK(none.status == 416);
  CHECK(field_of(none, "Content-Range") == "bytes */100000");
  CHECK(field_of(none, "Content-Type") == "text/plain; charset=utf-8");
  CHECK(range("5-1").status == 200);
  CHECK(range("0-1,1-2").status == 200);
  CHECK(range("0-0,2-2,4-4,6-6,8-8,10-10,12-12,14-14,16-16").status == 200);

  const seen_response several = range("0-4,50000-59999,-3");
  CHECK(several.status == 206);
  const std::string type = field_of(several, "Content-Type");
  REQUIRE(type.substr(0, 31) == "multipart/byteranges; boundary=");
  const std::string boundary = "--" + type.substr(31);
  const auto part = [&](std::size_t first, std::size_t bytes) {
    return "\r\n" + boundary +
           "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes " +
           std::to_string(first) + "-" + std::to_string(first + bytes - 1) + "/100000\r\n\r\n" +
           text.substr(first, bytes);
  };
  const std::string wanted =
      part(0, 5) + part(50'000, 10'000) + part(99'997, 3) + "\r\n" + boundary + "--\r\n";
  CHECK((several.body == wanted || several.body == wanted.substr(2)));
  CHECK(field_of(several, "Content-Length") == std::to_string(several.body.size()));
  const seen_response other = range("0-4,50000-59999,-3");
  CHECK(field_of(other, "Content-Type") != type);

  const std::string tag = field_of(one, "ETag"), date = field_of(one, "Last-Modified");
  CHECK(range("0-1", "If-Range: " + tag + "\r\n").status == 206);
  CHECK(range("0-1", "If-Range: \"x\"\r\n").status == 200);
  CHECK(range("0-1", "If-Range: W/" + tag + "\r\n").status == 200);
  CHECK(range("0-1", "If-Range: " + date + "\r\n").status == 206);
  CHECK(range("0-1", "If-Range: Sun, 06 Nov 1994 08:49:37 GMT\r\n").status == 200);
  CHECK(range("0-1", "If-None-Match: " + tag + "\r\n").status == 304);
  const seen_response head = f.ask("/a.txt", "Range: bytes=0-1\r\n", "HEAD");
  CHECK(head.status == 200);
  CHECK(field_of(head, "Content-Length") == "100000");
}

CONFORMANCE("http files: a folder is redirected to its slash, and answered with its index") {
  file_folder f(where, http::file_options().index("index.html"));
  f.write("index.html", "root");
  f.write("sub/index.html", "sub");
  f.write("bare/x", "x");
  CHECK(f.ask("/").body == "root");
  CHECK(field_of(f.ask("/"), "Content-Type") == "text/html; charset=utf-8");
  CHECK(f.ask("/sub/").body == "sub");
  const seen_response moved = f.ask("/sub?a=b%20c");
  CHECK(moved.status == 301);
  CHECK(field_of(moved, "Location") == "/sub/?a=b%20c");
  CHECK(field_of(f.ask("/s%75b"), "Location") == "/s%75b/");
  CHECK(f.ask("/bare/").status == 404);
  CHECK(f.ask("/none/").status == 404);
  CHECK(f.ask("/index.html/").status == 404);
  CHECK(f.ask("/sub/index.html/x").status == 404);
}

CONFORMANCE("http files: a folder below a prefix of a router") {
  file_folder f(where, http::file_options().index("i.html"), "/files");
  f.write("i.html", "root");
  f.write("a/b.txt", "b");
  CHECK(f.ask("/files/a/b.txt").body == "b");
  CHECK(f.ask("/files/").body == "root");
  CHECK(field_of(f.ask("/files"), "Location") == "/files/");
  CHECK(field_of(f.ask("/files/a?q"), "Location") == "/files/a/?q");
  CHECK(f.ask("/a/b.txt").status == 404);
  CHECK(f.ask("/files/files/a/b.txt").status == 404);
}

CONFORMANCE("http files: paths that lead out, hide, or can be read in two ways are not served") {
  file_folder f(where, http::file_options().listing(true));
  f.write("a", "a");
  f.write(".secret", "secret");
  f.write(".git/config", "secret");
  f.write("sub/.x/y", "secret");
  for (const char* path : {"/../a", "/%2e%2e/a", "/sub/../a", "/sub/%2E./a", "/sub/..", "/..%2fa",
                           "/sub%2f..%2fa", "/sub\\..\\a", "/sub%5ca", "/a%00.html", "/%00", "//a",
                           "/sub//a", "/./a", "/%", "/a%2", "/a%0a"}) {
    CHECK_MESSAGE(f.ask(path).status == 400, path);
  }
  for (const char* path : {"/.secret", "/.git/config", "/.git/", "/.git", "/sub/.x/y", "/%2esecret",
                           "/...", "/%252e%252e/a", "/a/", "/a/b", "/none"}) {
    CHECK_MESSAGE(f.ask(path).status == 404, path);
  }
}

CONFORMANCE_ON(beck::test::kernel, "http files: links lead to files in the folder only") {
  file_folder f(where, http::file_options().index("index.html"));
  f.write("sub/a", "inside");
  std::filesystem::create_directory(f.place.path("outside"));
  f.write("../outside/b", "outside");
  std::filesystem::create_symlink("sub/a", f.root + "/good");
  std::filesystem::create_symlink("sub", f.root + "/folder");
  std::filesystem::create_symlink("../outside/b", f.root + "/file-out");
  std::filesystem::create_symlink("../outside", f.root + "/folder-out");
  std::filesystem::create_symlink("/etc", f.root + "/etc");
  std::filesystem::create_symlink("loop", f.root + "/loop");
  std::filesystem::create_symlink("none", f.root + "/dangling");
  std::filesystem::create_symlink("/proc/self/root", f.root + "/magic");
  CHECK(f.ask("/good").body == "inside");
  CHECK(f.ask("/folder/a").body == "inside");
  CHECK(field_of(f.ask("/folder"), "Location") == "/folder/");
  for (const char* path : {"/file-out", "/folder-out", "/folder-out/b", "/etc", "/etc/passwd",
                           "/loop", "/dangling", "/magic/etc/passwd"})
    CHECK_MESSAGE(f.ask(path).status == 404, path);
}

CONFORMANCE_ON(beck::test::kernel, "http files: pipes, sockets and devices are not opened") {
  file_folder f(where);
  REQUIRE(::mkfifo((f.root + "/pipe").c_str(), 0666) == 0);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un at = {};
  at.sun_family = AF_UNIX;
  const std::string path = f.root + "/socket";
  REQUIRE(path.size() < sizeof at.sun_path);
  path.copy(at.sun_path, sizeof at.sun_path - 1);
  REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  CHECK(f.ask("/pipe").status == 404);
  CHECK(f.ask("/socket").status == 404);
  ::close(fd);
  if (::geteuid() == 0 && ::mknod((f.root + "/null").c_str(), S_IFCHR | 0666, 0x103) == 0)
    CHECK(f.ask("/null").status == 404);
}

CONFORMANCE_ON(beck::test::kernel, "http files: a file without permission is 403") {
  if (::geteuid() == 0) SKIP_CASE("root may read everything");
  file_folder f(where);
  f.write("a", "a");
  ::chmod((f.root + "/a").c_str(), 0);
  CHECK(f.ask("/a").status == 403);
}

CONFORMANCE_ON(beck::test::kernel, "http files: without a free descriptor the answer is 503") {
  file_folder f(where);
  f.write("a", "a");
  CHECK(f.ask("/a").status == 200);
  peer& one = f.s.start(get("/a"));
  f.s.wait_for(one, 1);
  {
    const beck::test::no_descriptors none;
    const std::string again = last_get("/a");
    beck::async_write(one.socket, beck::buffer(again), [](beck::error_code, std::size_t) {});
    f.s.run_until([&] { return one.done; });
  }
  REQUIRE(one.responses().size() == 2);
  CHECK(one.responses()[1].status == 503);
  CHECK(field_of(one.responses()[1], "Retry-After") == "1");
  CHECK(f.ask("/a").status == 200);
}

CONFORMANCE("http files: the compressed form is sent to clients that accept it") {
  file_folder f(where, http::file_options().precompressed("br gzip"));
  f.write("a.css", "plain css");
  f.write("a.css.br", "BR");
  f.write("a.css.gz", "GZIP");
  f.write("b.css", "only gzip");
  f.write("b.css.gz", "GZ");
  f.write("c.css", "none");
  f.write("d.gz", "no file of that name without .gz");
  f.wait(10);
  const auto ask = [&](const char* path, const std::string& accepted) {
    return f.ask(path, accepted.empty() ? "" : "Accept-Encoding: " + accepted + "\r\n");
  };
  const seen_response br = ask("/a.css", "gzip, br");
  CHECK(br.body == "BR");
  CHECK(field_of(br, "Content-Encoding") == "br");
  CHECK(field_of(br, "Content-Type") == "text/css; charset=utf-8");
  CHECK(field_of(br, "Vary") == "Accept-Encoding");
  CHECK(ask("/a.css", "gzip").body == "GZIP");
  CHECK(ask("/a.css", "br;q=0.5, gzip").body == "GZIP");
  CHECK(ask("/a.css", "br;q=0, gzip;q=0").body == "plain css");
  const seen_response plain = ask("/a.css", "");
  CHECK(plain.body == "plain css");
  CHECK(field_of(plain, "Vary") == "Accept-Encoding");
  CHECK(field_of(plain, "Content-Encoding") == "-");
  CHECK(field_of(plain, "ETag") != field_of(br, "ETag"));
  CHECK(ask("/b.css", "br, gzip").body == "GZ");
  CHECK(ask("/c.css", "br, gzip").body == "none");
  CHECK(ask("/d", "br, gzip").status == 404);
  const seen_response same =
      f.ask("/a.css", "Accept-Encoding: br\r\nIf-None-Match: " + field_of(br, "ETag") + "\r\n");
  CHECK(same.status == 304);
  CHECK(field_of(same, "Vary") == "Accept-Encoding");
  const seen_response range = f.ask("/a.css", "Accept-Encoding: br\r\nRange: bytes=1-1\r\n");
  CHECK(range.body == "R");
  CHECK(field_of(range, "Content-Range") == "bytes 1-1/2");
}

CONFORMANCE_ON(beck::test::kernel,
               "http files: a compressed form older than its file is not sent") {
  file_folder f(where, http::file_options().precompressed("gzip"));
  f.write("a", "new", 100);
  f.write("a.gz", "OLD", 200);
  CHECK(f.ask("/a", "Accept-Encoding: gzip\r\n").body == "new");
  f.write("a.gz", "NEW", 100);
  CHECK(f.ask("/a", "Accept-Encoding: gzip\r\n").body == "NEW");
  std::filesystem::remove(f.root + "/a.gz");
  std::filesystem::create_directory(f.root + "/a.gz");
  CHECK(f.ask("/a", "Accept-Encoding: gzip\r\n").body == "new");
}

CONFORMANCE("http files: types of one's own go before the known ones") {
  file_folder f(where, http::file_options().type("txt", "text/x-mine").type("MAP", "a/b"));
  f.write("a.TXT", "a");
  f.write("a.map", "a");
  f.write("a.css", "a");
  f.write("a", "a");
  CHECK(field_of(f.ask("/a.TXT"), "Content-Type") == "text/x-mine");
  CHECK(field_of(f.ask("/a.map"), "Content-Type") == "a/b");
  CHECK(field_of(f.ask("/a.css"), "Content-Type") == "text/css; charset=utf-8");
  CHECK(field_of(f.ask("/a"), "Content-Type") == "application/octet-stream");
}

CONFORMANCE("http files: a folder that does not exist yet is 404, and served when it does") {
  file_folder f(where);
  if (f.is_real) std::filesystem::remove(f.root);
  CHECK(f.ask("/a").status == 404);
  f.write("a", "now");
  CHECK(f.ask("/a").body == "now");
}

CONFORMANCE_ON(beck::test::kernel,
               "http files: a file that shrinks under a response cuts the connection") {
  file_folder f(where);
  f.write("a", std::string(16 << 20, 'x'));
  beck::ip::tcp::socket slow(f.s.ctx);
  slow.connect(f.s.server.endpoint());
  const std::string text = get("/a") + get("/a");
  REQUIRE(slow.write_some(beck::buffer(text)) == text.size());
  while (f.s.server.stats().accepted == 0) f.s.ctx.poll();
  for (int i = 0; i < 1000; ++i) f.s.ctx.poll();  // fills the buffers of the socket
  std::filesystem::resize_file(f.root + "/a", 1000);
  std::string received;
  bool ended = false;
  char part[65536];
  const auto receive = [&]() -> beck::task<> {
    for (;;) {
      auto [ec, n] = co_await slow.async_read_some(beck::buffer(part));
      if (ec) break;
      received.append(part, n);
    }
    ended = true;
  };
  beck::co_spawn(f.s.ctx, receive(), beck::detached);
  f.s.run_until([&] { return ended; });
  CHECK(received.size() < (16 << 20));
  CHECK(received.find("HTTP/1.1", 8) == std::string::npos);
}

CONFORMANCE("http files: a path without a file is the fallback to a client that lists text/html") {
  file_folder f(where,
                http::file_options().index("i.html").fallback("app/i.html").precompressed("gzip"));
  f.write("app/i.html", "<p>app");
  f.write("app/i.html.gz", "packed");
  f.write("a.js", "script");
  f.write("sub/x", "x");
  f.wait(10);
  const std::string page = "Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n";
  for (const char* path : {"/", "/orders/7", "/orders/7/", "/sub/", "/b.js", "/a.js/x"}) {
    const seen_response r = f.ask(path, page);
    CHECK(r.status == 200);
    CHECK(r.body == "<p>app");
    CHECK(field_of(r, "Content-Type") == "text/html; charset=utf-8");
    CHECK(field_of(r, "Vary") == "Accept, Accept-Encoding");
    const seen_response none = f.ask(path, "Accept: */*\r\n");
    CHECK(none.status == 404);
    CHECK(field_of(none, "Vary") == "Accept");
  }
  const std::string tag = field_of(f.ask("/none", page), "ETag");
  CHECK(tag == field_of(f.ask("/app/i.html"), "ETag"));
  CHECK(f.ask("/none", page + "If-None-Match: " + tag + "\r\n").status == 304);
  CHECK(f.ask("/none", page, "HEAD").status == 200);
  CHECK(f.ask("/none", page, "POST").status == 405);
  CHECK(f.ask("/none", page + "Accept-Encoding: gzip\r\n").body == "packed");
  CHECK(f.ask("/a.js", page).body == "script");
  CHECK(field_of(f.ask("/a.js", page), "Vary") == "Accept-Encoding");
  CHECK(f.ask("/sub", page).status == 301);
  for (const char* path : {"/.git", "/sub/.x/y", "/%00"}) CHECK(f.ask(path, page).body != "<p>app");

  const auto status = [&](const std::string& accept) {
    return f.ask("/none", "Accept: " + accept + "\r\n").status;
  };
  for (const char* yes : {"text/html", "TEXT/html;level=1;Q=0.001", "a/b, text/html ;q=1",
                          "a/b\r\nAccept: text/html", "text/html;q=0, text/html"})
    CHECK(status(yes) == 200);
  for (const char* no : {"text/*", "text/html;q=0", "text/html;Q=0.000", "text/htmlx", "xtext/html",
                         "text/html;q=", "text/html;q", "application/json", ","})
    CHECK(status(no) == 404);
  CHECK(f.ask("/none").status == 404);
}

CONFORMANCE("http files: a fallback that is no file, or outside of the folder, is 404") {
  const std::string page = "Accept: text/html\r\n";
  for (const char* name : {"none", "sub", "../site/x", "sub/../../x"}) {
    file_folder f(where, http::file_options().fallback(name));
    f.write("sub/x", "x");
    f.write("x", "x");
    CHECK(f.ask("/none", page).status == 404);
    CHECK(f.ask("/sub/none/", page).status == 404);
  }
}

CONFORMANCE_ON(beck::test::kernel, "http files: no request leaves a descriptor open") {
  const auto before = beck::test::open_descriptors();
  {
    file_folder f(where, http::file_options().index("i").listing(true).precompressed("br gzip"));
    f.write("i", "index");
    f.write("a.css", "a");
    f.write("a.css.br", "a");
    f.write("sub/x", "x");
    f.ask("/");
    const auto open = beck::test::open_descriptors().size();
    for (int i = 0; i < 3; ++i) {
      for (const char* path : {"/", "/a.css", "/sub", "/sub/", "/none", "/sub/none/", "/..%2f"})
        f.ask(path, "Accept-Encoding: br, gzip\r\n");
    }
    CHECK(beck::test::open_descriptors().size() == open);
  }
  CHECK(beck::test::open_descriptors() == before);
}

TEST_CASE("http files: settings that cannot be are refused with their value") {
  const auto says = [](auto set, std::string_view part) {
    http::file_options how;
    try {
      set(how);
    } catch (const std::invalid_argument& e) {
      return std::string_view(e.what()).find(part) != std::string_view::npos;
    }
    return false;
  };
  CHECK(says([](http::file_options& o) { o.precompressed("br deflate"); }, "\"deflate\""));
  CHECK(says([](http::file_options& o) { o.index("a/b"); }, "\"a/b\""));
  CHECK(says([](http::file_options& o) { o.fallback(""); }, "\"\""));
  CHECK(says([](http::file_options& o) { o.fallback("/a"); }, "\"/a\""));
  CHECK(says([](http::file_options& o) { o.fallback("a/"); }, "\"a/\""));
  CHECK(says([](http::file_options& o) { o.fallback("a\nb"); }, "control character"));
  CHECK(says([](http::file_options& o) { o.cache_control("a\nb"); }, "control character"));
  CHECK(says([](http::file_options& o) { o.type(".txt", "a/b"); }, "\".txt\""));
  CHECK(says([](http::file_options& o) { o.type("txt", "a\r\n"); }, "control character"));
  http::file_options one, other;
  other = one.precompressed(" gzip  br gzip ");
  const http::static_files files("/", other);
  http::static_files copy(files);
  copy = files;
}
