// SPDX-License-Identifier: BSL-1.0
// The part that pipes and posix::stream_descriptor share: byte streams over descriptors that are no
// sockets.
#pragma once

#include <beck/detail/stream_object.hpp>
#include <beck/detail/typed_executor.hpp>

namespace beck::detail {

/// Their functions that need nothing but system calls.
struct descriptor_calls {
  /// Opens a new pipe in two slots. Errors: already_open; no_memory; those of pipe2(2). With an
  /// error both stay closed.
  static void open_pipe(descriptor& reading, descriptor& writing, error_code& ec) noexcept;
  /// Takes over `fd`, as basic_descriptor_stream::assign().
  static void adopt(descriptor& d, int fd, error_code& ec) noexcept;
  /// Takes over `fd`, as basic_descriptor_stream::assign(). Throws io_error, which names the
  /// number.
  static void adopt(descriptor& d, int fd);
};

/// Their base: constructors, executor and assign(). Thread, lifetime, closing, cancellation: as
/// io_object, hence as sockets.
template <class Executor>
class basic_descriptor_stream : public stream_object {
 public:
  /// The type of the executor.
  using executor_type = Executor;

  /// Makes a closed object on `context`.
  explicit basic_descriptor_stream(io_context& context)
    requires std::is_constructible_v<Executor, io_context::executor_type>
      : basic_descriptor_stream(Executor(context.get_executor())) {}
  /// Makes a closed object on `executor`, whose context must be an io_context.
  explicit basic_descriptor_stream(const Executor& executor)
      : stream_object(any_io_executor(executor)), typed_(executor) {}
  /// Makes a closed object that `context` drives and whose operations complete on `executor`, which
  /// may be any (a strand, a pool, a user's own).
  basic_descriptor_stream(io_context& context, const Executor& executor)
      : stream_object(context, any_io_executor(executor)), typed_(executor) {}
  /// Makes an object from a descriptor that was made elsewhere, as assign(). Throws io_error; the
  /// caller then still owns `handle`.
  basic_descriptor_stream(io_context& context, int handle)
    requires std::is_constructible_v<Executor, io_context::executor_type>
      : basic_descriptor_stream(context) {
    assign(handle);
  }
  /// Makes an object on `executor` from a descriptor that was made elsewhere, as assign(). Throws
  /// io_error; the caller then still owns `handle`.
  basic_descriptor_stream(const Executor& executor, int handle)
      : basic_descriptor_stream(executor) {
    assign(handle);
  }

  /// Returns the executor that operations complete on.
  executor_type get_executor() const noexcept { return typed_.get(object_executor()); }

  /// Takes over a descriptor that was made elsewhere, and makes it non-blocking and close-on-exec.
  /// O_NONBLOCK belongs to the open file description: duplicates of the descriptor, and processes
  /// that inherited it, become non-blocking too (a shell's terminal, the other writers of a pipe).
  /// Where that matters, release() it in the end and restore the flag with fcntl(2). If another
  /// process makes it blocking again, an operation can block the thread of its context.
  /// A socket is used as a socket.
  /// Errors: already_open; bad_descriptor; no_memory; no_permission for descriptors that cannot be
  /// waited for (regular files, directories, block devices). With an error the caller still owns
  /// `handle`. Simulated contexts take only descriptors that were released there.
  error_code assign(int handle, error_code& ec) noexcept {
    descriptor_calls::adopt(*slot_to_open(), handle, ec);
    return ec;
  }
  /// Takes over a descriptor as assign(handle, ec). Throws io_error, which names the number.
  void assign(int handle) { descriptor_calls::adopt(*slot_to_open(), handle); }

 protected:
  template <class Other>
  explicit basic_descriptor_stream(basic_descriptor_stream<Other>&& other) noexcept
      : stream_object(static_cast<stream_object&&>(other)), typed_(other.get_executor()) {}
  basic_descriptor_stream(basic_descriptor_stream&&) noexcept = default;
  basic_descriptor_stream& operator=(basic_descriptor_stream&&) noexcept = default;
  ~basic_descriptor_stream() = default;

 private:
  [[no_unique_address]] typed_executor<Executor> typed_;
};

}  // namespace beck::detail
