// SPDX-License-Identifier: BSL-1.0
// posix::stream_descriptor: any descriptor of bytes that can be waited for (a terminal, standard
// input, an inherited pipe or socket, an eventfd), with Asio's interface.
#pragma once

#include <beck/detail/descriptor_stream.hpp>

namespace beck {
namespace posix {

struct descriptor_base {
  enum wait_type { wait_read, wait_write, wait_error };
};

/// A byte stream in one or both directions, as the handle allows: the other gives bad_descriptor.
/// Reads and writes are read(2) and write(2), so the handle's own rules hold: a terminal gives
/// lines, an eventfd eight bytes. Writing never raises SIGPIPE. Regular files are for file objects.
template <class Executor = any_io_executor>
class basic_stream_descriptor : public detail::basic_descriptor_stream<Executor>,
                                public descriptor_base {
  using base = detail::basic_descriptor_stream<Executor>;

 public:
  template <class Other>
  struct rebind_executor {
    using other = basic_stream_descriptor<Other>;
  };

  using base::base;

  /// Completes when the descriptor is readable, writable, or has an error or a hang-up, without
  /// transferring anything. Waits of one direction take their turn among its reads or writes.
  /// Source: poll(2).
  detail::void_operation async_wait(wait_type what) noexcept {
    return detail::void_operation(kind_of(what), this->descriptor_, nullptr, 0);
  }
  template <class Token>
  auto async_wait(wait_type what, Token&& token) {
    return detail::launch(async_wait(what), static_cast<Token&&>(token));
  }
  void wait(wait_type what, error_code& ec) {
    auto op = async_wait(what);
    ec = detail::make_error(this->perform_now(op));
  }
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

using stream_descriptor = basic_stream_descriptor<>;

}  // namespace posix

}  // namespace beck
