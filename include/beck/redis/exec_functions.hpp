// SPDX-License-Identifier: BSL-1.0
//
// The functions that send commands: those of a client, a lane and a cluster are the same.
#pragma once

#include <beck/redis/exec.hpp>
#include <string_view>
#include <utility>

namespace beck::redis::detail {

/// The base of client, lane and cluster. Each function sends over the connections of the object.
class exec_functions {
 public:
  /// Sends one command; its reply is read as a T. The arguments are those of request::push(), and
  /// are copied. Throws std::bad_alloc.
  template <class T, class... Args>
  exec_one<T> exec(std::string_view name, const Args&... args) {
    return {sender_, name, args...};
  }
  /// Sends one command that cmd() has made.
  template <class T>
  exec_one<T> exec(command<T> one) {
    return {sender_, std::move(one)};
  }
  /// Sends several commands behind each other. Each reply of the tuple has its own error and
  /// outcome; the error of the whole is that of the connection, its outcome that of the first
  /// command without a reply.
  template <class First, class Second, class... More>
  exec_all<First, Second, More...> exec(command<First> first, command<Second> second,
                                        command<More>... more) {
    return {sender_, std::move(first), std::move(second), std::move(more)...};
  }
  /// Sends several commands as a transaction, from MULTI to EXEC: the server runs them without
  /// others between them, or none. Each reply of the tuple has its own error. The error of the
  /// whole is error::exec_abort if the server has refused a command, whose reply says why; then
  /// none has run. Lost with its connection, a transaction is sent again only if its EXEC was not
  /// sent, or if it is retryable().
  template <class First, class... More>
  exec_whole<First, More...> transaction(command<First> first, command<More>... more) {
    return {sender_, std::move(first), std::move(more)...};
  }
  /// Sends all commands of `q`, which must live, unchanged, until completion; each reply is read as
  /// a T. Error and outcome of the whole are as those of exec() with several commands. Above 256
  /// commands or 64 KiB the commands of other calls may be sent between them.
  template <class T>
  exec_list<T> exec_each(const request& q) {
    return {sender_, q};
  }

  /// Returns the executor of the context.
  any_io_executor get_executor() const noexcept;

 protected:
  /// Takes over a share of the sender; without one nothing may be called.
  explicit exec_functions(sender_ref of) noexcept : sender_(std::move(of)) {}
  exec_functions(exec_functions&&) noexcept = default;
  exec_functions& operator=(exec_functions&&) noexcept = default;
  ~exec_functions() = default;

  sender_ref sender_;
};

}  // namespace beck::redis::detail
