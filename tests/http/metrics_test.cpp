// SPDX-License-Identifier: BSL-1.0
// Counters as Prometheus reads them: a strict reader of its text format finds each one once.
#include <beck/http/metrics.hpp>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "http/served.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
namespace http = beck::http;

namespace {

/// The samples of a text, by name and labels.
using samples = std::map<std::string, std::uint64_t>;

/// Takes the line at the front of `text` off.
std::string take_line(std::string& text) {
  const std::size_t end = text.find('\n');
  REQUIRE(end != std::string::npos);
  std::string line = text.substr(0, end);
  text.erase(0, end + 1);
  return line;
}

/// Reads a text. Fails the case unless each family has its HELP, its TYPE and its samples, in this
/// order and once, and names that Prometheus asks for.
samples read(std::string text) {
  static const std::regex help("# HELP ([a-z_]+) [A-Z][ -~]*\\.");
  static const std::regex sample("([a-z_]+)(\\{[a-z]+=\"[a-z_]+\"\\})? (0|[1-9][0-9]*)");
  samples found;
  std::set<std::string> families;
  while (!text.empty()) {
    std::smatch parts;
    const std::string first = take_line(text);
    CAPTURE(first);
    REQUIRE(std::regex_match(first, parts, help));
    const std::string family = parts[1];
    REQUIRE(families.insert(family).second);
    const bool is_counter = family.size() > 6 && family.substr(family.size() - 6) == "_total";
    REQUIRE(take_line(text) == "# TYPE " + family + (is_counter ? " counter" : " gauge"));
    std::size_t count = 0;
    for (; !text.empty() && text[0] != '#'; ++count) {
      const std::string line = take_line(text);
      CAPTURE(line);
      REQUIRE(std::regex_match(line, parts, sample));
      REQUIRE(parts[1] == family);
      REQUIRE(found.emplace(parts[1].str() + parts[2].str(), std::stoull(parts[3])).second);
    }
    REQUIRE(count != 0);
  }
  return found;
}

std::string refused(http::refusal why) {
  return "beck_http_refused_total{reason=\"" + std::string(beck::http::name_of(why)) + "\"}";
}

}  // namespace

TEST_CASE("http metrics: each counter of a server is there once, with its own value") {
  http::server_stats stats;
  stats.connections = 1;
  stats.accepted = 2;
  stats.turned_away = 3;
  stats.evicted = 4;
  stats.handshakes_failed = 5;
  stats.taken_over = 6;
  stats.exchanges = 7;
  stats.failed = 8;
  stats.cut = UINT64_MAX;
  for (unsigned i = 0; i < std::size(stats.refused); ++i) stats.refused[i] = 100 + i;
  samples expected = {{"beck_http_connections", 1},
                      {"beck_http_accepted_total", 2},
                      {"beck_http_turned_away_total", 3},
                      {"beck_http_evicted_total", 4},
                      {"beck_http_handshakes_failed_total", 5},
                      {"beck_http_taken_over_total", 6},
                      {"beck_http_exchanges_total", 7},
                      {"beck_http_failed_total", 8},
                      {"beck_http_cut_total", UINT64_MAX}};
  constexpr auto last = static_cast<unsigned>(http::refusal::handler_late);
  for (unsigned i = 1; i <= last; ++i) expected[refused(static_cast<http::refusal>(i))] = 100 + i;
  CHECK(read(http::metrics_text(stats)) == expected);
  CHECK(expected.at("beck_http_refused_total{reason=\"handler_late\"}") == 100 + last);
}

TEST_CASE("http metrics: the counters of a context follow") {
  beck::context_stats stats;
  stats.iterations = 11;
  stats.kernel_entries = 12;
  stats.outstanding = 13;
  stats.depth_max = 14;
  const std::string text = http::metrics_text(http::server_stats(), stats);
  CHECK(text.rfind(http::metrics_text(http::server_stats()), 0) == 0);
  const samples found = read(text);
  CHECK(found.at("beck_context_iterations_total") == 11);
  CHECK(found.at("beck_context_kernel_entries_total") == 12);
  CHECK(found.at("beck_context_outstanding") == 13);
  CHECK(found.at("beck_context_depth_max") == 14);
  const auto in_context = [](const auto& one) { return one.first.rfind("beck_context_", 0) == 0; };
  CHECK(std::count_if(found.begin(), found.end(), in_context) == 24);
}

CONFORMANCE("http metrics: a handler answers with the counters of its own server") {
  const http::server* self = nullptr;
  served s([&self](http::request&, http::response& r) {
    r.set(http::field::content_type, http::metrics_type).send(http::metrics_text(self->stats()));
  });
  self = &s.server;
  s.ask("bad request\r\n\r\n");
  const auto responses = s.ask(get("/") + last_get("/metrics"));
  REQUIRE(responses.size() == 2);
  CHECK(has(responses[1].fields, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  const samples found = read(responses[1].body);
  CHECK(found.at("beck_http_accepted_total") == 2);
  CHECK(found.at("beck_http_exchanges_total") == 1);
  CHECK(found.at(refused(http::refusal::bad_request_line)) == 1);
  CHECK(found.at(refused(http::refusal::bad_method)) == 0);
}
