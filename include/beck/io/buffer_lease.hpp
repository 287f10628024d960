// SPDX-License-Identifier: BSL-1.0
// async_receive: receiving without a buffer of one's own. The context lends one when there is data,
// so ten thousand connections that say nothing hold no buffer at all, and a few hundred buffers
// serve those that do.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/detail/callback_operation.hpp>
#include <beck/detail/stream_object.hpp>

namespace beck {

namespace detail {
struct lease_slot;

/// Gives a buffer back to the pool that it came from. Any thread.
void return_lease(lease_slot* slot) noexcept;
/// The bytes of a buffer.
char* lease_data(const lease_slot* slot) noexcept;

}  // namespace detail

/// Bytes in a buffer of the context, which gets it back when this object goes. Move-only; an empty
/// one holds none. Thread: one at a time, any; also after its context is gone, whose pool then
/// lives until the last of them.
class buffer_lease {
 public:
  buffer_lease() noexcept = default;
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

  /// The bytes that were received. They may be changed; there is no room behind them.
  char* data() const noexcept { return slot_ != nullptr ? detail::lease_data(slot_) : nullptr; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  const_buffer buffer() const noexcept { return {data(), size_}; }
  operator const_buffer() const noexcept { return buffer(); }
  operator mutable_buffer() const noexcept { return {data(), size_}; }

  /// Gives the buffer back now.
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

/// What async_receive() gives. Until it completes `address` is null, or the buffer that is kept for
/// it.
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

/// Receives what is there, at least one byte and at most one buffer of the context
/// (io_context::options::lease_buffers()), or reports; eof at the end of the stream.
///   auto r = co_await beck::async_receive(socket);
///   if (r) parse(r->data(), r->size());
/// It is one more way to read: it keeps its place among other reads of the stream, and none of the
/// bytes that others are to find was taken from the socket before. Nothing is in a buffer while it
/// waits. With all buffers lent out it waits for one, in the order in which it found none; nobody
/// else is served before. So do not wait for more while holding leases: give them back first, or
/// let the context have as many as can be held at once.
/// Errors: those of async_read_some(); no_memory if not even a first buffer could be allocated,
/// with the bytes still there. Cancellation: as async_read_some(), no byte is lost. Memory: none
/// but the pool, which grows up to its bound and never shrinks.
inline detail::receive_operation async_receive(detail::stream_object& stream) noexcept {
  return detail::receive_operation(stream);
}
template <class Token>
auto async_receive(detail::stream_object& stream, Token&& token) {
  return detail::launch(async_receive(stream), static_cast<Token&&>(token));
}

}  // namespace beck
