// SPDX-License-Identifier: BSL-1.0
// The memory of a model. A location keeps all values in the order in which they were stored; a load
// takes any of them that its thread may still see, a read-modify-write takes the newest. What a
// release store publishes, whoever acquires its value has seen too.
#include <algorithm>

#include "interleavings/names.hpp"
#include "interleavings/world.hpp"

namespace beck::interleavings {
namespace {

bool acquires(std::memory_order o) noexcept {
  return o == std::memory_order_acquire || o == std::memory_order_acq_rel ||
         o == std::memory_order_seq_cst || o == std::memory_order_consume;
}
bool releases(std::memory_order o) noexcept {
  return o == std::memory_order_release || o == std::memory_order_acq_rel ||
         o == std::memory_order_seq_cst;
}

}  // namespace

// --- defects -------------------------------------------------------------------------------------

bool world::weakened(const place& where) const noexcept {
  return defect_.what == defect::kind::weaken &&
         (defect_.line == 0 || defect_.line == where.line()) &&
         short_function_name(where.function_name()) == defect_.function;
}

bool world::torn(const place& where) const noexcept {
  return defect_.what == defect::kind::tear &&
         (defect_.line == 0 || defect_.line == where.line()) &&
         short_function_name(where.function_name()) == defect_.function;
}

world::order world::effective(order o, const place& where) {
  if (o == order::relaxed || running_ == 0) return o;
  if (places != nullptr) {
    const std::string_view path = where.file_name();
    const auto same = [&](const ordered_place& p) {
      return p.line == where.line() && path.ends_with(p.file);
    };
    if (std::none_of(places->begin(), places->end(), same)) {
      places->push_back({std::string(short_function_name(where.function_name())),
                         std::string(path.substr(path.rfind('/') + 1)), where.line()});
    }
  }
  return weakened(where) ? order::relaxed : o;
}

// --- locations -----------------------------------------------------------------------------------

unsigned world::add_location(std::uint64_t initial) {
  if (location_count_ == locations_max) {
    fail("too many atomics");
    return 0;
  }
  const unsigned id = location_count_++;
  locations_[id].stores.push_back({initial, self().current});
  locations_[id].used[running_] = self().current.clock[running_];
  return id;
}

void world::remove_location(unsigned id) {
  if (running_ == 0) return;  // the execution is over
  location& l = locations_[id];
  if (!self().current.covers(l.used)) {
    fail(name_of_location(id) + " was destroyed by " + scenario_->name_of(running_) +
         " while another thread may still use it");
  }
  l.destroyed = true;
}

location& world::touch(unsigned id) {
  location& l = locations_[id];
  if (l.destroyed)
    fail(scenario_->name_of(running_) + " used " + name_of_location(id) + " after its destruction");
  l.used[running_] = self().current.clock[running_];
  return l;
}

/// Which value a load takes. `unless`: a value that only its newest copy may give.
unsigned world::choose_value(unsigned id, order o, const std::uint64_t* unless) {
  const location& l = locations_[id];
  const auto newest = static_cast<unsigned>(l.stores.size() - 1);
  if (running_ == 0 || old_values_ == limits_.old_values_max) return newest;
  unsigned oldest = self().current.seen[id];
  if (o == order::seq_cst) oldest = std::max<unsigned>(oldest, sequential_.seen[id]);
  std::array<unsigned, 16> able{newest};
  unsigned count = 1;
  for (unsigned back = 1; back <= limits_.old_depth_max && newest >= oldest + back; ++back) {
    if (unless == nullptr || l.stores[newest - back].value != *unless)
      able[count++] = newest - back;
  }
  const unsigned index = able[choose(count)];
  if (index != newest) ++old_values_;
  return index;
}

void world::take_value(unsigned id, unsigned index, order o) {
  thread_state& me = self();
  const stored& from = locations_[id].stores[index];
  me.current.seen[id] = std::max(me.current.seen[id], static_cast<std::uint8_t>(index));
  if (o == order::seq_cst) {
    sequential_.seen[id] = std::max(sequential_.seen[id], static_cast<std::uint8_t>(index));
  }
  me.loaded.join(from.released);
  if (acquires(o)) me.current.join(from.released);
}

/// `continues`: a read-modify-write passes on what the value that it replaced had released.
void world::put_value(unsigned id, std::uint64_t value, order o, bool continues) {
  location& l = locations_[id];
  if (l.stores.size() == stores_max) return fail(name_of_location(id) + ": too many values");
  thread_state& me = self();
  const auto index = static_cast<std::uint8_t>(l.stores.size());
  me.current.seen[id] = index;
  stored next{value, releases(o) ? me.current : me.fenced};
  next.released.seen[id] = index;
  if (continues) next.released.join(l.stores.back().released);
  l.stores.push_back(next);
  if (o == order::seq_cst) sequential_.seen[id] = index;
  ++writes_;
}

// --- operations ----------------------------------------------------------------------------------

void world::note_load(unsigned id, unsigned index, order o, const place& where) {
  if (!tracing_) return;
  const auto& stores = locations_[id].stores;
  std::string text =
      "load(" + name_of_location(id) + ", " + name_of(o) + ") = " + text_of(stores[index].value);
  if (index + 1 != stores.size()) text += ", old: it is " + text_of(stores.back().value);
  note(text, where);
}

std::uint64_t world::load(unsigned id, order o, const place& where) {
  point();
  touch(id);
  o = effective(o, where);
  const unsigned index = choose_value(id, o, nullptr);
  take_value(id, index, o);
  note_load(id, index, o, where);
  tick();
  return locations_[id].stores[index].value;
}

void world::store(unsigned id, std::uint64_t value, order o, const place& where) {
  point();
  touch(id);
  o = effective(o, where);
  put_value(id, value, o, false);
  if (tracing_) {
    note("store(" + name_of_location(id) + ", " + text_of(value) + ", " + name_of(o) + ")", where);
  }
  tick();
}

std::uint64_t world::modify(unsigned id, change how, std::uint64_t operand, const char* name,
                            order o, const place& where) {
  if (torn(where)) {
    const std::uint64_t old = load(id, acquires(o) ? order::acquire : order::relaxed, where);
    store(id, how(old, operand), releases(o) ? order::release : order::relaxed, where);
    return old;
  }
  point();
  touch(id);
  o = effective(o, where);
  const std::uint64_t old = newest(id);
  take_value(id, static_cast<unsigned>(locations_[id].stores.size() - 1), o);
  put_value(id, how(old, operand), o, true);
  if (tracing_) {
    note(std::string(name) + "(" + name_of_location(id) + ", " + text_of(operand) + ", " +
             name_of(o) + "): " + text_of(old) + " becomes " + text_of(newest(id)),
         where);
  }
  tick();
  return old;
}

bool world::compare_exchange(unsigned id, std::uint64_t& expected, std::uint64_t desired,
                             order success, order failure, bool weak, const place& where) {
  if (torn(where)) {
    const std::uint64_t old = load(id, acquires(success) ? order::acquire : order::relaxed, where);
    if (old != expected) {
      expected = old;
      return false;
    }
    store(id, desired, releases(success) ? order::release : order::relaxed, where);
    return true;
  }
  point();
  touch(id);
  success = effective(success, where);
  failure = effective(failure, where);
  const unsigned index = choose_value(id, failure, &expected);
  const std::uint64_t old = locations_[id].stores[index].value;
  bool exchanged = old == expected;
  if (exchanged && weak && running_ != 0 && spurious_ < limits_.spurious_max && choose(2) == 1) {
    ++spurious_;
    exchanged = false;
  }
  take_value(id, index, exchanged ? success : failure);
  if (exchanged) put_value(id, desired, success, true);
  if (tracing_) {
    note("compare_exchange(" + name_of_location(id) + ", " + text_of(expected) + " to " +
             text_of(desired) + ", " + name_of(exchanged ? success : failure) + ")" +
             (exchanged         ? ": done"
              : old == expected ? ": fails for no reason"
                                : ": no, finds " + text_of(old)),
         where);
  }
  expected = old;
  tick();
  return exchanged;
}

void world::fence(order o, const place& where) {
  point();
  o = effective(o, where);
  thread_state& me = self();
  if (acquires(o)) me.current.join(me.loaded);
  if (o == order::seq_cst) {
    me.current.join_seen(sequential_);
    sequential_.join_seen(me.current);
  }
  if (releases(o)) me.fenced = me.current;
  note(std::string("fence(") + name_of(o) + ")", where);
  tick();
}

// --- memory that is not atomic -------------------------------------------------------------------

void world::read_plain(plain_record& record, const char* name) {
  if (running_ != 0 && !self().current.covers(record.writes)) {
    fail("data race: " + scenario_->name_of(running_) + " reads " + name +
         ", which nothing orders after another thread's write");
  }
  record.reads[running_] = self().current.clock[running_];
}

void world::write_plain(plain_record& record, const char* name) {
  if (running_ != 0 &&
      (!self().current.covers(record.writes) || !self().current.covers(record.reads))) {
    fail("data race: " + scenario_->name_of(running_) + " writes " + name +
         ", which nothing orders after another thread's use");
  }
  record.writes[running_] = self().current.clock[running_];
}

}  // namespace beck::interleavings
