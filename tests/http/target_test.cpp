// SPDX-License-Identifier: BSL-1.0
//
// Targets: paths against a plain decoder, over all short texts of the pieces that matter, and the
// parameters of queries.
#include <doctest/doctest.h>
#include <beck/http/target.hpp>

#include <algorithm>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace beck::http;
using namespace std::string_literals;

std::string split(const char* target) {
  const target_parts parts = split_target(target);
  CHECK((parts.has_query || parts.query.empty()));
  return std::string(parts.path) + (parts.has_query ? " ? " : " - ") + std::string(parts.query);
}

/// Decodes in memory of exactly the size of the path, which is always enough. Checks that more
/// memory makes no difference.
path_error decode(const std::string& raw, std::string& path) {
  const std::vector<char> copy(raw.begin(), raw.end());
  std::vector<char> room(raw.size(), 'b');
  const decoded_path decoded = decode_path({copy.data(), copy.size()}, {room.data(), room.size()});
  path = decoded.path;
  for (const std::size_t more : {path_room - 1, path_room}) {
    std::vector<char> roomy(raw.size() + more, 'b');
    const decoded_path again =
        decode_path({copy.data(), copy.size()}, {roomy.data(), roomy.size()});
    CHECK(again.error == decoded.error);
    CHECK(again.path == path);
  }
  if (decoded.error != path_error::none) {
    CHECK(path.empty());
    CHECK_FALSE(text_of(decoded.error).empty());
  }
  return decoded.error;
}

path_error error_of(const std::string& raw) {
  std::string path;
  return decode(raw, path);
}

std::string decoded(const std::string& raw) {
  std::string path;
  CHECK(decode(raw, path) == path_error::none);
  return path;
}

TEST_CASE("a target is split at its first question mark") {
  CHECK(split("/") == "/ - ");
  CHECK(split("/a/b?c=d?e") == "/a/b ? c=d?e");
  CHECK(split("/?") == "/ ? ");
  CHECK(split("/a?http://b/c") == "/a ? http://b/c");
  CHECK(split("//a/b") == "//a/b - ");
  CHECK(split("/http://b/c") == "/http://b/c - ");
  CHECK(split("http://a") == "/ - ");
  CHECK(split("http://a/") == "/ - ");
  CHECK(split("http://a?b/c") == "/ ? b/c");
  CHECK(split("https://[::1]:80/a/b?c") == "/a/b ? c");
  CHECK(split("*") == " - ");
  CHECK(split("a:80") == " - ");
  CHECK(split("") == " - ");
}

TEST_CASE("a path is decoded once") {
  CHECK(decoded("/") == "/");
  CHECK(decoded("/a/b.c/") == "/a/b.c/");
  CHECK(decoded("/%41%7a%c3%A4 +") == "/Az\xc3\xa4 +");
  CHECK(decoded("/%252e%252e/%2500") == "/%2e%2e/%00");
  CHECK(decoded("/%25") == "/%");
  CHECK(decoded("/.../..a/a../.a") == "/.../..a/a../.a");
  CHECK(decoded("/%3F?%23") == "/??#");
  CHECK(decoded("/\xff") == "/\xff");
}

TEST_CASE("a path that could mean something else is refused for the right reason") {
  for (const char* raw : {"", "a", "*", "?", "%2F", "\\a"})
    CHECK_MESSAGE(error_of(raw) == path_error::not_absolute, std::string(raw));
  for (const char* raw : {"/%", "/%4", "/%4g", "/%g4", "/%%41", "/a%", "/%+1", "/% 1"})
    CHECK_MESSAGE(error_of(raw) == path_error::bad_escape, std::string(raw));
  for (const char* raw : {"/%00", "/a%00.txt", "/%0a", "/%1f", "/%7f", "/a\x01"})
    CHECK_MESSAGE(error_of(raw) == path_error::control_character, std::string(raw));
  CHECK(error_of("/a\0b"s) == path_error::control_character);
  for (const char* raw : {"/%2f", "/a%2Fb", "/..%2f..%2fetc"})
    CHECK_MESSAGE(error_of(raw) == path_error::escaped_slash, std::string(raw));
  for (const char* raw : {"/\\", "/a%5Cb", "/%5c", "/..\\.."})
    CHECK_MESSAGE(error_of(raw) == path_error::backslash, std::string(raw));
  for (const char* raw : {"/.", "/..", "/./", "/../", "/a/../b", "/a/.", "/%2e", "/.%2E/x",
                          "/%2e%2e", "/a/%2e%2e/%2e%2e/etc/passwd"})
    CHECK_MESSAGE(error_of(raw) == path_error::dot_segment, std::string(raw));
  for (const char* raw : {"//", "//a", "/a//", "/a//b", "//etc/passwd"})
    CHECK_MESSAGE(error_of(raw) == path_error::empty_segment, std::string(raw));
  CHECK(text_of(path_error::none).empty());
}

TEST_CASE("every escaped byte is decoded or refused") {
  for (int i = 0; i < 256; ++i) {
    for (const char* digits : {"0123456789abcdef", "0123456789ABCDEF"}) {
      const std::string raw = "/x%"s + digits[i >> 4] + digits[i & 15] + 'y';
      CAPTURE(raw);
      if (i < 32 || i == 127) {
        CHECK(error_of(raw) == path_error::control_character);
      } else if (i == '/') {
        CHECK(error_of(raw) == path_error::escaped_slash);
      } else if (i == '\\') {
        CHECK(error_of(raw) == path_error::backslash);
      } else {
        CHECK(decoded(raw) == "/x"s + static_cast<char>(i) + 'y');
      }
    }
  }
}

/// Returns whether `raw` can be decoded, and sets `path`: by a list of segments, and without
/// reasons.
bool decodes_to(const std::string& raw, std::string& path) {
  path.clear();
  if (raw.empty() || raw[0] != '/') return false;
  std::vector<std::string> segments;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] == '/') {
      segments.emplace_back();
    } else if (raw[i] == '%') {
      if (i + 2 >= raw.size()) return false;
      const std::string digits = raw.substr(i + 1, 2);
      if (digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) return false;
      const char c = static_cast<char>(std::stoi(digits, nullptr, 16));
      if (c == '/') return false;
      segments.back() += c;
      i += 2;
    } else {
      segments.back() += raw[i];
    }
  }
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::string& s = segments[i];
    if (s == "." || s == ".." || (s.empty() && i + 1 != segments.size())) return false;
    for (const char c : s)
      if ((c >= 0 && c < 32) || c == 127 || c == '\\') return false;
    path += '/' + s;
  }
  return true;
}

TEST_CASE("all short paths and many long ones are decoded as a plain decoder does") {
  const std::vector<std::string> pieces = {"/",   ".",   "a", "%2e", "%2F", "%5c", "\\",
                                           "%00", "%25", "%", "2",   "e",   "\x80"};
  std::mt19937 random(1);
  int accepted = 0;
  const auto compare = [&](const std::string& raw) {
    std::string expected, path;
    const bool is_accepted = decodes_to(raw, expected);
    CAPTURE(raw);
    REQUIRE((decode(raw, path) == path_error::none) == is_accepted);
    if (is_accepted) REQUIRE(path == expected);
    accepted += is_accepted ? 1 : 0;
  };
  std::size_t count = 1;  // of the texts with `length` pieces
  for (int length = 0; length < 5; ++length, count *= pieces.size()) {
    for (std::size_t number = 0; number < count; ++number) {
      std::string raw = "/";
      for (std::size_t rest = number, i = 0; static_cast<int>(i) < length; ++i) {
        raw += pieces[rest % pieces.size()];
        rest /= pieces.size();
      }
      compare(raw);
    }
  }
  for (int round = 0; round < 20'000; ++round) {
    std::string raw = "/a";
    for (auto i = random() % 12; i > 0; --i) raw += pieces[random() % 4];
    compare(raw);
  }
  CHECK(accepted > 5'000);
  for (std::size_t length = 1; length < 100; ++length) {
    for (std::size_t at = 0; at < length; ++at) {
      for (const char* piece :
           {"\x01", "\x1f", "\x7f", "\x80", "%", "%41", "\\", "/", "//", "/./"}) {
        std::string raw = '/' + std::string(length, 'a');
        compare(raw.replace(1 + at, 1, piece));
      }
    }
  }
}

TEST_CASE("nothing is written behind the room of a path or a parameter") {
  const std::string raw = "/a%20b/c";
  for (std::size_t size = 0; size <= 6; ++size) {
    CAPTURE(size);
    std::vector<char> room(size);
    const decoded_path path = decode_path(raw, {room.data(), room.size()});
    CHECK(path.error == (size == 6 ? path_error::none : path_error::no_room));
    CHECK(path.path == (size == 6 ? "/a b/c" : ""));
    std::string_view text = "before";
    CHECK(decode_parameter(raw, {room.data(), room.size()}, text) == (size == 6));
    CHECK(text == (size == 6 ? "/a b/c" : "before"));
  }
}

/// The parameters in one text.
std::string listed(const std::string& query) {
  const std::vector<char> copy(query.begin(), query.end());
  std::string text;
  for (const query_parameter p : query_parameters({copy.data(), copy.size()}))
    text += '[' + std::string(p.name) + '|' + std::string(p.value) + ']';
  return text;
}

TEST_CASE("the parameters of a query are found in their order") {
  CHECK(listed("").empty());
  CHECK(listed("&").empty());
  CHECK(listed("&&&").empty());
  CHECK(listed("a") == "[a|]");
  CHECK(listed("a=") == "[a|]");
  CHECK(listed("=") == "[|]");
  CHECK(listed("=b") == "[|b]");
  CHECK(listed("a=b=c&d") == "[a|b=c][d|]");
  CHECK(listed("&a=1&&a=2&") == "[a|1][a|2]");
  CHECK(listed("a%3Db=%26;c") == "[a%3Db|%26;c]");
}

TEST_CASE("a parameter is found by its decoded name") {
  const query_parameters all("x=1&%61+b=2&x=3&%zz=4&y&%=5&c%");
  CHECK(all.get("x") == "1");
  CHECK(all.get("a b") == "2");
  CHECK(all.has("y"));
  CHECK(all.get("y").empty());
  for (const char* name : {"", "a", "a b ", "a+b", "%61+b", "%zz", "%", "X", "c%", "c", "xx"})
    CHECK_FALSE(all.has(name));
  CHECK(all.get("z").empty());
  CHECK(query_parameters("=1").get("") == "1");
  CHECK(query_parameters("%00=1").has("\0"s));
  CHECK_FALSE(query_parameters("a").has("ab"));
}

TEST_CASE("parameters are decoded as a plain decoder does") {
  std::mt19937 random(3);
  const std::string alphabet = "+%%%0123aAfFgz&= \xff";
  int accepted = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string raw;
    for (auto i = random() % 10; i > 0; --i) raw += alphabet[random() % alphabet.size()];
    std::string expected;
    bool is_valid = true;
    for (std::size_t i = 0; i < raw.size() && is_valid; ++i) {
      if (raw[i] != '%') {
        expected += raw[i] == '+' ? ' ' : raw[i];
        continue;
      }
      const std::string digits = raw.substr(i + 1, 2);
      is_valid = digits.size() == 2 &&
                 digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
      if (is_valid) expected += static_cast<char>(std::stoi(digits, nullptr, 16));
      i += 2;
    }
    std::string to = "before";
    CAPTURE(raw);
    REQUIRE(decode_parameter(raw, to) == is_valid);
    REQUIRE(to == (is_valid ? expected : ""));
    const std::string query = raw.substr(0, raw.find_first_of("&="));
    if (is_valid && query == raw && !raw.empty()) REQUIRE(query_parameters(query).has(expected));
    accepted += is_valid ? 1 : 0;
  }
  CHECK(accepted > 10'000);
}

}  // namespace
