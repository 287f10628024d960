// SPDX-License-Identifier: BSL-1.0
// CLIENT: the number and name of a connection, its replies, the end of another's wait, and caches.
#include <string>

#include "redis/memory/memory_call.hpp"

namespace beck::redis::detail {
namespace {

void run_id(memory_call& call) { call.reply.integer(call.peer.id); }

void run_getname(memory_call& call) {
  if (call.peer.name.empty()) {
    call.reply.null();
  } else {
    call.reply.bulk(call.peer.name);
  }
}

void run_setname(memory_call& call) {
  for (const char c : call[2])
    if (c < '!' || c > '~')
      return call.error("ERR Client names cannot contain spaces, newlines or special characters.");
  call.peer.name = call[2];
  call.ok();
}

void run_client_info(memory_call& call) {
  const memory_peer& peer = call.peer;
  const bool is_new = peer.out.version() == protocol::resp3;
  call.reply.verbatim("txt", "id=" + std::to_string(peer.id) + " name=" + peer.name +
                                 " db=" + std::to_string(peer.database) +
                                 " resp=" + (is_new ? "3" : "2") + "\n");
}

void run_unblock(memory_call& call) {
  std::int64_t id = 0;
  bool is_error = false;
  if (call.size() > 4)
    return call.error("ERR unknown subcommand or wrong number of arguments for '" +
                      std::string(call[1]) + "'. Try CLIENT HELP.");
  if (call.size() == 4) {
    is_error = call.is(3, "error");
    if (!is_error && !call.is(3, "timeout"))
      return call.error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
  }
  if (!call.integer(2, id)) return;
  const auto at = call.engine.peers().find(id);
  if (at == call.engine.peers().end() || !at->second->is_waiting()) {
    call.reply.integer(0);
    return;
  }
  memory_peer& other = *at->second;
  if (is_error) {
    other.out.error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
  } else {
    other.out.null_array();
  }
  call.engine.waits().end(other);
  call.reply.integer(1);
}

void run_reply(memory_call& call) {
  if (call.is(2, "on")) {
    call.peer.replies = memory_replies::on;
    call.peer.out.simple("OK");
  } else if (call.is(2, "off")) {
    call.peer.replies = memory_replies::off;
  } else if (call.is(2, "skip")) {
    if (call.peer.replies == memory_replies::on) call.peer.replies = memory_replies::skip;
  } else {
    call.syntax_error();
  }
}

void run_no_evict(memory_call& call) {
  if (!call.is(2, "on") && !call.is(2, "off")) return call.syntax_error();
  call.ok();
}

/// The options of CLIENT TRACKING on.
struct tracking_options {
  bool opt_in = false;
  bool opt_out = false;
  bool no_loop = false;
};

/// Reads the options of CLIENT TRACKING on. Returns false, with an error as the reply, if they are
/// not right, or not known here: REDIRECT, BCAST, PREFIX.
bool take_tracking_options(memory_call& call, tracking_options& to) {
  for (std::size_t i = 3; i < call.size(); ++i) {
    if (call.is(i, "optin")) {
      to.opt_in = true;
    } else if (call.is(i, "optout")) {
      to.opt_out = true;
    } else if (call.is(i, "noloop")) {
      to.no_loop = true;
    } else {
      call.syntax_error();
      return false;
    }
  }
  return true;
}

void run_tracking(memory_call& call) {
  tracking_options wanted;
  if (!take_tracking_options(call, wanted)) return;
  if (call.is(2, "on")) {
    memory_tracking& now = call.peer.tracking;
    if (wanted.opt_in && wanted.opt_out)
      return call.error("ERR You can't specify both OPTIN mode and OPTOUT mode");
    if ((wanted.opt_in && now.commands == memory_tracked::unmarked) ||
        (wanted.opt_out && now.commands == memory_tracked::marked))
      return call.error(
          "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and "
          "then re-enabling it with a different mode.");
    now.commands = memory_tracked::all;
    if (wanted.opt_in) now.commands = memory_tracked::marked;
    if (wanted.opt_out) now.commands = memory_tracked::unmarked;
    now.no_loop = wanted.no_loop;
  } else if (call.is(2, "off")) {
    call.engine.caches().leave(call.peer);
  } else {
    return call.syntax_error();
  }
  call.ok();
}

void run_caching(memory_call& call) {
  memory_tracking& tracking = call.peer.tracking;
  if (tracking.commands == memory_tracked::none)
    return call.error(
        "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or "
        "OPTOUT mode enabled");
  if (call.is(2, "yes")) {
    if (tracking.commands != memory_tracked::marked)
      return call.error(
          "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.");
  } else if (call.is(2, "no")) {
    if (tracking.commands != memory_tracked::unmarked)
      return call.error(
          "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.");
  } else {
    return call.syntax_error();
  }
  tracking.is_marked = true;
  call.ok();
}

constexpr memory_row client_rows[] = {
    {"client|id", run_id},
    {"client|getname", run_getname},
    {"client|setname", run_setname},
    {"client|info", run_client_info},
    {"client|unblock", run_unblock},
    {"client|reply", run_reply},
    {"client|no-evict", run_no_evict},
    {"client|tracking", run_tracking},
    {"client|caching", run_caching},
};

}  // namespace

memory_rows memory_client_rows() noexcept { return client_rows; }

}  // namespace beck::redis::detail
