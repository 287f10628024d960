// SPDX-License-Identifier: BSL-1.0
//
// Each whole command is sent, answered or refused.
#include "cluster_client.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cluster_rules.hpp"

namespace beck_redis_proxy {

cluster_client::cluster_client(std::uint64_t number, const statistics& all,
                               cluster_counters& counts)
    : counts_(counts),
      dialogue_(number, all),
      parser_(beck::redis::request_limits().bytes(command_bytes_most)) {}

bool cluster_client::fill_batch() {
  version_ = dialogue_.version();
  while (!in_.empty() && batch_.size() < window_ && batch_.request().bytes().size() < batch_bytes) {
    const auto all = in_.view();
    const auto found = parser_.parse({all.data(), all.size()});
    if (found.event == beck::redis::request_event::more) return true;
    if (found.event == beck::redis::request_event::refused) {
      batch_.add_answer(fmt::format("-ERR {}\r\n", parser_.message()));
      return false;
    }
    take(found.command);
    in_.consume(found.consumed);
    if (dialogue_.has_ended()) return false;
    if (dialogue_.version() != version_) return true;
  }
  return true;
}

void cluster_client::take(const beck::redis::arguments& command) {
  const cluster_way way = way_of(command);
  if (way == cluster_way::send) {
    batch_.add_command(command);
    ++counts_.commands;
    return;
  }
  const bool is_own = way == cluster_way::answer;
  batch_.add_answer(is_own ? dialogue_.answer(command) : dialogue_.refuse(command, way));
  ++(dialogue_.has_refused() ? counts_.refused : counts_.answered);
}

void cluster_client::note_replies(std::size_t bytes) noexcept {
  window_ = bytes >= large_replies_bytes ? 1 : std::min(2 * window_, window_most);
}

void cluster_client::release() noexcept {
  in_.release();
  batch_.release();
  out_ = std::string();
}

}  // namespace beck_redis_proxy
