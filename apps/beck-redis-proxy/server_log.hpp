// SPDX-License-Identifier: BSL-1.0
//
// The lines on standard error about the server.
#pragma once

#include <beck/base/duration.hpp>
#include <string>
#include <string_view>

namespace beck_redis_proxy {

/// Logs when the server is lost, and when it is back. A server that comes and goes has two lines a
/// second. Thread: that of the context.
class server_log {
 public:
  explicit server_log(const std::string& url) : url_(url) {}
  server_log(const server_log&) = delete;
  server_log& operator=(const server_log&) = delete;

  /// Notes that there is no connection to the server. Returns a sentence with the reason.
  std::string note_lost(std::string_view reason);
  /// Notes that a connection was made.
  void note_reached();

 private:
  static void write(const std::string& text);

  const std::string& url_;
  bool is_lost_ = false;      // as the last line says
  beck::time_point lost_at_;  // when the last loss was written
};

}  // namespace beck_redis_proxy
