// SPDX-License-Identifier: BSL-1.0
// The public class over a session.
#include <beck/websocket/stream.hpp>

#include <stdexcept>
#include <utility>

#include "websocket/session.hpp"

namespace beck::websocket {

namespace detail {

stream make_stream(std::shared_ptr<session> made) {
  return stream(new stream_handle{std::move(made)});
}

}  // namespace detail

stream::~stream() {
  if (handle_ == nullptr) return;
  handle_->shared->lose(make_error_code(beck::error::operation_aborted));
  delete handle_;
}

task<io_result<message_kind>> stream::read(flat_buffer& to) {
  return detail::frame_input::read(handle_->shared, to);
}

task<io_result<message_part>> stream::read_some(mutable_buffer to) {
  return detail::frame_input::read_some(handle_->shared, to);
}

task<io_result<>> stream::write(message_kind kind, const_buffer data) {
  return detail::frame_output::write(handle_->shared, kind, data);
}

task<io_result<>> stream::write_part(message_kind kind, const_buffer data, bool is_last) {
  return detail::frame_output::write_part(handle_->shared, kind, data, is_last);
}

error_code stream::send(const message& shared) noexcept {
  return handle_->shared->output().send(shared);
}

task<io_result<>> stream::close(close_code code, std::string_view reason) {
  constexpr std::size_t reason_bytes_max = 123;
  if (!may_be_sent(code))
    throw std::invalid_argument("websocket: a close frame must not have the code " +
                                std::to_string(static_cast<unsigned>(code)));
  if (reason.size() > reason_bytes_max)
    throw std::invalid_argument("websocket: a reason of " + std::to_string(reason.size()) +
                                " bytes; at most " + std::to_string(reason_bytes_max));
  return detail::session::close(handle_->shared, code, std::string(reason));
}

close_code stream::peer_code() const noexcept { return handle_->shared->peer_code(); }

std::string_view stream::peer_reason() const noexcept {
  return handle_->shared->input().peer_reason();
}

std::string_view stream::protocol() const noexcept { return handle_->shared->protocol; }

std::size_t stream::queued() const noexcept { return handle_->shared->output().queued(); }

error_code stream::error() const noexcept { return handle_->shared->error(); }

std::string stream::error_text() const {
  const detail::session& s = *handle_->shared;
  const limits& most = s.bounds();
  const error_code ec = s.error();
  if (!ec) return {};
  std::string text = ec.message();
  const auto seconds = [](duration time) {
    return std::to_string(time.nanoseconds() / 1'000'000) + " ms";
  };
  if (ec == stream_error::frame_too_long) {
    text += ": " + std::to_string(most.frame_bytes) + " bytes";
  } else if (ec == stream_error::message_too_long) {
    text += ": " + std::to_string(most.message_bytes) + " bytes";
  } else if (ec == stream_error::too_many_control) {
    text += ": " + std::to_string(most.control_frames);
  } else if (ec == stream_error::queue_full) {
    text += ": " + std::to_string(most.queue_bytes) + " bytes";
  } else if (ec == stream_error::pong_late) {
    text += ": " + seconds(most.pong_timeout);
  } else if (ec == stream_error::send_late) {
    text += ": " + seconds(most.send_timeout);
  } else if (ec == stream_error::close_late) {
    text += ": " + seconds(most.close_timeout);
  } else if (ec == stream_error::closed && static_cast<int>(s.peer_code()) != 0) {
    text += ": " + std::to_string(static_cast<int>(s.peer_code()));
    if (!peer_reason().empty()) text.append(" ").append(peer_reason());
  }
  return text;
}

any_io_executor stream::get_executor() const noexcept { return handle_->shared->executor(); }

}  // namespace beck::websocket
