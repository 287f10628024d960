// SPDX-License-Identifier: BSL-1.0
// Forms with files: what the parser makes of each vector does not depend on how the body is split.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <string>

#include "http/form_reader.hpp"
#include "support/report.hpp"
#include "support/vectors.hpp"

namespace {

using namespace beck::http::test;
using beck::http::multipart_limits;
using beck::http::detail::form_refusal;
using beck::test::escaped;
using beck::test::read_vectors;
using beck::test::unescaped;

std::string refusal_text_of(form_refusal why) {
  return std::to_string(beck::http::number_of(beck::http::detail::form_refusal_status(why))) +
         ": " + std::string(beck::http::detail::form_refusal_text(why));
}

/// Returns the parts and the refusal as a line of text.
std::string shown_form(const read_form& form) {
  std::string text;
  std::size_t alike = 0;
  for (std::size_t i = 0; i < form.parts.size(); ++i) {
    const read_part& part = form.parts[i];
    if (i >= 3) {
      ++alike;
      continue;
    }
    text += escaped(part.head.name) + ' ';
    if (part.head.is_file) text += '[' + escaped(part.head.file_name) + "] ";
    text += '(' + part.head.media_type + ") ";
    text += part.data.size() > 60 ? std::to_string(part.data.size()) + " bytes; "
                                  : '"' + escaped(part.data) + "\"; ";
  }
  if (alike != 0) text += "and " + std::to_string(alike) + " more; ";
  return text + (form.reason == form_refusal::none ? "whole" : refusal_text_of(form.reason));
}

/// Reads a body whole, byte by byte and split at every place, which must come to the same.
read_form read_in_all_splits(std::string_view boundary, const multipart_limits& bounds,
                             const std::string& body, long long& splits) {
  const read_form whole = read_parts(boundary, bounds, body, {body.size()});
  std::vector<std::size_t> ends(body.size() + 1);
  std::iota(ends.begin(), ends.end(), std::size_t{0});
  const read_form bytes = read_parts(boundary, bounds, body, ends);
  CHECK(bytes == whole);
  const std::size_t pending = std::max<std::size_t>(bounds.head_bytes, 256) + boundary.size() + 4;
  CHECK(bytes.pending_max <= pending);
  if (body.size() < 1000) {
    for (std::size_t at = 1; at < body.size(); ++at) {
      CAPTURE(at);
      CHECK(read_parts(boundary, bounds, body, {at, body.size()}) == whole);
      ++splits;
    }
  }
  return whole;
}

/// A part with this data.
std::string part_of(std::string_view data, std::string_view head = "") {
  return "--b\r\nContent-Disposition: form-data; name=a" + std::string(head) + "\r\n\r\n" +
         std::string(data) + "\r\n";
}

std::string outcome_of(const multipart_limits& bounds, const std::string& body) {
  long long splits = 0;
  return shown_form(read_in_all_splits("b", bounds, body, splits));
}

}  // namespace

TEST_CASE("forms with files are read as recorded, however they arrive") {
  long long cases = 0, splits = 0;
  for (const auto& row : read_vectors(BECK_HTTP_VECTORS "/multipart.tsv")) {
    REQUIRE(row.size() == 5);
    CAPTURE(row[0]);
    CAPTURE(row[1]);
    std::string boundary, outcome;
    const form_refusal bad = beck::http::detail::read_boundary(row[2], boundary);
    if (bad != form_refusal::none) {
      outcome = refusal_text_of(bad);
    } else {
      outcome = shown_form(read_in_all_splits(boundary, {}, unescaped(row[4]), splits));
    }
    if (std::getenv("BECK_HTTP_RECORD") != nullptr) std::cout << cases << '\t' << outcome << '\n';
    CHECK(outcome == row[3]);
    ++cases;
  }
  beck::test::report_value("multipart.vectors", cases);
  beck::test::report_value("multipart.splits", splits);
}

TEST_CASE("forms with files: each limit is kept to the byte, and refused above it") {
  const std::string two = part_of("12345") + part_of("123") + "--b--";
  CHECK(outcome_of({.parts = 2}, two) == R"(a (text/plain) "12345"; a (text/plain) "123"; whole)");
  CHECK(outcome_of({.parts = 1}, two) ==
        R"(a (text/plain) "12345"; 413: the form has too many parts)");
  CHECK(outcome_of({.parts = 0}, two) == "413: the form has too many parts");
  CHECK(outcome_of({.parts = 0}, "--b--") == "whole");
  CHECK(outcome_of({.part_bytes = 5}, two).ends_with("whole"));
  CHECK(outcome_of({.part_bytes = 4}, two) == "413: a part is too long");
  CHECK(outcome_of({.part_bytes = 0}, part_of("") + "--b--") == R"(a (text/plain) ""; whole)");
  CHECK(outcome_of({.part_bytes = 0}, part_of("1") + "--b--") == "413: a part is too long");
  CHECK(outcome_of({.body_bytes = two.size()}, two).ends_with("whole"));
  for (std::size_t less = 1; less <= two.size(); ++less) {
    CAPTURE(less);
    CHECK(
        outcome_of({.body_bytes = two.size() - less}, two).ends_with("413: the form is too long"));
  }
  const std::string epilogue = "--b--\r\n" + std::string(100, 'x');
  CHECK(outcome_of({.body_bytes = 107}, epilogue) == "whole");
  CHECK(outcome_of({.body_bytes = 106}, epilogue) == "413: the form is too long");
  const std::string preamble = std::string(100, 'x') + "\r\n--b--";
  CHECK(outcome_of({.body_bytes = 107}, preamble) == "whole");
  CHECK(outcome_of({.body_bytes = 106}, preamble) == "413: the form is too long");
}

TEST_CASE("forms with files: the limit of a head has a least and a greatest value") {
  const std::string head = "Content-Disposition: form-data; name=a\r\nX: \r\n\r\n";
  const auto with = [&head](std::size_t bytes) {
    return part_of("", "\r\nX: " + std::string(bytes - head.size(), 'y')) + "--b--";
  };
  for (const std::uint32_t limit : {0U, 256U}) {
    CAPTURE(limit);
    CHECK(outcome_of({.head_bytes = limit}, with(256)).ends_with("whole"));
    CHECK(outcome_of({.head_bytes = limit}, with(257)) == "413: the head of a part is too long");
  }
  for (const std::uint32_t limit : {65535U, UINT32_MAX}) {
    const std::string most = with(65535), more = with(65536);
    CHECK(
        shown_form(read_parts("b", {.head_bytes = limit}, most, {most.size()})).ends_with("whole"));
    CHECK(shown_form(read_parts("b", {.head_bytes = limit}, more, {more.size()})) ==
          "413: the head of a part is too long");
  }
}

TEST_CASE("forms with files: every refusal has a text and a status of its own kind") {
  for (unsigned i = 1; i <= static_cast<unsigned>(form_refusal::form_too_long); ++i) {
    const auto why = static_cast<form_refusal>(i);
    CHECK(!beck::http::detail::form_refusal_text(why).empty());
    const unsigned status = beck::http::number_of(beck::http::detail::form_refusal_status(why));
    CHECK((status == 400 || status == 413 || status == 415));
  }
  CHECK(beck::http::detail::form_refusal_text(form_refusal::none).empty());
}
