// SPDX-License-Identifier: BSL-1.0
// write_queue: writes without waiting. A server that sends to many clients must neither wait for
// its slowest reader nor keep unbounded bytes for it; this queue takes bytes at once, up to a given
// bound, and sends all that have accumulated with one system call.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/detail/stream_object.hpp>
#include <beck/detail/waiter.hpp>

namespace beck {

class write_queue;

namespace detail {
struct write_queue_state;

/// The operation of async_push() and async_drain(): waits in the queue, without memory of its own.
class [[nodiscard]] write_queue_operation : public op<write_queue_operation, void(error_code)>,
                                            private waiter {
 public:
  static constexpr const char* waits_for = "write_queue";

  write_queue_operation(write_queue& queue, const_buffer data, bool drains) noexcept
      : queue_(&queue), data_(data), drains_(drains) {}
  /// Moves an inert one.
  write_queue_operation(write_queue_operation&& other) noexcept
      : op(static_cast<op&&>(other)),
        waiter(static_cast<waiter&&>(other)),
        queue_(other.queue_),
        data_(other.data_),
        drains_(other.drains_) {}
  write_queue_operation& operator=(write_queue_operation&&) = delete;
  ~write_queue_operation();

  bool ready();
  void initiate(handler done);
  void cancel() noexcept;
  any_io_executor get_executor() const noexcept;

 private:
  friend class beck::write_queue;
  friend struct write_queue_state;
  static void end_wait(waiter& one, int result) noexcept;

  write_queue* queue_;  // null: it is gone
  const_buffer data_;
  bool drains_;
  std::uint64_t position_ = 0;  // a drain: sent when so many bytes of the queue were sent
  handler done_;
};

}  // namespace detail

/// A queue of bytes that are to be written to a stream, in the order of the pushes. Bytes are
/// copied into recycled blocks of 4 KiB; an empty queue has none. All bytes that were pushed until
/// the loop comes to the queue are written together, at most 16 blocks by one call. One write is
/// under way at a time. Requires that no other operation writes to the stream meanwhile.
///   beck::write_queue out(socket, 64 * 1024);
///   if (out.push(beck::buffer(line)) == beck::error::no_buffer_space) drop_slow_reader();
///   auto r = co_await out.async_drain();
/// Errors: the first error of a write becomes the queue's error, which stays: unsent bytes are
/// dropped, and every later call and every pending wait gets the error. bytes_sent() tells exactly
/// how many of the bytes, from the first one on, the kernel has taken.
/// Requires: the stream outlives the queue and is not moved; its close() ends the queue with
/// operation_aborted. Thread: that of the stream, or its strand. Destruction: drops unsent bytes,
/// cancels the write under way and abandons pending waits; drain first if that matters.
/// Memory: at most the bound, 1.2 % more for the heads of the blocks, and two blocks; none is asked
/// of the general allocator in a steady state.
class write_queue {
 public:
  /// The default bound: 64 KiB.
  static constexpr std::size_t bytes_max_default = std::size_t{64} * 1024;

  /// Makes an empty queue that holds at most `bytes_max` unsent bytes. Throws std::bad_alloc.
  explicit write_queue(detail::stream_object& stream, std::size_t bytes_max = bytes_max_default);
  write_queue(const write_queue&) = delete;
  write_queue& operator=(const write_queue&) = delete;
  /// Drops unsent bytes, cancels the write under way and abandons pending waits.
  ~write_queue();

  /// Takes all bytes or none. Never waits, never makes a system call. Errors: no_buffer_space if
  /// they do not fit now, or an async_push() waits for room; message_size if they never will;
  /// no_memory; the queue's error.
  [[nodiscard]] error_code push(const_buffer data) noexcept { return push_parts(&data, 1); }
  /// As above, for a sequence of buffers; message_size also if it has more than `parts_max`.
  template <const_buffer_sequence S>
    requires(!detail::single_buffer<S>)
  [[nodiscard]] error_code push(const S& buffers) noexcept {
    const_buffer parts[parts_max];
    std::size_t count = 0;
    const auto end = beck::buffer_sequence_end(buffers);
    for (auto at = beck::buffer_sequence_begin(buffers); at != end; ++at) {
      if (count == parts_max) return error::message_size;
      parts[count++] = *at;
    }
    return push_parts(parts, count);
  }
  /// The most buffers of one push.
  static constexpr std::size_t parts_max = 16;

  /// Takes all bytes, and waits for room, in the order of the calls. The bytes at `data` must stay
  /// until it completes. Completes with (error_code), as push(). Cancellation: no byte was taken.
  detail::write_queue_operation async_push(const_buffer data) noexcept {
    return {*this, data, false};
  }
  /// As above. `token` takes (error_code).
  template <class Token>
  auto async_push(const_buffer data, Token&& token) {
    return async_push(data)(static_cast<Token&&>(token));
  }

  /// Completes when the kernel has taken all bytes that were pushed before, or with the queue's
  /// error. Cancellation: ends the wait only; the bytes are still sent.
  detail::write_queue_operation async_drain() noexcept { return {*this, const_buffer(), true}; }
  /// As above. `token` takes (error_code).
  template <class Token>
  auto async_drain(Token&& token) {
    return async_drain()(static_cast<Token&&>(token));
  }

  /// Drops unsent bytes and requests cancellation of the write under way. The queue's error is
  /// operation_aborted from now on; waits for room end with it at once, drains when bytes_sent() is
  /// final.
  void cancel() noexcept;

  /// Returns the number of bytes that were pushed and not sent yet.
  std::size_t size() const noexcept;
  /// Returns the bound of size().
  std::size_t bytes_max() const noexcept;
  /// Returns the number of bytes that the kernel has taken, since the beginning. Exact unless a
  /// write is under way.
  std::uint64_t bytes_sent() const noexcept;
  /// Returns the number of writes made for that, which shows how well pushes were combined.
  std::uint64_t writes() const noexcept;
  /// Returns the memory that the queue holds for bytes, in bytes.
  std::size_t memory() const noexcept;
  /// Returns the queue's error; no error if every write has succeeded.
  error_code error() const noexcept;

 private:
  friend class detail::write_queue_operation;
  error_code push_parts(const const_buffer* parts, std::size_t count) noexcept;

  detail::write_queue_state* state_;
};

}  // namespace beck
