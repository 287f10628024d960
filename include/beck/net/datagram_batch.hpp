// SPDX-License-Identifier: BSL-1.0
// Batches: several datagrams by one system call, in memory that the caller keeps and uses again.
// The data beside the bytes (segment size, addresses) has types here, so that programs need not
// know control messages.
#pragma once

#include <beck/base/assert.hpp>
#include <beck/detail/message_operation.hpp>
#include <beck/net/address.hpp>
#include <beck/net/family_option.hpp>

namespace beck {

namespace detail {

/// Reads and adds the control data of a message. Source: cmsg(3), udp(7), ip(7), ipv6(7).
struct message_extras {
  static std::size_t segment_size(const message_header& header) noexcept;
  static ip::address destination(const message_header& header) noexcept;
  static unsigned interface_index(const message_header& header) noexcept;
  static bool truncated(const message_header& header) noexcept;
  static void add_segment_size(message_header& header, std::size_t bytes) noexcept;
  static void add_source(message_header& header, const ip::address& source,
                         unsigned interface) noexcept;
};

/// The part of a batch that does not depend on its protocol and size.
class message_batch {
 public:
  message_batch(const message_batch&) = delete;
  message_batch& operator=(const message_batch&) = delete;

 protected:
  explicit message_batch(message_header* headers) noexcept : headers_(headers) {}
  ~message_batch() = default;

  message_header* headers_;
  std::size_t count_ = 0;  // that have a buffer
  std::size_t moved_ = 0;  // by the last operation

 private:
  friend class receive_batch_operation;
  friend class send_batch_operation;
};

/// Receives a batch; completes with the number of datagrams.
class [[nodiscard]] receive_batch_operation : public message_operation {
 public:
  receive_batch_operation(descriptor* d, message_batch& batch) noexcept
      : message_operation(op_kind::receive_message, d, batch.headers_, batch.count_),
        batch_(&batch) {
    BECK_ASSERT(batch.count_ != 0, "a batch without buffers cannot receive anything");
  }
  io_result<std::size_t> await_resume() const noexcept {
    batch_->moved_ = transferred;
    return message_operation::await_resume();
  }
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<receive_batch_operation&&>(*this),
                          static_cast<Token&&>(token));
  }

 private:
  message_batch* batch_;
};

/// Sends a batch; completes with the number of datagrams.
class [[nodiscard]] send_batch_operation : public message_operation {
 public:
  send_batch_operation(descriptor* d, message_batch& batch) noexcept
      : message_operation(op_kind::send_message, d, batch.headers_, batch.count_) {}
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<send_batch_operation&&>(*this), static_cast<Token&&>(token));
  }
};

/// One datagram of a receive_batch. A view: valid until the batch is used again.
template <class Endpoint>
class received_datagram {
 public:
  /// For the library.
  received_datagram(const message_header& header, const Endpoint& sender) noexcept
      : header_(&header), sender_(sender) {
    sender_.resize(header.address_bytes);
  }

  /// Returns the endpoint that sent the datagram.
  const Endpoint& sender() const noexcept { return sender_; }
  /// Returns the bytes, in the buffer that was added for them.
  const_buffer data() const noexcept { return {header_->parts->data, header_->bytes}; }
  /// Returns the number of bytes.
  std::size_t size() const noexcept { return header_->bytes; }
  /// Returns whether the datagram was longer than its buffer; the rest is lost.
  bool truncated() const noexcept { return message_extras::truncated(*header_); }
  /// Returns 0 for a single datagram. Otherwise the bytes are several datagrams of this size one
  /// after the other; the last may be shorter (udp_options::receive_coalesced).
  std::size_t segment_size() const noexcept { return message_extras::segment_size(*header_); }
  /// Returns the address that the datagram was sent to; 0.0.0.0 without ip::receive_packet_info.
  ip::address destination() const noexcept { return message_extras::destination(*header_); }
  /// Returns the number of the interface that the datagram arrived at; 0 without
  /// ip::receive_packet_info.
  unsigned interface_index() const noexcept { return message_extras::interface_index(*header_); }

 private:
  const message_header* header_;
  Endpoint sender_;
};

/// A datagram that was added to a send_batch, to set more about it. Requires a socket of IP,
/// asserted; each function may be called once.
class sent_datagram {
 public:
  /// For the library.
  explicit sent_datagram(message_header& header) noexcept : header_(&header) {}

  /// Makes the kernel split the datagram into datagrams of this size; the last may be shorter. As
  /// udp_options::send_segment_size.
  sent_datagram segment_size(std::size_t bytes) const noexcept {
    message_extras::add_segment_size(*header_, bytes);
    return *this;
  }
  /// Sends from this address of the host, such as destination() of a received request,
  /// and by the interface with this number; 0: as the routes choose.
  sent_datagram source(const ip::address& from, unsigned interface = 0) const noexcept {
    message_extras::add_source(*header_, from, interface);
    return *this;
  }

 private:
  message_header* header_;
};

}  // namespace detail

/// Buffers for up to Capacity datagrams, and the datagrams that were received into them. Neither
/// copied nor moved. With IP some 200 bytes for each datagram: keep large batches out of small
/// stacks. Thread: its socket's.
template <class Protocol, std::size_t Capacity>
class receive_batch : public detail::message_batch {
  static_assert(Capacity > 0 && Capacity <= 1024, "recvmmsg(2) takes up to 1024");

 public:
  /// The type of the endpoints.
  using endpoint_type = typename Protocol::endpoint;
  /// The type of a received datagram.
  using datagram = detail::received_datagram<endpoint_type>;

  /// Makes a batch without buffers; see add().
  receive_batch() noexcept : message_batch(all_) {}
  /// Divides `memory` into buffers of `each` bytes, at most Capacity.
  receive_batch(mutable_buffer memory, std::size_t each) noexcept : receive_batch() {
    for (; count_ < Capacity && memory.size() >= each && each != 0; memory += each) {
      add(mutable_buffer(memory.data(), each));
    }
  }

  /// Adds a buffer for one more datagram. Requires room() < capacity(), asserted, and that the
  /// memory lives until the batch is no longer used.
  void add(mutable_buffer room) noexcept {
    BECK_ASSERT(count_ < Capacity, "a batch has more buffers than its capacity");
    parts_[count_] = {room.data(), room.size()};
    detail::message_header& header = all_[count_];
    header.parts = &parts_[count_];
    header.part_count = 1;
    header.address = senders_[count_].data();
    if constexpr (has_control) header.control = control_[count_].bytes;
    renew(header);
    ++count_;
  }

  /// Returns the number of datagrams that the last operation has received.
  std::size_t received() const noexcept { return moved_; }
  /// Returns datagram `i`. Requires i < received(), asserted.
  datagram operator[](std::size_t i) const {
    BECK_ASSERT(i < moved_, "a batch has not received as many datagrams");
    return {all_[i], senders_[i]};
  }
  /// Returns the number of buffers.
  std::size_t room() const noexcept { return count_; }
  /// Returns Capacity.
  static constexpr std::size_t capacity() noexcept { return Capacity; }

  /// For the library: starts basic_datagram_socket::async_receive_many().
  detail::receive_batch_operation receive_on(detail::descriptor* d) noexcept {
    renew();
    return detail::receive_batch_operation(d, *this);
  }

 private:
  static constexpr bool has_control = Protocol::protocol() != 0;  // of IP

  static void renew(detail::message_header& header) noexcept {
    header.address_bytes = endpoint_type::capacity();
    header.control_bytes = has_control ? detail::message_control::capacity : 0;
    header.flags = 0;
    header.bytes = 0;
  }
  /// Resets the headers that the last operation has written, so that the next one has all the room.
  void renew() noexcept {
    for (std::size_t i = 0; i < moved_; ++i) renew(all_[i]);
    moved_ = 0;
  }

  detail::message_header all_[Capacity];
  detail::io_vector parts_[Capacity];
  endpoint_type senders_[Capacity];
  detail::message_control control_[has_control ? Capacity : 1];
};

/// Up to Capacity datagrams that are sent together. Neither copied nor moved; size and thread as
/// receive_batch.
template <class Protocol, std::size_t Capacity>
class send_batch : public detail::message_batch {
  static_assert(Capacity > 0 && Capacity <= 1024, "sendmmsg(2) takes up to 1024");

 public:
  /// The type of the endpoints.
  using endpoint_type = typename Protocol::endpoint;
  /// The type of an added datagram.
  using datagram = detail::sent_datagram;

  /// Makes an empty batch.
  send_batch() noexcept : message_batch(all_) {}

  /// Adds a datagram to the peer of a connected socket. Requires size() < capacity(), asserted, and
  /// that the bytes live until they are sent. The result is valid until the next call.
  datagram add(const_buffer bytes) noexcept {
    BECK_ASSERT(count_ < Capacity, "a batch has more datagrams than its capacity");
    if (first() + count_ == Capacity) move_to_front();
    const std::size_t at = first() + count_;
    parts_[at] = {const_cast<void*>(bytes.data()), bytes.size()};
    detail::message_header& header = all_[at] = detail::message_header();
    header.parts = &parts_[at];
    header.part_count = 1;
    if constexpr (has_control) header.control = control_[at].bytes;
    ++count_;
    return datagram(header);
  }
  /// Adds a datagram to `destination`, which is copied; else as above.
  datagram add(const_buffer bytes, const endpoint_type& destination) noexcept {
    const datagram added = add(bytes);
    detail::message_header& header = headers_[count_ - 1];
    endpoint_type& to = destinations_[&header - all_];
    to = destination;
    header.address = to.data();
    header.address_bytes = static_cast<std::uint32_t>(to.size());
    return added;
  }

  /// Removes the first `n` datagrams, at most all, such as those that were sent.
  void discard(std::size_t n) noexcept {
    n = n < count_ ? n : count_;
    headers_ += n;
    count_ -= n;
    if (count_ == 0) headers_ = all_;
  }
  /// Removes all datagrams.
  void clear() noexcept { discard(count_); }

  /// Returns the number of datagrams; sending does not change it.
  std::size_t size() const noexcept { return count_; }
  /// Returns Capacity.
  static constexpr std::size_t capacity() noexcept { return Capacity; }

  /// For the library: starts basic_datagram_socket::async_send_many().
  detail::send_batch_operation send_on(detail::descriptor* d) noexcept {
    return detail::send_batch_operation(d, *this);
  }

 private:
  static constexpr bool has_control = Protocol::protocol() != 0;  // of IP

  std::size_t first() const noexcept { return static_cast<std::size_t>(headers_ - all_); }
  /// Moves the datagrams into the room of those that were discarded.
  void move_to_front() noexcept {
    const std::size_t by = first();
    for (std::size_t to = 0; to < count_; ++to) {
      detail::message_header& header = all_[to] = all_[to + by];
      parts_[to] = parts_[to + by];
      header.parts = &parts_[to];
      if (header.address != nullptr) {
        destinations_[to] = destinations_[to + by];
        header.address = destinations_[to].data();
      }
      if constexpr (has_control) {
        control_[to] = control_[to + by];
        header.control = control_[to].bytes;
      }
    }
    headers_ = all_;
  }

  detail::message_header all_[Capacity];
  detail::io_vector parts_[Capacity];
  endpoint_type destinations_[Capacity];
  detail::message_control control_[has_control ? Capacity : 1];
};

}  // namespace beck
