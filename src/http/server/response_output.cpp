// SPDX-License-Identifier: BSL-1.0
// The writer takes queued bytes and reports how many have left; each of its calls may let a handler
// continue that waits for room.
#include "http/server/response_output.hpp"

#include <beck/base/assert.hpp>

#include "http/server/connection.hpp"
#include "http/server/worker.hpp"

namespace beck::http::detail {
namespace {

constexpr std::size_t copied_max = 4096;  // larger texts are kept in a separate block

}  // namespace

response_output::response_output(connection& of) noexcept
    : connection_(of), writer_(*this), sending_(of) {}

void response_output::start(byte_stream& to) noexcept { writer_.start(connection_.executor(), to); }

void response_output::stop() noexcept {
  writer_.stop();
  if (!writer_.is_writing()) queue_.clear();
}

void response_output::schedule() noexcept {
  if (is_held_back_ || queue_.empty()) return;
  if (has_room()) {
    writer_.schedule();
  } else {
    writer_.flush();
  }
}

void response_output::flush_last() noexcept {
  writer_.end_follows();
  writer_.flush();
}

task<bool> response_output::flush() {
  writer_.flush();
  const error_code waited = co_await writer_.wait_until_idle();
  co_return !waited && !writer_.is_stopped();
}

void response_output::send_behind(std::string_view body) {
  const const_buffer part(body.data(), body.size());
  writer_.send_behind(const_buffer_span(&part, 1));
}

void response_output::keep_rest(const_buffer_span parts, std::size_t sent) {
  BECK_ASSERT(parts.end() - parts.begin() == 1 && sent <= parts.begin()->size(),
              "more was sent than there is");
  const const_buffer left = *parts.begin() + sent;
  const std::string_view text(static_cast<const char*>(left.data()), left.size());
  if (text.size() > copied_max) {
    queue_.append_owned(std::string(text), [](const std::string& kept) {
      return const_buffer(kept.data(), kept.size());
    });
  } else {
    queue_.append(text);
  }
}

void response_output::take_sent(std::size_t bytes) noexcept {
  queue_.remove(bytes);
  if (queue_.size() < waiting_again) connection_.responses().wake();
}

/// Ignores the cancellation of a write, which is then tried again; any other error loses the
/// connection.
void response_output::take_write_error(const error_code& why) noexcept {
  if (why != error::operation_aborted) connection_.lose();
}

void response_output::end_stall() noexcept {
  end_watch();
  if (writer_.is_stopped()) queue_.clear();
  connection_.responses().wake();
  if (!queue_.empty()) writer_.schedule();  // output added during a loan
}

void response_output::hold() noexcept { hold_.hold(connection_.shared_from_this()); }

void response_output::begin_watch() noexcept {
  connection_.server_worker().clock().enter(sending_, phase::response);
  sent_at_check_ = writer_.sent();
}

void response_output::end_watch() noexcept {
  connection_.server_worker().clock().enter(sending_, phase::none);
}

void response_output::check_progress() noexcept {
  if (writer_.sent() == sent_at_check_) return connection_.lose();
  begin_watch();
}

}  // namespace beck::http::detail
