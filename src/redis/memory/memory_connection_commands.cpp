// SPDX-License-Identifier: BSL-1.0
// Commands about the connection and the server: PING, HELLO, AUTH, SELECT, INFO and their like.
#include <string>

#include "redis/memory/memory_call.hpp"
#include "redis/protocol/number_text.hpp"

namespace beck::redis::detail {
namespace {

constexpr std::string_view version_text = "7.0.15";
constexpr std::string_view wrong_password =
    "WRONGPASS invalid username-password pair or user is disabled.";

void run_ping(memory_call& call) {
  if (call.size() > 2) return call.wrong_number("ping");
  const bool has_text = call.size() == 2;
  if (call.peer.is_listening_only()) {
    call.reply.array(2).bulk("pong").bulk(has_text ? call[1] : std::string_view());
  } else if (has_text) {
    call.reply.bulk(call[1]);
  } else {
    call.reply.simple("PONG");
  }
}

void run_echo(memory_call& call) { call.reply.bulk(call[1]); }

bool is_login(const memory_call& call, std::string_view user, std::string_view password) {
  const std::string& wanted = call.engine.password();
  return user == "default" && (wanted.empty() || wanted == password);
}

void run_auth(memory_call& call) {
  if (call.size() > 3) return call.syntax_error();
  if (call.size() == 2 && call.engine.password().empty())
    return call.error(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
  const std::string user(call.size() == 3 ? call[1] : std::string_view("default"));
  if (!is_login(call, user, call[call.size() - 1])) return call.error(wrong_password);
  call.peer.has_logged_in = true;
  call.ok();
}

/// Returns whether a name has only bytes that CLIENT LIST can show.
bool is_good_name(std::string_view name) noexcept {
  for (const char c : name)
    if (c < '!' || c > '~') return false;
  return true;
}

void write_hello(memory_call& call) {
  reply_writer& reply = call.reply;
  reply.map(7).bulk("server").bulk("redis").bulk("version").bulk(version_text);
  reply.bulk("proto").integer(reply.version() == protocol::resp3 ? 3 : 2);
  reply.bulk("id").integer(call.peer.id);
  reply.bulk("mode").bulk("standalone").bulk("role").bulk("master");
  reply.bulk("modules").array(0);
}

/// Takes the options of HELLO. Returns false, with an error as the reply, if they are not right.
bool take_hello_options(memory_call& call, bool& logs_in, std::string& name, bool& has_name) {
  for (std::size_t i = 2; i < call.size(); ++i) {
    const std::size_t more = call.size() - 1 - i;
    if (call.is(i, "auth") && more >= 2) {
      if (!is_login(call, std::string(call[i + 1]), call[i + 2])) {
        call.error(wrong_password);
        return false;
      }
      logs_in = true;
      i += 2;
    } else if (call.is(i, "setname") && more >= 1) {
      name = call[++i];
      has_name = true;
      if (is_good_name(name)) continue;
      call.error("ERR Client names cannot contain spaces, newlines or special characters.");
      return false;
    } else {
      call.error("ERR Syntax error in HELLO option '" + std::string(call[i]) + "'");
      return false;
    }
  }
  return true;
}

void run_hello(memory_call& call) {
  std::int64_t wanted = call.reply.version() == protocol::resp3 ? 3 : 2;
  if (call.size() > 1) {
    if (read_integer(call[1], wanted).is_bad)
      return call.error("ERR Protocol version is not an integer or out of range");
    if (wanted < 2 || wanted > 3) return call.error("NOPROTO unsupported protocol version");
  }
  bool logs_in = false;
  bool has_name = false;
  std::string name;
  if (!take_hello_options(call, logs_in, name, has_name)) return;
  if (logs_in) call.peer.has_logged_in = true;
  if (!call.peer.has_logged_in)
    return call.error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
        "<proto> AUTH <user> <pass> option can be used to authenticate the client and select the "
        "RESP protocol version at the same time");
  if (has_name) call.peer.name = name;
  const protocol version = wanted == 3 ? protocol::resp3 : protocol::resp2;
  call.peer.out.use(version);
  call.reply.use(version);
  write_hello(call);
}

void run_select(memory_call& call) {
  std::int64_t number = 0;
  if (!call.integer(1, number)) return;
  if (number < 0 || number >= memory_store::databases)
    return call.error("ERR DB index is out of range");
  call.peer.database = static_cast<int>(number);
  call.ok();
}

void run_quit(memory_call& call) {
  call.ok();
  call.peer.close();
}

void run_reset(memory_call& call) {
  memory_peer& peer = call.peer;
  peer.transaction.end();
  call.engine.channels().leave(peer);
  call.engine.caches().leave(peer);
  peer.out.use(protocol::resp2);
  peer.database = 0;
  peer.name.clear();
  peer.replies = memory_replies::on;
  peer.has_logged_in = call.engine.password().empty();
  peer.out.simple("RESET");
}

void run_time(memory_call& call) {
  constexpr std::int64_t microsecond = 1'000;
  constexpr std::int64_t second = 1'000'000;
  const std::int64_t now = call.engine.now().date_ns / microsecond;
  call.reply.array(2).bulk(std::to_string(now / second)).bulk(std::to_string(now % second));
}

void run_role(memory_call& call) {
  const memory_primary& primary = call.engine.primary();
  if (primary.host.empty()) {
    call.reply.array(3).bulk("master").integer(0).array(0);
  } else {
    call.reply.array(5).bulk("slave").bulk(primary.host).integer(primary.port);
    call.reply.bulk("connected").integer(0);
  }
}

void run_wait(memory_call& call) {
  std::int64_t number = 0;
  if (!call.integer(1, number)) return;
  if (read_integer(call[2], number).is_bad)
    return call.error("ERR timeout is not an integer or out of range");
  if (number < 0) return call.error("ERR timeout is negative");
  call.reply.integer(0);
}

void run_info(memory_call& call) {
  std::string text = "# Server\r\nredis_version:" + std::string(version_text) +
                     "\r\nredis_mode:standalone\r\n\r\n# Clients\r\nconnected_clients:" +
                     std::to_string(call.engine.peers().size()) + "\r\n\r\n# Replication\r\nrole:" +
                     (call.engine.primary().host.empty() ? "master" : "slave") +
                     "\r\nconnected_slaves:0\r\n";
  call.reply.verbatim("txt", text);
}

void run_command_count(memory_call& call) {
  std::size_t sum = 0;
  for (const memory_rows rows :
       {memory_connection_rows(), memory_client_rows(), memory_key_rows(), memory_string_rows(),
        memory_number_rows(), memory_hash_rows(), memory_list_rows(), memory_set_rows(),
        memory_sorted_rows(), memory_transaction_rows(), memory_channel_rows()})
    sum += rows.size();
  call.reply.integer(static_cast<long long>(sum));
}

constexpr memory_row connection_rows[] = {
    {"ping", run_ping, memory_while_listening},
    {"echo", run_echo},
    {"auth", run_auth, memory_before_login},
    {"hello", run_hello, memory_before_login},
    {"select", run_select},
    {"quit", run_quit, memory_before_login | memory_while_listening | memory_immediate},
    {"reset", run_reset, memory_before_login | memory_while_listening | memory_immediate},
    {"time", run_time},
    {"role", run_role},
    {"wait", run_wait},
    {"info", run_info},
    {"command|count", run_command_count},
};

}  // namespace

memory_rows memory_connection_rows() noexcept { return connection_rows; }

}  // namespace beck::redis::detail
