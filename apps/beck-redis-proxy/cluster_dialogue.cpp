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

constexpr std::size_t name_bytes_most = 64;  // of a command, in a message

/// Commands whose second word says what they are about.
constexpr std::string_view containers[] = {
    "acl",    "client", "cluster", "config", "debug",  "function", "latency", "memory",
    "module", "object", "pubsub",  "script", "select", "slowlog",  "xgroup",  "xinfo"};

struct info_section {
  std::string_view name;
  std::string_view lines;
};

/// INFO of one server, as far as programs decide by it. The version is that of the command table.
constexpr info_section info_sections[] = {
    {"server", "# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\n"},
    {"persistence", "# Persistence\r\nloading:0\r\nasync_loading:0\r\n"},
    {"replication", "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"},
    {"cluster", "# Cluster\r\ncluster_enabled:0\r\n"},
};

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

std::string_view cluster_dialogue::refuse_in_multi(const arguments& command) {
  to_.clear();
  refuse(command, "it is behind a MULTI that was refused");
  has_ended_ = is_multi_alone_;
  return to_.bytes();
}

void cluster_dialogue::note(const arguments& command) noexcept {
  const std::string_view name = command[0];
  is_multi_last_ = is_word(name, "multi");
  if (is_multi_last_) is_multi_alone_ = false;
  const bool is_end = is_word(name, "exec") || is_word(name, "discard") || is_word(name, "reset");
  is_in_multi_ = is_multi_last_ || (is_in_multi_ && !is_end);
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
    if (!identity_.answer(command, to_)) refuse(command, refusal_text(cluster_way::connection));
  } else if (is_word(name, "info")) {
    info(command);
  } else if (is_word(name, "script")) {
    scripts_.answer_exists(command, to_);
  } else if (is_word(name, "select")) {
    if (command.size() != 2) return refuse_arity(command);
    if (command[1] != "0") return refuse(command, "a cluster has the database 0 only");
    to_.simple("OK");
  } else if (is_word(name, "reset")) {
    version_ = protocol::resp2;
    to_.use(version_);
    identity_.set_name({});
    to_.simple("RESET");
  } else if (is_word(name, "quit")) {
    has_ended_ = true;
    to_.simple("OK");
  } else if (is_word(name, "cluster")) {
    beck_redis_proxy::answer(face_, command, to_);
  } else if (is_word(name, "readonly") || is_word(name, "readwrite")) {
    // The URL's cluster_options decide where reads go.
    if (command.size() != 1) return refuse_arity(command);
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
  const hello_words words = read_hello(command, version_);
  if (words.has_login) return refuse(command, login_reason);
  std::string refusal(words.error);
  if (refusal.empty() && words.has_name) refusal = client_identity::refusal_of_name(words.name);
  if (!refusal.empty()) return void(to_.error(refusal));
  if (words.has_name) identity_.set_name(words.name);
  version_ = words.version;
  to_.use(version_);
  to_.map(7).bulk("server").bulk("beck-redis-proxy").bulk("version").bulk(beck::version());
  to_.bulk("proto").integer(version_ == protocol::resp3 ? 3 : 2);
  to_.bulk("id").integer(static_cast<long long>(identity_.number()));
  to_.bulk("mode").bulk("standalone").bulk("role").bulk("master").bulk("modules").array(0);
}

/// INFO [section ...]: what libraries look at before they go on, and the counters of the proxy.
void cluster_dialogue::info(const arguments& command) {
  constexpr std::string_view everything[] = {"all", "default", "everything"};
  const auto is_asked = [&](std::string_view section) {
    bool is_named = command.size() == 1;
    for (std::size_t i = 1; i < command.size(); ++i) {
      const auto is = [&](std::string_view name) { return is_word(command[i], name); };
      is_named = is_named || is(section) || std::any_of(everything, std::end(everything), is);
    }
    return is_named;
  };
  std::string text;
  for (const info_section& one : info_sections) {
    if (is_asked(one.name)) text.append(text.empty() ? "" : "\r\n").append(one.lines);
  }
  if (is_asked("proxy")) text.append(text.empty() ? "" : "\r\n").append(all_.info());
  to_.verbatim("txt", text);
}

}  // namespace beck_redis_proxy
