// SPDX-License-Identifier: BSL-1.0
//
// Media types: by extension in any case, and no type where there is no extension.
#include <doctest/doctest.h>
#include <beck/http/media_type.hpp>

#include <cctype>
#include <ostream>
#include <string>

namespace {

using beck::http::media_type_of;

constexpr std::string_view unknown = "application/octet-stream";

TEST_CASE("the extension of a file says its media type") {
  CHECK(media_type_of("index.html") == "text/html; charset=utf-8");
  CHECK(media_type_of("/a.b/c.min.js") == "text/javascript; charset=utf-8");
  CHECK(media_type_of("STYLE.CSS") == "text/css; charset=utf-8");
  CHECK(media_type_of("a.Json") == "application/json");
  CHECK(media_type_of("a.svg") == "image/svg+xml");
  CHECK(media_type_of("a.tar.gz") == "application/gzip");
  CHECK(media_type_of("a.7z") == "application/x-7z-compressed");
  CHECK(media_type_of("a.zst") == "application/zstd");
  CHECK(media_type_of("app.webmanifest") == "application/manifest+json");
  CHECK(media_type_of("..png") == "image/png");
}

TEST_CASE("a name without a known extension is of no particular type") {
  for (const char* name : {"", "/", ".", "..", "html", "/html", "a.html/", "a.html/b", ".html",
                           "/a/.html", "a.", "a.htmlx", "a.htm l", "a.html ", "a.00", "a.zzz",
                           "a.webmanifests", "a.averylongextension", "a.[html"})
    CHECK_MESSAGE(media_type_of(name) == unknown, std::string(name));
  CHECK(media_type_of(std::string("a.html\0", 7)) == unknown);
}

TEST_CASE("texts are UTF-8, and types of one letter are like others") {
  for (const char* extension :
       {"txt", "css", "csv", "htm", "ics", "js", "log", "md", "mjs", "vtt"}) {
    std::string name = std::string("a.") + extension;
    const std::string_view type = media_type_of(name);
    CHECK(type.find("text/") == 0);
    CHECK(type.find("; charset=utf-8") != std::string_view::npos);
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    CHECK(media_type_of(name) == type);
  }
  for (const char* extension : {"xml", "json", "png", "wasm", "pdf", "woff2", "mp4"}) {
    const std::string_view type = media_type_of(std::string("a.") + extension);
    CHECK(type != unknown);
    CHECK(type.find("charset") == std::string_view::npos);
  }
}

}  // namespace
