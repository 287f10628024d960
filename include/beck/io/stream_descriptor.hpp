// SPDX-License-Identifier: BSL-1.0
// posix::stream_descriptor: any descriptor of bytes (a terminal, standard input, an inherited pipe
// or socket, an eventfd), with Asio's interface.
#pragma once

#include <beck/detail/bytes_readable.hpp>
#include <beck/detail/descriptor_stream.hpp>

namespace beck {
namespace posix {

/// Names for the events that a stream_descriptor can be waited for.
struct descriptor_base {
  /// The event that wait() and async_wait() wait for.
  enum wait_type { wait_read, wait_write, wait_error };
  /// FIONREAD, for io_control(): the number of bytes that a read would return now.
  using bytes_readable = detail::bytes_readable_command;
};

/// A byte stream in one or both directions, as the descriptor allows: a transfer in the other
/// direction ends with bad_descriptor. Reads and writes are read(2) and write(2), so the rules of
/// the open file hold: a terminal returns lines, an eventfd eight bytes. Writing never raises
/// SIGPIPE. A regular file is transferred at its position inside the call, which may wait for its
/// disk; a file object (beck/file) reads elsewhere. Thread, cancellation: as sockets.
template <class Executor = any_io_executor>
class basic_stream_descriptor : public detail::basic_descriptor_stream<Executor>,
                                public descriptor_base {
  using base = detail::basic_descriptor_stream<Executor>;

 public:
  /// The same type with another executor.
  template <class Other>
  struct rebind_executor {
    using other = basic_stream_descriptor<Other>;
  };

  using base::base;
  /// Takes over an object whose executor has another type.
  template <detail::other_executor<Executor> Other>
  basic_stream_descriptor(basic_stream_descriptor<Other>&& other) noexcept
      : base(static_cast<detail::basic_descriptor_stream<Other>&&>(other)) {}

  /// The object itself, for templates that also take streams in layers.
  using lowest_layer_type = basic_stream_descriptor;
  /// Returns the object.
  lowest_layer_type& lowest_layer() noexcept { return *this; }
  /// As above.
  const lowest_layer_type& lowest_layer() const noexcept { return *this; }

  /// Completes when the descriptor is readable, writable, or has an error or a hang-up, without
  /// transferring anything. A wait takes its turn among the reads or writes of its direction.
  /// Completes with (error_code). Source: poll(2).
  detail::void_operation async_wait(wait_type what) noexcept {
    return detail::void_operation(kind_of(what), this->descriptor_, nullptr, 0);
  }
  /// As above. `token` takes (error_code).
  template <class Token>
  auto async_wait(wait_type what, Token&& token) {
    return detail::launch(async_wait(what), static_cast<Token&&>(token));
  }
  /// Blocks until the event has come. Errors: bad_descriptor if closed; would_block if
  /// non_blocking() and it has not come.
  error_code wait(wait_type what, error_code& ec) {
    auto op = async_wait(what);
    ec = detail::make_error(this->perform_now(op));
    return ec;
  }
  /// As above, and throws io_error on failure.
  void wait(wait_type what) {
    error_code ec;
    wait(what, ec);
    detail::throw_if(ec, "wait");
  }

 private:
  static detail::op_kind kind_of(wait_type what) noexcept {
    return what == wait_read    ? detail::op_kind::wait_read
           : what == wait_write ? detail::op_kind::wait_write
                                : detail::op_kind::wait_error;
  }
};

/// A stream descriptor with any executor.
using stream_descriptor = basic_stream_descriptor<>;

}  // namespace posix

}  // namespace beck
