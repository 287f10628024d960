// SPDX-License-Identifier: BSL-1.0
// One execution of a model: its threads, its memory, and the choices that make it differ from the
// other executions. Everything that a model does to an atomic comes through here, and is a place
// where another thread may go on instead.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <source_location>
#include <string>
#include <vector>

#include "interleavings/fiber.hpp"
#include "interleavings/memory.hpp"

namespace beck::interleavings {

using place = std::source_location;

/// A mistake that is put into the code under test without touching it. `function` names the member
/// function whose operations are changed; `line` (0: any) one of them.
struct defect {
  enum class kind : unsigned char {
    none,
    weaken,   ///< its memory orders become relaxed
    tear,     ///< a read-modify-write becomes a load, and then a store
    disobey,  ///< the model leaves something out: see world::planted()
  };
  kind what = kind::none;
  const char* function = "";
  unsigned line = 0;
};

/// The bounds of an exploration.
struct bounds {
  unsigned preemptions_max = 2;  ///< switches away from a thread that could have gone on
  unsigned old_values_max = 2;   ///< loads of an execution that take an old value
  unsigned old_depth_max = 3;    ///< how many values back a load may look
  unsigned spurious_max = 1;     ///< weak compare-and-swaps that fail without a reason
  unsigned steps_max = 400;      ///< operations of one execution; more: it does not end
  std::uint64_t executions_max = UINT64_MAX;
};

/// A memory order in the code under test that is stronger than relaxed.
struct ordered_place {
  std::string function;
  std::string file;
  unsigned line;
  friend auto operator<=>(const ordered_place&, const ordered_place&) = default;
};

/// The path of choices through the tree of executions; depth first.
class choices {
 public:
  void restart() noexcept { at_ = 0; }
  unsigned take(unsigned count);
  /// Goes on to the next path; false: that was the last one.
  bool advance() noexcept;

 private:
  struct choice {
    std::uint8_t taken;
    std::uint8_t count;
  };
  std::vector<choice> path_;
  std::size_t at_ = 0;
};

/// What is explored: made anew for each execution, by thread 0.
class scenario {
 public:
  virtual ~scenario() = default;
  virtual unsigned threads() const = 0;
  virtual std::string name_of(unsigned thread) const = 0;
  /// What a thread (1 and up) does.
  virtual void run(unsigned thread) = 0;
  /// When all have ended.
  virtual void check_end() {}
};

class world {
 public:
  using order = std::memory_order;
  using change = std::uint64_t (*)(std::uint64_t value, std::uint64_t operand);

  static world& now() noexcept;

  // --- for the explorer
  void execute(const std::function<scenario*()>& make, choices& path, const bounds& limits,
               const defect& planted, bool tracing);
  const std::string& failure() const noexcept { return failure_; }
  const std::string& trace() const noexcept { return trace_; }
  std::vector<ordered_place>* places = nullptr;

  // --- for models
  /// Ends the execution as failed. In a thread of the model it does not return.
  void fail(const std::string& what);
  void check(bool holds, const char* what) {
    if (!holds) fail(what);
  }
  /// Whether the defect `disobey` of that name is to be seen.
  bool planted(const char* name) const noexcept;
  /// How a trace shows a value, and the next location that is made.
  void name_value(const void* value, const char* name);
  void name_locations(std::initializer_list<const char*> names) {
    if (tracing_) location_names_.assign(names.begin(), names.end());
  }
  unsigned thread() const noexcept { return running_; }
  /// Adds a line to the trace.
  void note(const std::string& what, const place& where);

  // --- for the model's memory
  unsigned add_location(std::uint64_t initial);
  void remove_location(unsigned id);
  std::uint64_t load(unsigned id, order o, const place& where);
  void store(unsigned id, std::uint64_t value, order o, const place& where);
  std::uint64_t modify(unsigned id, change how, std::uint64_t operand, const char* name, order o,
                       const place& where);
  bool compare_exchange(unsigned id, std::uint64_t& expected, std::uint64_t desired, order success,
                        order failure, bool weak, const place& where);
  void fence(order o, const place& where);
  std::uint64_t newest(unsigned id) const { return locations_[id].stores.back().value; }
  void read_plain(plain_record& record, const char* name);
  void write_plain(plain_record& record, const char* name);

  // --- for what blocks
  /// A place where another thread may go on.
  void point();
  /// Lets others go on until `ready(argument)` holds.
  void block(bool (*ready)(void*), void* argument, const char* what, const place& where);
  template <class Ready>
  void wait_until(Ready ready, const char* what, const place& where) {
    point();
    if (!ready()) {
      block([](void* argument) { return (*static_cast<Ready*>(argument))(); }, &ready, what, where);
    }
  }
  /// A spinning thread gives way: it goes on when something was stored since it last did, and then
  /// sees all of it.
  void yield(const place& where);
  void acquire(const view& from) { self().current.join(from); }
  void release(view& into) {
    into.join(self().current);
    tick();
  }
  unsigned choose(unsigned count) { return count < 2 ? 0 : path_->take(count); }

 private:
  struct thread_state {
    view current;
    view loaded;  // what relaxed loads have met: an acquire fence learns it
    view fenced;  // what the last release fence covers
    bool (*ready)(void*) = nullptr;
    void* argument = nullptr;
    const char* waits_for = "";
    bool ended = true;
    std::uint64_t yielded_at = UINT64_MAX;
    std::string name;
  };

  static void thread_body(unsigned number);
  thread_state& self() noexcept { return threads_[running_]; }
  bool can_run(unsigned thread) const;
  void pick(bool can_go_on);
  [[noreturn]] void leave();
  void tick() noexcept { ++self().current.clock[running_]; }
  location& touch(unsigned id);
  bool weakened(const place& where) const noexcept;
  bool torn(const place& where) const noexcept;
  order effective(order o, const place& where);
  unsigned choose_value(unsigned id, order o, const std::uint64_t* unless);
  void take_value(unsigned id, unsigned index, order o);
  void put_value(unsigned id, std::uint64_t value, order o, bool continues);
  std::string text_of(std::uint64_t value);
  std::string name_of_location(unsigned id) const;
  void note_load(unsigned id, unsigned index, order o, const place& where);

  bounds limits_;
  defect defect_;
  choices* path_ = nullptr;
  scenario* scenario_ = nullptr;
  bool tracing_ = false;
  std::array<bool, threads_max> astray_{};  // fibers that were left in the middle of something
  std::string failure_;
  std::string trace_;
  std::array<fiber, threads_max> fibers_;
  std::array<thread_state, threads_max> threads_;
  unsigned thread_count_ = 0;
  unsigned running_ = 0;
  std::array<location, locations_max> locations_;
  unsigned location_count_ = 0;
  view sequential_;  // what sequentially consistent operations have in common
  std::uint64_t writes_ = 0;
  unsigned preemptions_ = 0;
  unsigned old_values_ = 0;
  unsigned spurious_ = 0;
  unsigned steps_ = 0;
  std::vector<std::string> location_names_;
  std::vector<std::pair<std::uint64_t, std::string>> value_names_;
};

/// For models: see world::check().
inline void check(bool holds, const char* what) { world::now().check(holds, what); }

}  // namespace beck::interleavings
