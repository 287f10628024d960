// SPDX-License-Identifier: BSL-1.0
// write_queue: writes that nobody waits for. A server that sends to many must neither wait for its
// slowest reader nor keep unbounded bytes for it; this queue takes bytes at once, up to a bound
// that is told, and sends what has come together with one system call.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/detail/stream_object.hpp>
#include <beck/detail/waiter.hpp>

namespace beck {

class write_queue;

namespace detail {
struct write_queue_state;

/// What async_push() and async_drain() give: waits in the queue, without memory of its own.
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
/// copied into recycled blocks of 4 KiB, an empty queue has none. What was pushed until the loop
/// comes to it goes to the kernel together, at most 16 blocks by one call, and one write is under
/// way at a time: nobody else may write to the stream meanwhile.
///   beck::write_queue out(socket, 64 * 1024);
///   if (out.push(beck::buffer(line)) == beck::error::no_buffer_space) drop_slow_reader();
///   auto r = co_await out.async_drain();
/// Errors: the first error of a write is the queue's for good: bytes that were not sent are
/// dropped, and every later call reports it, also those that wait. bytes_sent() tells exactly how
/// many of the bytes, from the first one on, the kernel has taken.
/// Requires: the stream outlives the queue and stays where it is; its close() ends the queue with
/// operation_aborted. Thread: that of the stream, or its strand. Destruction: drops what was not
/// sent, cancels the write under way and gives up those who wait; drain first if it matters.
/// Memory: at most the bound and two blocks; none is asked of the general allocator in a steady
/// state.
class write_queue {
 public:
  static constexpr std::size_t bytes_max_default = std::size_t{64} * 1024;

  /// Holds at most `bytes_max` bytes that were not sent. Throws std::bad_alloc.
  explicit write_queue(detail::stream_object& stream, std::size_t bytes_max = bytes_max_default);
  write_queue(const write_queue&) = delete;
  write_queue& operator=(const write_queue&) = delete;
  ~write_queue();

  /// Takes all the bytes, or none: no_buffer_space if they do not fit now, or somebody in
  /// async_push() is before them; message_size if they never will; no_memory; the queue's error.
  /// Never waits, never makes a system call.
  [[nodiscard]] error_code push(const_buffer data) noexcept { return push_parts(&data, 1); }
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
  /// The most parts of one push.
  static constexpr std::size_t parts_max = 16;

  /// The same, but waits for room, in the order of the calls. The bytes stay until it completes.
  /// Cancellation: nothing of them was taken.
  detail::write_queue_operation async_push(const_buffer data) noexcept {
    return {*this, data, false};
  }
  template <class Token>
  auto async_push(const_buffer data, Token&& token) {
    return async_push(data)(static_cast<Token&&>(token));
  }

  /// Ends when everything that was pushed before has been given to the kernel, or with the queue's
  /// error. Cancellation: of the wait only, the bytes go on.
  detail::write_queue_operation async_drain() noexcept { return {*this, const_buffer(), true}; }
  template <class Token>
  auto async_drain(Token&& token) {
    return async_drain()(static_cast<Token&&>(token));
  }

  /// Drops what was not given to the kernel and asks the write under way to end. From now on the
  /// queue's error is operation_aborted; those who wait for room end with it at once, drains when
  /// bytes_sent() is final.
  void cancel() noexcept;

  /// Bytes that were pushed and not sent yet, and how many there may be.
  std::size_t size() const noexcept;
  std::size_t bytes_max() const noexcept;
  /// Bytes that the kernel has taken, of all that were pushed. Exact unless a write is under way.
  std::uint64_t bytes_sent() const noexcept;
  /// Writes made for that: how well pushes were put together.
  std::uint64_t writes() const noexcept;
  /// Bytes of memory that the queue holds for them.
  std::size_t memory() const noexcept;
  /// The queue's error, if there was one.
  error_code error() const noexcept;

 private:
  friend class detail::write_queue_operation;
  error_code push_parts(const const_buffer* parts, std::size_t count) noexcept;

  detail::write_queue_state* state_;
};

}  // namespace beck
