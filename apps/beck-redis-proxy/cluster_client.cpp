// SPDX-License-Identifier: BSL-1.0
//
// Each whole command is sent, answered or refused.
#include "cluster_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster_rules.hpp"

namespace beck_redis_proxy {

cluster_client::cluster_client(std::uint64_t number, cluster_face face, const statistics& all,
                               cluster_counters& counts, cluster_scripts& scripts)
    : counts_(counts),
      scripts_(scripts),
      dialogue_(number, std::move(face), all, scripts),
      parser_(beck::redis::request_limits{.request_bytes = command_bytes_most},
              beck::redis::request_parser::inline_commands::allowed) {}

bool cluster_client::fill_batch() {
  version_ = dialogue_.version();
  while (!in_.empty() && batch_.size() < window_ && batch_.request().bytes().size() < batch_bytes) {
    const auto all = in_.view();
    const auto found = parser_.parse({all.data(), all.size()});
    if (found.event == beck::redis::request_event::more) {
      in_.consume(found.consumed);
      return true;
    }
    if (found.event == beck::redis::request_event::refused) {
      batch_.add_answer(fmt::format("-ERR {}\r\n", parser_.error_text()));
      return false;
    }
    const bool is_followed = in_.size() > found.consumed;
    const bool ends_batch = take(found.command, is_followed);
    in_.consume(found.consumed);
    if (dialogue_.has_ended()) return false;
    if (ends_batch || dialogue_.version() != version_) return true;
  }
  return true;
}

/// Adds a command to the batch. `is_followed`: bytes of further ones are there. Returns whether the
/// batch ends with it: commands behind SCRIPT LOAD may need the script.
bool cluster_client::take(const beck::redis::arguments& command, bool is_followed) {
  const cluster_way way = way_of(command);
  dialogue_.note(command);
  if (way == cluster_way::send && dialogue_.is_in_multi()) {
    batch_.add_answer(dialogue_.refuse_in_multi(command));
    ++counts_.refused;
    return false;
  }
  if (way == cluster_way::send) {
    // Where commands follow, the text goes out at once: behind NOSCRIPT they would have run before.
    const std::string* const text = is_followed ? scripts_.text_of(command) : nullptr;
    text != nullptr ? batch_.add_script(command, *text) : batch_.add_command(command);
    ++counts_.commands;
    return is_script(command, "load");
  }
  const bool is_own = way == cluster_way::answer;
  batch_.add_answer(is_own ? dialogue_.answer(command) : dialogue_.refuse(command, way));
  ++(dialogue_.has_refused() ? counts_.refused : counts_.answered);
  return false;
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
