// SPDX-License-Identifier: BSL-1.0
// Files over HTTP that the kernel generates when they are read: their sizes are not their lengths.
#include <beck/http/router.hpp>
#include <beck/http/static_files.hpp>

#include <beck/file/random_access_file.hpp>
#include <beck/transfer/transfer_report.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "http/both_streams.hpp"
#include "http/file_folder.hpp"
#include "http/served.hpp"

using namespace beck::http::test;
using beck::task;
namespace http = beck::http;

namespace {

constexpr const char* generated[] = {"/proc/version", "/proc/sys/kernel/ostype",
                                     "/sys/kernel/mm/transparent_hugepage/enabled",
                                     "/sys/class/net/lo/mtu"};
constexpr const char* longer_than_a_block = "/proc/kallsyms";

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  return all.str();
}

/// Serves the whole machine below "/files"; any other path is a file that a handler sends.
http::router all_files() {
  http::router site;
  site.mount("/files", http::static_files("/"));
  site.get("/sent/{path...}", [](http::request& q, http::response& r) -> task<> {
    beck::random_access_file file(q.get_executor());
    const std::string path(q.path().substr(5));
    file.open(path, beck::file_object::read_only);
    beck::ignore(co_await r.async_send_file(file, 0, beck::to_the_end));
  });
  return site;
}

struct file_machine {
  file_machine() : s(all_files()) {}

  seen_response ask(const std::string& path, const std::string& fields = {},
                    const std::string& line = "GET") {
    const std::string text = s.talk(line + " " + path + " HTTP/1." + version +
                                    "\r\nHost: a\r\nConnection: close\r\n" + fields + "\r\n");
    const auto all = responses_in(text, line == "HEAD");
    REQUIRE(all.size() == 1);
    return all[0];
  }

  served s;
  std::string version = "1";
};

std::string value_of(const seen_response& r, const char* name) {
  return file_folder::field_of(r, name);
}

}  // namespace

CONFORMANCE_OVER_BOTH("http files: what the kernel generates is sent as it is read") {
  if (where == beck::test::on_sim) return;
  file_machine m;
  for (const std::string path : generated) {
    const std::string text = contents_of(path);
    if (text.empty()) continue;
    CAPTURE(path);
    for (const char* way : {"/files", "/sent"}) {
      CAPTURE(way);
      const seen_response got = m.ask(way + path);
      CHECK(got.status == 200);
      CHECK(got.whole);
      CHECK(got.body == text);
      CHECK(value_of(got, "Content-Length") == std::to_string(text.size()));
      const seen_response head = m.ask(way + path, {}, "HEAD");
      CHECK(head.status == 200);
      CHECK(head.body.empty());
      CHECK(value_of(head, "Content-Length") == std::to_string(text.size()));
    }
    const seen_response all = m.ask("/files" + path, "Range: bytes=0-0\r\nIf-None-Match: *\r\n");
    CHECK(all.status == 200);
    CHECK(all.body == text);
    CHECK(value_of(all, "ETag") == "-");
    CHECK(value_of(all, "Last-Modified") == "-");
    CHECK(value_of(all, "Accept-Ranges") == "-");
  }
}

CONFORMANCE_OVER_BOTH("http files: what the kernel generates may be longer than a block") {
  if (where == beck::test::on_sim) return;
  const std::string text = contents_of(longer_than_a_block);
  if (text.size() <= 200'000) SKIP_CASE("no such file of the kernel is readable here");
  file_machine m;
  for (const char* way : {"/files", "/sent"}) {
    CAPTURE(way);
    m.version = "1";
    const seen_response got = m.ask(std::string(way) + longer_than_a_block);
    CHECK(got.whole);
    CHECK((got.body == text));
    CHECK(value_of(got, "Transfer-Encoding") == "chunked");
    const seen_response head = m.ask(std::string(way) + longer_than_a_block, {}, "HEAD");
    CHECK(head.status == 200);
    CHECK(value_of(head, "Content-Length") == "-");
    m.version = "0";
    const seen_response old = m.ask(std::string(way) + longer_than_a_block);
    CHECK((old.body == text));
    CHECK(value_of(old, "Transfer-Encoding") == "-");
  }
}

CONFORMANCE_ON(beck::test::kernel, "http files: an empty file has its length, tag and time") {
  file_folder f(where);
  f.write("empty", "");
  const seen_response got = f.ask("/empty");
  CHECK(got.status == 200);
  CHECK(got.body.empty());
  CHECK(file_folder::field_of(got, "Content-Length") == "0");
  CHECK(file_folder::field_of(got, "ETag") != "-");
  CHECK(file_folder::field_of(got, "Last-Modified") != "-");
}
