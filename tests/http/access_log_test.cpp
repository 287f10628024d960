// SPDX-License-Identifier: BSL-1.0
// Access logs: the lines of each form, and a file that is full, slow, renamed or gone.
#include <beck/http/access_log.hpp>
#include <beck/http/router.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "http/served.hpp"
#include "support/conformance.hpp"
#include "support/temporary_folder.hpp"

using namespace beck::http::test;
namespace http = beck::http;
using http::log_format;

namespace {

std::string contents(const std::string& path) {
  std::string text;
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return "none";
  char part[4096];
  while (const std::size_t bytes = std::fread(part, 1, sizeof part, file)) text.append(part, bytes);
  std::fclose(file);
  return text;
}

std::size_t lines_in(const std::string& text) {
  std::size_t count = 0;
  for (const char c : text) count += c == '\n';
  return count;
}

/// A time whose parts all differ: 2026-11-24 22:35:33.123 UTC.
constexpr beck::system_time_point then(beck::duration(1'795'559'733'123'456'789));

/// Keeps the lines that the exchanges of a server would have in a form.
void keep_log(served& s, log_format format, std::string& to) {
  s.server.on_finish([&to, format](const http::exchange_record& one) {
    http::exchange_record fixed = one;
    fixed.peer = beck::ip::tcp::endpoint(beck::ip::make_address("2001:db8::1"), 40022);
    if (!one.client.is_unspecified()) fixed.client = fixed.peer.address();
    fixed.time = beck::duration(1'000'121'999);
    fixed.first_byte = beck::duration(999);
    http::append_log_line(to, format, fixed, then);
  });
}

http::router logged_site() {
  http::router site;
  site.get("/a/{name}", say_path);
  site.get("/throws",
           [](http::request&, http::response&) { throw std::runtime_error("no \"x\"\n"); });
  return site;
}

}  // namespace

CONFORMANCE("http log: the common and the combined form have what readers of logs expect") {
  const std::string request =
      get("/a/x?b=c", "Referer: http://x/\r\nUser-Agent: me\r\n") + "GET /none HTTP/1.0\r\n\r\n";
  const std::string common =
      "2001:db8::1 - - [24/Nov/2026:22:35:33 +0000] \"GET /a/x?b=c HTTP/1.1\" 200 4";
  std::string text;
  {
    served s(logged_site());
    keep_log(s, log_format::common, text);
    s.ask(request);
    CHECK(text.substr(0, text.find('\n')) == common);
    CHECK(has(text, "\"GET /none HTTP/1.0\" 404 "));
    CHECK(lines_in(text) == 2);
  }
  text.clear();
  served s(logged_site());
  keep_log(s, log_format::combined, text);
  s.ask(request);
  CHECK(text.substr(0, text.find('\n')) == common + " \"http://x/\" \"me\"");
  CHECK(has(text, " \"-\" \"-\"\n"));
  text.clear();
  s.ask("GET / HTTP/1.1\r\n\r\n");  // without Host
  CHECK(has(text, "] \"-\" 400 "));
}

CONFORMANCE("http log: an object has what is known, and says why a message was refused") {
  std::string text;
  served s(logged_site());
  keep_log(s, log_format::json, text);
  s.ask(get("/a/x", "Referer: r\r\nUser-Agent: me\r\n") + last_get("/throws"));
  CHECK(text.substr(0, text.find('\n') + 1) ==
        "{\"time\":\"2026-11-24T22:35:33.123Z\",\"client\":\"2001:db8::1\","
        "\"peer\":\"[2001:db8::1]:40022\",\"method\":\"GET\",\"target\":\"/a/x\",\"status\":200,"
        "\"sent_bytes\":4,\"received_bytes\":0,\"seconds\":1.000121,"
        "\"first_byte_seconds\":0.000000,\"number\":1,\"referer\":\"r\",\"user_agent\":\"me\","
        "\"route\":\"/a/{name}\"}\n");
  CHECK(has(text, "\"number\":2,"));
  CHECK(has(text, "\"exception\":\"no \\u0022x\\u0022\\u000a\"}"));
  text.clear();
  s.ask("GET / HTTP/1.1\r\n\r\n");
  CHECK(has(text, "\"method\":\"\",\"target\":\"\",\"status\":400,"));
  CHECK(has(text, "\"refusal\":\"there is no Host field\""));
  text.clear();
  http::append_log_line(text, log_format::common, http::handshake_record(), then);
  http::append_log_line(text, log_format::combined, http::handshake_record(), then);
  CHECK(text.empty());
  http::handshake_record failed;
  failed.error_text = "a \"bad\" one";
  http::append_log_line(text, log_format::json, failed, then);
  CHECK(text ==
        "{\"time\":\"2026-11-24T22:35:33.123Z\",\"client\":\"unix:\",\"peer\":\"unix:\","
        "\"handshake\":\"a \\u0022bad\\u0022 one\"}\n");
}

CONFORMANCE("http log: a client can end neither a line nor a text") {
  const std::string bad = "User-Agent: a\" 200 1 \"x\\\" \t \x80\xff b\r\n";
  for (const log_format format : {log_format::common, log_format::combined, log_format::json}) {
    std::string text;
    served s(logged_site());
    keep_log(s, format, text);
    s.ask(last_get("/a/\"b%0a%22") + "");
    s.ask(get("/a/b", bad + "Connection: close\r\n"));
    REQUIRE(lines_in(text) == 2);
    for (const char c : text) CHECK((c == '\n' || (c >= 0x20 && c < 0x7F)));
    if (format == log_format::combined) {
      CHECK(has(text, "/a/\\x22b%0a%22 "));
      CHECK(has(text, "a\\x22 200 1 \\x22x\\x5c\\x22 \\x09 \\x80\\xff b"));
    }
  }
}

CONFORMANCE("http log: each exchange is a line of the file, also after it was renamed") {
  const beck::test::temporary_folder in;
  const http::access_log log(in.path("log"));
  served s(logged_site());
  s.server.on_finish(log);
  s.ask(get("/a/1") + last_get("/a/2"));
  REQUIRE(std::rename(in.path("log").c_str(), in.path("old").c_str()) == 0);
  s.ask(last_get("/a/3"));
  log.reopen();
  log.reopen();
  while (contents(in.path("log")) == "none") ::poll(nullptr, 0, 1);
  s.ask(last_get("/a/4"));
  log.close();
  log.close();
  s.ask(last_get("/a/5"));
  CHECK(lines_in(contents(in.path("old"))) == 3);
  CHECK(has(contents(in.path("log")), "\"GET /a/4 HTTP/1.1\" 200 4 \"-\" \"-\"\n"));
  CHECK(lines_in(contents(in.path("log"))) == 1);
  CHECK(log.lost() == 1);  // it was closed
  CHECK(!log.last_error());
  struct stat facts;
  REQUIRE(::stat(in.path("log").c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0027) == 0);
}

TEST_CASE("http log: a log that cannot be opened says why, and one that is gone stays") {
  const beck::test::temporary_folder in;
  const std::string none = in.path("none") + "/log";
  try {
    const http::access_log log(none);
    FAIL("it was opened");
  } catch (const beck::io_error& failed) {
    CHECK(failed.code() == std::errc::no_such_file_or_directory);
    CHECK(has(failed.what(), none));
  }
  const std::string folder = in.path("folder");
  REQUIRE(::mkdir(folder.c_str(), 0700) == 0);
  {
    const http::access_log log(folder + "/log");
    http::exchange_record one;
    log(one);
    REQUIRE(::rename((folder + "/log").c_str(), in.path("log").c_str()) == 0);
    REQUIRE(::rmdir(folder.c_str()) == 0);
    log.reopen();
    while (!log.last_error()) ::poll(nullptr, 0, 1);
    CHECK(log.last_error() == std::errc::no_such_file_or_directory);
    log(one);
  }
  CHECK(lines_in(contents(in.path("log"))) == 2);
}

TEST_CASE("http log: a full disk loses lines, and counts them") {
  http::exchange_record one;
  const http::access_log log("/dev/full");
  for (int i = 0; i < 3; ++i) log(one);
  log.close();
  CHECK(log.lost() == 3);
  CHECK(log.last_error() == std::errc::no_space_on_device);
}

TEST_CASE("http log: what a pipe does not take waits up to a bound, and is lost beyond it") {
  const beck::test::temporary_folder in;
  REQUIRE(::mkfifo(in.path("log").c_str(), 0600) == 0);
  CHECK_THROWS_AS(http::access_log(in.path("log")), beck::io_error);  // nobody reads
  const int reader = ::open(in.path("log").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  http::exchange_record one;
  std::size_t received = 0;
  {
    // 4 KiB wait, and the pipe takes 64 KiB. A line has about 60 bytes.
    const http::access_log log(in.path("log"),
                               {.waiting_bytes = 4096, .end_timeout = beck::duration::zero()});
    std::uint64_t added = 0;
    for (; log.lost() < 100; ++added) log(one);
    log.close();  // at once
    char part[4096];
    ssize_t bytes = 0;
    while ((bytes = ::read(reader, part, sizeof part)) > 0)
      received += lines_in(std::string(part, static_cast<std::size_t>(bytes)));
    CHECK(received != 0);
    CHECK(received + log.lost() == added);
  }
  {
    const http::access_log log(in.path("log"));
    ::close(reader);
    log(one);
    log.close();
    CHECK(log.lost() == 1);
    CHECK(log.last_error() == std::errc::broken_pipe);
  }
}

TEST_CASE("http log: a line that is longer than what may wait is lost, and no other") {
  const beck::test::temporary_folder in;
  const http::access_log log(in.path("log"), {.waiting_bytes = 100});
  http::exchange_record one;
  one.status = 200;
  log(one);
  http::access_log copy = log;
  const http::access_log& same = copy;
  copy = same;
  one.thrown = std::make_exception_ptr(std::runtime_error(std::string(1000, 'x')));
  const http::access_log all(in.path("old"), {.format = log_format::json, .waiting_bytes = 100});
  all(one);
  all.close();
  CHECK(all.lost() == 1);
  copy.close();
  CHECK(log.lost() == 0);
  CHECK(lines_in(contents(in.path("log"))) == 1);
}

TEST_CASE("http log: a child of fork destroys the log of its parent, and writes nothing") {
  const beck::test::temporary_folder in;
  const std::string path = in.path("log");
  auto log = std::make_unique<http::access_log>(path);
  (*log)(http::exchange_record());  // which may wait at the fork
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(10);
    (*log)(http::exchange_record());
    log->reopen();
    const bool is_lost = log->lost() == 1;
    log->close();
    log.reset();
    ::_exit(is_lost ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  log.reset();
  CHECK(lines_in(contents(path)) == 1);
}
