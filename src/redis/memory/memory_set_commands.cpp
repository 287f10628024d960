// SPDX-License-Identifier: BSL-1.0
// Sets, whose members are listed in the order of their bytes. Sorted sets: ZADD with all its
// options, ranks and ranges by rank.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "redis/memory/memory_call.hpp"

namespace beck::redis::detail {
namespace {

void run_sadd(memory_call& call) {
  memory_set* const set = call.make<memory_set>(call[1]);
  if (set == nullptr) return;
  long long added = 0;
  for (std::size_t i = 2; i < call.size(); ++i) added += set->emplace(call[i]).second ? 1 : 0;
  if (added != 0) call.changed(call[1]);
  call.reply.integer(added);
}

void run_srem(memory_call& call) {
  memory_set* set = nullptr;
  if (!call.find_as(call[1], set)) return;
  long long removed = 0;
  for (std::size_t i = 2; set != nullptr && i < call.size(); ++i)
    removed += static_cast<long long>(set->erase(std::string(call[i])));
  if (removed != 0) call.changed(call[1]);
  call.erase_if_empty(call[1]);
  call.reply.integer(removed);
}

void run_smembers(memory_call& call) {
  memory_set* set = nullptr;
  if (!call.find_as(call[1], set)) return;
  call.reply.set(set != nullptr ? set->size() : 0);
  if (set == nullptr) return;
  for (const std::string& member : *set) call.reply.bulk(member);
}

void run_sismember(memory_call& call) {
  memory_set* set = nullptr;
  if (!call.find_as(call[1], set)) return;
  call.reply.integer(set != nullptr && set->contains(call[2]) ? 1 : 0);
}

void run_scard(memory_call& call) {
  memory_set* set = nullptr;
  if (!call.find_as(call[1], set)) return;
  call.reply.integer(set != nullptr ? static_cast<long long>(set->size()) : 0);
}

constexpr memory_row set_rows[] = {
    {"sadd", run_sadd},           {"srem", run_srem},   {"smembers", run_smembers},
    {"sismember", run_sismember}, {"scard", run_scard},
};

// --- sorted sets

/// The options of ZADD, and the numbers of its changes.
struct add_options {
  bool nx = false;
  bool xx = false;
  bool gt = false;
  bool lt = false;
  bool counts_changes = false;
  bool increments = false;
  std::size_t first = 2;  // the argument that is the first score
  long long added = 0;
  long long updated = 0;
  bool has_score = false;  // the last member was set
  double score = 0;
};

void take_add_options(const memory_call& call, add_options& to) {
  for (; to.first < call.size(); ++to.first) {
    const std::size_t i = to.first;
    if (call.is(i, "nx")) {
      to.nx = true;
    } else if (call.is(i, "xx")) {
      to.xx = true;
    } else if (call.is(i, "gt")) {
      to.gt = true;
    } else if (call.is(i, "lt")) {
      to.lt = true;
    } else if (call.is(i, "ch")) {
      to.counts_changes = true;
    } else if (call.is(i, "incr")) {
      to.increments = true;
    } else {
      return;
    }
  }
}

/// Returns whether the options of ZADD fit together; else there is an error as the reply.
bool check_add(memory_call& call, const add_options& how) {
  const std::size_t rest = call.size() - how.first;
  if (rest == 0 || rest % 2 != 0) {
    call.syntax_error();
  } else if (how.nx && how.xx) {
    call.error("ERR XX and NX options at the same time are not compatible");
  } else if ((how.gt && how.nx) || (how.lt && how.nx) || (how.gt && how.lt)) {
    call.error("ERR GT, LT, and/or NX options at the same time are not compatible");
  } else if (how.increments && rest > 2) {
    call.error("ERR INCR option supports a single increment-element pair");
  } else {
    return true;
  }
  return false;
}

/// Sets one score by the options. Returns false if the sum is no number.
bool add_one(memory_sorted& all, std::string_view member, double score, add_options& how) {
  const double* const present = all.score(member);
  how.has_score = false;
  if (present == nullptr) {
    if (how.xx) return true;
    all.set(member, score);
    ++how.added;
  } else {
    if (how.nx) return true;
    const double old = *present;
    if (how.increments) score += old;
    if (std::isnan(score)) return false;
    if ((how.lt && score >= old) || (how.gt && score <= old)) return true;
    if (score != old) {
      all.set(member, score);
      ++how.updated;
    }
  }
  how.has_score = true;
  how.score = score;
  return true;
}

/// Runs ZADD with options that were read, and ZINCRBY.
void add(memory_call& call, add_options how) {
  std::vector<double> scores;
  for (std::size_t i = how.first; i < call.size(); i += 2) {
    double score = 0;
    if (!call.real(i, score)) return;
    scores.push_back(score);
  }
  memory_sorted* all = nullptr;
  if (!call.find_as(call[1], all)) return;
  if (all == nullptr && !how.xx) all = call.make<memory_sorted>(call[1]);
  for (std::size_t i = 0; all != nullptr && i < scores.size(); ++i)
    if (!add_one(*all, call[how.first + 2 * i + 1], scores[i], how))
      return call.error("ERR resulting score is not a number (NaN)");
  if (how.added + how.updated != 0) call.changed(call[1]);
  if (!how.increments) {
    call.reply.integer(how.added + (how.counts_changes ? how.updated : 0));
  } else if (how.has_score) {
    call.write_real(how.score);
  } else {
    call.reply.null();
  }
}

void run_zadd(memory_call& call) {
  add_options how;
  take_add_options(call, how);
  if (check_add(call, how)) add(call, how);
}

void run_zincrby(memory_call& call) {
  add_options how;
  how.increments = true;
  add(call, how);
}

void run_zscore(memory_call& call) {
  memory_sorted* all = nullptr;
  if (!call.find_as(call[1], all)) return;
  const double* const score = all != nullptr ? all->score(call[2]) : nullptr;
  if (score != nullptr) {
    call.write_real(*score);
  } else {
    call.reply.null();
  }
}

void write_rank(memory_call& call, bool is_reversed) {
  memory_sorted* all = nullptr;
  if (!call.find_as(call[1], all)) return;
  if (all != nullptr && all->score(call[2]) != nullptr) {
    const std::size_t before = all->rank(call[2]);
    call.reply.integer(static_cast<long long>(is_reversed ? all->size() - 1 - before : before));
  } else {
    call.reply.null();
  }
}

void run_zrank(memory_call& call) { write_rank(call, false); }

void run_zrevrank(memory_call& call) { write_rank(call, true); }

void run_zrem(memory_call& call) {
  memory_sorted* all = nullptr;
  if (!call.find_as(call[1], all)) return;
  long long removed = 0;
  for (std::size_t i = 2; all != nullptr && i < call.size(); ++i)
    removed += all->remove(call[i]) ? 1 : 0;
  if (removed != 0) call.changed(call[1]);
  call.erase_if_empty(call[1]);
  call.reply.integer(removed);
}

void run_zcard(memory_call& call) {
  memory_sorted* all = nullptr;
  if (!call.find_as(call[1], all)) return;
  call.reply.integer(all != nullptr ? static_cast<long long>(all->size()) : 0);
}

void write_member(memory_call& call, const std::pair<double, std::string>& one, bool has_scores) {
  if (has_scores && call.reply.version() == protocol::resp3) call.reply.array(2);
  call.reply.bulk(one.second);
  if (has_scores) call.write_real(one.first);
}

/// Runs ZRANGE and ZREVRANGE, whose options were read.
void write_range(memory_call& call, bool is_reversed, bool has_scores) {
  std::int64_t first = 0;
  std::int64_t last = 0;
  if (!call.integer(2, first) || !call.integer(3, last)) return;
  memory_sorted* all = nullptr;
  if (!call.find_as(call[1], all)) return;
  const auto size = all != nullptr ? static_cast<std::int64_t>(all->size()) : 0;
  if (first < 0) first = std::max<std::int64_t>(first + size, 0);
  if (last < 0) last += size;
  last = std::min(last, size - 1);
  const std::size_t count = first <= last ? static_cast<std::size_t>(last - first + 1) : 0;
  const bool is_flat = has_scores && call.reply.version() == protocol::resp2;
  call.reply.array(is_flat ? count * 2 : count);
  if (count == 0) return;
  if (is_reversed) {
    auto at = std::next(all->ordered().rbegin(), first);
    for (std::size_t i = 0; i < count; ++i, ++at) write_member(call, *at, has_scores);
  } else {
    auto at = std::next(all->ordered().begin(), first);
    for (std::size_t i = 0; i < count; ++i, ++at) write_member(call, *at, has_scores);
  }
}

void run_zrange(memory_call& call) {
  bool has_scores = false;
  bool is_reversed = false;
  for (std::size_t i = 4; i < call.size(); ++i) {
    if (call.is(i, "withscores")) {
      has_scores = true;
    } else if (call.is(i, "rev")) {
      is_reversed = true;
    } else {
      return call.syntax_error();
    }
  }
  write_range(call, is_reversed, has_scores);
}

void run_zrevrange(memory_call& call) {
  for (std::size_t i = 4; i < call.size(); ++i)
    if (!call.is(i, "withscores")) return call.syntax_error();
  write_range(call, true, call.size() > 4);
}

constexpr memory_row sorted_rows[] = {
    {"zadd", run_zadd},   {"zincrby", run_zincrby},   {"zscore", run_zscore},
    {"zrank", run_zrank}, {"zrevrank", run_zrevrank}, {"zrem", run_zrem},
    {"zcard", run_zcard}, {"zrange", run_zrange},     {"zrevrange", run_zrevrange},
};

}  // namespace

memory_rows memory_set_rows() noexcept { return set_rows; }
memory_rows memory_sorted_rows() noexcept { return sorted_rows; }

}  // namespace beck::redis::detail
