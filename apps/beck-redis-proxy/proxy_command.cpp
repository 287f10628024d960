// SPDX-License-Identifier: BSL-1.0
//
// No command of Redis or Valkey is called PROXY.
#include "proxy_command.hpp"

#include "words.hpp"

namespace beck_redis_proxy {
namespace {

constexpr std::string_view forms[] = {"*2\r\n$5\r\nproxy\r\n$4\r\ninfo\r\n", "proxy info\r\n"};

}  // namespace

bool is_proxy_info(const beck::redis::arguments& command) noexcept {
  return command.size() == 2 && is_word(command[0], "proxy") && is_word(command[1], "info");
}

void write_proxy_info(const statistics& of, beck::redis::reply_writer& to) {
  to.verbatim("txt", of.info());
}

proxy_info_match match_proxy_info(std::string_view front) noexcept {
  for (const std::string_view form : forms) {
    if (front.size() >= form.size() && is_word(front.substr(0, form.size()), form))
      return {form.size(), false};
    if (front.size() < form.size() && is_word(front, form.substr(0, front.size())))
      return {0, true};
  }
  return {};
}

}  // namespace beck_redis_proxy
