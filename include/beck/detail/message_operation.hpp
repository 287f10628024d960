// SPDX-License-Identifier: BSL-1.0
// Operations on messages: a datagram with its address, or several of them at once. The header that
// the kernel takes is stored in the operation, or, for a batch, in memory that the caller keeps.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/detail/callback_operation.hpp>
#include <beck/detail/vector_operation.hpp>

namespace beck::detail {

/// One message as recvmsg(2) and recvmmsg(2) take it; laid out as struct mmsghdr.
struct message_header {
  void* address = nullptr;
  std::uint32_t address_bytes = 0;  ///< before the call the room, after it the bytes written
  io_vector* parts = nullptr;
  std::size_t part_count = 0;
  void* control = nullptr;
  std::size_t control_bytes = 0;  ///< before the call the room, after it the bytes written
  int flags = 0;                  ///< the flags that were returned (MSG_TRUNC, ...)
  std::uint32_t reserved = 0;
  std::uint32_t bytes = 0;  ///< in a batch: the number of bytes moved
};

/// Room for the control data of one message: a segment size and packet information, or descriptors.
struct alignas(8) message_control {
  static constexpr std::size_t capacity = 96;
  unsigned char bytes[capacity];
};

/// The control data that arrived in memory that the caller keeps: its size, and the flags of the
/// message.
struct control_outcome {
  std::size_t bytes = 0;
  int flags = 0;
};

/// A receive_message or send_message. If `address` is nullptr, it uses the header inside the
/// operation; otherwise `address` is an array of `length` headers, and `transferred` counts those
/// that moved.
class [[nodiscard]] message_operation : public operation {
 public:
  using signature = void(error_code, std::size_t);

  /// The most buffers of one message. A sequence of more ends with error::message_size, as in
  /// sendmsg(2): a datagram is never cut into halves.
  static constexpr std::size_t parts_max = 16;

  /// Returns the error and the number of bytes, or of messages for a batch.
  io_result<std::size_t> await_resume() const noexcept { return {error(), transferred}; }

  /// Returns the header inside, with pointers to the parts, the address and the control data. Not
  /// before the operation has reached its final address.
  message_header& located_header() noexcept;
  /// Returns the header for a system call: as located_header(), with the sizes of the room, in
  /// place of those that an earlier call has written.
  message_header& prepared_header() noexcept;

  /// Returns the flags of the system call.
  int call_flags() const noexcept { return call_flags_; }
  /// Returns whether a message of no bytes is the end of a stream.
  bool is_of_stream() const noexcept { return of_stream_; }
  /// Returns whether a datagram that is longer than the buffers is cut without an error.
  bool may_be_cut() const noexcept { return may_be_cut_; }
  /// Notes that a message has arrived, whole or cut: the header then holds its sender.
  void note_received() noexcept {
    received_ = true;
    if (outcome_ != nullptr) *outcome_ = {header_.control_bytes, header_.flags};
  }

 protected:
  /// Makes an operation on a batch of messages.
  message_operation(op_kind kind_of_message, descriptor* d, message_header* headers,
                    std::size_t count) noexcept
      : operation(kind_of_message, d, headers, count), call_flags_(0) {}
  /// Makes an operation on one message.
  message_operation(op_kind kind_of_message, descriptor* d, int flags_of_call,
                    bool may_be_cut = false) noexcept
      : operation(kind_of_message, d, nullptr, 0),
        call_flags_(flags_of_call),
        may_be_cut_(may_be_cut) {}
  message_operation(message_operation&&) noexcept = default;

  /// Fills `parts`, an array of `room` elements inside this object, from a sequence.
  template <class S>
  void gather(const S& buffers, io_vector* parts, std::size_t room) noexcept {
    parts_offset_ = offset_of(parts);
    std::size_t count = 0;
    const auto end = beck::buffer_sequence_end(buffers);
    for (auto at = beck::buffer_sequence_begin(buffers); at != end; ++at) {
      const const_buffer part(*at);
      if (part.size() == 0) continue;
      if (count == room) {
        header_.part_count = of_stream_ ? count : static_cast<std::size_t>(-1);
        return;
      }
      parts[count].data = const_cast<void*>(part.data());
      parts[count].bytes = part.size();
      ++count;
    }
    header_.part_count = count;
  }
  /// Sets an address that is stored inside this object.
  void name_inside(void* at, std::size_t bytes) noexcept {
    address_offset_ = offset_of(at);
    address_room_ = static_cast<std::uint32_t>(bytes);
  }
  /// Sets an address that the caller keeps.
  void name_outside(void* at, std::size_t bytes) noexcept {
    header_.address = at;
    address_room_ = static_cast<std::uint32_t>(bytes);
  }
  /// Sets control data that is stored inside this object.
  void control_inside(void* at, std::size_t bytes) noexcept {
    control_offset_ = offset_of(at);
    control_room_ = static_cast<std::uint32_t>(bytes);
  }
  /// Sets control data that the caller keeps. A receive writes its size and flags to `outcome`.
  void control_outside(void* at, std::size_t bytes, control_outcome& outcome) noexcept {
    header_.control = at;
    control_room_ = static_cast<std::uint32_t>(bytes);
    outcome_ = &outcome;
  }
  /// Makes a message of no bytes mean the end of a stream.
  void of_stream() noexcept { of_stream_ = true; }
  /// Returns whether a message has arrived.
  bool received() const noexcept { return received_; }
  const message_header& header() const noexcept { return header_; }

 private:
  std::uint16_t offset_of(const void* inside) const noexcept {
    return static_cast<std::uint16_t>(static_cast<const char*>(inside) -
                                      reinterpret_cast<const char*>(this));
  }

  message_header header_;
  std::uint32_t address_room_ = 0;
  std::uint32_t control_room_ = 0;
  std::uint16_t parts_offset_ = 0;
  std::uint16_t address_offset_ = 0;  // 0: the address is outside, or there is none
  std::uint16_t control_offset_ = 0;
  control_outcome* outcome_ = nullptr;
  int call_flags_;
  bool of_stream_ = false;  // no bytes mean the end of the stream, not an empty message
  bool received_ = false;
  bool may_be_cut_ = false;
};

/// The number of parts that an operation on these buffers has room for.
template <class S>
inline constexpr std::size_t message_parts = single_buffer<S> ? 1 : message_operation::parts_max;

/// A message on a connected socket, or one whose sender is not asked for. Completes with the number
/// of bytes.
template <std::size_t Parts>
class [[nodiscard]] plain_message_operation : public message_operation {
 public:
  template <const_buffer_sequence S>
  plain_message_operation(op_kind kind_of_message, descriptor* d, const S& buffers,
                          int flags_of_call, bool may_be_cut = false) noexcept
      : message_operation(kind_of_message, d, flags_of_call, may_be_cut) {
    this->gather(buffers, parts_, Parts);
  }
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<plain_message_operation&&>(*this),
                          static_cast<Token&&>(token));
  }

 private:
  io_vector parts_[Parts];
};

/// Receives a datagram and writes its sender to the caller's endpoint.
template <class Endpoint, std::size_t Parts>
class [[nodiscard]] receive_from_operation : public message_operation {
 public:
  template <mutable_buffer_sequence S>
  receive_from_operation(descriptor* d, const S& buffers, Endpoint& sender, int flags_of_call,
                         bool may_be_cut = false) noexcept
      : message_operation(op_kind::receive_message, d, flags_of_call, may_be_cut),
        sender_(&sender) {
    this->gather(buffers, parts_, Parts);
    this->name_outside(sender.data(), Endpoint::capacity());
  }
  /// Sets the size of the sender's endpoint if a datagram has arrived. Returns the error and the
  /// number of bytes.
  io_result<std::size_t> await_resume() const noexcept {
    if (this->received()) sender_->resize(this->header().address_bytes);
    return message_operation::await_resume();
  }
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<receive_from_operation&&>(*this),
                          static_cast<Token&&>(token));
  }

 private:
  Endpoint* sender_;
  io_vector parts_[Parts];
};

/// Sends a datagram. The destination is copied into the operation, so the caller's may go.
template <class Endpoint, std::size_t Parts>
class [[nodiscard]] send_to_operation : public message_operation {
 public:
  template <const_buffer_sequence S>
  send_to_operation(descriptor* d, const S& buffers, const Endpoint& destination,
                    int flags_of_call) noexcept
      : message_operation(op_kind::send_message, d, flags_of_call), destination_(destination) {
    this->gather(buffers, parts_, Parts);
    this->name_inside(destination_.data(), destination_.size());
  }
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<send_to_operation&&>(*this), static_cast<Token&&>(token));
  }

 private:
  Endpoint destination_;
  io_vector parts_[Parts];
};

}  // namespace beck::detail
