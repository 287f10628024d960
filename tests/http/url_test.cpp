// SPDX-License-Identifier: BSL-1.0
// URLs: their parts, their refusals byte by byte, and references resolved as in RFC 3986, section
// 5.4, and as a plain implementation does it.
#include <doctest/doctest.h>
#include <beck/http/url.hpp>

#include <algorithm>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace beck::http;
using namespace std::string_literals;

constexpr const char* unreserved =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
constexpr const char* sub_delims = "!$&'()*+,;=";

/// A URL with the memory of its text, in which AddressSanitizer sees every byte read behind it.
struct parsed {
  explicit parsed(const std::string& from)
      : text(from.begin(), from.end()), error(parse_url({text.data(), text.size()}, parts)) {}
  std::vector<char> text;
  url parts;
  url_error error;
};

url_error error_of(const std::string& text) {
  const parsed p(text);
  if (p.error != url_error::none) {
    CHECK(p.parts.host.empty());
    CHECK_FALSE(text_of(p.error).empty());
  }
  return p.error;
}

/// The parts in one text: scheme, kind, host, port, Host field, target.
std::string parts_of(const std::string& text) {
  const parsed p(text);
  REQUIRE(p.error == url_error::none);
  std::string target;
  p.parts.append_target(target);
  constexpr const char* kinds[] = {" name ", " ipv4 ", " ipv6 "};
  return (p.parts.is_https ? "https"s : "http"s) + kinds[static_cast<unsigned>(p.parts.kind)] +
         std::string(p.parts.host) + ' ' + std::to_string(p.parts.port) + ' ' +
         std::string(p.parts.host_field) + ' ' + target;
}

std::string resolved(const std::string& base, const std::string& reference) {
  const parsed p(base);
  REQUIRE(p.error == url_error::none);
  const std::vector<char> copy(reference.begin(), reference.end());
  std::string to = "before";
  const url_error error = resolve_reference(p.parts, {copy.data(), copy.size()}, to);
  if (error == url_error::none) {
    CHECK(error_of(to) == url_error::none);
    return to;
  }
  CHECK(to == "before");
  return std::string(text_of(error));
}

TEST_CASE("a URL is taken apart") {
  CHECK(parts_of("http://example.com") == "http name example.com 80 example.com /");
  CHECK(parts_of("HTTPS://Example.com/") == "https name Example.com 443 Example.com /");
  CHECK(parts_of("http://a:8080/b?c=d#e") == "http name a 8080 a:8080 /b?c=d");
  CHECK(parts_of("http://a?q") == "http name a 80 a /?q");
  CHECK(parts_of("http://a/?") == "http name a 80 a /?");
  CHECK(parts_of("http://a#f?g/h") == "http name a 80 a /");
  CHECK(parts_of("http://a:/x") == "http name a 80 a /x");
  CHECK(parts_of("http://a:80/") == "http name a 80 a /");
  CHECK(parts_of("https://a:443/") == "https name a 443 a /");
  CHECK(parts_of("https://a:80/") == "https name a 80 a:80 /");
  CHECK(parts_of("http://192.0.2.1:1/") == "http ipv4 192.0.2.1 1 192.0.2.1:1 /");
  CHECK(parts_of("http://[2001:db8::1]") == "http ipv6 2001:db8::1 80 [2001:db8::1] /");
  CHECK(parts_of("http://[::1]:65535/") == "http ipv6 ::1 65535 [::1]:65535 /");
  CHECK(parts_of("http://[::1]:80/") == "http ipv6 ::1 80 [::1] /");
  CHECK(parts_of("http://a.:81/") == "http name a. 81 a.:81 /");
  CHECK(parts_of("http://a_b-c!/%41//../?a?b/%2f") ==
        "http name a_b-c! 80 a_b-c! /%41//../?a?b/%2f");
  CHECK(parts_of("http://1.2.3.x/") == "http name 1.2.3.x 80 1.2.3.x /");
  CHECK(parts_of("http://0xg/") == "http name 0xg 80 0xg /");
}

TEST_CASE("what is no URL of http is refused for the right reason") {
  for (const char* text : {"", "http", "/", "//a/", "ftp://a/", "httpx://a/", "http ://a/", "://a/",
                           "a/http://b", "javascript:alert(1)", " http://a/"})
    CHECK(error_of(text) == url_error::bad_scheme);
  for (const char* text : {"http://u@a/", "http://u:p@a/", "http://@a/", "http://a@b:c/",
                           "http://a:80@b/", "http://[::1]@b/"})
    CHECK(error_of(text) == url_error::user_information);
  for (const char* text : {"http:",
                           "http:/",
                           "http://",
                           "http:a",
                           "http:/a",
                           "http:///a",
                           "http://:80/",
                           "http://?a",
                           "http://#a",
                           "http://a b/",
                           "http://a,b/",
                           "http://%61/",
                           "http://a\\b/",
                           "http://[::1/",
                           "http://[]/",
                           "http://::1/",
                           "http://[::1]a/",
                           "http://[fe80::1%1]/",
                           "http://[fe80::1%25]/",
                           "http://[v1.a]/",
                           "http://[1.2.3.4]/",
                           "http://[:::1]/",
                           "http://[[::1]]/",
                           "http://[/",
                           "http://1.2.3/",
                           "http://127.1/",
                           "http://1/",
                           "http://0x7f000001/",
                           "http://0x/",
                           "http://a.0X7f/",
                           "http://0X7F.1.0x1/",
                           "http://256.1.1.1/",
                           "http://1.2.3.4./",
                           "http://01.2.3.4/",
                           "http://a.1/",
                           "http://1.2.3.4.5/",
                           "http://a|b/",
                           "http://a]/",
                           "http://a^/"})
    CHECK_MESSAGE(error_of(text) == url_error::bad_host, std::string(text));
  CHECK(error_of("http://a\0b/"s) == url_error::bad_host);
  CHECK(error_of("http://" + std::string(255, 'a')) == url_error::none);
  CHECK(error_of("http://" + std::string(256, 'a')) == url_error::bad_host);
  for (const char* text : {"http://a:0/", "http://a:00080/", "http://a:080/", "http://a:65536/",
                           "http://a:100000/", "http://a:8 /", "http://a:+8/", "http://a:-8/",
                           "http://a:8a/", "http://a:80:80/", "http://a:b:80/", "http://[::1]:x/"})
    CHECK_MESSAGE(error_of(text) == url_error::bad_port, std::string(text));
  CHECK(text_of(url_error::none).empty());
}

TEST_CASE("ports are exact") {
  for (unsigned port = 0; port < 70'000; ++port) {
    const parsed p("http://a:" + std::to_string(port));
    REQUIRE((p.error == url_error::none) == (port >= 1 && port <= 65535));
    if (p.error == url_error::none) REQUIRE(p.parts.port == port);
  }
}

TEST_CASE("every byte is accepted where RFC 3986 has it, and nowhere else") {
  for (int i = 0; i < 256; ++i) {
    const std::string c(1, static_cast<char>(i));
    CAPTURE(i);
    const bool is_common = i != 0 && (unreserved + ""s + sub_delims).find(c) != std::string::npos;
    const bool in_path = is_common || c == ":" || c == "@" || c == "/";
    const bool in_query = in_path || c == "?";
    const auto expected = [](bool is_allowed) {
      return is_allowed ? url_error::none : url_error::bad_character;
    };
    if (c != "?" && c != "#") CHECK(error_of("http://a/x" + c + "y") == expected(in_path));
    if (c != "#") CHECK(error_of("http://a/?x" + c + "y") == expected(in_query));
    CHECK(error_of("http://a/#x" + c + "y") == expected(in_query));
    if (c != "/" && c != "?" && c != "#" && c != ":" && c != "@")
      CHECK(error_of("http://x" + c + "y") ==
            (is_common && c != "," ? url_error::none : url_error::bad_host));
  }
}

TEST_CASE("a percent sign needs two hexadecimal digits") {
  const std::string digits = "0123456789abcdefABCDEF";
  for (int i = 1; i < 128; ++i) {
    if (i == '?' || i == '#') continue;
    const char c = static_cast<char>(i);
    const auto expected =
        digits.find(c) == std::string::npos ? url_error::bad_character : url_error::none;
    for (const char* where : {"http://a/", "http://a/?", "http://a/#"}) {
      CHECK(error_of(where + "%"s + c + "0") == expected);
      CHECK(error_of(where + "%0"s + c) == expected);
      CHECK(error_of(where + "%"s) == url_error::bad_character);
      CHECK(error_of(where + "%"s + c) == url_error::bad_character);
    }
  }
}

TEST_CASE("origins are compared") {
  const auto same = [](const char* a, const char* b) {
    return is_same_origin(parsed(a).parts, parsed(b).parts);
  };
  CHECK(same("http://a/x", "HTTP://A:80/y?z"));
  CHECK(same("https://[::A]:443", "https://[::a]/"));
  CHECK_FALSE(same("http://a/", "https://a/"));
  CHECK_FALSE(same("http://a:443/", "https://a/"));
  CHECK_FALSE(same("http://a/", "http://b/"));
  CHECK_FALSE(same("http://a/", "http://a:81/"));
  CHECK_FALSE(same("http://a/", "http://a./"));
}

TEST_CASE("the references of RFC 3986, section 5.4, are resolved, without their fragments") {
  const std::string base = "http://a/b/c/d;p?q";
  const std::vector<std::pair<std::string, std::string>> examples = {
      {"g", "http://a/b/c/g"},
      {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},
      {"//g", "http://g"},
      {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},
      {"#s", "http://a/b/c/d;p?q"},
      {"g#s", "http://a/b/c/g"},
      {"g?y#s", "http://a/b/c/g?y"},
      {";x", "http://a/b/c/;x"},
      {"g;x", "http://a/b/c/g;x"},
      {"g;x?y#s", "http://a/b/c/g;x?y"},
      {"", "http://a/b/c/d;p?q"},
      {".", "http://a/b/c/"},
      {"./", "http://a/b/c/"},
      {"..", "http://a/b/"},
      {"../", "http://a/b/"},
      {"../g", "http://a/b/g"},
      {"../..", "http://a/"},
      {"../../", "http://a/"},
      {"../../g", "http://a/g"},
      {"../../../g", "http://a/g"},
      {"../../../../g", "http://a/g"},
      {"/./g", "http://a/g"},
      {"/../g", "http://a/g"},
      {"g.", "http://a/b/c/g."},
      {".g", "http://a/b/c/.g"},
      {"g..", "http://a/b/c/g.."},
      {"..g", "http://a/b/c/..g"},
      {"./../g", "http://a/b/g"},
      {"./g/.", "http://a/b/c/g/"},
      {"g/./h", "http://a/b/c/g/h"},
      {"g/../h", "http://a/b/c/h"},
      {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
      {"g;x=1/../y", "http://a/b/c/y"},
      {"g?y/./x", "http://a/b/c/g?y/./x"},
      {"g?y/../x", "http://a/b/c/g?y/../x"},
      {"g#s/./x", "http://a/b/c/g"},
      {"g#s/../x", "http://a/b/c/g"},
  };
  for (const auto& [reference, expected] : examples) {
    CAPTURE(reference);
    CHECK(resolved(base, reference) == expected);
  }
}

TEST_CASE("references with a scheme or a host replace what they have") {
  const std::string base = "https://a:444/b/c?q";
  CHECK(resolved(base, "http://x/../y?z#f") == "http://x/y?z");
  CHECK(resolved(base, "HTTP://x:80?z") == "http://x:80?z");
  CHECK(resolved(base, "//x:1/y/..") == "https://x:1/");
  CHECK(resolved(base, "/x") == "https://a:444/x");
  CHECK(resolved(base, "?") == "https://a:444/b/c?");
  CHECK(resolved(base, "a/b:c") == "https://a:444/b/a/b:c");
  CHECK(resolved("http://a:80?q", "x") == "http://a/x");
  CHECK(resolved("http://[::1]:8080/a", "..") == "http://[::1]:8080/");
  CHECK(resolved("http://a", "") == "http://a");
  CHECK(resolved("http://a?q", "") == "http://a?q");
  CHECK(resolved("http://a", "?y") == "http://a?y");
  CHECK(resolved("http://a/b/../c", "?y") == "http://a/b/../c?y");
  CHECK(resolved("http://a/", "//b//c/..//d") == "http://b///d");
  CHECK(resolved("http://a/b", "/..//c") == "http://a//c");
}

TEST_CASE("references that lead to no URL of http are refused") {
  const std::string base = "http://a/b";
  const auto refused = [&](const std::string& reference) {
    const parsed p(base);
    std::string to;
    return resolve_reference(p.parts, reference, to);
  };
  for (const char* reference : {"g:h", "javascript:alert(1)", "file:///etc/passwd", ":", "1:2"})
    CHECK(refused(reference) == url_error::bad_scheme);
  CHECK(refused("http:g") == url_error::bad_host);
  CHECK(refused("http:/g") == url_error::bad_host);
  CHECK(refused("///g") == url_error::bad_host);
  CHECK(refused("//127.1/") == url_error::bad_host);
  CHECK(refused("//u@g/") == url_error::user_information);
  CHECK(refused("http://u:p@g/") == url_error::user_information);
  CHECK(refused("//g:x/") == url_error::bad_port);
  for (const char* reference :
       {"a b", "a\r\nX=y", "\xc3\xa4", "%", "?%x", "#%1", "a#b#c", "\\", " /a"})
    CHECK_MESSAGE(refused(reference) == url_error::bad_character, std::string(reference));
  CHECK(refused("/" + std::string(url::bytes_max, 'a')) == url_error::too_long);
}

TEST_CASE("no URL is longer than its limit, and nothing is written behind the room") {
  const std::string longest = "http://a/" + std::string(url::bytes_max - 9, 'b');
  CHECK(error_of(longest) == url_error::none);
  CHECK(error_of(longest + 'b') == url_error::too_long);
  const parsed base("http://a/");
  std::string to;
  CHECK(resolve_reference(base.parts, std::string(url::bytes_max - 9, 'b'), to) == url_error::none);
  CHECK(to == longest);
  CHECK(resolve_reference(base.parts, std::string(url::bytes_max - 8, 'b'), to) ==
        url_error::too_long);
  CHECK(to == longest);
  std::vector<char> large(url::bytes_max * 2);
  std::string_view view;
  CHECK(resolve_reference(base.parts, std::string(url::bytes_max - 8, 'b'),
                          {large.data(), large.size()}, view) == url_error::too_long);
  const std::string whole = "http://a/c?d";
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    std::vector<char> room(size);
    CAPTURE(size);
    view = "before";
    const url_error error = resolve_reference(base.parts, "c?d", {room.data(), room.size()}, view);
    CHECK(error == (size == whole.size() ? url_error::none : url_error::too_long));
    CHECK(view == (size == whole.size() ? whole : "before"));
  }
}

TEST_CASE("a text can be resolved against itself") {
  std::string text = "http://a/b/c";
  for (const char* expected : {"http://a/x", "http://a/x"}) {
    url base;
    REQUIRE(parse_url(text, base) == url_error::none);
    REQUIRE(resolve_reference(base, "../x", text) == url_error::none);
    CHECK(text == expected);
  }
}

/// RFC 3986, section 5.2.4, with a list of segments.
std::string without_dots(const std::string& path) {
  std::vector<std::string> kept;
  bool ends_in_slash = false;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at + 1), path.size());
    const std::string segment = path.substr(at + 1, end - at - 1);
    ends_in_slash = segment == "." || segment == "..";
    if (segment == ".." && !kept.empty()) kept.pop_back();
    if (!ends_in_slash) kept.push_back(segment);
    at = end;
  }
  std::string result;
  for (const std::string& each : kept) result += '/' + each;
  return ends_in_slash ? result + '/' : result;
}

TEST_CASE("dot segments are removed as a list of segments would lose them") {
  std::mt19937 random(1);
  const std::vector<std::string> pieces = {"/", "/", ".", "..", "a", "b.", "%2e"};
  for (int round = 0; round < 20'000; ++round) {
    std::string path = "/";
    for (auto i = random() % 10; i > 0; --i) path += pieces[random() % pieces.size()];
    CAPTURE(path);
    REQUIRE(resolved("http://a/b", "http://x" + path) == "http://x" + without_dots(path));
    REQUIRE(resolved("http://a" + path, "c") ==
            "http://a" + without_dots(path.substr(0, path.rfind('/') + 1) + "c"));
  }
}

TEST_CASE("any reference leads to a URL that is accepted, or to a refusal") {
  std::mt19937 random(2);
  const std::string alphabet = "ab:/?#.@[]%1\\ ";
  int accepted = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string reference = random() % 2 == 0 ? "//a" : "";
    for (auto i = random() % 8; i > 0; --i) reference += alphabet[random() % alphabet.size()];
    const parsed base("http://h/p?q");
    std::string to;
    if (resolve_reference(base.parts, reference, to) != url_error::none) continue;
    CAPTURE(reference);
    REQUIRE(error_of(to) == url_error::none);
    REQUIRE(to.find('#') == std::string::npos);
    REQUIRE(resolved("http://other/", to) == to);
    ++accepted;
  }
  CHECK(accepted > 5'000);
}

}  // namespace
