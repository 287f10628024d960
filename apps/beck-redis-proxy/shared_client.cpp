// SPDX-License-Identifier: BSL-1.0
//
// Commands go out as long as the client reads the replies.
#include "shared_client.hpp"

#include <algorithm>
#include <utility>

#include "proxy_command.hpp"
#include "shared_connection.hpp"
#include "words.hpp"

namespace beck_redis_proxy {

shared_client::shared_client(const shared_servers& servers, const statistics& all)
    : servers_(servers),
      all_(all),
      parser_(beck::redis::request_limits{.request_bytes = command_bytes_most},
              beck::redis::request_parser::inline_commands::skipped) {}

void shared_client::take(std::string_view bytes, bool is_last) {
  if (!is_receiving()) return;
  out_.append(bytes);
  if (out_.size() + writing_.size() > unread_bytes_most) {
    out_.clear();
    end(shared_end::overflow);
    abort();
    return;
  }
  if (is_greeting_ && reply_bytes_ == 0) is_accepted_ = !bytes.starts_with('-');
  reply_bytes_ += bytes.size();
  if (is_last) {
    if (std::exchange(is_greeting_, false) && is_accepted_) version_ = next_version_;
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
    if (is_greeting_ || !may_send() || server().is_full()) return need::room;
    const auto all = in_.view();
    const auto found = parser_.parse({all.data(), all.size()});
    if (found.event == beck::redis::request_event::more) {
      in_.consume(found.consumed);
      return need::bytes;
    }
    const bool is_command = found.event == beck::redis::request_event::command;
    if (is_command && may_be_answered(found.command)) {
      if (!has_all_replies()) return need::room;
      if (answer(found.command)) {
        in_.consume(found.consumed);
        continue;
      }
    }
    reason_ = is_command ? reason_to_move(found.command) : move_reason::bytes;
    if (reason_ != move_reason::none) {
      if (is_command && waits_for_replicas(found.command)) wait_bytes_ = found.consumed;
      end(shared_end::moved);
      break;
    }
    send(server(), found.command.wire());
    in_.consume(found.consumed);
  }
  return need::nothing;
}

void shared_client::send(shared_connection& to, std::string_view command) {
  ++under_way_;
  to.send(shared_from_this(), command);
}

/// Answers a command, or lets the server answer, if it changes nothing of a shared connection.
/// Returns false if it does. Requires that the client has the replies to all commands before it.
bool shared_client::answer(const beck::redis::arguments& command) {
  beck::redis::reply_writer to(version_);
  const bool is_quit = is_word(command[0], "quit");
  if (is_proxy_info(command)) {
    write_proxy_info(all_, to);
  } else if (is_quit || is_word(command[0], "select")) {
    to.simple("OK");
  } else if (is_word(command[0], "hello")) {
    if (!greet(command, to)) return false;
  } else if (!identity_.answer(command, to)) {
    return false;
  }
  if (to.size() == 0) return true;
  ++under_way_;
  take(to.bytes(), true);
  if (is_quit && is_receiving()) end(shared_end::quit);
  return true;
}

/// Sends HELLO, without a name, over the connection that has its version already: so the server
/// answers what it is. The client speaks that version when the reply has come.
bool shared_client::greet(const beck::redis::arguments& command, beck::redis::reply_writer& to) {
  const hello_words words = read_hello(command, version_);
  if (words.has_login) return false;
  std::string refusal(words.error);
  if (refusal.empty() && words.has_name) refusal = client_identity::refusal_of_name(words.name);
  if (!refusal.empty()) {
    to.error(refusal);
    return true;
  }
  if (words.has_name) identity_.set_name(words.name);
  const bool is_resp3 = words.version == beck::redis::protocol::resp3;
  next_version_ = words.version;
  is_greeting_ = true;
  send(is_resp3 ? servers_.resp3 : servers_.resp2,
       is_resp3 ? "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n" : "*2\r\n$5\r\nHELLO\r\n$1\r\n2\r\n");
  return true;
}

}  // namespace beck_redis_proxy
