// SPDX-License-Identifier: BSL-1.0
// What pipes and posix::stream_descriptor share: byte streams over descriptors that are no sockets.
#pragma once

#include <beck/detail/stream_object.hpp>
#include <beck/detail/typed_executor.hpp>

namespace beck::detail {

/// What they do with system calls alone.
struct descriptor_calls {
  static void open_pipe(descriptor& reading, descriptor& writing, error_code& ec) noexcept;
  static void adopt(descriptor& d, int fd, error_code& ec) noexcept;
  /// As adopt(), but throws io_error, which names the number.
  static void adopt(descriptor& d, int fd);
};

/// Their base: constructors, executor and assign(). Thread, lifetime, closing, cancellation: as
/// io_object, so as sockets.
template <class Executor>
class basic_descriptor_stream : public stream_object {
 public:
  using executor_type = Executor;

  explicit basic_descriptor_stream(io_context& context)
    requires std::is_constructible_v<Executor, io_context::executor_type>
      : basic_descriptor_stream(Executor(context.get_executor())) {}
  /// Requires an executor whose context is an io_context.
  explicit basic_descriptor_stream(const Executor& executor)
      : stream_object(any_io_executor(executor)), typed_(executor) {}
  /// Driven by `context`, completing on any executor (a strand, a pool, a user's own).
  basic_descriptor_stream(io_context& context, const Executor& executor)
      : stream_object(context, any_io_executor(executor)), typed_(executor) {}
  /// With a handle that was made elsewhere; see assign(). Throws io_error.
  basic_descriptor_stream(io_context& context, int handle)
    requires std::is_constructible_v<Executor, io_context::executor_type>
      : basic_descriptor_stream(context) {
    assign(handle);
  }
  basic_descriptor_stream(const Executor& executor, int handle)
      : basic_descriptor_stream(executor) {
    assign(handle);
  }

  executor_type get_executor() const noexcept { return typed_.get(object_executor()); }

  /// Takes over a descriptor that was made elsewhere, and makes it non-blocking and close-on-exec.
  /// Non-blocking belongs to what is open, not to its number: other processes that have inherited
  /// it, or duplicates of it, find it so too (a shell's terminal, a pipe's other writers); give it
  /// back with release() and fcntl(2) where that matters. If another process makes it blocking
  /// again, an operation can hold up its context.
  /// A socket is used as a socket.
  /// Errors: already_open; bad_descriptor; no_permission for what cannot be waited for (regular
  /// files, directories, block devices). With an error the caller still owns the handle.
  /// Simulated contexts take only what was released there.
  void assign(int handle, error_code& ec) noexcept {
    descriptor_calls::adopt(*slot_to_open(), handle, ec);
  }
  void assign(int handle) { descriptor_calls::adopt(*slot_to_open(), handle); }

 protected:
  basic_descriptor_stream(basic_descriptor_stream&&) noexcept = default;
  basic_descriptor_stream& operator=(basic_descriptor_stream&&) noexcept = default;
  ~basic_descriptor_stream() = default;

 private:
  [[no_unique_address]] typed_executor<Executor> typed_;
};

}  // namespace beck::detail
