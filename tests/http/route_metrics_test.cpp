// SPDX-License-Identifier: BSL-1.0
// Histograms of routes: their buckets, their labels, and their number.
#include <beck/http/metrics.hpp>
#include <beck/http/route_metrics.hpp>
#include <beck/http/router.hpp>

#include <atomic>
#include <limits>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "http/served.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
namespace http = beck::http;

namespace {

http::exchange_record counted(std::string_view route, unsigned status, std::int64_t ns) {
  http::exchange_record one;
  one.route = route;
  one.status = status;
  one.time = beck::duration(ns);
  return one;
}

/// Returns the samples of a text whose names end in `name`, without that name.
std::vector<std::string> samples_of(const std::string& text, const std::string& name) {
  std::vector<std::string> all;
  const std::string begin = "beck_http_request_duration_seconds" + name + '{';
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    if (text.compare(at + 1, begin.size(), begin) != 0) continue;
    const std::size_t from = at + begin.size();
    all.push_back(text.substr(from, text.find('\n', from) - from));
  }
  return all;
}

using texts = std::vector<std::string>;

}  // namespace

TEST_CASE("http route metrics: a bucket has what is not above its bound, and all before it") {
  const http::route_metrics seen({.buckets = {0.001, 0.25, 2}});
  CHECK(seen.text().empty());
  for (const std::int64_t ns :
       {-1LL, 0LL, 1'000'000LL, 1'000'001LL, 250'000'000LL, 3'000'000'500LL})
    seen(counted("/a", 204, ns));
  const std::string text = seen.text();
  CHECK(text.starts_with("# HELP beck_http_request_duration_seconds Time from "));
  CHECK(has(text, "\n# TYPE beck_http_request_duration_seconds histogram\n"));
  const std::string labels = "{route=\"/a\",method=\"none\",status=\"2xx\"";
  CHECK(samples_of(text, "_bucket") == texts{labels + ",le=\"0.001\"} 3",
                                             labels + ",le=\"0.25\"} 5", labels + ",le=\"2\"} 5",
                                             labels + ",le=\"+Inf\"} 6"});
  CHECK(samples_of(text, "_sum") == texts{labels + "} 3.252000501"});
  CHECK(samples_of(text, "_count") == texts{labels + "} 6"});
  const std::regex line("# (HELP|TYPE) [ -~]+|[a-z_]+\\{[ -~]+\\} [0-9]+(\\.[0-9]*[1-9])?");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    REQUIRE(end != std::string::npos);
    CHECK(std::regex_match(text.substr(at, end - at), line));
    at = end + 1;
  }
}

TEST_CASE("http route metrics: series beyond the bound are one more") {
  const http::route_metrics seen({.series = 2});
  for (const char* route : {"/b", "/a", "/c", "/d", "/a"}) seen(counted(route, 200, 1));
  seen(counted("/a", 500, 1));
  CHECK(samples_of(seen.text(), "_count") ==
        texts{"{route=\"/a\",method=\"none\",status=\"2xx\"} 2",
              "{route=\"/b\",method=\"none\",status=\"2xx\"} 1",
              "{route=\"other\",method=\"other\",status=\"other\"} 3"});
}

TEST_CASE("http route metrics: labels are escaped, and each class of status has its series") {
  const http::route_metrics seen;
  const http::route_metrics copy = seen;
  copy(counted("/\"\\\n", 999, 1));
  for (const unsigned status : {0U, 101U, 302U, 404U, 503U}) copy(counted("", status, 1));
  CHECK(samples_of(seen.text(), "_count") ==
        texts{"{route=\"/\\\"\\\\\\n\",method=\"none\",status=\"5xx\"} 1",
              "{route=\"none\",method=\"none\",status=\"1xx\"} 1",
              "{route=\"none\",method=\"none\",status=\"3xx\"} 1",
              "{route=\"none\",method=\"none\",status=\"4xx\"} 1",
              "{route=\"none\",method=\"none\",status=\"5xx\"} 1",
              "{route=\"none\",method=\"none\",status=\"none\"} 1"});
}

TEST_CASE("http route metrics: bounds that do not grow are refused") {
  const double bad[][2] = {{1, 1},
                           {2, 1},
                           {-1, 1},
                           {0.1, 1e10},
                           {0.1, std::numeric_limits<double>::infinity()},
                           {std::numeric_limits<double>::quiet_NaN(), 1}};
  for (const auto& two : bad) {
    CAPTURE(two[0]);
    CHECK_THROWS_AS(http::route_metrics({.buckets = {two[0], two[1]}}), std::invalid_argument);
  }
  CHECK_THROWS_AS(http::route_metrics({.series = 0}), std::invalid_argument);
  CHECK_THROWS_AS(http::route_metrics({.series = 2'000'000}), std::invalid_argument);
  const http::route_metrics one({.buckets = {0}});  // only the one for all times
  one(counted("/a", 200, 1));
  CHECK(samples_of(one.text(), "_bucket").size() == 1);
}

CONFORMANCE("http route metrics: requests are counted by their pattern, not by their path") {
  const http::route_metrics seen;
  http::router inner, site;
  inner.get("/{id}", say_path);
  site.mount("/rows", inner)
      .post("/rows", say_path)
      .get("/metrics", [seen](http::request&, http::response& r) { r.send(seen.text()); });
  served s(site);
  s.server.on_finish(seen);
  s.ask(get("/rows/1") + get("/rows/2") + get("/none/1") + get("/none/2") +
        "PUT /rows HTTP/1.1\r\nHost: a\r\n\r\n" + "BREW /none HTTP/1.1\r\nHost: a\r\n\r\n" +
        "POST /rows HTTP/1.1\r\nHost: a\r\n\r\n" + "bad\r\n\r\n");
  const auto responses = s.ask(last_get("/metrics"));
  INFO(responses.at(0).body);
  CHECK(samples_of(responses.at(0).body, "_count") ==
        texts{"{route=\"/rows\",method=\"POST\",status=\"2xx\"} 1",
              "{route=\"/rows/{id}\",method=\"GET\",status=\"2xx\"} 2",
              "{route=\"none\",method=\"GET\",status=\"4xx\"} 2",
              "{route=\"none\",method=\"PUT\",status=\"4xx\"} 1",
              "{route=\"none\",method=\"none\",status=\"4xx\"} 1",
              "{route=\"none\",method=\"other\",status=\"4xx\"} 1"});
}

TEST_CASE("http route metrics: threads that count at once lose nothing") {
  const http::route_metrics seen({.series = 40});
  constexpr int rounds = 2000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&seen] {
      for (int i = 0; i < rounds; ++i) seen(counted("/" + std::to_string(i % 50), 200, 1));
    });
  }
  for (std::thread& one : threads) one.join();
  const auto counts = samples_of(seen.text(), "_count");
  CHECK(counts.size() == 41);
  int sum = 0;
  for (const std::string& one : counts) sum += std::stoi(one.substr(one.rfind(' ') + 1));
  CHECK(sum == 4 * rounds);
}
