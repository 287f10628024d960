// SPDX-License-Identifier: BSL-1.0
// The base of every object over a file descriptor: its slot in the loop's table, its executor,
// closing and cancelling. Nothing here depends on a protocol.
#pragma once

#include <beck/detail/functions.hpp>
#include <beck/detail/operation.hpp>
#include <beck/io/io_context.hpp>
#include <string_view>

namespace beck::detail {

/// The base of sockets, acceptors, pipes and the other objects over descriptors. Move-only. A
/// moved-from object is closed and equals a new one on the same executor: it may be opened,
/// connected, accepted into and assigned to. Thread: one thread at a time for one object; distinct
/// objects from distinct threads. close(), cancel() and destruction may be called by threads that
/// do not run the context: they take effect at once if no thread runs it, else the running thread
/// carries them out.
class io_object {
 public:
  /// The type of native_handle().
  using native_handle_type = int;
  /// The class that closes and cancels, for templates that expect Asio's name.
  using lowest_layer_type = io_object;

  /// Closes the descriptor; never blocks, never throws. Operations in flight end with
  /// operation_aborted.
  ~io_object();

  /// Returns whether the object has a descriptor.
  bool is_open() const noexcept;
  /// Returns the number of the descriptor, or -1 if closed. The object keeps owning it.
  int native_handle() const noexcept;

  /// Closes the descriptor. Operations in flight end with operation_aborted; their completions are
  /// queued, never run inside this call. If the caller runs the context, or no thread does, the
  /// descriptor and its port are free when the call returns, unless the kernel is still working on
  /// an operation; then they are freed when that has ended. Idempotent. Never fails.
  void close();
  /// Closes as close(), and clears `ec`.
  error_code close(error_code& ec) noexcept;

  /// Requests cancellation as cancel(ec). Throws io_error on failure.
  void cancel();
  /// Requests cancellation of all operations in flight: they end with operation_aborted. If the
  /// result of an operation is already known, that result is delivered; no byte is lost. Errors:
  /// bad_descriptor if closed; no_memory if another thread runs the context and could not be told.
  error_code cancel(error_code& ec) noexcept;

  /// Releases the descriptor as release(ec). Throws io_error on failure.
  int release();
  /// Returns the descriptor without closing it; the caller owns it from then on, and it is
  /// non-blocking. Operations in flight end with operation_aborted. Returns -1 on failure. Errors:
  /// bad_descriptor if closed; std::errc::device_or_resource_busy if another thread runs the
  /// context, or while the kernel is still working on an operation. The object then keeps its
  /// descriptor.
  int release(error_code& ec);

  /// Returns whether synchronous calls fail with would_block instead of blocking. Asynchronous
  /// operations never block, in either mode.
  bool non_blocking() const noexcept;
  /// Sets the mode as non_blocking(mode, ec). Throws io_error on failure.
  void non_blocking(bool mode);
  /// Sets whether synchronous calls fail with would_block instead of blocking. A new object blocks.
  /// Errors: bad_descriptor if closed.
  error_code non_blocking(bool mode, error_code& ec) noexcept;
  /// Returns whether the descriptor itself is non-blocking: true unless closed.
  bool native_non_blocking() const noexcept { return is_open(); }
  /// Sets the mode as native_non_blocking(mode, ec). Throws io_error on failure.
  void native_non_blocking(bool mode);
  /// Does nothing if `mode` is true: the library keeps descriptors non-blocking. Errors:
  /// bad_descriptor if closed; operation_not_supported if `mode` is false.
  error_code native_non_blocking(bool mode, error_code& ec) noexcept;

  /// Performs a request of the descriptor's protocol or device: ioctl(2) with the number
  /// command.name() and the argument command.data(). Errors: bad_descriptor if closed; those of
  /// ioctl(2). Simulated contexts know bytes_readable only.
  template <class Command>
  error_code io_control(Command& command, error_code& ec) {
    control(static_cast<unsigned long>(command.name()), command.data(), ec);
    return ec;
  }
  /// As above. Throws io_error on failure.
  template <class Command>
  void io_control(Command& command);

  /// Returns the slot to open a descriptor in; after a move from this object that is a fresh slot.
  /// socket_calls::openable() tells whether the slot may be opened. For the library.
  descriptor* slot_to_open() noexcept;

 protected:
  /// Makes a closed object on `executor`, whose context must be an io_context. Throws
  /// std::bad_alloc.
  explicit io_object(const any_io_executor& executor);
  /// Makes a closed object that `context` drives and whose operations complete on `executor`.
  io_object(io_context& context, const any_io_executor& executor);
  /// Takes over the descriptor of `other`, with its operations in flight.
  io_object(io_object&& other) noexcept;
  /// Closes this object's descriptor and takes over that of `other`, with its operations in flight.
  io_object& operator=(io_object&& other) noexcept;

  /// Returns the executor that completions use when the handler names none.
  const any_io_executor& object_executor() const noexcept;
  /// Takes over the open descriptor `fd`. Errors: already_open if this object is open; no_memory.
  void assign_handle(int fd, error_code& ec) noexcept;
  /// Moves the object to another context, as basic_socket::move_to().
  void move_to_executor(const any_io_executor& executor, error_code& ec);
  /// Performs a synchronous operation: makes its system call until that has a result, and blocks in
  /// between unless non_blocking(). Returns a result as in io_op.
  int perform_now(io_op& op) const noexcept;
  /// Returns the number of bytes that a read would return now (FIONREAD); 0 with an error.
  std::size_t readable_bytes(error_code& ec) const noexcept;

  /// Performs ioctl(2), as io_control().
  void control(unsigned long request, void* argument, error_code& ec) const noexcept;

  descriptor* descriptor_;

 private:
  void become_vacant() noexcept;

  any_io_executor vacated_;  // the object's executor while it has no slot of its own
};

namespace functions {

/// Throws io_error if `ec` is set; `what` names the operation. Its text shows the endpoint that it
/// was for, if there is one that has a text.
template <class... Endpoint>
void throw_if(const error_code& ec, const char* what, const Endpoint&... at) {
  if (!ec) [[likely]]
    return;
  if constexpr ((requires { at.to_text(); } && ...))
    detail::throw_error(ec, what, std::string_view(at.to_text())...);
  detail::throw_error(ec, what);
}

}  // namespace functions

template <class Command>
void io_object::io_control(Command& command) {
  error_code ec;
  io_control(command, ec);
  detail::throw_if(ec, "io_control");
}

}  // namespace beck::detail
