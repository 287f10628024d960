// SPDX-License-Identifier: BSL-1.0
//
// A histogram of the times of requests for each route, as text for Prometheus; see metrics.hpp for
// the counters of a server.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/http/exchange_record.hpp>
#include <cstddef>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <type_traits>

namespace beck::http {

/// The settings of route_metrics.
struct route_metrics_options {
  static constexpr std::size_t buckets_max = 20;

  /// The upper bounds of the histogram's buckets, in seconds, each greater than the one before; a 0
  /// ends the list. A further bucket has all longer times.
  double buckets[buckets_max] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                 0.25,  0.5,    1,     2.5,  5,     10};
  /// The most series, each of a route, a method and a class of status. What comes later counts as
  /// one more, whose labels are "other". A series takes 1.5 KiB.
  std::size_t series = 1000;
};
static_assert(std::is_trivially_destructible_v<route_metrics_options>);

/// The times of requests, exchange_record::time, by route, method and class of status. A copy
/// shares the histograms.
///   http::route_metrics seen;
///   server.on_finish(seen);
///   site.get("/metrics", [seen](http::request&, http::response& r) {
///     r.set(http::field::content_type, http::metrics_type).send(seen.text());
///   });
/// Clients cannot make series: the route is a pattern of the program, "none" without one, and each
/// method that the library does not know is "other". A message that was refused without its method
/// has the method "none"; a client that has gone before the response has the status "none".
/// Thread: any; threads of different contexts do not wait for each other.
class route_metrics {
 public:
  /// Throws std::invalid_argument if the bounds are not finite, or do not grow, or for 0 series;
  /// std::bad_alloc.
  explicit route_metrics(const route_metrics_options& how = route_metrics_options());
  route_metrics(const route_metrics& other) noexcept;
  route_metrics& operator=(const route_metrics& other) noexcept;
  ~route_metrics();

  /// Counts an exchange. Never waits, but for a new series.
  void operator()(const exchange_record& ended) const noexcept;
  /// Returns the histogram "beck_http_request_duration_seconds" in Prometheus' text format 0.0.4,
  /// with the labels `route`, `method` and `status` ("2xx"), in the order of these. An empty text
  /// before the first exchange. Throws std::bad_alloc. Source: Prometheus, "Exposition formats".
  std::string text() const;

 private:
  struct state;
  state* state_;
};

}  // namespace beck::http
