// SPDX-License-Identifier: BSL-1.0
// readable_pipe, writable_pipe, connect_pipe: one-way byte streams between threads and processes,
// with Asio's interface.
#pragma once

#include <beck/detail/descriptor_stream.hpp>

namespace beck {

/// The read end of a pipe. Reads end with eof when the last writer is gone and everything was read.
/// async_read, async_read_until and the synchronous forms work on it; writing does not compile.
/// Thread, cancellation: as sockets. Source: pipe(7).
template <class Executor = any_io_executor>
class basic_readable_pipe : public detail::basic_descriptor_stream<Executor> {
  using base = detail::basic_descriptor_stream<Executor>;

 public:
  /// The same type with another executor.
  template <class Other>
  struct rebind_executor {
    using other = basic_readable_pipe<Other>;
  };

  using base::base;
  /// Takes over an end whose executor has another type.
  template <detail::other_executor<Executor> Other>
  basic_readable_pipe(basic_readable_pipe<Other>&& other) noexcept
      : base(static_cast<detail::basic_descriptor_stream<Other>&&>(other)) {}

  /// Deleted: this end cannot write.
  template <class... Any>
  void async_write_some(Any&&...) = delete;
  /// Deleted: this end cannot write.
  template <class... Any>
  void write_some(Any&&...) = delete;
};

/// The write end of a pipe. Writes end with broken_pipe when there is no reader any more, and never
/// raise SIGPIPE, whatever the program does with that signal. (Before Linux 6.18 the signal is
/// blocked during each write, which costs two more system calls.) A write of at most 4,096 bytes is
/// whole or not at all, also among several writers. Reading does not compile. Source: pipe(7),
/// pwritev2(2).
template <class Executor = any_io_executor>
class basic_writable_pipe : public detail::basic_descriptor_stream<Executor> {
  using base = detail::basic_descriptor_stream<Executor>;

 public:
  /// The same type with another executor.
  template <class Other>
  struct rebind_executor {
    using other = basic_writable_pipe<Other>;
  };

  using base::base;
  /// Takes over an end whose executor has another type.
  template <detail::other_executor<Executor> Other>
  basic_writable_pipe(basic_writable_pipe<Other>&& other) noexcept
      : base(static_cast<detail::basic_descriptor_stream<Other>&&>(other)) {}

  /// Deleted: this end cannot read.
  template <class... Any>
  void async_read_some(Any&&...) = delete;
  /// Deleted: this end cannot read.
  template <class... Any>
  void read_some(Any&&...) = delete;
};

/// A read end with any executor.
using readable_pipe = basic_readable_pipe<>;
/// A write end with any executor.
using writable_pipe = basic_writable_pipe<>;

// A pipe goes one way: the operations of the other end do not compile.
template <class Executor, class... Any>
void async_write(basic_readable_pipe<Executor>&, Any&&...) = delete;
template <class Executor, class... Any>
void async_read(basic_writable_pipe<Executor>&, Any&&...) = delete;
template <class Executor, class... Any>
void async_read_until(basic_writable_pipe<Executor>&, Any&&...) = delete;

/// Opens both ends of a new pipe. Errors: already_open if one of them is open; no_descriptors. With
/// an error both stay closed. Source: pipe2(2).
template <class Executor1, class Executor2>
error_code connect_pipe(basic_readable_pipe<Executor1>& read_end,
                        basic_writable_pipe<Executor2>& write_end, error_code& ec) {
  detail::descriptor_calls::open_pipe(*read_end.slot_to_open(), *write_end.slot_to_open(), ec);
  return ec;
}
/// As above, and throws io_error on failure.
template <class Executor1, class Executor2>
void connect_pipe(basic_readable_pipe<Executor1>& read_end,
                  basic_writable_pipe<Executor2>& write_end) {
  error_code ec;
  beck::connect_pipe(read_end, write_end, ec);
  detail::throw_if(ec, "connect_pipe");
}

}  // namespace beck
