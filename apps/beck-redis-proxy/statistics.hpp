// SPDX-License-Identifier: BSL-1.0
//
// All counters of the proxy, as text for Prometheus and as the text of PROXY INFO.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metric_row.hpp"

namespace beck_redis_proxy {

/// The counters, read when a text is made. Thread: that of the context.
class statistics {
 public:
  using table = std::function<metric_section()>;

  /// Refers to `server`, the URL that the text names.
  explicit statistics(const std::string& server) : server_(server) {}
  statistics(const statistics&) = delete;
  statistics& operator=(const statistics&) = delete;

  /// Adds a table behind the others.
  void add(table one) { tables_.push_back(std::move(one)); }
  /// Returns the text in Prometheus' format 0.0.4: HELP, TYPE and sample of each counter.
  std::string prometheus() const;
  /// Returns the text in the format of Redis' INFO: "# Title" and lines of "name:value", with the
  /// version and the server in front.
  std::string info() const;

 private:
  const std::string& server_;
  std::vector<table> tables_;
};

}  // namespace beck_redis_proxy
