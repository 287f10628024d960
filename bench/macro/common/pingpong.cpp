// SPDX-License-Identifier: BSL-1.0
//
// Sockets, the second process, and the checks at the end of a match.
#include "pingpong.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <numeric>
#include <string_view>

namespace bench {

// Lives in memory that both processes see.
struct match::shared_state {
  volatile bool first_has_left;
  usage second_used;
};

match::match(const settings& s) : options_(s), limit_(s) {
  two_processes_ = std::string_view(s.case_name).ends_with("-2p");
  const std::size_t ends = 2 * s.pairs;
  require(ends > 0, "no pairs");
  void* memory = mmap(nullptr, sizeof(shared_state) + ends * sizeof(std::uint64_t),
                      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail_errno("mmap");
  shared_ = new (memory) shared_state{};
  counts_ = reinterpret_cast<std::uint64_t*>(shared_ + 1);
  for (std::size_t pair = 0; pair < s.pairs; ++pair) {
    int fd[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0) fail_errno("socketpair");
    fds_.insert(fds_.end(), {fd[0], fd[1]});
  }
  if (two_processes_) fork_second_process();
  for (std::size_t id = 0; id < ends; ++id) {
    const bool opens = id % 2 == 1;
    if (two_processes_ && opens != second_)
      close(fds_[id]);
    else
      seats_.push_back({fds_[id], opens, id});
  }
  pin_to_cpu(second_ ? s.other_cpu : s.cpu);
}

match::~match() = default;  // The mapping and the sockets live as long as the process.

void match::fork_second_process() {
  int gate[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) != 0) fail_errno("socketpair");
  const pid_t parent = getpid();
  child_ = fork();
  if (child_ < 0) fail_errno("fork");
  second_ = child_ == 0;
  if (second_) {
    limit_.never();  // The first process decides when the match is over.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) std::_Exit(1);
  }
  gate_ = gate[second_ ? 1 : 0];
  close(gate[second_ ? 0 : 1]);
}

void match::start() {
  if (two_processes_) {  // Both are ready before either begins.
    char byte = 0;
    if (write(gate_, &byte, 1) != 1 || read(gate_, &byte, 1) != 1) fail("the other process died");
  }
  if (!second_) limit_.start();
  begin_ = usage::now();
}

void match::finish() {
  const usage used = usage::now().since(begin_);
  if (second_) {
    shared_->second_used = used;
    return;
  }
  begin_ = used;
}

// Notes that the first process leaves. This happens before the peer closes its first socket, so
// that broken() can tell the end from an error.
void match::leave() { shared_->first_has_left = true; }

void match::broken(int error_number) const {
  if (second_ && shared_->first_has_left) return;
  errno = error_number;
  if (error_number == 0) fail("the other end closed its socket");
  fail_errno("a socket failed");
}

void match::conclude() {
  if (second_) std::_Exit(0);
  usage used = begin_;
  if (two_processes_) {
    for (const seat& s : seats_) shutdown(s.fd, SHUT_RDWR);
    int status = 0;
    rusage whole{};
    if (wait4(child_, &status, 0, &whole) != child_) fail_errno("wait4");
    require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the second process failed");
    const usage& other = shared_->second_used;
    require(other.cpu_ns > 0, "the second process did not report");
    used.cpu_ns += other.cpu_ns;
    used.user_ns += other.user_ns;
    used.system_ns += other.system_ns;
  }
  check_counts();
  const std::uint64_t messages = std::accumulate(counts_, counts_ + fds_.size(), std::uint64_t{0});
  report{"pingpong", options_, messages, used, extras_}.print();
}

// Checks that all pairs took part. The ends of a pair take turns, so their counts differ by at most
// one, or two if the loop stopped between a send and its completion. A pair without traffic would
// make the other pairs look faster than they are.
void match::check_counts() const {
  for (std::size_t id = 0; id < fds_.size(); id += 2) {
    const std::uint64_t a = counts_[id], b = counts_[id + 1];
    require((a > b ? a - b : b - a) <= 2, "the counts of a pair's ends differ");
    require(options_.messages_max < 100 * fds_.size() || (a > 0 && b > 0), "a pair stood still");
  }
}

int run_pingpong(int argc, char** argv, std::initializer_list<style> styles) {
  static std::initializer_list<style> known;
  known = styles;
  return guarded(
      [](const settings& s) {
        std::string_view name = s.case_name;
        if (name.ends_with("-2p")) name.remove_suffix(3);
        for (const style& candidate : known) {
          if (name != candidate.case_name) continue;
          match m(s);
          candidate.play(m);
          m.conclude();
          return 0;
        }
        fail("no such case");
      },
      argc, argv);
}

}  // namespace bench
