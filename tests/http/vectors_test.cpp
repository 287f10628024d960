// SPDX-License-Identifier: BSL-1.0
//
// Public vectors: requests and responses that other projects have collected because programs have
// read them differently. The files record how beck reads each: whole, split at every byte and byte
// by byte must come to the same.
#include "support/vectors.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <iostream>

#include "http/message_reader.hpp"
#include "support/report.hpp"

namespace {

using namespace beck::http::test;
using beck::test::read_vectors;
using beck::test::unescaped;

long long splits = 0;

template <class Reader>
std::string outcome_of(const Reader& reader) {
  std::string text = std::to_string(reader.messages().size());
  if (reader.reason() != beck::http::refusal::none)
    return text + ", refused: " + std::string(beck::http::text_of(reader.reason()));
  return reader.is_open() ? text + ", open" : text;
}

/// Reads `input` in all ways; they must agree.
template <class Reader>
std::string read_in_all_ways(const std::string& input) {
  const auto whole = read_all<Reader>(input);
  const std::string transcript = whole.transcript();
  CHECK(read_all<Reader>(input, true).transcript() == transcript);
  const auto bytes = read_bytes<Reader>(input);
  CHECK(bytes.transcript() == transcript);
  if (input.size() < 1000) {
    for (std::size_t at = 1; at < input.size(); ++at) {
      CAPTURE(at);
      CHECK(read_split<Reader>(input, at).transcript() == transcript);
      CHECK(read_split<Reader>(input, at, true).transcript() == transcript);
      ++splits;
    }
  }
  return outcome_of(whole);
}

/// With BECK_HTTP_RECORD, prints the line as it should be in the file.
bool is_recording() { return std::getenv("BECK_HTTP_RECORD") != nullptr; }

/// Whether an expectation of Http11Probe allows no other answer than an error or a close.
bool must_be_refused(const std::string& expectation) {
  if (expectation.find("400") != 0) return false;
  for (const char* other : {"2xx", "200", "405", "timeout", "preferred", "pass-through"})
    if (expectation.find(other) != std::string::npos) return false;
  return true;
}

TEST_CASE("Http11Probe's requests are read as recorded, however they arrive") {
  long long cases = 0;
  for (const auto& row : read_vectors(BECK_HTTP_VECTORS "/http11probe.tsv")) {
    REQUIRE(row.size() >= 5);
    CAPTURE(row[0]);
    std::string input;
    for (std::size_t i = 4; i < row.size(); ++i) input += unescaped(row[i]);
    const std::string outcome = read_in_all_ways<request_reader>(input);
    if (is_recording()) std::cout << row[0] << '\t' << outcome << '\n';
    CHECK(outcome == row[3]);
    if (must_be_refused(row[2])) CHECK(outcome.find("refused") != std::string::npos);
    ++cases;
  }
  beck::test::report_value("http.vectors", cases);
}

TEST_CASE("llhttp's requests and responses are read as recorded, however they arrive") {
  long long cases = 0;
  for (const auto& row : read_vectors(BECK_HTTP_VECTORS "/llhttp.tsv")) {
    REQUIRE(row.size() == 6);
    CAPTURE(row[0]);
    CAPTURE(row[1]);
    const bool is_response = row[2].find("response") == 0;
    const std::string input = unescaped(row[5]);
    const std::string outcome = is_response ? read_in_all_ways<response_reader>(input)
                                            : read_in_all_ways<request_reader>(input);
    if (is_recording()) std::cout << row[0] << '\t' << row[1] << '\t' << outcome << '\n';
    CHECK(outcome == row[4]);
    ++cases;
  }
  beck::test::report_value("http.vectors", cases);
  beck::test::report_value("http.splits", splits);
}

}  // namespace
