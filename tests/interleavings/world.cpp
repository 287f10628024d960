// SPDX-License-Identifier: BSL-1.0
// The scheduler: one thread of the model runs at a time, and at each place where another could go
// on the path of choices says which. What happens is written down only when a failure is replayed.
#include "interleavings/world.hpp"

#include <memory>

#include "interleavings/names.hpp"

namespace beck::interleavings {

unsigned choices::take(unsigned count) {
  if (at_ == path_.size()) path_.push_back({0, static_cast<std::uint8_t>(count)});
  return path_[at_++].taken;
}

bool choices::advance() noexcept {
  while (!path_.empty()) {
    choice& last = path_.back();
    if (++last.taken < last.count) return true;
    path_.pop_back();
  }
  return false;
}

world& world::now() noexcept {
  static world the_one;  // models reach it from everywhere, and there is one at a time
  return the_one;
}

// --- one execution -------------------------------------------------------------------------------

void world::execute(const std::function<scenario*()>& make, choices& path, const bounds& limits,
                    const defect& planted, bool tracing) {
  limits_ = limits;
  defect_ = planted;
  path_ = &path;
  path.restart();
  tracing_ = tracing;
  failure_.clear();
  trace_.clear();
  value_names_.clear();
  location_names_.clear();
  for (unsigned i = 0; i < location_count_; ++i) {
    locations_[i].stores.clear();
    locations_[i].used = {};
    locations_[i].destroyed = false;
  }
  location_count_ = 0;
  sequential_ = {};
  writes_ = 0;
  preemptions_ = old_values_ = spurious_ = steps_ = 0;
  running_ = 0;
  threads_[0] = {};
  threads_[0].current.clock[0] = 1;

  const std::unique_ptr<scenario> model(make());
  scenario_ = model.get();
  thread_count_ = model->threads();
  tick();
  for (unsigned i = 1; i <= thread_count_; ++i) {
    if (!fibers_[i].begun() || astray_[i]) fibers_[i].begin(&thread_body, i);
    astray_[i] = false;
    threads_[i] = {};
    threads_[i].current = threads_[0].current;
    threads_[i].current.clock[i] = 1;
    threads_[i].ended = false;
    if (tracing_) threads_[i].name = model->name_of(i);
  }
  const unsigned first = 1 + choose(thread_count_);
  running_ = first;
  fiber::change(fibers_[0], fibers_[first]);
  running_ = 0;
  if (!failure_.empty()) {
    astray_.fill(true);
    return;
  }
  for (unsigned i = 1; i <= thread_count_; ++i) threads_[0].current.join(threads_[i].current);
  model->check_end();
}

void world::thread_body(unsigned number) {
  world& w = now();
  for (;;) {
    w.scenario_->run(number);
    w.self().ended = true;
    if (w.tracing_) w.trace_ += "      " + w.self().name + " ends\n";
    w.pick(false);
  }
}

void world::leave() {
  fiber::change(fibers_[running_], fibers_[0]);
  std::abort();  // an execution that failed is never gone on with
}

void world::fail(const std::string& what) {
  if (failure_.empty()) failure_ = what;
  if (running_ != 0) leave();
}

bool world::planted(const char* name) const noexcept {
  return defect_.what == defect::kind::disobey && std::string_view(name) == defect_.function;
}

// --- choosing who goes on ------------------------------------------------------------------------

bool world::can_run(unsigned thread) const {
  const thread_state& t = threads_[thread];
  return !t.ended && (t.ready == nullptr || t.ready(t.argument));
}

void world::pick(bool can_go_on) {
  if (can_go_on && preemptions_ == limits_.preemptions_max) return;
  std::array<unsigned, threads_max> able{};
  unsigned count = 0;
  if (can_go_on) able[count++] = running_;
  for (unsigned i = 1; i <= thread_count_; ++i) {
    if ((!can_go_on || i != running_) && can_run(i)) able[count++] = i;
  }
  if (count == 0) {
    std::string blocked;
    for (unsigned i = 1; i <= thread_count_; ++i) {
      if (threads_[i].ended) continue;
      blocked += (blocked.empty() ? "" : ", ") + scenario_->name_of(i) + " waits for " +
                 threads_[i].waits_for;
    }
    if (!blocked.empty()) fail("nobody can go on: " + blocked);
    const unsigned last = running_;
    fiber::change(fibers_[last], fibers_[0]);
    return;  // the next execution
  }
  const unsigned next = able[choose(count)];
  const unsigned before = running_;
  if (next == before) return;
  if (can_go_on) {
    ++preemptions_;
    if (tracing_) trace_ += "      " + self().name + " is preempted\n";
  }
  running_ = next;
  fiber::change(fibers_[before], fibers_[next]);
}

void world::point() {
  if (running_ == 0) return;
  if (++steps_ > limits_.steps_max) {
    fail("no end in sight after " + std::to_string(limits_.steps_max) + " operations");
  }
  pick(true);
}

void world::block(bool (*ready)(void*), void* argument, const char* what, const place& where) {
  if (running_ == 0) {
    fail(std::string("the one that sets up and checks would wait for ") + what);
    return;
  }
  thread_state& me = self();
  me.ready = ready;
  me.argument = argument;
  me.waits_for = what;
  if (tracing_) note(std::string("waits for ") + what, where);
  pick(false);
  me.ready = nullptr;
}

void world::yield(const place& where) {
  if (running_ == 0) return;
  point();
  thread_state& me = self();
  const std::uint64_t seen = me.yielded_at;
  me.yielded_at = writes_;
  struct spinner {
    world* w;
    std::uint64_t seen;
  } state{this, seen};
  const auto changed = [](void* argument) {
    const auto* s = static_cast<spinner*>(argument);
    return s->w->writes_ != s->seen;
  };
  block(changed, &state, "a change, spinning", where);
  me.yielded_at = writes_;
  for (unsigned id = 0; id < location_count_; ++id) {
    me.current.seen[id] = static_cast<std::uint8_t>(locations_[id].stores.size() - 1);
  }
}

// --- the trace -----------------------------------------------------------------------------------

void world::name_value(const void* value, const char* name) {
  if (tracing_) value_names_.emplace_back(reinterpret_cast<std::uintptr_t>(value), name);
}

std::string world::text_of(std::uint64_t value) {
  for (const auto& [named, name] : value_names_) {
    if (named == value) return name;
  }
  if (value < 100'000'000) return std::to_string(value);
  if (~value < 1000) return "-" + std::to_string(~value + 1);
  value_names_.emplace_back(value, "thing " + std::to_string(value_names_.size() + 1));
  return value_names_.back().second;
}

std::string world::name_of_location(unsigned id) const {
  return id < location_names_.size() ? location_names_[id] : "atomic " + std::to_string(id + 1);
}

void world::note(const std::string& what, const place& where) {
  if (!tracing_ || running_ == 0) return;
  const std::string_view path = where.file_name();
  std::string line = std::to_string(steps_);
  line.resize(line.size() < 4 ? 4 : line.size(), ' ');
  line += "  " + self().name;
  if (line.size() < 22) line.resize(22, ' ');
  line += "  " + std::string(short_function_name(where.function_name()));
  if (line.size() < 38) line.resize(38, ' ');
  line += "  " + what;
  if (line.size() < 92) line.resize(92, ' ');
  line += "  " + std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(where.line());
  trace_ += line + "\n";
}

}  // namespace beck::interleavings
