// SPDX-License-Identifier: BSL-1.0
// The vectors: good and bad bytes with the tokens or the refusal that a parser must return, however
// they arrive.
#include "support/vectors.hpp"

#include <doctest/doctest.h>

#include "redis/replies.hpp"
#include "support/report.hpp"

using namespace beck::redis;
using namespace beck::redis::test;

TEST_CASE(
    "redis: the transcripts of the vectors are the same whole, at every split and byte by byte") {
  long long cases = 0;
  for (const auto& row : beck::test::read_vectors(BECK_REDIS_VECTORS "/replies.tsv")) {
    REQUIRE(row.size() >= 2);
    const std::string input = beck::test::unescaped(row[1]);
    const std::string expected = row.size() > 2 ? row[2] : std::string();
    INFO(row[1]);
    if (row[0] != "2")
      CHECK(transcript_at_all_splits(input, {.version = protocol::resp3}) == expected);
    if (row[0] != "3")
      CHECK(transcript_at_all_splits(input, {.version = protocol::resp2}) == expected);
    cases += row[0] == "both" ? 2 : 1;
  }
  CHECK(cases >= 250);
  beck::test::report_value("resp.vectors", cases);
}
