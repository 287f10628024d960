// SPDX-License-Identifier: BSL-1.0
//
// Logins that change while a program runs: a client asks for one before each connection.
#pragma once

#include <beck/base/io_result.hpp>
#include <beck/coro/task.hpp>
#include <beck/redis/byte_store.hpp>
#include <beck/run/any_io_executor.hpp>
#include <string_view>

namespace beck::redis {

/// A user and a password, or a token in its place. A value, which is not shown in logs and errors.
class login {
 public:
  /// Makes no login: the server is not asked for one.
  login() noexcept = default;
  /// Copies both; an empty user is "default". Throws std::bad_alloc.
  login(std::string_view user, std::string_view password) {
    bytes_.append(user);
    user_bytes_ = user.size();
    bytes_.append(password);
  }

  std::string_view user() const noexcept { return bytes_.view().substr(0, user_bytes_); }
  std::string_view password() const noexcept { return bytes_.view().substr(user_bytes_); }

 private:
  detail::small_store<64> bytes_;
  std::size_t user_bytes_ = 0;
};

/// Returns logins. Thread: that of the client's context. Lifetime: outlives the client and its
/// lanes.
class credentials {
 public:
  credentials() noexcept = default;
  credentials(const credentials&) = delete;
  credentials& operator=(const credentials&) = delete;
  virtual ~credentials() = default;

  /// Returns the login of the next connection, which may be that of a lane; an error is one of the
  /// attempt to connect. Several may be asked for at once. client_options::connect_timeout limits
  /// the time, and the client cancels the task through its scope. Must not throw, but
  /// std::system_error and std::bad_alloc.
  virtual task<io_result<login>> next(any_io_executor on) = 0;
};

}  // namespace beck::redis
