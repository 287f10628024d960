// SPDX-License-Identifier: BSL-1.0
// The output of a server's connection: the queue of response bytes, the writer that sends them, and
// the limit of the time in which the peer takes none of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <beck/run/byte_queue.hpp>
#include <beck/transfer/stream_writer.hpp>

#include "http/server/phase_clock.hpp"

namespace beck::http::detail {

class connection;

/// The output. Thread: that of its connection, of which it is a part.
class response_output final : private beck::writer_source {
 public:
  explicit response_output(connection& of) noexcept;

  /// Starts to write to the stream of the connection.
  void start(byte_stream& to) noexcept;
  /// Drops the queued bytes. Nothing is sent from now on.
  void stop() noexcept;

  /// Returns the queued bytes. Add some, then call schedule().
  beck::byte_queue& queue() noexcept { return queue_; }
  bool empty() const noexcept { return queue_.empty(); }
  /// Returns whether a handler may write more.
  bool has_room() const noexcept { return queue_.size() < waiting_max; }

  /// Disables schedule() until release(): the main loop of the connection runs, and flushes itself.
  void hold_back() noexcept { is_held_back_ = true; }
  void release() noexcept { is_held_back_ = false; }
  /// Sends the queued bytes when the present code has returned to the loop; at once if they are
  /// many.
  void schedule() noexcept;
  /// Sends the queued bytes; those that the stream does not take at once follow in the background.
  void flush_now() noexcept { writer_.flush(); }
  /// As flush_now(), before the end of the connection.
  void flush_last() noexcept;
  /// As flush_now(), and waits until all bytes were sent. Returns false if the connection is lost.
  task<bool> flush();
  /// Sends the queued bytes and `body` with one call. Copies only the bytes that the stream does
  /// not take. Throws std::bad_alloc.
  void send_behind(std::string_view body);
  /// Returns the writer, to lend the stream to other code.
  beck::stream_writer& writer() noexcept { return writer_; }

  /// Starts the time limit of a response: ends the connection if its peer takes no bytes for that
  /// time, until end_watch().
  void begin_watch() noexcept;
  void end_watch() noexcept;
  /// Called by the clock when that time is over.
  void check_progress() noexcept;
  /// Returns whether `entry` is the one of this output in the clock's lists.
  bool is_timed_by(const timed_entry& entry) const noexcept { return &entry == &sending_; }

 private:
  static constexpr std::size_t waiting_max = 65'536;    // at or above it a writing handler waits
  static constexpr std::size_t waiting_again = 32'768;  // below it the handler continues

  std::size_t gather(part_array& parts) override { return queue_.gather(parts); }
  void take_sent(std::size_t bytes) noexcept override;
  void keep_rest(const_buffer_span parts, std::size_t sent) override;
  void take_write_error(const error_code& why) noexcept override;
  void begin_stall() noexcept override { begin_watch(); }
  void end_stall() noexcept override;
  void hold() noexcept override;
  void let_go() noexcept override { hold_.let_go(); }

  connection& connection_;
  beck::byte_queue queue_;
  beck::stream_writer writer_;
  beck::shared_hold<std::shared_ptr<void>> hold_;
  timed_entry sending_;
  std::uint64_t sent_at_check_ = 0;
  bool is_held_back_ = false;
};

}  // namespace beck::http::detail
