// SPDX-License-Identifier: BSL-1.0
// A URL is cut from both ends: scheme, login, address, database. A login without a user name is
// that of the user "default".
#include "redis/session/handshake.hpp"

#include <charconv>
#include <stdexcept>
#include <string_view>

#include <beck/base/assert.hpp>
#include <beck/base/version.hpp>

namespace beck::redis::detail {
namespace {

[[noreturn]] void refuse(const char* why) {
  throw std::invalid_argument(std::string("redis: not the URL of a server: ") + why);
}

template <class Number>
Number number_of(std::string_view digits, Number most, const char* name) {
  Number result = 0;
  const char* const begin = digits.data();
  const char* const end = begin + digits.size();
  const auto [stop, ec] = std::from_chars(begin, end, result);
  if (digits.empty() || stop != end || ec != std::errc() || result > most) refuse(name);
  return result;
}

/// Takes "user:password@" or "user@" from the front of `rest`.
void take_login(std::string_view& rest, server_url& url) {
  const std::size_t at = rest.substr(0, rest.find('/')).rfind('@');
  if (at == rest.npos) return;
  const std::string_view login = rest.substr(0, at);
  rest.remove_prefix(at + 1);
  const std::size_t colon = login.find(':');
  url.user = decoded(login.substr(0, colon));
  if (colon != login.npos) url.password = decoded(login.substr(colon + 1));
  if (colon != login.npos && !url.user.empty() && url.password.empty())
    refuse("a user without a password");
}

/// Takes "?db=n&protocol=3" from the end of `rest`.
void take_query(std::string_view& rest, server_url& url) {
  const std::size_t mark = rest.find('?');
  if (mark == rest.npos) return;
  std::string_view query = rest.substr(mark + 1);
  rest = rest.substr(0, mark);
  for (;;) {
    const std::size_t end = query.find('&');
    const std::string_view one = query.substr(0, end);
    const std::size_t equal = one.find('=');
    const std::string_view key = one.substr(0, equal);
    const std::string_view text = equal == one.npos ? std::string_view() : one.substr(equal + 1);
    if (key == "db") {
      url.database = number_of(text, UINT32_MAX, "the database");
    } else if (key == "protocol" && (text == "2" || text == "3")) {
      url.version = text == "2" ? protocol::resp2 : protocol::resp3;
    } else {
      refuse("a query other than db=n and protocol=2 or 3");
    }
    if (end == query.npos) return;
    query.remove_prefix(end + 1);
  }
}

void take_path(std::string_view rest, server_url& url) {
  take_query(rest, url);
  if (rest.size() < 2 || rest[0] != '/') refuse("unix:// without an absolute path");
  url.path = decoded(rest);
}

void take_address(std::string_view rest, server_url& url) {
  take_query(rest, url);
  if (rest.find('#') != rest.npos) refuse("a fragment");
  if (const std::size_t slash = rest.find('/'); slash != rest.npos) {
    const std::string_view database = rest.substr(slash + 1);
    if (!database.empty()) url.database = number_of(database, UINT32_MAX, "the database");
    rest = rest.substr(0, slash);
  }
  std::string_view host = rest;
  std::string_view port;
  if (!rest.empty() && rest[0] == '[') {
    const std::size_t end = rest.find(']');
    if (end == rest.npos) refuse("\"[\" without \"]\"");
    host = rest.substr(1, end - 1);
    port = rest.substr(end + 1);
    if (!port.empty() && port[0] != ':') refuse("something other than a port behind \"]\"");
  } else if (const std::size_t colon = rest.find(':'); colon != rest.npos) {
    host = rest.substr(0, colon);
    port = rest.substr(colon);
  }
  if (host.empty()) refuse("no host");
  url.host = std::string(host);
  if (!port.empty()) url.port = number_of<std::uint16_t>(port.substr(1), UINT16_MAX, "the port");
}

/// Returns whether a reply to ROLE is that of a primary, not of a replica or a sentinel.
bool is_primary(const value& role) noexcept {
  const value_item root = role.root();
  return root.size() != 0 && (*root.begin()).text() == "master";
}

/// Returns whether a refusal will be the same the next time. `first`: the text of the first reply.
handshake::answer answer_of(const error_code& why, std::string_view first) noexcept {
  if (why == error::wrongpass || why == error::noauth || why == error::noperm)
    return handshake::answer::refused_for_good;
  const bool is_for_now = why != error::err || first == "ERR max number of clients reached";
  return is_for_now ? handshake::answer::refused : handshake::answer::refused_for_good;
}

}  // namespace

std::string decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    unsigned byte = 0;
    const char* const begin = digits.data();
    const char* const end = begin + digits.size();
    const auto [stop, ec] = std::from_chars(begin, end, byte, 16);
    if (digits.size() != 2 || stop != end || ec != std::errc()) {
      refuse("\"%\" without two hexadecimal digits");
    }
    result += static_cast<char>(byte);
    i += 2;
  }
  return result;
}

server_url parse_server_url(std::string_view text) {
  server_url url;
  const std::size_t colon = text.find("://");
  if (colon == text.npos) refuse("no scheme");
  const std::string_view scheme = text.substr(0, colon);
  std::string_view rest = text.substr(colon + 3);
  take_login(rest, url);
  if (scheme == "unix") {
    take_path(rest, url);
  } else if (scheme == "redis" || scheme == "valkey") {
    take_address(rest, url);
  } else if (scheme == "rediss" || scheme == "valkeys") {
    url.is_secure = true;
    take_address(rest, url);
  } else {
    refuse("the scheme is not redis, rediss, valkey, valkeys or unix");
  }
  return url;
}

// --- the greeting

handshake::handshake(const server_url& to, protocol version, std::string_view name, stage when)
    : version_(version), when_(when) {
  using enum need;
  const std::string_view user = to.user.empty() ? std::string_view("default") : to.user;
  const bool has_login = when != stage::change && (!to.password.empty() || !to.user.empty());
  if (when == stage::again) push(success, "RESET");
  if (version == protocol::resp3 && has_login) {
    push(success, "HELLO", 3, "AUTH", user, to.password);
  } else if (version == protocol::resp3) {
    push(success, "HELLO", 3);
  } else if (has_login && to.user.empty()) {
    push(success, "AUTH", to.password);
  } else if (has_login) {
    push(success, "AUTH", user, to.password);
  } else {
    push(success, "PING");
  }
  if (when != stage::change) {  // independent of the version
    if (!name.empty()) {
      push(any_reply, "CLIENT", "SETNAME", name);
      push(any_reply, "CLIENT", "SETINFO", "LIB-NAME", "beck");
      push(any_reply, "CLIENT", "SETINFO", "LIB-VER", beck::version());
    }
    if (to.database != 0) push(success, "SELECT", to.database);
    if (to.reads_replicas) push(success, "READONLY");
    if (to.must_be_primary) push(primary, "ROLE");
  }
  part_ = {commands_.bytes(), static_cast<std::uint32_t>(commands_.size())};
  set_commands(&part_, 1);
}

handshake::verdict handshake::judge() const noexcept {
  BECK_ASSERT(is_done(), "a greeting was judged before its last reply");
  constexpr std::string_view unknown = "ERR unknown command";
  const std::string_view first = replies_[0].error_text();
  if (version_ == protocol::resp3 &&
      (replies_[0].error() == error::noproto || first.substr(0, unknown.size()) == unknown))
    return {answer::no_resp3, replies_[0].error(), first};
  for (std::uint32_t i = 0; i < commands(); ++i) {
    const reply<void>& one = replies_[i];
    if (needs_[i] == need::success && one.error())
      return {answer_of(one.error(), first), one.error(), one.error_text()};
    if (needs_[i] != need::primary) continue;
    if (role_.error()) return {answer_of(role_.error(), first), role_.error(), role_.error_text()};
    if (!is_primary(*role_)) return {answer::refused, error::not_primary, {}};
  }
  return {};
}

}  // namespace beck::redis::detail
