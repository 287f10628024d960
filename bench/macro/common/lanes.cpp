// SPDX-License-Identifier: BSL-1.0
//
// The frame around the lanes. Of this file, only the wait for the start is measured.
#include "lanes.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <thread>

namespace bench {

lane::lane(meter& m, lanes_meeting& meeting, int index)
    : meter_(m), meeting_(meeting), index_(index) {
  for (std::size_t i = 0; i < pairs; ++i) {
    const socket_pair pair = connected_sockets();
    fds_.push_back(pair.near);
    fds_.push_back(pair.far);
  }
}

void lane::pin() const {
  pin_to_cpu(index_ == 0 ? meter_.options().cpu : meter_.options().other_cpu);
}

void lane::start() {
  meeting_.ready.fetch_add(1);
  while (meeting_.ready.load() != 2) sched_yield();
  if (index_ == 0) meter_.start();
}

void lane::finish() { meeting_.sent[index_] = sent_; }

void lanes_in_threads(meter& m, void (*play)(lane&)) {
  lanes_meeting meeting;
  lane first(m, meeting, 0);
  lane second(m, meeting, 1);
  const auto run = [play](lane& l) {
    l.pin();
    play(l);
    l.finish();
  };
  std::thread other(run, std::ref(second));
  run(first);
  other.join();
  m.finish(meeting.sent[0] + meeting.sent[1]);
}

void lanes_in_processes(meter& m, void (*play)(lane&)) {
  void* const memory = mmap(nullptr, sizeof(lanes_meeting), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail_errno("mmap");
  auto& meeting = *::new (memory) lanes_meeting;
  const pid_t child = fork();
  if (child < 0) fail_errno("fork");
  const int index = child == 0 ? 1 : 0;
  lane mine(m, meeting, index);
  mine.pin();
  const usage before = usage::now();
  play(mine);
  mine.finish();
  meeting.used[index] = usage::now().since(before);
  if (child == 0) _exit(0);
  int status = 0;
  if (waitpid(child, &status, 0) != child) fail_errno("waitpid");
  require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the second process failed");
  m.finish(meeting.sent[0] + meeting.sent[1]);
  m.add_cpu(meeting.used[1]);
}

}  // namespace bench
