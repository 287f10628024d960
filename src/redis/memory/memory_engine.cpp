// SPDX-License-Identifier: BSL-1.0
// The course of a command: it is found, checked, queued or run; then the clients that wait for the
// changed keys are served.
#include "redis/memory/memory_engine.hpp"

#include <algorithm>
#include <utility>

#include <beck/redis/command_table.hpp>

#include "redis/memory/memory_call.hpp"

namespace beck::redis::detail {
namespace {

/// Returns whether a replica refuses the command.
bool is_write(const arguments& command) noexcept {
  const command_facts facts = facts_of(command);
  if (facts.is_read_only() || (facts.needs_lane() && !facts.is_blocking())) return false;
  const std::string name = small_letters(command[0]);
  if (name == "flushall" || name == "flushdb") return true;
  return name != "spublish" && key_cursor(command).next();
}

}  // namespace

memory_engine::memory_engine(std::string_view password) : password_(password) {}

memory_engine::~memory_engine() {
  BECK_ASSERT(peers_.empty(), "a memory_server was destroyed before its connections");
}

void memory_engine::join(memory_peer& peer) {
  BECK_ASSERT(peer.id == 0, "a connection joined a memory_server twice");
  peer.id = ++last_id_;
  peer.has_logged_in = password_.empty();
  peers_.emplace(peer.id, &peer);
}

void memory_engine::leave(memory_peer& peer) {
  peers_.erase(peer.id);
  channels_.leave(peer);
  caches_.leave(peer);
  peer.in_waits.unlink();
  peer.in_outbox.unlink();
}

void memory_engine::set_time(memory_time now) noexcept {
  constexpr std::int64_t millisecond = 1'000'000;
  now_ = now;
  store_.set_time(now.steady_ns / millisecond);
}

void memory_engine::execute(memory_peer& peer, const arguments& command) {
  BECK_ASSERT(peers_.contains(peer.id), "a command came from a connection that is not served");
  BECK_ASSERT(!peer.is_waiting(), "a command was executed before the one that waits");
  if (command.size() == 0) return;  // an empty line
  const bool is_silent = peer.replies != memory_replies::on;
  if (peer.replies == memory_replies::skip) peer.replies = memory_replies::on;
  dropped_.clear();
  dropped_.use(peer.out.version());
  memory_call call{*this, peer, command, is_silent ? dropped_ : peer.out};
  const memory_found found = find_memory_row(command);
  run(call, found);
  const bool is_client = found.row != nullptr && found.row->name.starts_with("client|");
  if (!is_client && !peer.transaction.has_begun()) peer.tracking.is_marked = false;
  while (const memory_peer* const served = waits_.serve(store_)) note_changes(*served);
  caches_.send();
  outbox_.note(peer);
}

/// Runs or queues a command, or refuses it, in the order of redis-server's checks.
void memory_engine::run(memory_call& call, const memory_found& found) {
  if (!found.error.empty()) return refuse(call, found.error);
  if (refuse_by_state(call, *found.row)) return;
  if (fail_as_planned(call, found.row->name)) return;
  memory_transaction& transaction = call.peer.transaction;
  if (transaction.has_begun() && (found.row->flags & memory_immediate) == 0) {
    transaction.queue(call.command.wire());
    call.reply.simple("QUEUED");
    return;
  }
  call_row(call, *found.row);
}

/// Runs a command, and notes the keys that it has read and changed.
void memory_engine::call_row(memory_call& call, const memory_row& row) {
  ++commands_;
  hook_.call(call.command);
  const std::size_t before = call.reply.size() + call.peer.out.size();
  row.run(call);
  const bool has_replied = call.reply.size() + call.peer.out.size() != before;
  BECK_ASSERT(has_replied || call.peer.is_waiting() || row.name == "client|reply",
              "a command was executed without a reply");
  if (call.peer.tracking.is_due()) caches_.note_read(call.peer, call.command);
  note_changes(call.peer);
}

/// Answers with an error, which a transaction that has begun will not survive.
void memory_engine::refuse(memory_call& call, std::string_view error) {
  if (call.is(0, "exec")) {
    call.peer.transaction.end();
    if (error.starts_with("ERR ")) error.remove_prefix(4);
    return call.error("EXECABORT Transaction discarded because of: " + std::string(error));
  }
  call.peer.transaction.refuse();
  call.reply.error(error);
}

bool memory_engine::refuse_by_state(memory_call& call, const memory_row& row) {
  if (!call.peer.has_logged_in && (row.flags & memory_before_login) == 0) {
    refuse(call, "NOAUTH Authentication required.");
    return true;
  }
  if (!primary_.host.empty() && is_write(call.command)) {
    refuse(call, "READONLY You can't write against a read only replica.");
    return true;
  }
  if (!call.peer.is_listening_only() || (row.flags & memory_while_listening) != 0) return false;
  refuse(call, "ERR Can't execute '" + std::string(row.name) +
                   "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed "
                   "in this context");
  return true;
}

bool memory_engine::fail_as_planned(memory_call& call, std::string_view name) {
  const auto at = std::find_if(failures_.begin(), failures_.end(),
                               [&](const planned_failure& one) { return one.name == name; });
  if (at == failures_.end()) return false;
  refuse(call, at->error);
  if (--at->left == 0) failures_.erase(at);
  return true;
}

void memory_engine::fail_next(std::string_view name, std::string_view error, std::size_t times) {
  if (times != 0) failures_.push_back({small_letters(name), std::string(error), times});
}

void memory_engine::execute_all(memory_call& exec) {
  const std::vector<std::string> commands = exec.peer.transaction.run();
  exec.reply.array(commands.size());
  for (const std::string& wire : commands) {
    const arguments command(wire);
    memory_call call{*this, exec.peer, command, exec.reply};
    const memory_found found = find_memory_row(command);
    BECK_ASSERT(found.error.empty(), "a command was queued that cannot be executed");
    call_row(call, *found.row);
  }
}

/// Tells transactions, waits and caches the keys that a command has changed.
void memory_engine::note_changes(const memory_peer& by) {
  if (!store_.has_changes()) return;
  for (memory_key& key : store_.take_changes()) {
    for (const auto& [id, peer] : peers_) peer->transaction.touch(key);
    caches_.note_change(key.name, by);
    waits_.note_change(std::move(key));
  }
}

}  // namespace beck::redis::detail
