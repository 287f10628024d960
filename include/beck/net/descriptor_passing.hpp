// SPDX-License-Identifier: BSL-1.0
// Descriptors that are passed between processes beside the bytes of a UNIX socket, stream or
// datagram. Received descriptors that the program does not take are closed: none is leaked.
#pragma once

#include <beck/base/unique_fd.hpp>
#include <beck/detail/functions.hpp>
#include <beck/detail/message_operation.hpp>

namespace beck {

namespace detail {

template <std::size_t Parts>
class send_descriptors_operation;
template <std::size_t Parts>
class receive_descriptors_operation;

}  // namespace detail

/// Descriptors to be sent: `passed_descriptors(a, b)`, or `{a, b}` as an argument. The caller keeps
/// owning them, and keeps them open until the operation has completed; the receiver gets other
/// descriptors for the same open files. A value.
class passed_descriptors {
 public:
  /// The most descriptors of one message.
  static constexpr std::size_t capacity = 16;

  /// Makes one to `capacity` descriptors. Requires that they are open.
  template <std::convertible_to<int>... Fds>
    requires(sizeof...(Fds) > 0 && sizeof...(Fds) <= capacity)
  passed_descriptors(Fds... fds) noexcept {
    const int all[] = {static_cast<int>(fds)...};
    write(all, sizeof...(Fds));
  }
  /// Makes `count` descriptors. Requires 1 <= count <= capacity, asserted.
  passed_descriptors(const int* fds, std::size_t count) noexcept;

 private:
  template <std::size_t Parts>
  friend class detail::send_descriptors_operation;

  void write(const int* fds, std::size_t count) noexcept;

  detail::message_control control_;
  std::size_t bytes_ = 0;
};

/// Descriptors that were received, close-on-exec. Neither copied nor moved; must live until the
/// operation that fills it has completed. Thread: one at a time.
class received_descriptors {
 public:
  /// Makes an empty one.
  received_descriptors() noexcept = default;
  received_descriptors(const received_descriptors&) = delete;
  received_descriptors& operator=(const received_descriptors&) = delete;
  /// Closes the descriptors that were not taken.
  ~received_descriptors() { clear(); }

  /// Returns the number of descriptors that were received, taken or not.
  std::size_t size() const noexcept;
  /// Returns descriptor `i`, which is the caller's from then on; empty if it was taken before.
  /// Requires i < size(), asserted.
  unique_fd take(std::size_t i) noexcept;
  /// Returns whether the kernel has closed some of the descriptors that were sent: there were more
  /// than 16, or more than fit beside the credentials that SO_PASSCRED asks for (8), or more than
  /// this process may have open.
  bool truncated() const noexcept;
  /// Closes the descriptors that were not taken; size() is 0 then.
  void clear() noexcept;

 private:
  template <std::size_t Parts>
  friend class detail::receive_descriptors_operation;

  /// For a header and `capacity` descriptors, and nothing else: more room would let more come.
  static constexpr std::size_t room =
      sizeof(std::size_t) + (2 + passed_descriptors::capacity) * sizeof(int);

  detail::message_control control_;
  detail::control_outcome outcome_;
};

namespace detail {

template <std::size_t Parts>
class [[nodiscard]] send_descriptors_operation : public message_operation {
 public:
  template <const_buffer_sequence S>
  send_descriptors_operation(descriptor* d, const S& buffers,
                             const passed_descriptors& fds) noexcept
      : message_operation(op_kind::send_message, d, 0), fds_(fds) {
    this->gather(buffers, parts_, Parts);
    this->control_inside(fds_.control_.bytes, fds_.bytes_);
  }
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<send_descriptors_operation&&>(*this),
                          static_cast<Token&&>(token));
  }

 private:
  passed_descriptors fds_;
  io_vector parts_[Parts];
};

template <std::size_t Parts>
class [[nodiscard]] receive_descriptors_operation : public message_operation {
 public:
  template <mutable_buffer_sequence S>
  receive_descriptors_operation(descriptor* d, const S& buffers, received_descriptors& fds,
                                bool is_stream) noexcept
      : message_operation(op_kind::receive_message, d, 0) {
    fds.clear();
    this->gather(buffers, parts_, Parts);
    this->control_outside(fds.control_.bytes, received_descriptors::room, fds.outcome_);
    if (is_stream) this->of_stream();
  }
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<receive_descriptors_operation&&>(*this),
                          static_cast<Token&&>(token));
  }

 private:
  io_vector parts_[Parts];
};

/// A socket of local::stream_protocol or local::datagram_protocol.
template <class Socket>
concept local_socket = Socket::protocol_type::family() == 1;

}  // namespace detail

namespace functions {

/// Sends bytes and descriptors together. Completes with (error_code, std::size_t): the number of
/// bytes. On a stream, as async_write_some(): sends at least one byte, the descriptors with the
/// first; requires buffers that are not empty. Errors: those of sendmsg(2); operation_not_supported
/// in a simulation. Cancellation: as all sends. Source: unix(7), SCM_RIGHTS.
template <detail::local_socket Socket, const_buffer_sequence B>
auto async_send_descriptors(Socket& socket, const B& buffers,
                            const passed_descriptors& fds) noexcept {
  return detail::send_descriptors_operation<detail::message_parts<B>>(socket.slot(), buffers, fds);
}
/// As above. `token` takes (error_code, std::size_t).
template <detail::local_socket Socket, const_buffer_sequence B, class Token>
auto async_send_descriptors(Socket& socket, const B& buffers, const passed_descriptors& fds,
                            Token&& token) {
  return detail::launch(beck::async_send_descriptors(socket, buffers, fds),
                        static_cast<Token&&>(token));
}

/// Receives bytes, and the descriptors that came beside them, if any. Completes with (error_code,
/// std::size_t): the number of bytes. `fds` has the descriptors, whatever the result is. On a
/// stream, as async_read_some(): eof at its end. All other receives close descriptors that come
/// with their bytes.
template <detail::local_socket Socket, mutable_buffer_sequence B>
auto async_receive_descriptors(Socket& socket, const B& buffers,
                               received_descriptors& fds) noexcept {
  return detail::receive_descriptors_operation<detail::message_parts<B>>(
      socket.slot(), buffers, fds, Socket::protocol_type::type() == 1);
}
/// As above. `token` takes (error_code, std::size_t).
template <detail::local_socket Socket, mutable_buffer_sequence B, class Token>
auto async_receive_descriptors(Socket& socket, const B& buffers, received_descriptors& fds,
                               Token&& token) {
  return detail::launch(beck::async_receive_descriptors(socket, buffers, fds),
                        static_cast<Token&&>(token));
}

}  // namespace functions

}  // namespace beck
