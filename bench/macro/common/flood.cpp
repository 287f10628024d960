// SPDX-License-Identifier: BSL-1.0
//
// The writer, and the comparison of the received bytes with the written ones.
#include "flood.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

namespace bench {
namespace {

// The stream repeats these bytes. The period is prime, so that a piece that is lost, repeated or
// in the wrong place is noticed, whatever its length.
constexpr std::size_t period = 251;

struct pattern {
  char bytes[flood::read_bytes + period];
  pattern() {
    for (std::size_t i = 0; i < sizeof bytes; ++i) bytes[i] = static_cast<char>(i % period);
  }
  [[nodiscard]] const char* at(std::uint64_t position) const { return bytes + position % period; }
};

const pattern& expected() {
  static const pattern p;
  return p;
}

}  // namespace

struct flood::shared_state {
  std::atomic<bool> stop{false};       // relaxed: the writer may see it one write later
  std::atomic<std::uint64_t> sent{0};  // read when the writer has ended
};

flood::flood(const settings& s)
    : sockets_(connected_sockets()), buffer_(std::make_unique<char[]>(read_bytes)) {
  void* const memory = mmap(nullptr, sizeof(shared_state), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail_errno("mmap");
  shared_ = new (memory) shared_state;
  expected();
  const pid_t parent = getpid();
  writer_ = fork();
  if (writer_ < 0) fail_errno("fork");
  if (writer_ == 0) {
    // Without this a peer that is killed would leave its writer behind.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(1);
    ::close(sockets_.near);
    write_until_stopped(s.other_cpu);
  }
  ::close(sockets_.far);
}

void flood::write_until_stopped(int cpu) {
  pin_to_cpu(cpu);
  std::uint64_t sent = 0;
  while (!shared_->stop.load(std::memory_order_relaxed)) {
    const ssize_t n = send(sockets_.far, expected().at(sent), read_bytes, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno("send to the flooded socket");
    sent += static_cast<std::uint64_t>(n);
  }
  shared_->sent.store(sent, std::memory_order_relaxed);
  _exit(0);  // closes the socket
}

void flood::took(std::size_t bytes) {
  require(std::memcmp(buffer_.get(), expected().at(taken_), bytes) == 0, "the flood is damaged");
  taken_ += bytes;
}

void flood::stop_writing() {
  taken_in_the_run_ = taken_;
  shared_->stop.store(true, std::memory_order_relaxed);
}

void flood::conclude(meter& m) {
  int status = -1;
  if (waitpid(writer_, &status, 0) != writer_) fail_errno("waitpid");
  require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the writer of the flood failed");
  require(taken_ == shared_->sent.load(std::memory_order_relaxed), "bytes of the flood are lost");
  require(taken_in_the_run_ > 0 || m.options().duration_ms < 50, "the flooded socket starved");
  m.note("flood_mb", static_cast<double>(taken_in_the_run_) / (1024.0 * 1024.0));
}

}  // namespace bench
