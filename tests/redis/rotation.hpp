// SPDX-License-Identifier: BSL-1.0
// Logins that change from connection to connection.
#pragma once

#include <beck/redis/credentials.hpp>

#include <beck/coro/task.hpp>
#include <beck/run/post.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace beck::redis::test {

/// Logins one after the other.
class rotation final : public redis::credentials {
 public:
  std::vector<std::pair<std::string, std::string>> logins;
  std::size_t asked = 0;
  beck::error_code failure;

  task<beck::io_result<redis::login>> next(beck::any_io_executor on) override {
    beck::io_result<redis::login> result;
    co_await beck::post(on, beck::deferred);
    const auto& [user, password] = logins[asked < logins.size() ? asked : logins.size() - 1];
    ++asked;
    result.error_ = failure;
    result.value_ = redis::login(user, password);
    co_return result;
  }
};

}  // namespace beck::redis::test
