// SPDX-License-Identifier: BSL-1.0
//
// Commands go out as long as the client reads the replies.
#include "shared_client.hpp"

#include <algorithm>

#include "proxy_command.hpp"
#include "shared_connection.hpp"

namespace beck_redis_proxy {

shared_client::shared_client(shared_connection& server, const statistics& all)
    : server_(server),
      all_(all),
      parser_(beck::redis::request_limits().bytes(command_bytes_most)) {}

void shared_client::take(std::string_view bytes, bool is_last) {
  if (!is_receiving()) return;
  out_.append(bytes);
  if (out_.size() + writing_.size() > unread_bytes_most) {
    out_.clear();
    end(shared_end::overflow);
    abort();
    return;
  }
  reply_bytes_ += bytes.size();
  if (is_last) {
    const bool is_large = reply_bytes_ >= large_reply_bytes;
    window_ = is_large ? 1 : std::min(window_ + 1, window_most);
    reply_bytes_ = 0;
    --under_way_;
  }
  has_output_.set();
}

void shared_client::refuse(std::string_view error_line) {
  if (reply_bytes_ != 0) return lose();  // a reply has begun, and cannot become another one
  take(error_line, true);
}

void shared_client::lose() noexcept {
  if (is_receiving()) end(shared_end::lost);
}

void shared_client::end(shared_end how) noexcept {
  end_ = how;
  has_output_.set();
  may_go_on_.set();
}

void shared_client::release() noexcept {
  in_.release();
  for (std::string* const bytes : {&out_, &writing_}) {
    bytes->clear();
    bytes->shrink_to_fit();  // an assignment would keep the memory
  }
}

shared_client::need shared_client::send_commands() {
  while (end_ == shared_end::none) {
    if (in_.empty()) return need::bytes;
    if (!may_send() || server_.is_full()) return need::room;
    const auto all = in_.view();
    const auto found = parser_.parse({all.data(), all.size()});
    if (found.event == beck::redis::request_event::more) return need::bytes;
    const bool is_command = found.event == beck::redis::request_event::command;
    if (is_command && is_proxy_info(found.command)) {
      if (!has_all_replies()) return need::room;
      answer_info();
      in_.consume(found.consumed);
      continue;
    }
    reason_ = is_command ? reason_to_move(found.command) : move_reason::bytes;
    if (reason_ != move_reason::none) {
      if (is_command && waits_for_replicas(found.command)) wait_bytes_ = found.consumed;
      end(shared_end::moved);
      break;
    }
    ++under_way_;
    server_.send(shared_from_this(), {all.data(), found.consumed});
    in_.consume(found.consumed);
  }
  return need::nothing;
}

/// Answers PROXY INFO. Requires that the client has the replies to all commands before it.
void shared_client::answer_info() {
  beck::redis::reply_writer text;
  write_proxy_info(all_, text);
  ++under_way_;
  take(text.bytes(), true);
}

}  // namespace beck_redis_proxy
