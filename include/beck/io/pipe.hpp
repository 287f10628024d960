// SPDX-License-Identifier: BSL-1.0
// readable_pipe, writable_pipe, connect_pipe: one-way byte streams between threads and processes,
// with Asio's interface.
#pragma once

#include <beck/detail/descriptor_stream.hpp>

namespace beck {

/// The end of a pipe that is read from. eof when the last writer is gone and everything was read.
/// Everything but writing as stream_object: async_read, async_read_until and the synchronous forms
/// work on it. Source: pipe(7).
template <class Executor = any_io_executor>
class basic_readable_pipe : public detail::basic_descriptor_stream<Executor> {
  using base = detail::basic_descriptor_stream<Executor>;

 public:
  template <class Other>
  struct rebind_executor {
    using other = basic_readable_pipe<Other>;
  };

  using base::base;

  template <class... Any>
  void async_write_some(Any&&...) = delete;
  template <class... Any>
  void write_some(Any&&...) = delete;
};

/// The end of a pipe that is written to. broken_pipe when there is no reader any more, and never
/// SIGPIPE, whatever the program does with that signal. (Before Linux 6.18 the signal is blocked
/// during each write, which costs two more system calls.) A write of at most 4096 bytes is whole or
/// not at all, also among several writers. Source: pipe(7), pwritev2(2).
template <class Executor = any_io_executor>
class basic_writable_pipe : public detail::basic_descriptor_stream<Executor> {
  using base = detail::basic_descriptor_stream<Executor>;

 public:
  template <class Other>
  struct rebind_executor {
    using other = basic_writable_pipe<Other>;
  };

  using base::base;

  template <class... Any>
  void async_read_some(Any&&...) = delete;
  template <class... Any>
  void read_some(Any&&...) = delete;
};

using readable_pipe = basic_readable_pipe<>;
using writable_pipe = basic_writable_pipe<>;

// A pipe goes one way: what the other end is for does not compile.
template <class Executor, class... Any>
void async_write(basic_readable_pipe<Executor>&, Any&&...) = delete;
template <class Executor, class... Any>
void async_read(basic_writable_pipe<Executor>&, Any&&...) = delete;
template <class Executor, class... Any>
void async_read_until(basic_writable_pipe<Executor>&, Any&&...) = delete;

/// Opens both ends of a new pipe. Errors: already_open; no_descriptors. With an error both stay
/// closed. Source: pipe2(2).
template <class Executor1, class Executor2>
void connect_pipe(basic_readable_pipe<Executor1>& read_end,
                  basic_writable_pipe<Executor2>& write_end, error_code& ec) {
  detail::descriptor_calls::open_pipe(*read_end.slot_to_open(), *write_end.slot_to_open(), ec);
}
template <class Executor1, class Executor2>
void connect_pipe(basic_readable_pipe<Executor1>& read_end,
                  basic_writable_pipe<Executor2>& write_end) {
  error_code ec;
  beck::connect_pipe(read_end, write_end, ec);
  detail::throw_if(ec, "connect_pipe");
}

}  // namespace beck
