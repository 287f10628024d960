// SPDX-License-Identifier: BSL-1.0
//
// A line is written only when the state of the server has changed, and at most one a second.
#include "server_log.hpp"

#include <fmt/format.h>

#include <beck/io/steady_timer.hpp>
#include <cstdio>

namespace beck_redis_proxy {
namespace {

constexpr beck::duration log_pause = beck::duration(1'000'000'000);

}  // namespace

std::string server_log::note_lost(std::string_view reason) {
  std::string text = fmt::format("cannot reach {}: {}", url_, reason);
  note(true, text);
  return text;
}

void server_log::note_reached() {
  if (is_lost_) note(false, url_ + " is reached again");
}

void server_log::note(bool is_lost, const std::string& text) {
  const beck::time_point now = beck::steady_now();
  if (is_lost == is_lost_ || now < noted_ + log_pause) return;
  is_lost_ = is_lost;
  noted_ = now;
  fmt::print(stderr, "beck-redis-proxy: {}\n", text);
}

}  // namespace beck_redis_proxy
