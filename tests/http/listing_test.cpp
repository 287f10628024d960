// SPDX-License-Identifier: BSL-1.0
// The page that lists a folder: its text without I/O, and the page as a server sends it.
#include "http/files/listing_page.hpp"

#include <beck/http/target.hpp>

#include <string>
#include <vector>

#include "http/file_folder.hpp"

using namespace beck::http::test;
using beck::http::detail::html_text;
using beck::http::detail::listing_page;
using beck::http::detail::minute_text;
using beck::http::detail::size_text;
using beck::http::detail::url_segment;
namespace http = beck::http;

namespace {

/// Returns the addresses of all links, in their order.
std::vector<std::string> links_in(const std::string& page) {
  std::vector<std::string> all;
  constexpr std::string_view begin = "<a href=\"";
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at + 1)) {
    const std::size_t from = at + begin.size();
    all.push_back(page.substr(from, page.find('"', from) - from));
  }
  return all;
}

}  // namespace

TEST_CASE("http listing: names are escaped as text") {
  CHECK(html_text("a<b>&\"c'") == "a&lt;b&gt;&amp;&quot;c&#39;");
  CHECK(html_text("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80") ==
        "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
  const std::string bad = "\xef\xbf\xbd";
  for (const char* text : {"\xff", "\xc3", "\xc0", "\x01", "\x7f", "\xf5"})
    CHECK(html_text(text) == bad);
  CHECK(html_text("\xc0\x80") == bad + bad);
  CHECK(html_text("\xed\xa0\x80") == bad + bad + bad);
  CHECK(html_text("\xe2\x82") == bad + bad);
  CHECK(html_text("\xe2<") == bad + "&lt;");
}

TEST_CASE("http listing: names as parts of URLs are read back as they were") {
  for (int c = 1; c < 256; ++c) {
    const std::string name = std::string("n") + static_cast<char>(c) + "m";
    const std::string url = url_segment(name);
    CHECK(url.find_first_not_of(
              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%") ==
          std::string::npos);
    if (!listing_page::can_list(name) || c == '/') continue;
    char room[64];
    const http::decoded_path read = http::decode_path("/" + url, beck::buffer(room));
    CHECK(read.path == "/" + name);
  }
  CHECK(url_segment("javascript:alert(1)") == "javascript%3Aalert%281%29");
  CHECK(!listing_page::can_list(""));
  CHECK(!listing_page::can_list(".a"));
  CHECK(!listing_page::can_list("a\\b"));
  CHECK(!listing_page::can_list("a\nb"));
}

TEST_CASE("http listing: sizes and dates for people") {
  CHECK(size_text(0) == "0 B");
  CHECK(size_text(1023) == "1023 B");
  CHECK(size_text(1024) == "1.0 KiB");
  CHECK(size_text(1536) == "1.5 KiB");
  CHECK(size_text((1 << 20) - 1) == "1.0 MiB");
  CHECK(size_text(5ULL << 30) == "5.0 GiB");
  CHECK(size_text(UINT64_MAX) == "16.0 EiB");
  CHECK(minute_text(784111777) == "1994-11-06 08:49");
  CHECK(minute_text(0) == "1970-01-01 00:00");
  CHECK(minute_text(1735689599) == "2024-12-31 23:59");
}

TEST_CASE("http listing: folders come first, then names without regard to case") {
  listing_page page;
  for (const char* name : {"b", "A", "a", "ab", "Z", "\xc3\xa4"}) page.add(name, false, 1, 0);
  for (const char* name : {"y", "X"}) page.add(name, true, 1, 0);
  page.sort();
  std::string all;
  for (std::size_t i = 0; i < page.size(); ++i) all += page.line(i);
  CHECK(links_in(all) == std::vector<std::string>{"X/", "y/", "A", "a", "ab", "b", "Z", "%C3%A4"});
}

TEST_CASE("http listing: the path has a link to each folder above") {
  const listing_page page;
  CHECK(links_in(page.begin("/")).empty());
  CHECK(links_in(page.begin("/a/")) == std::vector<std::string>{"../", "../"});
  CHECK(links_in(page.begin("/a/b<c/d/")) ==
        std::vector<std::string>{"../../../", "../../", "../", "../"});
  CHECK(has(page.begin("/a/b<c/d/"), "<title>Files in /a/b&lt;c/d/</title>"));
  CHECK(has(page.end(false), "empty"));
}

CONFORMANCE("http listing: a folder without an index is listed, and every link leads to its file") {
  file_folder f(where, http::file_options().index("index.html").listing(true));
  f.write("sub/x", "x");
  f.write("a.txt", std::string(2000, 'a'));
  f.write("<b>&\"'.txt", "b");
  f.write("100%?#: \xc3\xa4", "c");
  f.write(".hidden", "h");
  f.write("with/index.html", "index");
  const seen_response page = f.ask("/");
  CHECK(page.status == 200);
  CHECK(file_folder::field_of(page, "Content-Type") == "text/html; charset=utf-8");
  CHECK(has(file_folder::field_of(page, "Content-Security-Policy"), "default-src 'none'"));
  const auto links = links_in(page.body);
  CHECK(links == std::vector<std::string>{"sub/", "with/", "100%25%3F%23%3A%20%C3%A4",
                                          "%3Cb%3E%26%22%27.txt", "a.txt"});
  for (const std::string& link : links) CHECK(f.ask("/" + link).status == 200);
  CHECK(has(page.body, "&lt;b&gt;&amp;&quot;&#39;.txt"));
  CHECK(!has(page.body, "<b>"));
  CHECK(!has(page.body, "hidden"));
  CHECK(has(page.body, "2.0 KiB"));
  CHECK(f.ask("/with/").body == "index");
  CHECK(links_in(f.ask("/sub/").body) == std::vector<std::string>{"../", "../", "x"});
  const seen_response head = f.ask("/", "", "HEAD");
  CHECK(head.status == 200);
  CHECK(file_folder::field_of(head, "Content-Length") == "-");
  CHECK(f.ask("/none/").status == 404);
}

CONFORMANCE_ON(beck::test::kernel, "http listing: links are listed if they can be served") {
  file_folder f(where, http::file_options().listing(true));
  f.write("sub/a", "a");
  std::filesystem::create_symlink("sub/a", f.root + "/good");
  std::filesystem::create_symlink("sub", f.root + "/folder");
  std::filesystem::create_symlink("/etc", f.root + "/out");
  std::filesystem::create_symlink("none", f.root + "/dangling");
  REQUIRE(::mkfifo((f.root + "/pipe").c_str(), 0666) == 0);
  CHECK(links_in(f.ask("/").body) == std::vector<std::string>{"folder/", "sub/", "good"});
}

CONFORMANCE_ON(beck::test::sim, "http listing: a page has a bound, and says so") {
  file_folder f(where, http::file_options().listing(true));
  for (unsigned i = 0; i < http::file_options::listing_max; ++i) f.write(std::to_string(i), "");
  const seen_response whole = f.ask("/");
  CHECK(links_in(whole.body).size() == http::file_options::listing_max);
  CHECK(!has(whole.body, "more entries"));
  f.write("more", "");
  const seen_response cut = f.ask("/");
  CHECK(links_in(cut.body).size() == http::file_options::listing_max);
  CHECK(has(cut.body, "more entries than the 10000 that are shown"));
}
