// SPDX-License-Identifier: BSL-1.0
// Signals of the process (sigaction(2)): one handler, installed while a sink wants the signal, and
// a table of the sinks. The handler takes no lock: places of the table are never freed, and a
// thread that removes a sink waits until no handler is inside its place.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <new>
#include <thread>

#include <dlfcn.h>
#include <unistd.h>

#include "base/fork_count.hpp"
#include "io/system/posix_system.hpp"
#include "io/system/requests.hpp"

namespace beck::detail {
namespace {

/// Tells a process from its parent and its children, also in a signal handler that runs in a child
/// of fork(2) before the handlers of pthread_atfork(3) have counted the fork, and in a child of
/// _Fork(3), which calls none. The count remains of use for a child with the same number in another
/// PID namespace. seq_cst, because both are part of a place.
class process_mark {
 public:
  void set() noexcept {
    forks_.store(fork_count());
    number_.store(::getpid());
  }
  bool is_this_process() const noexcept {
    return forks_.load() == known_fork_count() && number_.load() == ::getpid();
  }

 private:
  std::atomic<unsigned> forks_{0};
  std::atomic<pid_t> number_{0};
};

/// One sink. seq_cst throughout: a handler writes `visitors` and then reads `wanted`, the thread
/// that removes a sink writes `wanted` and then reads `visitors`, and one of the two must see the
/// other's change.
struct place {
  std::atomic<signal_sink*> sink{nullptr};
  std::atomic<std::uint64_t> wanted{0};  // bit n - 1 for signal n
  std::atomic<unsigned> visitors{0};
  process_mark taken_by;
};

struct page {
  place places[64];
  std::atomic<page*> next{nullptr};  // release/acquire
};

struct disposition {
  std::atomic<unsigned> sinks{0};  // written with the mutex held
  process_mark installed_by;
  struct sigaction before{};  // what the last sink restores
  // Another handler was above ours when the last sink left: of the program, or of another copy of
  // the library in this process. It may restore ours, which then passes signals on to `below`.
  std::atomic<bool> left_covered{false};
  struct sigaction below{};  // not written after left_covered is set
};

constinit page first_page;
constinit std::mutex table_mutex;  // for threads that add and remove sinks; handlers never take it
constinit disposition dispositions[signal_sink::number_max + 1];

constexpr std::uint64_t bit(int number) noexcept { return std::uint64_t{1} << (number - 1); }

/// Passes the signal to the sink of a place, if the sink wants it, and counts this handler as a
/// visitor meanwhile.
void visit(place& p, const signal_info& info, bool& taken) noexcept {
  p.visitors.fetch_add(1);
  if ((p.wanted.load() & bit(info.number)) != 0 && p.taken_by.is_this_process()) {
    p.sink.load()->signalled(info);
    taken = true;
  }
  p.visitors.fetch_sub(1);
}

/// Restores the previous disposition in a child of fork whose parent wanted the signal, and raises
/// the signal again for it. The first signal in the child calls this.
void raise_in_child(int number) noexcept {
  const disposition& d = dispositions[number];
  if (d.sinks == 0 || d.installed_by.is_this_process()) return;
  ::sigaction(number, &d.before, nullptr);
  ::raise(number);  // arrives when this handler has returned
}

void pass_on(int number) noexcept;

void handle(int number, siginfo_t* from, void*) {
  const int saved = errno;
  signal_info info{number, from->si_code, 0, 0};
  if (from->si_code == SI_QUEUE || from->si_code == SI_TIMER || from->si_code == SI_MESGQ) {
    info.value = from->si_value.sival_int;
  }
  if (from->si_code == SI_QUEUE || from->si_code == SI_USER || from->si_code == SI_TKILL ||
      number == SIGCHLD) {
    info.sender = from->si_pid;
  }
  bool taken = false;
  for (page* p = &first_page; p != nullptr; p = p->next.load(std::memory_order_acquire)) {
    for (place& candidate : p->places) {
      if ((candidate.wanted.load() & bit(number)) != 0) visit(candidate, info, taken);
    }
  }
  if (!taken) {
    raise_in_child(number);
    pass_on(number);
  }
  errno = saved;
}

int install_handler(int number, struct sigaction* before) noexcept {
  struct sigaction ours{};
  ours.sa_sigaction = &handle;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&ours.sa_mask);  // no handler inside a handler
  return ::sigaction(number, &ours, before) == 0 ? 0 : -errno;
}

bool is_installed(int number) noexcept {
  struct sigaction current{};
  return ::sigaction(number, nullptr, &current) == 0 && (current.sa_flags & SA_SIGINFO) != 0 &&
         current.sa_sigaction == &handle;
}

/// Restores the disposition below a handler that stayed behind without sinks, and raises the signal
/// again for it. A sink that is added meanwhile is counted before install() calls sigaction(2), so
/// one of the two calls of install_handler() comes last.
void pass_on(int number) noexcept {
  disposition& d = dispositions[number];
  // A program's handler may call ours, as the one that it has replaced.
  if (!d.left_covered || d.sinks != 0 || !is_installed(number)) return;
  ::sigaction(number, &d.below, nullptr);
  if (d.sinks != 0) {
    install_handler(number, nullptr);
  } else {
    ::raise(number);  // arrives when this handler has returned
  }
}

/// Keeps the table consistent in a child of fork, where no handler is inside it.
void keep_table_over_forks() noexcept {
  [[maybe_unused]] static const bool kept =
      (at_fork([] { table_mutex.lock(); }, [] { table_mutex.unlock(); },
               [] {
                 for (page* p = &first_page; p != nullptr; p = p->next.load()) {
                   for (place& each : p->places) each.visitors.store(0);
                 }
                 table_mutex.unlock();
               }),
       true);
}

/// Returns the place of `sink`, or a free one; nullptr if there is no memory.
place* place_for(const signal_sink& sink) noexcept {
  place* free_one = nullptr;
  page* last = nullptr;
  for (page* p = &first_page; p != nullptr; p = p->next.load(std::memory_order_relaxed)) {
    last = p;
    for (place& candidate : p->places) {
      const signal_sink* const owner = candidate.sink.load();
      if (owner == &sink) return &candidate;
      if (owner == nullptr && free_one == nullptr) free_one = &candidate;
    }
  }
  if (free_one != nullptr) return free_one;
  page* const more = new (std::nothrow) page;
  if (more == nullptr) return nullptr;
  last->next.store(more, std::memory_order_release);
  return &more->places[0];
}

/// Counts one more sink of signal `number`, and installs the handler for the first one. Returns 0
/// or -errno.
int install(int number) noexcept {
  disposition& d = dispositions[number];
  const bool inherited = d.sinks++ != 0;
  if (inherited && d.installed_by.is_this_process()) return 0;
  const int installed = install_handler(number, inherited ? nullptr : &d.before);
  if (installed < 0) {
    --d.sinks;
    return installed;
  }
  if (!d.left_covered) d.below = d.before;
  d.installed_by.set();
  return 0;
}

/// Counts one sink less, and restores the previous disposition after the last one. Returns whether
/// our handler may be installed again by others.
bool uninstall(int number) noexcept {
  disposition& d = dispositions[number];
  if (--d.sinks != 0) return false;
  if (is_installed(number)) {
    ::sigaction(number, &d.before, nullptr);
    return false;
  }
  // A handler that was installed meanwhile stays.
  d.left_covered = true;
  return true;
}

/// Keeps the shared object with this code loaded, also after dlclose(3). Changes nothing in a
/// program.
void keep_code_loaded() noexcept {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<void*>(&handle), &here) == 0) return;
  static_cast<void>(::dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
}

/// Ends the delivery of signal `number` to a place, and frees the place if it wants no other.
void leave(place& p, int number) noexcept {
  const std::uint64_t left = p.wanted.fetch_and(~bit(number)) & ~bit(number);
  while (p.visitors.load() != 0) std::this_thread::yield();  // handlers in other threads, briefly
  if (left == 0) p.sink.store(nullptr);
}

}  // namespace

int posix_system::watch_signal(int number, signal_sink& sink) noexcept {
  keep_table_over_forks();
  const std::lock_guard lock(table_mutex);
  place* const p = place_for(sink);
  if (p == nullptr) return -ENOMEM;
  p->sink.store(&sink);
  p->taken_by.set();
  p->wanted.fetch_or(bit(number));
  const int installed = install(number);
  if (installed < 0) leave(*p, number);
  return installed;
}

void posix_system::unwatch_signal(int number, signal_sink& sink) noexcept {
  bool may_return = false;
  {
    const std::lock_guard lock(table_mutex);
    may_return = uninstall(number);  // first: a signal that arrives now is not swallowed
    leave(*place_for(sink), number);
  }
  if (may_return) keep_code_loaded();  // not under the lock: dlopen(3) has one of its own
}

}  // namespace beck::detail
