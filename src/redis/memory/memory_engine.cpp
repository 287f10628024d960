// SPDX-License-Identifier: BSL-1.0
// The course of a command: it is found, checked, queued or run; then the clients that wait for the
// changed keys are served. memory_audience.cpp has the channels and caches.
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

memory_engine::~memory_engine() = default;

void memory_engine::join(memory_peer& peer) {
  peer.id = ++last_id_;
  peer.has_logged_in = password_.empty();
  peers_.emplace(peer.id, &peer);
}

void memory_engine::leave(memory_peer& peer) {
  peers_.erase(peer.id);
  unsubscribe_all(peer);
  stop_tracking(peer);
  waiting_.remove(&peer);
  std::erase(noted_, &peer);
}

void memory_engine::set_time(std::int64_t steady_ns, std::int64_t date_ns) noexcept {
  constexpr std::int64_t millisecond = 1'000'000;
  now_ns_ = steady_ns;
  date_ns_ = date_ns;
  store_.set_time(steady_ns / millisecond);
}

memory_peer* memory_engine::find_peer(long long id) noexcept {
  const auto at = peers_.find(id);
  return at == peers_.end() ? nullptr : at->second;
}

void memory_engine::execute(memory_peer& peer, const arguments& command) {
  if (command.size() == 0) return;  // an empty line
  const bool is_silent = peer.replies != memory_replies::on;
  if (peer.replies == memory_replies::skip) peer.replies = memory_replies::on;
  dropped_.clear();
  dropped_.use(peer.out.version());
  memory_call call{*this, peer, command, is_silent ? dropped_ : peer.out};
  const memory_found found = find_memory_row(command);
  run(call, found);
  const bool is_client = found.row != nullptr && found.row->name.starts_with("client|");
  if (!is_client && !peer.transaction.has_begun) peer.tracking.is_marked = false;
  settle();
  note(peer);
}

/// Runs or queues a command, or refuses it, in the order of redis-server's checks.
void memory_engine::run(memory_call& call, const memory_found& found) {
  if (!found.error.empty()) return refuse(call, found.error);
  if (refuse_by_state(call, *found.row)) return;
  if (fail_as_planned(call, found.row->name)) return;
  memory_transaction& transaction = call.peer.transaction;
  if (transaction.has_begun && (found.row->flags & memory_immediate) == 0) {
    transaction.commands.emplace_back(call.command.wire());
    call.reply.simple("QUEUED");
    return;
  }
  call_row(call, *found.row);
}

/// Runs a command, and notes the keys that it has read and changed.
void memory_engine::call_row(memory_call& call, const memory_row& row) {
  ++commands_;
  hook_.call(call.command);
  row.run(call);
  if (call.peer.tracking.is_due()) remember_keys(call);
  note_changes(call.peer);
}

/// Answers with an error, which a transaction that has begun will not survive.
void memory_engine::refuse(memory_call& call, std::string_view error) {
  if (call.is(0, "exec")) {
    call.peer.transaction = memory_transaction();
    if (error.starts_with("ERR ")) error.remove_prefix(4);
    return call.error("EXECABORT Transaction discarded because of: " + std::string(error));
  }
  if (call.peer.transaction.has_begun) call.peer.transaction.is_refused = true;
  call.reply.error(error);
}

bool memory_engine::refuse_by_state(memory_call& call, const memory_row& row) {
  if (!call.peer.has_logged_in && (row.flags & memory_before_login) == 0) {
    refuse(call, "NOAUTH Authentication required.");
    return true;
  }
  if (!primary_host_.empty() && is_write(call.command)) {
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

void memory_engine::execute_all(memory_call& exec, const std::vector<std::string>& commands) {
  exec.peer.in_exec = true;
  for (const std::string& wire : commands) {
    const arguments command(wire);
    memory_call call{*this, exec.peer, command, exec.reply};
    const memory_found found = find_memory_row(command);
    call_row(call, *found.row);
  }
  exec.peer.in_exec = false;
}

/// Marks transactions and caches that depend on the keys that a command has changed.
void memory_engine::note_changes(const memory_peer& by) {
  if (!store_.has_changes()) return;
  for (memory_key& key : store_.take_changes()) {
    for (const auto& [id, peer] : peers_)
      if (peer->transaction.watched.contains(key)) peer->transaction.is_touched = true;
    invalidate(key.name, by);
    if (!waiting_.empty()) ready_.push_back(std::move(key));
  }
}

/// Serves those that wait for changed keys, which may change more, then the caches.
void memory_engine::settle() {
  while (!ready_.empty()) {
    const std::vector<memory_key> ready = std::exchange(ready_, {});
    for (const memory_key& key : ready) serve(key);
  }
  send_invalidations();
}

/// Passes the elements of a list to the peers that wait for them, in the order of their commands.
void memory_engine::serve(const memory_key& key) {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    memory_peer& peer = **at;
    ++at;  // the present one may leave the list
    const std::vector<std::string>& keys = peer.wait.keys;
    const bool waits_for_it = peer.database == key.database &&
                              std::find(keys.begin(), keys.end(), key.name) != keys.end();
    if (!waits_for_it) continue;
    auto* const list = store_.find_as<memory_list>(key.database, key.name);
    if (list == nullptr) return;
    peer.out.array(2).bulk(key.name);
    if (peer.wait.from_left) {
      peer.out.bulk(list->front());
      list->pop_front();
    } else {
      peer.out.bulk(list->back());
      list->pop_back();
    }
    store_.note_change(key.database, key.name);
    store_.erase_if_empty(key.database, key.name);
    note_changes(peer);
    unblock(peer);
  }
}

void memory_engine::block(memory_peer& peer, memory_wait wait) {
  peer.wait = std::move(wait);
  peer.is_waiting = true;
  waiting_.push_back(&peer);
}

void memory_engine::unblock(memory_peer& peer) {
  waiting_.remove(&peer);
  peer.is_waiting = false;
  note(peer);
}

void memory_engine::end_late_waits() {
  const std::list<memory_peer*> all = waiting_;
  for (memory_peer* const peer : all) {
    if (peer->wait.deadline_ns > now_ns_) continue;
    peer->out.null_array();
    unblock(*peer);
  }
}

std::int64_t memory_engine::next_deadline() const noexcept {
  std::int64_t next = memory_wait::never;
  for (const memory_peer* const peer : waiting_) next = std::min(next, peer->wait.deadline_ns);
  return next;
}

void memory_engine::note(memory_peer& peer) {
  if (!std::exchange(peer.is_noted, true)) noted_.push_back(&peer);
}

std::vector<memory_peer*> memory_engine::take_noted() {
  for (memory_peer* const peer : noted_) peer->is_noted = false;
  return std::exchange(noted_, {});
}

}  // namespace beck::redis::detail
