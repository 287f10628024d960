// SPDX-License-Identifier: BSL-1.0
//
// Accept-Encoding: weights in every form, and the choice against a search among all.
#include <doctest/doctest.h>
#include <beck/http/content_coding.hpp>
#include <beck/http/parser.hpp>

#include <algorithm>
#include <ostream>
#include <random>
#include <regex>
#include <string>
#include <vector>

namespace {

using namespace beck::http;

constexpr content_coding all_codings[] = {content_coding::identity, content_coding::gzip,
                                          content_coding::br, content_coding::zstd};

/// The weights of identity, gzip, br and zstd.
std::string text_of(const accepted_codings& accepted) {
  std::string text;
  for (const content_coding c : all_codings) {
    CHECK(accepted.accepts(c) == (accepted.weight_of(c) > 0));
    text += (text.empty() ? "" : " ") + std::to_string(accepted.weight_of(c));
  }
  return text;
}
std::string weights(const std::string& value) {
  const std::vector<char> copy(value.begin(), value.end());
  return text_of(accepted_codings(std::string_view(copy.data(), copy.size())));
}

std::string weights_of_fields(const std::string& lines) {
  const std::string text = "GET / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n";
  request_parser parser;
  request_head head;
  REQUIRE(parser.parse(text, head) == parse_status::done);
  return text_of(accepted_codings(head));
}

constexpr const char* only_identity = "1 0 0 0";

TEST_CASE("the examples of RFC 9110, section 12.5.3, are read") {
  CHECK(weights("compress, gzip") == "1 1000 0 0");
  CHECK(weights("") == only_identity);
  CHECK(weights("*") == "1000 1000 1000 1000");
  CHECK(weights("compress;q=0.5, gzip;q=1.0") == "1 1000 0 0");
  CHECK(weights("gzip;q=1.0, identity; q=0.5, *;q=0") == "500 1000 0 0");
}

TEST_CASE("codings have the weight of their entry, or that of the star") {
  CHECK(weights("gzip, deflate, br, zstd") == "1 1000 1000 1000");
  CHECK(weights("GZIP;Q=0.25 ,\tBr ; q=0.1") == "1 250 100 0");
  CHECK(weights("x-gzip;q=0.3") == "1 300 0 0");
  CHECK(weights("*;q=0") == "0 0 0 0");
  CHECK(weights("identity;q=0") == "0 0 0 0");
  CHECK(weights("br, *;q=0") == "0 0 1000 0");
  CHECK(weights("*;q=0, identity") == "1000 0 0 0");
  CHECK(weights("gzip;q=0, *") == "1000 0 1000 1000");
  CHECK(weights("*;q=0.5, br;q=0.2") == "500 500 200 500");
  CHECK(weights("br, br;q=0") == "1 0 0 0");
  CHECK(weights("br;q=0.2, br;q=0.7") == "1 0 200 0");
  CHECK(weights("*, *;q=0") == "0 0 0 0");
  CHECK(weights(",, br,,") == "1 0 1000 0");
  CHECK(weights("snappy;q=0.5") == only_identity);
}

TEST_CASE("a malformed value accepts what every client understands") {
  for (const char* value : {"br;",
                            "br;q",
                            "br;q=",
                            "br;q=2",
                            "br;q=1.001",
                            "br;q=0.0001",
                            "br;q=-1",
                            "br;q=.5",
                            "br;q=0.5x",
                            "br;q=0.5;a=b",
                            "br;level=1",
                            "br gzip",
                            "br/gzip",
                            ";q=1",
                            "br;q =1",
                            "br;q= 1",
                            "\"br\"",
                            "br;;q=1",
                            "*;q=0, br;q=x",
                            "identity;q=0, (",
                            "gzip, br;q=1.001",
                            "gzip, br;q=1.002",
                            "gzip, br;q=1.999",
                            "br=1"})
    CHECK_MESSAGE(weights(value) == only_identity, std::string(value));
}

TEST_CASE("every weight up to five characters is read as the grammar says") {
  const std::regex grammar("0(?:\\.[0-9]{0,3})?|1(?:\\.0{0,3})?");
  const std::string alphabet = "0129. ";
  std::size_t count = 1;
  for (std::size_t length = 0; length <= 6; ++length, count *= alphabet.size()) {
    for (std::size_t number = 0; number < count; ++number) {
      std::string text;
      for (std::size_t rest = number; text.size() < length; rest /= alphabet.size())
        text += alphabet[rest % alphabet.size()];
      if (!text.empty() && text.back() == ' ') continue;  // white space around an entry is dropped
      std::string expected = only_identity;
      if (std::regex_match(text, grammar)) {
        std::string digits = text.substr(0, 1) + (text.size() > 2 ? text.substr(2) : "");
        digits.resize(4, '0');
        expected = "1 0 " + std::to_string(std::stoi(digits)) + " 0";
      }
      REQUIRE_MESSAGE(weights("br;q=" + text) == expected, text);
    }
  }
}

TEST_CASE("several fields are one list, and without a field nothing is encoded") {
  CHECK(weights_of_fields("") == only_identity);
  CHECK(weights_of_fields("Accept-Encoding:\r\n") == only_identity);
  CHECK(weights_of_fields("Accept-Encoding: br\r\n") == "1 0 1000 0");
  CHECK(weights_of_fields("Accept-Encoding: br\r\nX: *\r\nAccept-Encoding: gzip;q=0.5\r\n") ==
        "1 500 1000 0");
  CHECK(weights_of_fields("Accept-Encoding: br\r\nAccept-Encoding: ;\r\n") == only_identity);
}

TEST_CASE("the best of the available codings is picked") {
  const auto pick = [](const char* value, const std::vector<content_coding>& available) {
    return name_of(accepted_codings(value).pick(available.data(), available.size()));
  };
  const std::vector<content_coding> two = {content_coding::br, content_coding::gzip};
  CHECK(pick("gzip, deflate, br", two) == "br");
  CHECK(pick("gzip, deflate", two) == "gzip");
  CHECK(pick("gzip, br;q=0.9", two) == "gzip");
  CHECK(pick("zstd", two) == "identity");
  CHECK(pick("", two) == "identity");
  CHECK(pick("*", two) == "br");
  CHECK(pick("br;q=0.001", two) == "br");
  CHECK(pick("br;q=0.3, identity;q=0.5", two) == "identity");
  CHECK(pick("br, identity", two) == "br");
  CHECK(pick("gzip", {}) == "identity");
  CHECK(pick("*;q=0", two) == "identity");
  CHECK_FALSE(accepted_codings("*;q=0").accepts(content_coding::identity));
}

TEST_CASE("the choice is that of a search among all") {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string value;
    for (const char* name : {"identity", "gzip", "br", "zstd", "*"})
      if (random() % 2 == 0)
        value += name + std::string(";q=0.") + std::to_string(random() % 3) + ',';
    std::vector<content_coding> available(std::begin(all_codings) + random() % 2,
                                          std::end(all_codings));
    std::shuffle(available.begin(), available.end(), random);
    available.resize(random() % (available.size() + 1));
    const accepted_codings accepted(value);
    const content_coding picked = accepted.pick(available.data(), available.size());
    std::vector<content_coding> candidates = available;
    candidates.push_back(content_coding::identity);
    const auto best = std::max_element(candidates.begin(), candidates.end(),
                                       [&](content_coding a, content_coding b) {
                                         return accepted.weight_of(a) < accepted.weight_of(b);
                                       });
    CAPTURE(value);
    REQUIRE(picked == (accepted.accepts(*best) ? *best : content_coding::identity));
  }
}

}  // namespace
