// SPDX-License-Identifier: BSL-1.0
// Handlers of fatal signals (sigaction(2)). They call only functions that signal-safety(7) allows:
// they write data that the world has ready. Afterwards the signal has the effect that it would have
// without them.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <signal.h>
#include <unistd.h>

#include "io/sim/sim_world.hpp"
#include "testing/crash_scene.hpp"
#include "testing/shrinker.hpp"

extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace beck::testing::sim {
using namespace detail;
namespace {

constexpr int fatal_signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGINT, SIGTERM};
constexpr std::size_t signal_count = sizeof fatal_signals / sizeof *fatal_signals;
constexpr std::size_t stack_bytes = 65'536;

// Global because a signal handler has no argument for it. One check runs at a time.
struct {
  sim_world* world = nullptr;
  const char* replay = "";
  bool with_seed = true;
  bool watched = false;
  int fd = -1;
  struct sigaction before[signal_count] = {};
} scene;

void write_text(const char* text) noexcept { write_all(STDERR_FILENO, text, std::strlen(text)); }

void write_number(std::uint64_t number, unsigned base, unsigned digits_min) noexcept {
  char digits[24];
  char* at = digits + sizeof digits - 1;
  *at = '\0';
  for (unsigned written = 0; number != 0 || written < digits_min; ++written) {
    *--at = "0123456789abcdef"[number % base];
    number /= base;
  }
  write_text(at);
}

void print_scene() noexcept {
  const std::uint64_t seed = scene.world->seed();
  write_text("\nthe program has ended in the world of seed ");
  write_number(seed, 10, 1);
  write_text(", hash ");
  write_number(scene.world->digest().value(), 16, 16);
  write_text("\n  replay: ");
  write_text(scene.replay);
  if (scene.with_seed) write_number(seed, 10, 1);
  write_text("\n");
}

/// Sends the world's seed, hash and draws to the parent process.
void send_scene() noexcept {
  attempt_header header;
  header.how = static_cast<std::uint64_t>(attempt::ending::died);
  header.seed = scene.world->seed();
  header.hash = scene.world->digest().value();
  const sim_draws& draws = scene.world->draws();
  const auto drawn = [](const sim_reel& reel) {
    return reel.replays ? reel.at : reel.values.size();
  };
  if (draws.recorded()) {
    for (std::size_t i = 0; i < sim_tape::streams_max; ++i) header.draws[i] = drawn(*draws.reel(i));
  }
  write_all(scene.fd, &header, sizeof header);
  for (std::size_t i = 0; draws.recorded() && i < sim_tape::streams_max; ++i) {
    write_all(scene.fd, draws.reel(i)->values.data(), header.draws[i] * sizeof(std::uint64_t));
  }
}

void show_scene() noexcept {
  if (!scene.watched || scene.world == nullptr) return;
  scene.watched = false;  // a second signal must not come here again
  if (scene.fd >= 0) {
    send_scene();
  } else {
    print_scene();
  }
}

/// Reports, restores the previous handlers (in a child the default action) and raises the signal
/// again.
void on_signal(int number) {
  show_scene();
  struct sigaction by_default{};
  by_default.sa_handler = SIG_DFL;
  // In a child process the default action is restored: the handlers of the parent, such as a test
  // framework's, must not report about its children.
  for (std::size_t i = 0; i < signal_count; ++i) {
    ::sigaction(fatal_signals[i], scene.fd >= 0 ? &by_default : &scene.before[i], nullptr);
  }
  ::raise(number);  // delivered when this returns
}

}  // namespace

void write_all(int fd, const void* data, std::size_t bytes) noexcept {
  const auto* at = static_cast<const char*>(data);
  while (bytes != 0) {
    const ssize_t written = ::write(fd, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the reading end is closed
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

struct crash_scene::handlers {
  explicit handlers(std::string command) : replay(std::move(command)) {}

  std::string replay;
  char stack[stack_bytes];
  stack_t stack_before;
};

crash_scene::crash_scene(std::string replay, bool with_seed)
    : installed_(std::make_unique<handlers>(std::move(replay))) {
  scene.replay = installed_->replay.c_str();
  scene.with_seed = with_seed;
  scene.watched = true;
  stack_t stack{};  // the handler of a stack overflow needs its own stack
  stack.ss_sp = installed_->stack;
  stack.ss_size = stack_bytes;
  ::sigaltstack(nullptr, &installed_->stack_before);
  if ((installed_->stack_before.ss_flags & SS_DISABLE) != 0) ::sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_handler = &on_signal;
  action.sa_flags = SA_ONSTACK;
  const bool sanitized = __sanitizer_set_death_callback != nullptr;
  for (std::size_t i = 0; i < signal_count; ++i) {
    ::sigaction(fatal_signals[i], nullptr, &scene.before[i]);
    // A sanitizer's own handlers report more about bad accesses, and call show_scene() as their
    // death callback.
    const bool bad_access =
        fatal_signals[i] != SIGABRT && fatal_signals[i] != SIGINT && fatal_signals[i] != SIGTERM;
    if (!sanitized || !bad_access) ::sigaction(fatal_signals[i], &action, nullptr);
  }
  if (sanitized) __sanitizer_set_death_callback(&show_scene);
}

crash_scene::~crash_scene() {
  scene.watched = false;
  for (std::size_t i = 0; i < signal_count; ++i)
    ::sigaction(fatal_signals[i], &scene.before[i], nullptr);
  if ((installed_->stack_before.ss_flags & SS_DISABLE) != 0) {
    ::sigaltstack(&installed_->stack_before, nullptr);
  }
}

void crash_scene::report_to(int fd) { scene.fd = fd; }

crash_scene::visit::visit(sim_world& world) noexcept { scene.world = &world; }
crash_scene::visit::~visit() { scene.world = nullptr; }

}  // namespace beck::testing::sim
