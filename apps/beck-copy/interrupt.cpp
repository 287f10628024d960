// SPDX-License-Identifier: BSL-1.0
//
// The handler ends the process by itself, so that no engine has to look for interrupts, whatever
// call it sleeps in. It uses only what signal-safety(7) allows.
#include "interrupt.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstring>

#include "common/output.hpp"

namespace beck_copy {
namespace {

constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};

// Changed only while the signals are blocked.
char temporary_path[4096];
char last_words[4600];
bool armed = false;

sigset_t interrupts() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int one : signals) ::sigaddset(&set, one);
  return set;
}

void copy_text(char* to, std::size_t size, const std::string& text) {
  const std::size_t length = text.size() < size ? text.size() : size - 1;
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

void end_by(int number) {
  if (armed) {
    if (temporary_path[0] != '\0') ::unlink(temporary_path);
    const ssize_t written = ::write(STDERR_FILENO, last_words, std::strlen(last_words));
    static_cast<void>(written);  // an error cannot be reported here
  }
  ::signal(number, SIG_DFL);
  ::raise(number);  // arrives when this handler returns
}

}  // namespace

void install_interrupt() {
  struct sigaction action = {};
  action.sa_handler = &end_by;
  action.sa_mask = interrupts();
  for (const int one : signals) {
    struct sigaction before = {};
    // A process that ignores the signal, by nohup, keeps ignoring it.
    if (::sigaction(one, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      ::sigaction(one, &action, nullptr);
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

void arm_interrupt(const std::string& state, const std::string& temporary) {
  const interrupt_pause calm;
  copy_text(temporary_path, sizeof temporary_path, temporary);
  // The line of the progress bar ends first.
  const char* const begin = ::isatty(STDERR_FILENO) == 1 ? "\n" : "";
  copy_text(last_words, sizeof last_words,
            begin + beck_apps::printable("beck-copy: interrupted: " + state) + "\n");
  armed = true;
}

void disarm_interrupt() {
  const interrupt_pause calm;
  armed = false;
  temporary_path[0] = '\0';
}

interrupt_pause::interrupt_pause() {
  const sigset_t set = interrupts();
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
}

interrupt_pause::~interrupt_pause() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace beck_copy
