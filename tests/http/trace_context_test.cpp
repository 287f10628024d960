// SPDX-License-Identifier: BSL-1.0
// Fields traceparent: those that the W3C's document allows, and all others begin a new trace.
#include <beck/http/trace_context.hpp>

#include <string>
#include <vector>

#include "http/served.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
namespace http = beck::http;
using http::trace_context;

namespace {

const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string span = "00f067aa0ba902b7";
const std::string good = "00-" + trace + '-' + span + "-01";

std::string text_of(const trace_context& of) { return std::string(of.text()); }

}  // namespace

TEST_CASE("http trace: a traceparent is read as the caller's span") {
  const trace_context read = trace_context::parse(good);
  REQUIRE(read);
  CHECK(read.trace_id() == trace);
  CHECK(read.span_id() == span);
  CHECK(read.is_sampled());
  CHECK(text_of(read) == good);
  CHECK(!trace_context::parse("00-" + trace + '-' + span + "-00").is_sampled());
  // Flags that version 00 does not know are not passed on.
  CHECK(text_of(trace_context::parse("00-" + trace + '-' + span + "-ff")) == good);
  // Of a later version the known parts are read, and written as version 00.
  for (const char* more : {"", "-", "-what the future brings"})
    CHECK(text_of(trace_context::parse("cc-" + trace + '-' + span + "-01" + more)) == good);
}

TEST_CASE("http trace: what is no traceparent is no trace") {
  std::vector<std::string> bad = {"",
                                  "00",
                                  good + "-",
                                  good + "0",
                                  "cc-" + trace + '-' + span + "-01x",
                                  "ff-" + trace + '-' + span + "-01",
                                  " " + good,
                                  good + " ",
                                  "00-" + std::string(32, '0') + '-' + span + "-01",
                                  "00-" + trace + '-' + std::string(16, '0') + "-01"};
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string one = good;
    one[i] = 'G';
    bad.push_back(one);
    one[i] = 'A';  // upper case
    bad.push_back(one);
    bad.push_back(good.substr(0, i));
  }
  for (const std::string& one : bad) {
    CAPTURE(one);
    const trace_context read = trace_context::parse(one);
    CHECK(!read);
    CHECK(text_of(read).empty());
    CHECK(!read.is_sampled());
  }
}

CONFORMANCE("http trace: a request is a span below that of its client, or begins a trace") {
  std::vector<trace_context> seen;
  served s([&](http::request& q, http::response& r) {
    seen.push_back(trace_context::of(q));
    seen.push_back(seen.back().child(q.get_executor()));
    r.send();
  });
  const std::string field = "Traceparent: " + good + "\r\n";
  s.ask(get("/", field) + get("/") + get("/", "traceparent: " + good + "x\r\n") +
        get("/", field + field + "Connection: close\r\n"));
  REQUIRE(seen.size() == 8);
  for (std::size_t i = 0; i < 8; i += 2) {
    CAPTURE(i);
    REQUIRE(seen[i]);
    CHECK(seen[i].is_same_trace(seen[i + 1]));
    CHECK(!(seen[i].span_id() == std::string(seen[i + 1].span_id())));
    CHECK(seen[i].is_sampled() == seen[i + 1].is_sampled());
    CHECK(text_of(trace_context::parse(text_of(seen[i]))) == text_of(seen[i]));
  }
  CHECK(seen[0].trace_id() == trace);
  CHECK(!(seen[0].span_id() == span));
  CHECK(seen[0].is_sampled());
  for (const std::size_t i : {2U, 4U, 6U}) {
    CHECK(!(seen[i].trace_id() == trace));
    CHECK(!seen[i].is_sampled());
    CHECK(!seen[i].is_same_trace(seen[0]));
    for (const std::size_t other : {2U, 4U, 6U})
      CHECK(seen[i].is_same_trace(seen[other]) == (i == other));
  }
  CHECK(trace_context::parse(text_of(trace_context(seen[2]).sampled(true))).is_sampled());
  CHECK(!trace_context().is_same_trace(trace_context()));
}
