// SPDX-License-Identifier: BSL-1.0
// Fibers with stacks of mmap(2) that end at an inaccessible page.
#include <cxxabi.h>

#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include <beck/base/assert.hpp>
#include <beck/detail/frame_end.hpp>
#include <beck/detail/initiating_call.hpp>
#include <beck/detail/runner.hpp>

#include "base/thread_store.hpp"
#include "io/system/fiber.hpp"
#include "io/system/stopped_place.hpp"

namespace beck::detail {
namespace {

constexpr std::size_t guard_bytes = 64 * 1024;  // a multiple of every page size

/// The data about exceptions that C++ keeps for each thread (Itanium C++ ABI, 2.2.2): those that
/// are being handled, and the number of those in flight.
struct exceptions_in_flight {
  void* caught = nullptr;
  unsigned uncaught = 0;

  void exchange() noexcept {
    exceptions_in_flight there;
    void* const here = abi::__cxa_get_globals();
    std::memcpy(&there, here, sizeof there);
    std::memcpy(here, this, sizeof there);
    *this = there;
  }
};

}  // namespace

/// The library's data of a thread, which is exchanged at every switch of stacks.
struct fiber_state {
  runner* running = nullptr;
  initiating_call* initiating = nullptr;
  std::uintptr_t room_floor = 0;
  std::uintptr_t room_bytes = 0;

  void exchange() noexcept {
    std::swap(running, runner::current_);
    std::swap(room_floor, stack_room::floor_);
    std::swap(room_bytes, stack_room::bytes_);
    std::swap(initiating, initiating_call::innermost_);
  }
};

struct fiber::machine {
  machine();
  ~machine();
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  void* memory;
  stopped_place own;
  stopped_place resumer;
  fiber* resumed_on = nullptr;  // current() before resume()
  fiber_state state;
  exceptions_in_flight exceptions;
};

namespace {

/// The fibers of a thread. Those that are not in use are kept because stacks, and the data of
/// sanitizers about them, are expensive to make.
struct thread_fibers {
  fiber* current = nullptr;  // the one that the thread runs; null on its own stack
  std::vector<std::unique_ptr<fiber>> unused;
};

thread_fibers& own_fibers() { return of_this_thread<thread_fibers>::get(); }

}  // namespace

fiber::machine::machine()
    : memory(::mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0)) {
  if (memory == MAP_FAILED) throw std::bad_alloc();
  ::mprotect(memory, guard_bytes, PROT_NONE);
  void* const stack = static_cast<char*>(memory) + guard_bytes;
  constexpr std::size_t kept_free = stack_bytes / 16;
  state.room_floor = reinterpret_cast<std::uintptr_t>(stack) + kept_free;
  state.room_bytes = stack_bytes - kept_free;
  own.begin(stack, stack_bytes, &fiber::enter);
}

fiber::machine::~machine() { ::munmap(memory, guard_bytes + stack_bytes); }

fiber::fiber() : machine_(std::make_unique<machine>()) {}
fiber::~fiber() = default;

void fiber::resume() noexcept {
  BECK_ASSERT(!is_over(), "a fiber was resumed that has nothing to do");
  machine& m = *machine_;
  fiber*& current = own_fibers().current;
  m.resumed_on = std::exchange(current, this);
  m.state.exchange();
  m.exceptions.exchange();
  stopped_place::change(m.resumer, m.own);
  m.exceptions.exchange();
  m.state.exchange();
  current = m.resumed_on;
}

fiber* fiber::current() noexcept {
  const thread_fibers* const own = of_this_thread<thread_fibers>::find();
  return own == nullptr ? nullptr : own->current;
}

void fiber::suspend() noexcept {
  machine& m = *current()->machine_;
  stopped_place::change(m.own, m.resumer);
}

void fiber::enter() noexcept {
  fiber& self = *current();
  for (;;) {
    self.body_(self.argument_);
    self.body_ = nullptr;
    suspend();
  }
}

fiber::handle fiber::take() {
  auto& unused = own_fibers().unused;
  if (unused.empty()) return handle(new fiber());
  handle taken(unused.back().release());
  unused.pop_back();
  return taken;
}

void fiber::put_back::operator()(fiber* used) const noexcept {
  BECK_ASSERT(used->is_over(), "a fiber was put back in the middle of its body");
  constexpr std::size_t kept_max = 64;
  std::unique_ptr<fiber> owned(used);
  auto& unused = own_fibers().unused;
  if (unused.size() == kept_max) return;
  try {
    unused.push_back(std::move(owned));
  } catch (const std::bad_alloc&) {  // then it is freed
  }
}

}  // namespace beck::detail
