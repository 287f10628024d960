// SPDX-License-Identifier: BSL-1.0
// Groups the tasks and prints the groups.
#include "io/dump/task_dump.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include <beck/io/timer_object.hpp>

#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"

namespace beck::detail {

namespace {

/// Computes an FNV-1a hash.
class hasher {
 public:
  void add(const void* data, std::size_t bytes) noexcept {
    for (const auto* at = static_cast<const unsigned char*>(data); bytes != 0; --bytes, ++at) {
      hash_ = (hash_ ^ *at) * 1099511628211u;
    }
  }
  void add(const char* text) noexcept { add(text, std::strlen(text) + 1); }
  void add(std::uint32_t number) noexcept { add(&number, sizeof number); }
  void add(const std::source_location& at) noexcept {
    add(at.line());
    if (at.line() != 0) add(at.file_name());
  }
  std::uint64_t get() const noexcept { return hash_; }

 private:
  std::uint64_t hash_ = 14695981039346656037u;
};

/// Returns the words for an awaited operation: more than the name of the public function if that is
/// only "wait".
const char* words_for(const io_op& op) noexcept {
  const char* const awaited = row_of(op.kind).awaited;
  return awaited != nullptr ? awaited : name_of(op);
}

/// Returns whether the operation has its result, which is queued.
bool is_over(const io_op& op) noexcept { return op.state == op_state::finished; }

}  // namespace

task_dump::task_dump(io_loop& loop) noexcept
    : loop_(loop),
      now_(loop.sys().now()),
      memory_(new(std::nothrow) group[slots]),
      table_(memory_ != nullptr ? memory_.get() : without_memory_.data()),
      size_(memory_ != nullptr ? slots : slots_without_memory) {}

// --- counting ------------------------------------------------------------------------------------

void task_dump::collect() noexcept {
  loop_.each_queued([](queue_entry& entry) noexcept { dump_access::note_scheduled(entry); });
  loop_.trees().each([this](const owned_tree& tree) noexcept {
    joins_cut_ += walk_tree(
        tree, [this](const task_view& task, const task_path& where) noexcept { add(task, where); });
  });
  loop_.each_queued([this](queue_entry& entry) noexcept {
    if (const task_root* const root = dump_access::starts(entry)) {
      add(dump_access::view(*root), task_path());
    }
  });
}

/// Counts a task in the group of all tasks at the same places that wait for the same kind of
/// operation.
void task_dump::add(const task_view& task, const task_path& where) noexcept {
  ++tasks_;
  const wait_view wait = wait_of(task);
  hasher hash;
  hash.add(task.joined_by != nullptr ? task.joined_by : "");
  hash.add(task.spawned_at);
  hash.add(task.started ? 1u : 0u);
  hash.add(task.around != nullptr ? 1u : 0u);
  if (task.started) {
    each_place(task.promise, [&](const std::source_location& place, std::uint64_t frames) noexcept {
      hash.add(place);
      hash.add(&frames, sizeof frames);
    });
    hash.add(wait.stopped ? 1u : 0u);
    if (wait.kind != nullptr) hash.add(wait.kind->name);
    if (const io_op* const op = operation_of(wait)) {
      hash.add(words_for(*op));
      hash.add(is_over(*op) ? 1u : 0u);
    }
  }
  group* const g = find(hash.get());
  if (g == nullptr) {
    ++ungrouped_;
    return;
  }
  const std::int64_t age =
      wait.kind != nullptr && wait.since != 0 ? std::max<std::int64_t>(now_ - wait.since, 0) : -1;
  if (g->tasks++ == 0) {
    g->age_min = g->age_max = age;
    g->first = task;
  } else if (age >= 0) {
    g->age_min = g->age_min < 0 ? age : std::min(g->age_min, age);
    g->age_max = std::max(g->age_max, age);
  }
  if (g->examples < examples_max && where.root != 0) note_example(*g, task, where);
}

/// Finds the group for `hash`, or adds it; nullptr if there is no room. The table uses open
/// addressing and is never more than three quarters full.
task_dump::group* task_dump::find(std::uint64_t hash) noexcept {
  std::size_t at = hash % size_;
  while (table_[at].tasks != 0 && table_[at].hash != hash) at = (at + 1) % size_;
  if (table_[at].tasks != 0) return &table_[at];
  if (groups_ >= size_ / 4 * 3) return nullptr;
  table_[at].order = groups_++;
  table_[at].hash = hash;
  return &table_[at];
}

/// Stores number and details of a task as an example of its group.
void task_dump::note_example(group& g, const task_view& task,
                             const task_path& where) const noexcept {
  example& e = g.example_of[g.examples++];
  e.name.put("#");
  e.name.put(plain_number(where.root).text());
  for (unsigned i = 0; i < where.level; ++i) {
    e.name.put(".");
    e.name.put(plain_number(where.number[i]).text());
  }
  const wait_view wait = wait_of(task);
  if (join_point* const join = join_of(wait)) {
    std::uint64_t branches = 0;
    auto& all = dump_access::branches(*join);
    for (auto at = all.begin(); at != all.end(); ++at) ++branches;
    e.detail.put(readable_number(branches).text());
    e.detail.put(branches == 1 ? " branch" : " branches");
    return;
  }
  const io_op* const op = operation_of(wait);
  if (op == nullptr) return;
  if (op->kind == op_kind::wait_timer) {
    const auto& timer = static_cast<const timer_operation&>(*op);
    // Once the wait is over, its timer may be destroyed.
    if (is_over(*op) || timer.timer->clock != clock_kind::steady) return;
    e.detail.put("due in ");
    e.detail.put(readable_age(timer.deadline - now_).text());
  } else if (has_direction(op->kind)) {
    const int fd = op->target->fd;
    e.detail.put(fd < 0 ? "closed" : "fd ");
    if (fd >= 0) e.detail.put(plain_number(static_cast<std::uint64_t>(fd)).text());
  }
}

// --- printing ------------------------------------------------------------------------------------

namespace {
std::string_view tasks_word(std::uint64_t count) noexcept {
  return count == 1 ? " task" : " tasks";
}
std::string_view without_unit(const number_text& age) noexcept {
  std::size_t bytes = 0;
  while (age.text()[bytes] != ' ') ++bytes;
  return age.text().substr(0, bytes);
}
std::string_view unit_of(const number_text& age) noexcept {
  std::string_view unit = age.text();
  unit.remove_prefix(without_unit(age).size());
  return unit;
}
std::string_view groups_word(std::size_t count) noexcept {
  return count == 1 ? " group" : " groups";
}
}  // namespace

void task_dump::print(text_sink sink, std::size_t groups_max) noexcept {
  dump_writer out(sink);
  if (tasks_ == 0) return out.put("no tasks\n");
  out.put(tasks_, tasks_word(tasks_), " in ", groups_, groups_word(groups_), "\n");
  std::array<std::uint16_t, slots> order;
  std::size_t count = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    if (table_[i].tasks != 0) order[count++] = static_cast<std::uint16_t>(i);
  }
  std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
            [this](std::uint16_t a, std::uint16_t b) {
              const group& left = table_[a];
              const group& right = table_[b];
              return left.tasks != right.tasks ? left.tasks > right.tasks
                                               : left.order < right.order;
            });
  const std::size_t shown = std::min(count, groups_max);
  for (std::size_t i = 0; i < shown; ++i) print_group(out, table_[order[i]]);
  std::uint64_t hidden = 0;
  for (std::size_t i = shown; i < count; ++i) hidden += table_[order[i]].tasks;
  if (hidden != 0) {
    out.put("and ", hidden, tasks_word(hidden), " in ", count - shown, " more",
            groups_word(count - shown), "\n");
  }
  if (ungrouped_ != 0) {
    out.put("and ", ungrouped_, tasks_word(ungrouped_), " of which there was no ",
            memory_ == nullptr ? "memory" : "room", " to keep account\n");
  }
  if (joins_cut_ != 0) {
    out.put("and what ", joins_cut_, joins_cut_ == 1 ? " task waits" : " tasks wait", " for below ",
            std::uint64_t{task_path::levels_max}, " levels\n");
  }
}

void task_dump::print_group(dump_writer& out, const group& g) const noexcept {
  out.put(g.tasks, tasks_word(g.tasks), ", ");
  if (g.first.joined_by != nullptr) {
    out.put(g.tasks == 1 ? "branch of " : "branches of ", std::string_view(g.first.joined_by),
            ", ");
  }
  if (g.first.around != nullptr) {
    out.put(g.tasks == 1 ? "a started sender\n" : "started senders\n");
  } else {
    out.put("spawned at ");
    out.put_place(g.first.spawned_at);
    out.put("\n");
  }
  if (g.first.started) print_frames(out, g.first);
  print_wait(out, g);
}

/// Prints the frames of a task; of a long chain the outermost and the innermost ones.
void task_dump::print_frames(dump_writer& out, const task_view& task) noexcept {
  constexpr std::size_t half = 12;
  std::size_t count = 0;
  each_place(task.promise, [&](const std::source_location&, std::uint64_t) noexcept { ++count; });
  std::size_t at = 0;
  each_place(task.promise, [&](const std::source_location& place, std::uint64_t frames) noexcept {
    const std::size_t n = at++;
    if (n == half && count > 2 * half) out.put("    ... ", count - 2 * half, " more ...\n");
    if (n >= half && n + half < count) return;
    out.put("    ");
    out.put_place(place);
    if (frames > 1) out.put(", ", frames, " times");
    out.put("\n");
  });
}

void task_dump::print_ages(dump_writer& out, const group& g) noexcept {
  if (g.age_max < 0) return;
  const number_text youngest = readable_age(g.age_min);
  const number_text oldest = readable_age(g.age_max);
  if (youngest.text() == oldest.text()) return out.put(" ", oldest);
  const bool same_unit = unit_of(youngest) == unit_of(oldest);
  out.put(" ", same_unit ? without_unit(youngest) : youngest.text(), " to ", oldest);
}

void task_dump::print_wait(dump_writer& out, const group& g) const noexcept {
  const wait_view wait = wait_of(g.first);
  if (!g.first.started) {
    out.put("  not started yet");
  } else if (wait.kind == nullptr) {
    out.put(wait.stopped ? "  being stopped"
                         : "  running, or waiting for what the context does not know");
  } else if (const io_op* const op = operation_of(wait)) {
    out.put(is_over(*op) ? "  queued" : "  waiting");
    print_ages(out, g);
    out.put(is_over(*op) ? " with the result of " : " for ", std::string_view(words_for(*op)));
  } else {
    out.put("  waiting");
    print_ages(out, g);
    out.put(" for ", readable_wait(wait.kind->name));
  }
  for (std::size_t i = 0; i < g.examples; ++i) {
    const example& e = g.example_of[i];
    out.put(i == 0 ? ": " : ", ", e.name);
    if (!e.detail.text().empty()) out.put(" (", e.detail, ")");
  }
  out.put(g.examples != 0 && g.tasks > g.examples ? ", ...\n" : "\n");
}

}  // namespace beck::detail
