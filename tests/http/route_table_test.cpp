// SPDX-License-Identifier: BSL-1.0
// The search for a route, without I/O: precedence, captures, patterns that are refused, and a
// comparison with a search that looks at every route.
#include "http/server/route_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/scale.hpp"

using namespace beck::http;
using beck::http::detail::handler_table;
using beck::http::detail::resource;
using beck::http::detail::route;
using beck::http::detail::route_search;
using beck::http::detail::route_table;

namespace {

constexpr handler_table no_handler{nullptr, nullptr, nullptr, nullptr, [](void*) noexcept {}};

std::unique_ptr<route> nothing() { return std::make_unique<route>(nullptr, no_handler); }

struct routes {
  route_table table;

  void add(std::string_view pattern, method m = method::get) { table.add(m, pattern, nothing()); }
  /// Returns the pattern and what it captured.
  std::string find(std::string_view path, method m = method::get) const {
    route_search search;
    table.find(path, search);
    if (search.found == nullptr) return "404";
    const route* const chosen = search.found->find(m);
    if (chosen == nullptr) return "405 " + search.found->allow;
    std::string text = chosen->pattern;
    for (std::size_t i = 0; i < chosen->names.size(); ++i)
      text += " " + chosen->names[i] + "=" + std::string(search.captures[i]);
    if (chosen == search.found->of_all) text += " below=" + std::string(search.below);
    return text;
  }
  std::string refused(std::string_view pattern, method m = method::get) {
    try {
      add(pattern, m);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "taken";
  }
};

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("http: a route matches its path, and no other one") {
  routes r;
  for (const char* p : {"/", "/about", "/a/b/c", "/a/b", "/a/", "/a b/\xc3\xa4"}) r.add(p);
  for (const char* p : {"/", "/about", "/a/b/c", "/a/b", "/a/", "/a b/\xc3\xa4"})
    CHECK(r.find(p) == p);
  for (const char* p : {"/a", "/about/", "/abou", "/aboutt", "/A", "/a/b/c/", "/a/b/", "/a/b/c/d"})
    CHECK(r.find(p) == "404");
}

TEST_CASE("http: captures have the text of their segment, or of the rest of the path") {
  routes r;
  r.add("/rows/{table}");
  r.add("/rows/{table}/{id}/edit");
  r.add("/files/{path...}");
  CHECK(r.find("/rows/x") == "/rows/{table} table=x");
  CHECK(r.find("/rows/x/7/edit") == "/rows/{table}/{id}/edit table=x id=7");
  CHECK(r.find("/files/a/b.txt") == "/files/{path...} path=a/b.txt");
  CHECK(r.find("/files/") == "/files/{path...} path=");
  CHECK(r.find("/files/a/") == "/files/{path...} path=a/");
  CHECK(r.find("/rows/") == "404");
  CHECK(r.find("/rows//7/edit") == "404");
  CHECK(r.find("/files") == "404");
}

TEST_CASE("http: a given segment goes before a capture, and that before the rest of a path") {
  routes r;
  r.add("/{rest...}");
  r.add("/a/{x}/c");
  r.add("/a/b/{rest...}");
  r.add("/a/b");
  r.add("/{first}/b");
  CHECK(r.find("/a/b") == "/a/b");
  CHECK(r.find("/a/b/c") == "/a/b/{rest...} rest=c");
  CHECK(r.find("/a/q/c") == "/a/{x}/c x=q");
  CHECK(r.find("/q/b") == "/{first}/b first=q");
  CHECK(r.find("/a/q/d") == "/{rest...} rest=a/q/d");  // back from behind "/a/{x}"
  CHECK(r.find("/") == "/{rest...} rest=");
}

TEST_CASE("http: a search goes back to a capture when a given segment leads nowhere") {
  routes r;
  r.add("/a/b/d");
  r.add("/{x}/b/c");
  r.add("/{x}/{y}/{z}");
  CHECK(r.find("/a/b/c") == "/{x}/b/c x=a");
  CHECK(r.find("/a/b/e") == "/{x}/{y}/{z} x=a y=b z=e");
  CHECK(r.find("/a/b/d") == "/a/b/d");
}

TEST_CASE("http: the method decides behind the path, HEAD goes to GET, Allow names the methods") {
  routes r;
  r.add("/x", method::get);
  r.add("/x", method::post);
  r.add("/y", method::delete_);
  r.add("/z/{a}", method::get);
  r.add("/z/{b}", method::put);
  r.add("/z/1", method::patch);
  CHECK(r.find("/x", method::head) == "/x");
  CHECK(r.find("/x", method::put) == "405 GET, HEAD, POST, OPTIONS");
  CHECK(r.find("/x", method::other) == "405 GET, HEAD, POST, OPTIONS");
  CHECK(r.find("/y", method::head) == "405 DELETE, OPTIONS");
  CHECK(r.find("/z/2", method::put) == "/z/{b} b=2");
  CHECK(r.find("/z/2", method::get) == "/z/{a} a=2");
  CHECK(r.find("/z/1", method::get) == "405 PATCH, OPTIONS");
  r.add("/x", method::head);
  r.add("/y", method::options);
  CHECK(r.find("/y", method::options) == "/y");
}

TEST_CASE("http: a mounted prefix has all methods and paths below it, unless a route is better") {
  routes r;
  r.table.mount("/files/", nothing());
  r.add("/files/top");
  CHECK(r.find("/files") == "/files/ below=");
  CHECK(r.find("/files/", method::put) == "/files/ below=/");
  CHECK(r.find("/files/a/b") == "/files/ below=/a/b");
  CHECK(r.find("/files/top") == "/files/top");
  CHECK(r.find("/files/top", method::post) == "405 GET, HEAD, OPTIONS");
  CHECK(r.find("/files/top/x") == "/files/ below=/top/x");
  CHECK(r.find("/filesystem") == "404");
  r.table.mount("/", nothing());
  CHECK(r.find("/") == "/ below=/");
  CHECK(r.find("/filesystem/a") == "/ below=/filesystem/a");
  CHECK_THROWS_AS(r.table.mount("/files", nothing()), std::invalid_argument);
  CHECK_THROWS_AS(r.table.mount("/", nothing()), std::invalid_argument);
  CHECK_THROWS_AS(r.table.mount("/{a}", nothing()), std::invalid_argument);
}

TEST_CASE("http: a malformed pattern is refused with its text and the reason") {
  routes r;
  const auto check = [&](std::string pattern, std::string_view reason) {
    const std::string text = r.refused(pattern);
    CHECK_MESSAGE(says(text, reason), text);
    CHECK_MESSAGE(says(text, '"' + pattern.substr(0, 100) + '"'), text);
  };
  check("", "does not begin with /");
  check("a", "does not begin with /");
  check("//a", "empty");
  check("/a//b", "empty");
  check("/a/./b", "is . or ..");
  check("/..", "is . or ..");
  check("/a?b", "query");
  check("/a{b}", "whole segment");
  check("/{a}b", "whole segment");
  check("/{", "whole segment");
  check("/}", "whole segment");
  check("/{}", "a name is");
  check("/{...}", "a name is");
  check("/{1a}", "a name is");
  check("/{a-b}", "a name is");
  check("/{a}/{a}", "one name");
  check("/{a...}/b", "last segment");
  check("/a\\b", "refused in paths");
  check("/a\x01", "refused in paths");
  check("/" + std::string(1024, 'a'), "1024 bytes");
  std::string deep;
  for (int i = 0; i < 33; ++i) deep += "/a";
  check(deep, "32 segments");
  check("/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i...}", "8 captures");
  CHECK(says(r.refused("/x", method::trace), "not routed"));
  CHECK(says(r.refused("/x", method::other), "not routed"));
  CHECK(r.find("/x") == "404");
  CHECK(r.refused("/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}") == "taken");
  CHECK(r.find("/1/2/3/4/5/6/7/8") ==
        "/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h} a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8");
}

TEST_CASE("http: two routes for the same requests are refused, and the first stays") {
  routes r;
  r.add("/a/{x}");
  const std::string text = r.refused("/a/{y}");
  CHECK(says(text, "\"/a/{y}\""));
  CHECK(says(text, "GET"));
  CHECK(says(text, "\"/a/{x}\""));
  r.add("/f/{p...}");
  CHECK(says(r.refused("/f/{q...}"), "already"));
  CHECK(r.find("/a/1") == "/a/{x} x=1");
  CHECK(r.refused("/a/{y}", method::post) == "taken");
}

namespace {

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> all(1);
  for (const char c : path.substr(1)) {
    if (c == '/') {
      all.emplace_back();
    } else {
      all.back() += c;
    }
  }
  return all;
}

/// 0: a given segment, 1: {name}, 2: {name...}
int rank(const std::string& segment) {
  if (segment.substr(0, 1) != "{") return 0;
  return segment.find("...") == std::string::npos ? 1 : 2;
}

bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (i >= path.size()) return false;
    const int kind = rank(pattern[i]);
    if (kind == 2) return true;
    if (kind == 1 ? path[i].empty() : path[i] != pattern[i]) return false;
  }
  return pattern.size() == path.size();
}

/// Finds the best of all patterns that match: the one whose ranks are smallest, from the left.
std::string find_slowly(const std::vector<std::string>& patterns, const std::string& path) {
  std::string best = "404";
  std::vector<int> best_ranks;
  for (const std::string& pattern : patterns) {
    const auto segments = segments_of(pattern);
    if (!matches(segments, segments_of(path))) continue;
    std::vector<int> ranks;
    for (const std::string& s : segments) ranks.push_back(rank(s));
    if (best_ranks.empty() || ranks < best_ranks) {
      best = pattern;
      best_ranks = ranks;
    }
  }
  return best;
}

}  // namespace

TEST_CASE("http: a search finds the same as one that looks at every route") {
  std::mt19937 random(7);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  std::size_t found = 0;
  const int rounds = std::max(beck::test::scaled(300), 60);
  for (int round = 0; round < rounds; ++round) {
    routes r;
    std::vector<std::string> patterns;
    for (unsigned i = 0; i < 40; ++i) {
      std::string pattern;
      for (unsigned depth = 1 + below(4); depth != 0; --depth) {
        constexpr const char* parts[] = {"a", "b", "c", "{n", "{m"};
        const std::string part = parts[below(5)];
        const bool is_capture = part[0] == '{';
        pattern += "/" + part + (is_capture ? std::to_string(depth) : "");
        if (is_capture) pattern += depth == 1 && below(3) == 0 ? "...}" : "}";
      }
      if (below(6) == 0 && pattern.find("...") == std::string::npos) pattern += "/";
      if (r.refused(pattern) == "taken") patterns.push_back(pattern);
    }
    for (unsigned i = 0; i < 60; ++i) {
      std::string path;
      for (unsigned depth = 1 + below(5); depth != 0; --depth)
        path += "/" + std::string(1, static_cast<char>('a' + below(4)));
      if (below(6) == 0) path += "/";
      const std::string fast = r.find(path);
      const std::string wanted = find_slowly(patterns, path);
      CHECK_MESSAGE(fast.substr(0, fast.find(' ')) == wanted, path);
      if (wanted != "404") ++found;
    }
  }
  CHECK(3 * found > 50 * static_cast<std::size_t>(rounds));
}
