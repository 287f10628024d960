// SPDX-License-Identifier: BSL-1.0
// A command of a link itself, such as PING.
#pragma once

#include <string>
#include <string_view>

#include <beck/redis/exec.hpp>

namespace beck::redis::detail {

/// A command with a reply that is a text.
class own_command final : public exchange {
 public:
  template <class... Args>
  explicit own_command(std::string_view name, const Args&... args) {
    commands_.push(name, args...);
    part_ = {commands_.bytes(), 1};
    set_commands(&part_, 1);
  }
  const reply<std::string>& result() const noexcept { return reply_; }
  reply_place place_of(std::uint32_t) noexcept override { return detail::place_of(reply_); }
  void done(const error_code&) noexcept override {}

 private:
  request commands_;
  command_bytes part_;
  reply<std::string> reply_;
};

}  // namespace beck::redis::detail
