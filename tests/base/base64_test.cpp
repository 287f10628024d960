// SPDX-License-Identifier: BSL-1.0
// Base64 against the vectors of RFC 4648, in both directions, and what is no base64.
#include <doctest/doctest.h>
#include <beck/base/base64.hpp>

#include <string>
#include <string_view>

using beck::base64_form;
using namespace std::string_view_literals;

TEST_CASE("base64 of RFC 4648") {
  const struct {
    std::string_view bytes, standard, url;
  } vectors[] = {
      {"", "", ""},
      {"f", "Zg==", "Zg"},
      {"fo", "Zm8=", "Zm8"},
      {"foo", "Zm9v", "Zm9v"},
      {"foob", "Zm9vYg==", "Zm9vYg"},
      {"fooba", "Zm9vYmE=", "Zm9vYmE"},
      {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
      {"\0\xff\xfe\xfb\xf0"sv, "AP/++/A=", "AP_--_A"},
  };
  std::string back;
  for (const auto& [bytes, standard, url] : vectors) {
    CAPTURE(standard);
    CHECK(beck::to_base64(bytes) == standard);
    CHECK(beck::to_base64(bytes, base64_form::url) == url);
    CHECK(beck::from_base64(standard, back));
    CHECK(back == bytes);
    CHECK(beck::from_base64(url, back, base64_form::url));
    CHECK(back == bytes);
  }
}

TEST_CASE("every byte at every place is base64 and back") {
  std::string back;
  for (unsigned place = 0; place < 4; ++place) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      std::string bytes(4, '\x55');
      bytes[place] = static_cast<char>(byte);
      for (const base64_form form : {base64_form::standard, base64_form::url}) {
        const bool is_back = beck::from_base64(beck::to_base64(bytes, form), back, form);
        CHECK((is_back && back == bytes));
      }
    }
  }
}

TEST_CASE("what is no base64 is refused, and leaves nothing") {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "Z===", "====", "=", "Zh==", "Zm9=", "Zm9v=",
                           "Zm9v====", "Zg==Zg==", "Zm 9", "Zm9v\n", "Zm9_", "Zm-v", "Zm9\xc3"}) {
    CAPTURE(text);
    std::string to = "before";
    CHECK_FALSE(beck::from_base64(text, to));
    CHECK(to.empty());
  }
  for (const char* text : {"Z", "Zg==", "Zh", "Zm9", "Zm9+", "Zm/v", "Zm9vZ"}) {
    CAPTURE(text);
    std::string to = "before";
    CHECK_FALSE(beck::from_base64(text, to, base64_form::url));
    CHECK(to.empty());
  }
}
