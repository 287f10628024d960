// SPDX-License-Identifier: BSL-1.0
// The sending side of a protocol. Bytes that gather during a turn of the loop leave in one write at
// its end; a coroutine sends the rest when the stream is full. The bytes belong to the owner of the
// writer, who decides their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <beck/coro/event.hpp>
#include <beck/coro/task.hpp>
#include <beck/detail/queue_entry.hpp>
#include <beck/io/byte_stream.hpp>
#include <beck/run/any_io_executor.hpp>

namespace beck {

/// The owner of a stream_writer and of the bytes that it sends.
class writer_source {
 public:
  /// The largest number of buffers in one write.
  static constexpr std::size_t parts_max = 16;
  using part_array = const_buffer[parts_max];

  /// Fills `parts` with the next bytes, in the order in which they are to be sent. Returns the
  /// number of parts; 0: there is nothing to send. The bytes stay where they are until take_sent()
  /// has counted them. May throw std::bad_alloc.
  virtual std::size_t gather(part_array& parts) = 0;
  /// Removes bytes that the stream has taken. May add others.
  virtual void take_sent(std::size_t bytes) noexcept = 0;
  /// Adds a copy of the bytes behind the first `sent` of `parts`, which send_behind() could not
  /// send, behind all others. May throw std::bad_alloc.
  virtual void keep_rest(const_buffer_span parts, std::size_t sent);
  /// Handles the error of a write, or no_memory. A source that does not stop the writer lets it try
  /// again.
  virtual void take_write_error(const error_code& why) noexcept = 0;
  /// Notes that the stream is full, so that it is up to the peer when the next bytes leave. For a
  /// limit of that time: compare stream_writer::sent() after each period. A limit for one write
  /// would be another one, as a kernel reports room only when a third of its buffer is free.
  virtual void begin_stall() noexcept {}
  /// Notes that everything was sent, or that the writer has stopped.
  virtual void end_stall() noexcept {}
  /// Keeps the owner until let_go() was called as often as hold().
  virtual void hold() noexcept = 0;
  virtual void let_go() noexcept = 0;

 protected:
  ~writer_source() = default;
};

/// The holds of an owner that a `Pointer` keeps, such as std::shared_ptr<void>: a member of the
/// owner, whose hold() and let_go() call those here.
template <class Pointer>
class shared_hold {
 public:
  /// Adds a hold. `owner` points to the owner.
  void hold(Pointer owner) noexcept {
    if (count_++ == 0) kept_ = std::move(owner);
  }
  /// Takes a hold away. With the last one the owner may be destroyed, and this with it.
  void let_go() noexcept {
    if (--count_ == 0) const Pointer last = std::move(kept_);
  }

 private:
  Pointer kept_{};
  unsigned count_ = 0;
};

/// The writer of a stream, which nothing else writes to. Thread: that of the stream. Once its
/// blocks are recycled, it allocates nothing.
class stream_writer {
 public:
  enum class state : std::uint8_t {
    stopped,   ///< it has no stream, or sends nothing more
    idle,      ///< everything was sent, or is sent at the end of the turn
    writing,   ///< a coroutine writes, because the stream was full, or a borrower
    stopping,  ///< it was stopped while one of them writes
  };

  /// Makes a stopped writer. `writes_max`: the number of writes in a turn, before other work gets
  /// its turn.
  explicit stream_writer(writer_source& source, unsigned writes_max = 64) noexcept;
  stream_writer(const stream_writer&) = delete;
  stream_writer& operator=(const stream_writer&) = delete;

  /// Starts to write to `to`. Requires is_stopped() and not is_writing().
  void start(const any_io_executor& executor, byte_stream& to) noexcept;
  /// Stops: nothing more is sent. While is_writing() the stream and the gathered bytes must stay.
  void stop() noexcept;

  /// Sends at the end of the turn.
  void schedule() noexcept;
  /// Sends at once, and in the background if the stream is full.
  void flush() noexcept;
  /// Sends at once all that is gathered and `parts` behind it, without a copy of the bytes that the
  /// stream takes; the rest goes to keep_rest(). Throws what gather() and keep_rest() throw, if
  /// nothing of `parts` was sent.
  void send_behind(const_buffer_span parts);
  /// Notes that the end of the stream follows what is gathered: where the stream can, both leave in
  /// one packet (byte_stream::write_last()). Requires that nothing is added later.
  void end_follows() noexcept { is_last_ = true; }
  /// Waits until no coroutine writes: after flush(), until everything was sent or the writer has
  /// stopped. Returns the error of the wait.
  task<error_code> wait_until_idle();

  /// Lends the stream to the caller until take_back(): it writes itself, such as a file by the
  /// kernel. Requires neither is_writing() nor is_stopped().
  void lend() noexcept { begin_writing(); }
  /// Counts bytes that the borrower has sent, other than gathered ones.
  void note_sent(std::size_t bytes) noexcept { sent_ += bytes; }
  /// Ends a loan. `gathered`: the number of gathered bytes that the borrower has sent. Those that
  /// were gathered meanwhile are sent by the next schedule(), for which end_stall() is a place.
  void take_back(std::size_t gathered) noexcept {
    if (gathered != 0) take_sent(gathered);
    end_writing();
  }

  /// Returns whether a coroutine writes, or the stream is lent.
  bool is_writing() const noexcept { return state_ == state::writing || state_ == state::stopping; }
  bool is_stopped() const noexcept { return state_ == state::stopped || state_ == state::stopping; }
  /// Returns the number of bytes that the stream has taken.
  std::uint64_t sent() const noexcept { return sent_; }

 private:
  class share;
  struct turn_end : detail::queue_entry {
    stream_writer* writer;
  };

  static void run_turn_end(detail::queue_entry* entry, detail::runner* where);
  std::size_t gather(writer_source::part_array& parts) noexcept;
  std::size_t write_now(const_buffer_span parts, error_code& ec) noexcept;
  bool write_once() noexcept;
  void write_in_background() noexcept;
  static task<> write_rest(share self);
  void begin_writing() noexcept;
  void end_writing() noexcept;
  void take_sent(std::size_t bytes) noexcept;

  writer_source& source_;
  any_io_executor executor_;
  byte_stream* stream_ = nullptr;
  manual_reset_event idle_{true};
  turn_end turn_end_;
  std::uint64_t sent_ = 0;
  const unsigned writes_max_;
  state state_ = state::stopped;
  bool is_posted_ = false;  // turn_end_; in any state, because an entry cannot be withdrawn
  bool is_last_ = false;    // the end of the stream follows
};

}  // namespace beck
