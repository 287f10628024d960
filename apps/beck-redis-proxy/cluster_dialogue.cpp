// SPDX-License-Identifier: BSL-1.0
//
// As redis-server answers, as far as that makes sense without a connection to one.
#include "cluster_dialogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <beck/base/version.hpp>
#include <iterator>

#include "proxy_command.hpp"
#include "words.hpp"

namespace beck_redis_proxy {
namespace {

using beck::redis::arguments;
using beck::redis::protocol;

constexpr std::size_t name_bytes_most = 64;     // of a command, in a message
constexpr std::size_t client_name_most = 1024;  // bytes that the proxy keeps

/// Commands whose second word says what they are about.
constexpr std::string_view containers[] = {
    "acl",    "client", "cluster", "config", "debug",  "function", "latency", "memory",
    "module", "object", "pubsub",  "script", "select", "slowlog",  "xgroup",  "xinfo"};

constexpr std::string_view login_reason = "the proxy logs in to the nodes, with its own URL";

}  // namespace

std::string shown_name(const arguments& command) {
  std::string text(command[0].substr(0, name_bytes_most));
  const bool is_container =
      std::any_of(std::begin(containers), std::end(containers),
                  [&](std::string_view one) { return is_word(command[0], one); });
  if (is_container && command.size() > 1)
    text.append(" ").append(command[1].substr(0, name_bytes_most));
  return text;
}

std::string_view cluster_dialogue::answer(const arguments& command) {
  to_.clear();
  has_refused_ = false;
  take(command);
  return to_.bytes();
}

std::string_view cluster_dialogue::refuse(const arguments& command, cluster_way way) {
  to_.clear();
  const bool is_crossing = way == cluster_way::slots;
  refuse(command, refusal_text(way), is_crossing ? "CROSSSLOT" : "ERR");
  return to_.bytes();
}

void cluster_dialogue::refuse(const arguments& command, std::string_view reason,
                              std::string_view kind) {
  has_refused_ = true;
  to_.error(fmt::format("{} beck-redis-proxy refuses {} in front of a cluster: {}", kind,
                        shown_name(command), reason));
}

void cluster_dialogue::refuse_arity(const arguments& command) {
  to_.error(fmt::format("ERR wrong number of arguments for '{}' command", shown_name(command)));
}

void cluster_dialogue::take(const arguments& command) {
  const std::string_view name = command[0];
  if (is_word(name, "ping")) {
    ping(command);
  } else if (is_word(name, "echo")) {
    if (command.size() != 2) return refuse_arity(command);
    to_.bulk(command[1]);
  } else if (is_word(name, "hello")) {
    hello(command);
  } else if (is_word(name, "client")) {
    client(command);
  } else if (is_word(name, "select")) {
    if (command.size() != 2) return refuse_arity(command);
    if (command[1] != "0") return refuse(command, "a cluster has the database 0 only");
    to_.simple("OK");
  } else if (is_word(name, "reset")) {
    version_ = protocol::resp2;
    to_.use(version_);
    name_.clear();
    to_.simple("RESET");
  } else if (is_word(name, "quit")) {
    has_ended_ = true;
    to_.simple("OK");
  } else if (is_proxy_info(command)) {
    write_proxy_info(all_, to_);
  } else {
    refuse(command, login_reason);  // AUTH
  }
}

void cluster_dialogue::ping(const arguments& command) {
  if (command.size() > 2) return refuse_arity(command);
  if (command.size() == 1) {
    to_.simple("PONG");
  } else {
    to_.bulk(command[1]);
  }
}

/// HELLO [version [AUTH user password] [SETNAME name]]
void cluster_dialogue::hello(const arguments& command) {
  protocol wanted = version_;
  if (command.size() > 1) {
    if (command[1] != "2" && command[1] != "3")
      return void(to_.error("NOPROTO unsupported protocol version"));
    wanted = command[1] == "3" ? protocol::resp3 : protocol::resp2;
  }
  std::string_view name = name_;
  for (std::size_t i = 2; i < command.size(); i += 2) {
    if (is_word(command[i], "auth")) return refuse(command, login_reason);
    if (!is_word(command[i], "setname") || i + 1 == command.size())
      return void(to_.error("ERR Syntax error in HELLO"));
    name = command[i + 1];
  }
  if (name != name_) {
    set_name(name, false);
    if (to_.size() != 0) return;
  }
  version_ = wanted;
  to_.use(version_);
  to_.map(7).bulk("server").bulk("beck-redis-proxy").bulk("version").bulk(beck::version());
  to_.bulk("proto").integer(version_ == protocol::resp3 ? 3 : 2);
  to_.bulk("id").integer(static_cast<long long>(number_));
  to_.bulk("mode").bulk("standalone").bulk("role").bulk("master").bulk("modules").array(0);
}

void cluster_dialogue::client(const arguments& command) {
  const std::string_view sub = command.size() > 1 ? command[1] : std::string_view();
  if (is_word(sub, "setname") && command.size() == 3) {
    set_name(command[2], true);
  } else if (is_word(sub, "getname") && command.size() == 2) {
    if (name_.empty()) {
      to_.null();
    } else {
      to_.bulk(name_);
    }
  } else if (is_word(sub, "id") && command.size() == 2) {
    to_.integer(static_cast<long long>(number_));
  } else if (is_word(sub, "setinfo") && command.size() == 4) {
    to_.simple("OK");  // the library of the client, and its version
  } else {
    refuse(command, refusal_text(cluster_way::connection));
  }
}

/// Sets the name of the client, if it is one that redis-server would take.
void cluster_dialogue::set_name(std::string_view name, bool is_answered) {
  if (name.size() > client_name_most)
    return void(
        to_.error(fmt::format("ERR the name of a client has {} bytes, and at most {} are kept",
                              name.size(), client_name_most)));
  const bool is_plain =
      std::all_of(name.begin(), name.end(), [](char one) { return one >= '!' && one <= '~'; });
  if (!is_plain)
    return void(
        to_.error("ERR Client names cannot contain spaces, newlines or special characters."));
  name_ = name;
  if (is_answered) to_.simple("OK");
}

}  // namespace beck_redis_proxy
