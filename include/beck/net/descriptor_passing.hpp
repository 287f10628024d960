// SPDX-License-Identifier: BSL-1.0
// Descriptors that go from one process to another beside the bytes of a UNIX socket, stream or
// datagram. What has come and was not taken is closed: none can get lost.
#pragma once

#include <beck/base/unique_fd.hpp>
#include <beck/detail/message_operation.hpp>

namespace beck {

namespace detail {

/// Descriptors to be sent. They stay the caller's, and open until the operation has completed; the
/// receiver gets others for the same files. A value.
class passed_descriptors {
 public:
  /// More than one message takes here.
  static constexpr std::size_t capacity = 16;

  /// Requires one to `capacity` open descriptors.
  template <std::convertible_to<int>... Fds>
    requires(sizeof...(Fds) > 0 && sizeof...(Fds) <= capacity)
  explicit passed_descriptors(Fds... fds) noexcept {
    const int all[] = {static_cast<int>(fds)...};
    write(all, sizeof...(Fds));
  }

 private:
  template <std::size_t Parts>
  friend class send_descriptors_operation;

  void write(const int* fds, std::size_t count) noexcept;

  message_control control_;
  std::size_t bytes_ = 0;
};

}  // namespace detail

namespace detail {
template <std::size_t Parts>
class receive_descriptors_operation;

}  // namespace detail

/// Descriptors that have come, close-on-exec. Neither copied nor moved; stays until the operation
/// that fills it has completed.
class received_descriptors {
 public:
  received_descriptors() noexcept = default;
  received_descriptors(const received_descriptors&) = delete;
  received_descriptors& operator=(const received_descriptors&) = delete;
  /// Closes what was not taken.
  ~received_descriptors() { clear(); }

  std::size_t size() const noexcept;
  /// The i-th becomes the caller's; empty if it was taken before. Requires i < size().
  unique_fd take(std::size_t i) noexcept;
  /// Not all that were sent are here, and the kernel has closed the others: there were more than
  /// 16, or than there is room for beside the credentials that SO_PASSCRED asks for (8), or than
  /// this process may have open.
  bool truncated() const noexcept;
  /// Closes what was not taken.
  void clear() noexcept;

 private:
  template <std::size_t Parts>
  friend class detail::receive_descriptors_operation;

  /// For a header and `capacity` descriptors, and nothing else: more room would let more come.
  static constexpr std::size_t room =
      sizeof(std::size_t) + (2 + detail::passed_descriptors::capacity) * sizeof(int);

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

/// Sends bytes and descriptors together; gives the bytes. Of a stream, as async_write_some: at
/// least one byte, and the descriptors go with the first; requires buffers that are not empty.
/// Errors: sendmsg(2)'s; operation_not_supported in a simulation. Cancellation: as all sends.
/// Source: unix(7), SCM_RIGHTS.
template <detail::local_socket Socket, const_buffer_sequence B>
auto async_send_descriptors(Socket& socket, const B& buffers,
                            const detail::passed_descriptors& fds) noexcept {
  return detail::send_descriptors_operation<detail::message_parts<B>>(socket.slot(), buffers, fds);
}
template <detail::local_socket Socket, const_buffer_sequence B, class Token>
auto async_send_descriptors(Socket& socket, const B& buffers, const detail::passed_descriptors& fds,
                            Token&& token) {
  return detail::launch(beck::async_send_descriptors(socket, buffers, fds),
                        static_cast<Token&&>(token));
}

/// Receives bytes, and the descriptors that came beside them, if any: `fds` has them from then on,
/// whatever becomes of the result. Of a stream, as async_read_some: eof at its end. Other receives
/// drop descriptors that come with their bytes.
template <detail::local_socket Socket, mutable_buffer_sequence B>
auto async_receive_descriptors(Socket& socket, const B& buffers,
                               received_descriptors& fds) noexcept {
  return detail::receive_descriptors_operation<detail::message_parts<B>>(
      socket.slot(), buffers, fds, Socket::protocol_type::type() == 1);
}
template <detail::local_socket Socket, mutable_buffer_sequence B, class Token>
auto async_receive_descriptors(Socket& socket, const B& buffers, received_descriptors& fds,
                               Token&& token) {
  return detail::launch(beck::async_receive_descriptors(socket, buffers, fds),
                        static_cast<Token&&>(token));
}

}  // namespace beck
