// SPDX-License-Identifier: BSL-1.0
//
// Ranges against a model that marks bytes, and responses with several ranges read again.
#include <doctest/doctest.h>
#include <beck/http/range.hpp>

#include <map>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace beck::http;

/// The answer as a text: "none", "416" or the ranges.
std::string answer(const std::string& value, std::uint64_t size) {
  const std::vector<char> copy(value.begin(), value.end());
  const byte_ranges ranges = parse_range({copy.data(), copy.size()}, size);
  CHECK((ranges.size() > 0) == (ranges.status() == range_status::partial));
  if (ranges.status() == range_status::none) return "none";
  if (ranges.status() == range_status::unsatisfiable) return "416";
  std::string text;
  for (const byte_range& r : ranges) {
    CHECK(r.bytes() == r.last - r.first + 1);
    text += (text.empty() ? "" : " ") + std::to_string(r.first) + '-' + std::to_string(r.last);
  }
  CHECK(ranges.end() - ranges.begin() == ranges.size());
  CHECK(&ranges[0] == ranges.begin());
  return text;
}

TEST_CASE("the examples of RFC 9110, section 14.1.2, are read") {
  CHECK(answer("bytes=0-499", 10'000) == "0-499");
  CHECK(answer("bytes=500-999", 10'000) == "500-999");
  CHECK(answer("bytes=-500", 10'000) == "9500-9999");
  CHECK(answer("bytes=9500-", 10'000) == "9500-9999");
  CHECK(answer("bytes=0-0,-1", 10'000) == "0-0 9999-9999");
  CHECK(answer("bytes= 0-0, -1", 10'000) == "0-0 9999-9999");
  CHECK(answer("bytes= 0-999, 4500-5499, -1000", 10'000) == "0-999 4500-5499 9000-9999");
  CHECK(answer("bytes=500-600,601-999", 10'000) == "500-600 601-999");
  CHECK(answer("bytes=500-700,601-999", 10'000) == "none");  // they overlap
}

TEST_CASE("ranges are cut at the end, and those behind it are left out") {
  CHECK(answer("bytes=0-", 1) == "0-0");
  CHECK(answer("bytes=0-10", 10) == "0-9");
  CHECK(answer("bytes=9-9", 10) == "9-9");
  CHECK(answer("bytes=10-10", 10) == "416");
  CHECK(answer("bytes=10-", 10) == "416");
  CHECK(answer("bytes=-11", 10) == "0-9");
  CHECK(answer("bytes=-0", 10) == "416");
  CHECK(answer("bytes=-0, 20-, 5-5", 10) == "5-5");
  CHECK(answer("bytes=20-, 10-", 10) == "416");
  CHECK(answer("BYTES=5-,0-1", 10) == "5-9 0-1");
  CHECK(answer("bytes=0-0", 0) == "416");
  CHECK(answer("bytes=-1", 0) == "none");
  CHECK(answer("bytes=-0", 0) == "416");
  const std::uint64_t largest = ~std::uint64_t{0} >> 1;
  CHECK(answer("bytes=-1", largest) == "9223372036854775806-9223372036854775806");
  CHECK(answer("bytes=18446744073709551615-", largest) == "416");
  CHECK(answer("bytes=18446744073709551616-", largest) == "416");
  CHECK(answer("bytes=99999999999999999999999-99999999999999999999999", 10) == "416");
  CHECK(answer("bytes=1-99999999999999999999999", 10) == "1-9");
  CHECK(answer("bytes=-99999999999999999999999", 10) == "0-9");
  CHECK(answer("bytes=00000000000000000000001-2", 10) == "1-2");
}

TEST_CASE("a value that is malformed or of another unit is ignored") {
  for (const char* value : {"",
                            "bytes",
                            "bytes=",
                            "bytes=,",
                            "bytes= , ,",
                            "byte=0-1",
                            "lines=0-1",
                            "bytes:0-1",
                            " bytes=0-1",
                            "bytes =0-1",
                            "bytes=-",
                            "bytes=1",
                            "bytes=a-",
                            "bytes=-a",
                            "bytes=1-a",
                            "bytes=+1-2",
                            "bytes=1-+2",
                            "bytes=0x1-2",
                            "bytes=1 -2",
                            "bytes=1- 2",
                            "bytes=2-1",
                            "bytes=--1",
                            "bytes=1--2",
                            "bytes=1-2-3",
                            "bytes=1-2;3-4",
                            "bytes=1-2 3-4",
                            "bytes=1-2,x",
                            "bytes=x,1-2",
                            "bytes=1-2,bytes=3-4",
                            "bytes=20-10",
                            "bytes=1.0-2",
                            "bytes=*",
                            "bytes=99999999999999999999-5"})
    CHECK_MESSAGE(answer(value, 10) == "none", std::string(value));
  CHECK(answer("bytes=,0-1,,\t3-4 ,", 10) == "0-1 3-4");
}

TEST_CASE("more than eight ranges are ignored, whether they exist or not") {
  std::string value = "bytes=0-0";
  for (int i = 1; i < 8; ++i) value += ',' + std::to_string(2 * i) + '-' + std::to_string(2 * i);
  CHECK(answer(value, 100) == "0-0 2-2 4-4 6-6 8-8 10-10 12-12 14-14");
  CHECK(answer(value + ",,", 100) == "0-0 2-2 4-4 6-6 8-8 10-10 12-12 14-14");
  CHECK(answer(value + ",20-20", 100) == "none");
  CHECK(answer(value + ",200-", 100) == "none");
  CHECK(answer("bytes=200-,200-,200-,200-,200-,200-,200-,200-", 100) == "416");
  CHECK(answer("bytes=200-,200-,200-,200-,200-,200-,200-,200-,200-", 100) == "none");
}

/// A range as a model sees it: its text, the first and last byte that it means.
struct model_range {
  std::string text;
  std::int64_t first;
  std::int64_t last;
  bool is_suffix = false;
};

/// The answer by marking bytes.
std::string modelled(const std::vector<model_range>& ranges, std::int64_t size) {
  std::string text;
  std::map<std::int64_t, int> marks;
  for (const model_range& r : ranges) {
    std::int64_t first = -1, last = -1;
    for (std::int64_t byte = 0; byte < size; ++byte) {
      if (byte < (r.is_suffix ? size - r.first : r.first) || (!r.is_suffix && byte > r.last))
        continue;
      if (++marks[byte] > 1) return "none";
      if (first < 0) first = byte;
      last = byte;
    }
    if (r.is_suffix && r.first > 0 && size == 0) return "none";
    if (first >= 0)
      text += (text.empty() ? "" : " ") + std::to_string(first) + '-' + std::to_string(last);
  }
  return text.empty() ? "416" : text;
}

TEST_CASE("all short lists of ranges are answered as a model does that marks bytes") {
  std::vector<model_range> all;
  for (int first = 0; first < 5; ++first) {
    all.push_back({std::to_string(first) + '-', first, 100});
    all.push_back({'-' + std::to_string(first), first, 0, true});
    for (int last = first; last < 6; ++last)
      all.push_back({std::to_string(first) + '-' + std::to_string(last), first, last});
  }
  for (unsigned size = 0; size < 5; ++size) {
    for (const model_range& a : all) {
      REQUIRE(answer("bytes=" + a.text, size) == modelled({a}, size));
      for (const model_range& b : all)
        REQUIRE(answer("bytes=" + a.text + ',' + b.text, size) == modelled({a, b}, size));
    }
  }
}

TEST_CASE("random lists of ranges are answered as the model does") {
  std::mt19937 random(1);
  int partial = 0;
  for (int round = 0; round < 20'000; ++round) {
    const int size = static_cast<int>(random() % 60);
    std::vector<model_range> ranges;
    std::string value = "bytes=";
    for (auto i = 1 + random() % 8; i > 0; --i) {
      const int first = static_cast<int>(random() % 64);
      const int last = first + static_cast<int>(random() % 6);
      switch (random() % 8) {
        case 0:
          ranges.push_back({std::to_string(first) + '-', first, 1'000});
          break;
        case 1:
          ranges.push_back({'-' + std::to_string(first % 9), first % 9, 0, true});
          break;
        default:
          ranges.push_back({std::to_string(first) + '-' + std::to_string(last), first, last});
      }
      value += ranges.back().text + (random() % 4 == 0 ? " ,\t" : ",");
    }
    CAPTURE(value);
    CAPTURE(size);
    const std::string expected = modelled(ranges, size);
    REQUIRE(answer(value, static_cast<std::uint64_t>(size)) == expected);
    partial += expected.find(' ') != std::string::npos ? 1 : 0;
  }
  CHECK(partial > 1'000);
}

TEST_CASE("Content-Range is written") {
  CHECK(content_range_text({0, 499}, 1234).view() == "bytes 0-499/1234");
  CHECK(content_range_text(47'022).view() == "bytes */47022");
  CHECK(content_range_text(0).view() == "bytes */0");
  const std::uint64_t largest = ~std::uint64_t{0};
  const content_range_text longest({largest, largest}, largest);
  CHECK(longest.view() == "bytes 18446744073709551615-18446744073709551615/18446744073709551615");
  CHECK(std::string_view(content_range_text(largest)) == "bytes */18446744073709551615");
}

/// A whole body of several ranges of `data`.
std::string body_of(const multipart_ranges& parts, const byte_ranges& ranges,
                    const std::string& data) {
  std::string body;
  for (unsigned i = 0; i < ranges.size(); ++i) {
    std::vector<char> room(parts.part_head_bytes(i));
    const std::string_view head = parts.part_head(i, {room.data(), room.size()});
    CHECK(head.size() == room.size());
    CHECK(parts.part_head(i, {room.data(), room.size() - 1}).empty());
    body += head;
    body += data.substr(ranges[i].first, ranges[i].bytes());
  }
  return body + std::string(parts.end_text());
}

TEST_CASE("a response with several ranges is written") {
  const std::string data = "0123456789";
  const byte_ranges ranges = parse_range("bytes=0-1,-3", data.size());
  const multipart_ranges parts(ranges, data.size(), "text/plain", 0x0123456789abcdef);
  CHECK(parts.content_type() == "multipart/byteranges; boundary=0123456789abcdef");
  const std::string body = body_of(parts, ranges, data);
  CHECK(
      body ==
      "\r\n--0123456789abcdef\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/10\r\n\r\n01"
      "\r\n--0123456789abcdef\r\nContent-Type: text/plain\r\nContent-Range: bytes 7-9/10\r\n\r\n"
      "789\r\n--0123456789abcdef--\r\n");
  CHECK(parts.bytes() == body.size());
  const multipart_ranges untyped(ranges, data.size(), "", 0xfedcba9876543210);
  const std::string other = body_of(untyped, ranges, data);
  CHECK(other ==
        "\r\n--fedcba9876543210\r\nContent-Range: bytes 0-1/10\r\n\r\n01"
        "\r\n--fedcba9876543210\r\nContent-Range: bytes 7-9/10\r\n\r\n789"
        "\r\n--fedcba9876543210--\r\n");
  CHECK(untyped.bytes() == other.size());
}

TEST_CASE("the length of a response with several ranges is known before they are read") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 2'000; ++round) {
    const std::string data(1 + random() % 2'000, 'x');
    std::string value = "bytes=";
    std::uint64_t at = 0;
    for (auto i = 1 + random() % 8; i > 0; --i) {
      const std::uint64_t last = at + random() % 200;
      value += std::to_string(at) + '-' + std::to_string(last) + ',';
      at = last + 1 + random() % 200;
    }
    const byte_ranges ranges = parse_range(value, data.size());
    REQUIRE(ranges.status() == range_status::partial);
    const multipart_ranges parts(ranges, data.size(), "image/png", random());
    REQUIRE(parts.bytes() == body_of(parts, ranges, data).size());
  }
}

}  // namespace
