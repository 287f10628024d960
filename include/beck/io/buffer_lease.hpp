// SPDX-License-Identifier: BSL-1.0
// async_receive: receiving without a buffer of one's own. The context lends a buffer when there is
// data, so ten thousand idle connections hold no buffer at all, and a few hundred buffers serve the
// active ones.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/detail/callback_operation.hpp>
#include <beck/detail/functions.hpp>
#include <beck/detail/stream_object.hpp>

namespace beck {

namespace detail {
struct lease_slot;

/// Returns a buffer to the pool that it came from. Thread: any.
void return_lease(lease_slot* slot) noexcept;
/// Returns the bytes of a buffer.
char* lease_data(const lease_slot* slot) noexcept;

}  // namespace detail

/// Owns received bytes in a buffer of the context; its destructor returns the buffer. Move-only; an
/// empty lease holds no buffer. A stream that changes bytes, such as TLS, may lend memory of its
/// own.
/// Thread: one object from one thread at a time, any thread. It may outlive its context, whose pool
/// then lives until the last lease is gone.
class buffer_lease {
 public:
  /// The number of bytes behind the received ones that are readable, whatever their values: a
  /// parser may look at several bytes at once without a check for each.
  static constexpr std::size_t padding = 64;

  buffer_lease() noexcept = default;
  /// For the library: owns `slot`, whose first `bytes` bytes were received.
  buffer_lease(detail::lease_slot* slot, std::size_t bytes) noexcept : slot_(slot), size_(bytes) {}
  buffer_lease(buffer_lease&& other) noexcept : slot_(other.slot_), size_(other.size_) {
    other.slot_ = nullptr;
    other.size_ = 0;
  }
  buffer_lease& operator=(buffer_lease&& other) noexcept {
    if (&other == this) return *this;
    reset();
    slot_ = other.slot_;
    size_ = other.size_;
    other.slot_ = nullptr;
    other.size_ = 0;
    return *this;
  }
  ~buffer_lease() { reset(); }

  /// Returns the received bytes, which may be modified; nullptr if empty. Behind them `padding`
  /// bytes may be read, and none may be written.
  char* data() const noexcept { return slot_ != nullptr ? detail::lease_data(slot_) : nullptr; }
  /// Returns the number of received bytes.
  std::size_t size() const noexcept { return size_; }
  /// Returns whether size() is 0.
  bool empty() const noexcept { return size_ == 0; }
  /// Returns the received bytes as a buffer.
  const_buffer buffer() const noexcept { return {data(), size_}; }
  /// Converts to the received bytes.
  operator const_buffer() const noexcept { return buffer(); }
  /// Converts to the received bytes.
  operator mutable_buffer() const noexcept { return {data(), size_}; }

  /// Keeps the first `bytes` bytes; returns the buffer if that is none. Requires bytes <= size();
  /// not checked.
  void truncate(std::size_t bytes) noexcept {
    size_ = bytes;
    if (bytes == 0) reset();
  }

  /// Returns the buffer to its pool now; the lease is empty then.
  void reset() noexcept {
    if (slot_ != nullptr) detail::return_lease(slot_);
    slot_ = nullptr;
    size_ = 0;
  }

 private:
  detail::lease_slot* slot_ = nullptr;
  std::size_t size_ = 0;
};

namespace detail {

/// Returns a lease of `bytes` undetermined bytes, in memory that belongs to no pool, for streams
/// that make bytes of others. Throws std::bad_alloc.
buffer_lease make_lease(std::size_t bytes);

/// The operation of async_receive(). Until it completes `address` is null, or the buffer that is
/// kept for it.
class [[nodiscard]] receive_operation : public operation {
 public:
  using signature = void(error_code, buffer_lease);

  explicit receive_operation(stream_object& stream) noexcept
      : operation(op_kind::receive_lease, stream.slot(), nullptr, 0) {}
  /// Moves an inert one.
  receive_operation(receive_operation&& other) noexcept
      : operation(static_cast<operation&&>(other)) {}
  receive_operation& operator=(receive_operation&&) = delete;
  ~receive_operation() {
    if (address != nullptr) return_lease(static_cast<lease_slot*>(address));
  }

  io_result<buffer_lease> await_resume() noexcept {
    buffer_lease lease(static_cast<lease_slot*>(address), transferred);
    address = nullptr;
    if (result < 0) lease.reset();
    return {error(), static_cast<buffer_lease&&>(lease)};
  }
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<receive_operation&&>(*this), static_cast<Token&&>(token));
  }
};

}  // namespace detail

namespace functions {

/// Receives at least one byte and at most one buffer of the context
/// (io_context::options::lease_count). Completes with (error_code, buffer_lease).
///   auto r = co_await beck::async_receive(socket);
///   if (r) parse(r->data(), r->size());
/// Keeps its place among other reads of the stream, and takes no bytes that an earlier read is to
/// find. No buffer is held while it waits for data. If all buffers are lent out it waits for one;
/// operations that wait for a buffer are served in order. So do not wait for more data while
/// holding leases: return them first, or make the pool as large as the number of leases held at
/// once.
/// Errors: those of async_read_some(), eof at the end of the stream; no_memory if not even a first
/// buffer could be allocated, with the bytes still in the stream.
/// Cancellation: as async_read_some(), no byte is lost. Memory: none but the pool, which grows up
/// to its bound and never shrinks.
inline detail::receive_operation async_receive(detail::stream_object& stream) noexcept {
  return detail::receive_operation(stream);
}
/// As above. `token` takes (error_code, buffer_lease).
template <class Token>
auto async_receive(detail::stream_object& stream, Token&& token) {
  return detail::launch(async_receive(stream), static_cast<Token&&>(token));
}

}  // namespace functions

}  // namespace beck
