// SPDX-License-Identifier: BSL-1.0
// MULTI, EXEC and the keys that a transaction depends on.
#include <string>

#include "redis/memory/memory_call.hpp"

namespace beck::redis::detail {
namespace {

void run_multi(memory_call& call) {
  if (call.peer.transaction.has_begun()) return call.error("ERR MULTI calls can not be nested");
  call.peer.transaction.begin();
  call.ok();
}

/// Lets keys that have expired count as changed.
void expire_watched(memory_call& call) {
  for (const memory_key& key : call.peer.transaction.watched()) {
    if (call.store().find(key.database, key.name) != nullptr || !call.store().has_changes())
      continue;
    for (const memory_key& changed : call.store().take_changes()) {
      call.peer.transaction.touch(changed);
      call.store().note_change(changed.database, changed.name);
    }
  }
}

void run_exec(memory_call& call) {
  memory_transaction& transaction = call.peer.transaction;
  if (!transaction.has_begun()) return call.error("ERR EXEC without MULTI");
  expire_watched(call);
  if (transaction.is_refused()) {
    call.error("EXECABORT Transaction discarded because of previous errors.");
  } else if (transaction.is_touched()) {
    call.reply.null_array();
  } else {
    call.engine.execute_all(call);
  }
  transaction.end();
}

void run_discard(memory_call& call) {
  if (!call.peer.transaction.has_begun()) return call.error("ERR DISCARD without MULTI");
  call.peer.transaction.end();
  call.ok();
}

void run_watch(memory_call& call) {
  memory_transaction& transaction = call.peer.transaction;
  if (transaction.has_begun()) return call.error("ERR WATCH inside MULTI is not allowed");
  for (std::size_t i = 1; i < call.size(); ++i) {
    call.find(call[i]);  // removes it if it has expired, which is no change to the transaction
    transaction.watch({call.peer.database, std::string(call[i])});
  }
  call.ok();
}

void run_unwatch(memory_call& call) {
  call.peer.transaction.unwatch();
  call.ok();
}

constexpr memory_row transaction_rows[] = {
    {"multi", run_multi, memory_immediate},
    {"exec", run_exec, memory_immediate},
    {"discard", run_discard, memory_immediate},
    {"watch", run_watch, memory_immediate},
    {"unwatch", run_unwatch},
};

}  // namespace

memory_rows memory_transaction_rows() noexcept { return transaction_rows; }

}  // namespace beck::redis::detail
