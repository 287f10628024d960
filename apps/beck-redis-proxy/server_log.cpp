// SPDX-License-Identifier: BSL-1.0
//
// A line is written only when the state of the server has changed. The return is always written, as
// there may be no further connection to write it later.
#include "server_log.hpp"

#include <fmt/format.h>

#include <beck/io/steady_timer.hpp>
#include <utility>

#include "common/output.hpp"

namespace beck_redis_proxy {
namespace {

/// From a line about a loss to the next one.
constexpr beck::duration log_pause = beck::duration(1'000'000'000);

}  // namespace

std::string server_log::note_lost(std::string_view reason) {
  std::string text = fmt::format("cannot reach {}: {}", url_, reason);
  const beck::time_point now = beck::steady_now();
  if (is_lost_ || now < lost_at_ + log_pause) return text;
  is_lost_ = true;
  lost_at_ = now;
  write(text);
  return text;
}

void server_log::note_reached() {
  if (std::exchange(is_lost_, false)) write(url_ + " is reached again");
}

void server_log::write(const std::string& text) { beck_apps::say("beck-redis-proxy: " + text); }

}  // namespace beck_redis_proxy
