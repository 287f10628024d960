// SPDX-License-Identifier: BSL-1.0
// What every object over a file descriptor shares: its slot in the loop's table, its executor,
// closing and cancelling. Nothing here depends on a protocol.
#pragma once

#include <beck/detail/operation.hpp>
#include <beck/io/io_context.hpp>

namespace beck::detail {

/// Base of sockets and acceptors. Move-only; a moved-from object is closed, and as a new one on the
/// same executor: it may be opened, connected, accepted into and assigned to.
/// Thread: one object from one thread at a time; distinct objects from distinct threads. close(),
/// cancel() and destruction work off the runner: at once if nobody runs the context, else the
/// runner carries them out.
class io_object {
 public:
  using native_handle_type = int;
  using lowest_layer_type = io_object;

  /// Closes; never blocks, never throws. Operations in flight end with operation_aborted.
  ~io_object();

  bool is_open() const noexcept;
  /// The descriptor number, or -1. It stays the object's.
  int native_handle() const noexcept;

  /// Ends pending operations with operation_aborted, posted, and closes. When it returns on the
  /// runner the descriptor and its port are free, unless the kernel still works for an operation.
  /// Idempotent.
  void close();
  void close(error_code& ec) noexcept;

  /// Asks all pending operations to end with operation_aborted; a result that is there already wins
  /// and no byte is lost. error::bad_descriptor if closed.
  void cancel();
  void cancel(error_code& ec) noexcept;

  /// Gives the descriptor up without closing it; pending operations end with operation_aborted. The
  /// caller owns it; it is non-blocking.
  int release();
  int release(error_code& ec);

  /// Whether synchronous calls give would_block instead of waiting. (Asynchronous ones never wait.)
  bool non_blocking() const noexcept;
  void non_blocking(bool mode);
  void non_blocking(bool mode, error_code& ec) noexcept;

  /// For the library: the slot, to open something in; after a move from this object a fresh one.
  /// openable() says whether it can be.
  descriptor* slot_to_open() noexcept;

 protected:
  explicit io_object(const any_io_executor& executor);
  io_object(io_context& context, const any_io_executor& executor);
  io_object(io_object&& other) noexcept;
  io_object& operator=(io_object&& other) noexcept;

  const any_io_executor& object_executor() const noexcept;
  /// Takes an open descriptor over. error::already_open if this object is open.
  void assign_handle(int fd, error_code& ec) noexcept;
  /// As basic_socket::move_to().
  void move_to_executor(const any_io_executor& executor, error_code& ec);
  /// A synchronous operation: attempted until it has a result; waits in between unless
  /// non_blocking(). The result as in io_op.
  int perform_now(io_op& op) const noexcept;
  /// The bytes that a read would find now (FIONREAD); 0 with an error.
  std::size_t readable_bytes(error_code& ec) const noexcept;

  descriptor* descriptor_;

 private:
  void become_vacant() noexcept;

  any_io_executor vacated_;  // its executor, while it has no slot of its own
};

/// Throws io_error if `ec` is set; `what` names the operation.
inline void throw_if(const error_code& ec, const char* what) {
  if (ec) throw_error(ec, what);
}

}  // namespace beck::detail
