// SPDX-License-Identifier: BSL-1.0
//
// As redis-server answers, with its words.
#include "client_identity.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "words.hpp"

namespace beck_redis_proxy {
namespace {

using beck::redis::arguments;
using beck::redis::protocol;
using beck::redis::reply_writer;

constexpr std::size_t client_name_bytes_most = 1024;  // that the proxy keeps
constexpr std::size_t library_bytes_most = 256;       // as above, of its name and of its version

/// Subcommands by which libraries ask for pushes about the server, and go on without.
constexpr std::string_view unknown_to_servers[] = {"capa", "maint_notifications"};

bool is_plain(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char one) { return one >= '!' && one <= '~'; });
}

}  // namespace

hello_words read_hello(const arguments& command, protocol present) noexcept {
  hello_words found;
  found.version = present;
  if (command.size() > 1) {
    if (command[1] != "2" && command[1] != "3")
      found.error = "NOPROTO unsupported protocol version";
    found.version = command[1] == "3" ? protocol::resp3 : protocol::resp2;
  }
  for (std::size_t i = 2; i < command.size() && found.error.empty(); i += 2) {
    if (is_word(command[i], "auth")) {
      found.has_login = true;
      return found;
    }
    found.has_name = is_word(command[i], "setname") && i + 1 < command.size();
    if (!found.has_name) found.error = "ERR Syntax error in HELLO";
    if (found.has_name) found.name = command[i + 1];
  }
  return found;
}

std::string client_identity::refusal_of_name(std::string_view name) {
  if (name.size() > client_name_bytes_most)
    return fmt::format("ERR the name of a client has {} bytes, and at most {} are kept",
                       name.size(), client_name_bytes_most);
  if (is_plain(name)) return {};
  return "ERR Client names cannot contain spaces, newlines or special characters.";
}

bool client_identity::answer(const arguments& command, reply_writer& to) {
  const std::string_view sub = command.size() > 1 ? command[1] : std::string_view();
  const std::size_t size = command.size();
  if (is_word(sub, "setname") && size == 3) {
    const std::string refusal = refusal_of_name(command[2]);
    if (refusal.empty()) set_name(command[2]);
    refusal.empty() ? to.simple("OK") : to.error(refusal);
  } else if (is_word(sub, "getname") && size == 2) {
    name_.empty() ? to.null() : to.bulk(name_);
  } else if (is_word(sub, "id") && size == 2) {
    to.integer(static_cast<long long>(number_));
  } else if (is_word(sub, "setinfo") && size == 4) {
    set_library(command[2], command[3], to);
  } else if (is_word(sub, "no-evict") && size == 3) {
    const bool is_known = is_word(command[2], "on") || is_word(command[2], "off");
    is_known ? to.simple("OK") : to.error("ERR syntax error");
  } else if (std::any_of(std::begin(unknown_to_servers), std::end(unknown_to_servers),
                         [&](std::string_view one) { return is_word(sub, one); })) {
    to.error(fmt::format("ERR unknown subcommand '{}'. Try CLIENT HELP.", sub));
  } else {
    return false;
  }
  return true;
}

/// Answers CLIENT SETINFO.
void client_identity::set_library(std::string_view option, std::string_view text,
                                  reply_writer& to) {
  const bool is_name = is_word(option, "lib-name");
  if (!is_name && !is_word(option, "lib-ver")) {
    to.error(fmt::format("ERR Unrecognized option '{}'", option.substr(0, library_bytes_most)));
  } else if (!is_plain(text) || text.size() > library_bytes_most) {
    to.error(
        fmt::format("ERR {} cannot contain spaces, newlines or special characters, or more "
                    "than {} bytes",
                    option, library_bytes_most));
  } else {
    (is_name ? library_ : library_version_) = text;
    to.simple("OK");
  }
}

void client_identity::repeat(protocol version, beck::redis::request& to) const {
  if (version == protocol::resp3) to.push("HELLO", 3);
  if (!name_.empty()) to.push("CLIENT", "SETNAME", name_);
  if (!library_.empty()) to.push("CLIENT", "SETINFO", "LIB-NAME", library_);
  if (!library_version_.empty()) to.push("CLIENT", "SETINFO", "LIB-VER", library_version_);
}

}  // namespace beck_redis_proxy
