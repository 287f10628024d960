// SPDX-License-Identifier: BSL-1.0
// The connect of stream and datagram sockets, which opens a socket that is closed.
#pragma once

#include <beck/detail/callback_operation.hpp>
#include <beck/detail/socket_object.hpp>

namespace beck::detail {

/// A connect. The endpoint is copied into the operation, so the caller's may go.
class [[nodiscard]] connect_operation : public begun_by<connect_operation, void_operation> {
 public:
  connect_operation(descriptor* d, const endpoint_data& endpoint, int family, int type,
                    int protocol) noexcept
      : begun_by(op_kind::connect, d, nullptr, 0),
        endpoint_(endpoint),
        family_(family),
        type_(type),
        protocol_(protocol) {}

  /// Attempts to connect. Returns true if that has ended without suspending.
  bool await_ready() noexcept {
    if (prepare() >= 0) return void_operation::await_ready();
    runner* const where = runner::current();
    return where != nullptr && where->spend(runner::memory_weight);
  }
  /// Opens the socket if it is closed, and starts to connect.
  void begin() noexcept {
    if (const int refused = prepare(); refused < 0) {
      complete_later(*this, refused);
    } else {
      start_operation(*this);
    }
  }
  /// Opens the socket if it is closed, and starts to connect. Returns true if that ended within the
  /// call and nothing was queued.
  bool begin_immediate() noexcept { return prepare() < 0 || start_operation_immediate(*this); }

  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<connect_operation&&>(*this), static_cast<Token&&>(token));
  }

 private:
  /// Opens the socket if it is closed, and sets the pointers into this object, which does not move
  /// any more. Returns 0 or a negative result.
  int prepare() noexcept {
    address = endpoint_.data();
    length = endpoint_.size();
    result = socket_calls::open_for_connect(*target, family_, type_, protocol_);
    return result;
  }

  endpoint_data endpoint_;
  int family_;
  int type_;
  int protocol_;
};

}  // namespace beck::detail
