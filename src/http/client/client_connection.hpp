// SPDX-License-Identifier: BSL-1.0
// One connection of a client. One coroutine receives on request, another sends the bytes that the
// socket did not take at once; the exchange that uses the connection waits for their events. While
// it is idle, the first one still receives: any byte or end then closes the connection.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <beck/base/duration.hpp>
#include <beck/coro/event.hpp>
#include <beck/detail/intrusive_list.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/stream_layer.hpp>
#include <beck/run/byte_queue.hpp>
#include <beck/transfer/stream_writer.hpp>

#include "http/client/client_input.hpp"
#include "http/client/client_place.hpp"

namespace beck::http::detail {

/// How requests are written; see request_form.
struct whole_url_form {
  bool has_whole_url = false;
  std::string proxy_authorization, proxy_name;
};

/// How a connection is used.
enum class connection_use : std::uint8_t {
  busy,    ///< by a call
  idle,    ///< by none: it is in the lists of its pool
  closed,  ///< or taken over
};

/// A connection. Its coroutines share the ownership with the exchange that uses it. Thread: that of
/// its context.
class client_connection final : public std::enable_shared_from_this<client_connection>,
                                private beck::writer_source {
 public:
  client_connection(place at, owned_stream stream) noexcept;
  ~client_connection();
  client_connection(const client_connection&) = delete;
  client_connection& operator=(const client_connection&) = delete;

  /// Starts the coroutine that receives. Throws std::bad_alloc.
  void start();

  /// Sets how requests are written to it.
  void write_as(const whole_url_form& form) { form_ = form; }
  const whole_url_form& form() const noexcept { return form_; }

  // --- sending
  beck::byte_queue& out() noexcept { return out_; }
  /// Sends the output followed by `parts`, and copies only the bytes of `parts` that the socket
  /// does not take at once. Requires at most 4 parts, and fewer than 12 blocks in the output.
  void send(const_buffer_span parts);
  /// Sends the output; the bytes that the socket does not take at once follow in the background.
  void flush() noexcept { writer_.flush(); }
  bool is_sending() const noexcept { return writer_.is_writing(); }
  /// Returns the error that has ended sending; no error while it works.
  error_code send_error() const noexcept { return send_error_; }
  /// Returns an event that is set when there is room in the output, and when sending fails.
  auto_reset_event& sent() noexcept { return sent_; }

  // --- receiving
  client_input& input() noexcept { return input_; }
  const client_input& input() const noexcept { return input_; }
  byte_stream& stream() noexcept { return *stream_; }

  // --- its life
  /// Returns whether it has served a call before.
  bool is_reused() const noexcept { return reused_; }
  /// Keeps the connection for another call, for at most `time`. Requires that nothing of the call
  /// before is left.
  void become_idle(duration time) noexcept;
  /// Begins another call.
  void become_busy() noexcept;
  /// Closes the connection. The next waiting call gets its place.
  void close() noexcept;
  bool is_closed() const noexcept { return use_ == connection_use::closed; }
  /// Closes the connection and returns its place. Requires !is_closed().
  place surrender() noexcept;
  /// Releases the stream, a closed one if the connection is, and forgets the connection. Requires
  /// !input().is_receiving().
  owned_stream release() noexcept;
  const place& room() const noexcept { return place_; }

  beck::detail::list_hook pool_hook, origin_hook, idle_hook;

 private:
  static task<> receive_loop(std::shared_ptr<client_connection> self);
  task<io_result<buffer_lease>> receive();
  std::size_t gather(part_array& parts) override { return out_.gather(parts); }
  void keep_rest(const_buffer_span parts, std::size_t sent) override;
  void take_sent(std::size_t bytes) noexcept override;
  void take_write_error(const error_code& why) noexcept override;
  void begin_stall() noexcept override;
  void check_stall() noexcept;
  void end_stall() noexcept override;
  void hold() noexcept override { hold_.hold(shared_from_this()); }
  void let_go() noexcept override { hold_.let_go(); }
  void stop_coroutines() noexcept;

  place place_;
  owned_stream stream_;
  client_input input_;
  beck::byte_queue out_;
  beck::stream_writer writer_;
  beck::shared_hold<std::shared_ptr<void>> hold_;
  std::uint64_t sent_at_check_ = 0;
  steady_timer send_timer_;
  auto_reset_event sent_;
  whole_url_form form_;
  duration idle_time_;
  error_code send_error_;
  connection_use use_ = connection_use::busy;
  bool reused_ = false;
};

}  // namespace beck::http::detail
