// SPDX-License-Identifier: BSL-1.0
//
// Starts the server's process, drives it with the client, and reads the CPU clock of the server.
#include "echo.hpp"

#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <utility>

#include "echo_client.hpp"

namespace bench {
namespace {

// A server's buffer is as large as its largest message, and at least one page.
constexpr std::size_t buffer_size_min = 4096;

echo_server server_of_this_peer = nullptr;
bool is_websocket = false;
void (*unmask_of_this_peer)(meter&) = nullptr;

int listen_on_loopback(sockaddr_in& address) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail_errno("socket");
  address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  sockaddr* const a = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd, a, size) != 0) fail_errno("bind");
  if (listen(fd, 4096) != 0) fail_errno("listen");
  if (getsockname(fd, a, &size) != 0) fail_errno("getsockname");
  return fd;
}

pid_t start_server(const settings& s, const echo_job& job) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail_errno("fork");
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) fail("the client died");
  pin_to_cpu(s.cpu);
  try {
    server_of_this_peer(s, job);
  } catch (const std::exception& e) {
    fail(e.what());
  }
  fail("the server stopped serving");
}

std::int64_t cpu_of(clockid_t clock) {
  timespec t{};
  if (clock_gettime(clock, &t) != 0) fail_errno("the server's CPU clock");
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Returns the CPU time of a server that has no message in flight. The kernel updates the clock of
// another process when that process goes to sleep, which such a server soon does; so this function
// waits until the clock stands still.
std::int64_t settled_cpu_of(clockid_t clock) {
  std::int64_t before = cpu_of(clock);
  for (int tries = 0; tries < 50; ++tries) {
    const timespec pause{0, 500'000};
    nanosleep(&pause, nullptr);
    const std::int64_t now = cpu_of(clock);
    if (now == before) return now;
    before = now;
  }
  fail("the server does not go to sleep");
}

echo_notes* shared_notes() {
  void* memory =
      mmap(nullptr, sizeof(echo_notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail_errno("mmap");
  return static_cast<echo_notes*>(memory);  // zeros are its first state
}

int measure(const settings& s) {
  if (s.case_name == "unmask" && unmask_of_this_peer != nullptr) {
    pin_to_cpu(s.cpu);
    meter m("websocket", s);
    unmask_of_this_peer(m);
    m.print();
    return 0;
  }
  constexpr std::string_view broadcast = "broadcast-";
  echo_job job{};
  job.is_broadcast = is_websocket && s.case_name.rfind(broadcast, 0) == 0;
  const char* numbers = s.case_name.c_str() + (job.is_broadcast ? broadcast.size() : 0);
  if (std::sscanf(numbers, "%zux%zu", &job.connections, &job.message_size) != 2 ||
      job.connections == 0 || job.message_size == 0)
    fail("a case is named CONNECTIONSxSIZE");
  job.buffer_size = std::max(job.message_size, buffer_size_min);
  job.notes = shared_notes();
  sockaddr_in address;
  job.listener = listen_on_loopback(address);
  const pid_t server = start_server(s, job);
  close(job.listener);
  clockid_t clock;
  if (clock_getcpuclockid(server, &clock) != 0) fail("clock_getcpuclockid");
  pin_to_cpu(s.other_cpu);

  usage used;
  std::uint64_t messages = 0;
  std::int64_t client_cpu = 0;
  {
    echo_framing framing = is_websocket ? websocket_framing(job.message_size) : echo_framing();
    framing.is_broadcast = job.is_broadcast;
    echo_client client(job.connections, job.message_size, std::move(framing));
    client.connect(address);
    const std::int64_t server_before = settled_cpu_of(clock);
    limit end(s);
    end.start();
    const usage before = usage::now();
    messages = client.exchange([&](std::uint64_t answers) { return end.reached(answers); });
    used = usage::now().since(before);
    client_cpu = used.cpu_ns;
    used.cpu_ns = settled_cpu_of(clock) - server_before;
    used.user_ns = used.system_ns = 0;  // the split of another process is not known exactly
  }
  job.notes->await();
  int status = 0;
  kill(server, SIGKILL);
  if (waitpid(server, &status, 0) != server) fail_errno("waitpid");
  require(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the server died");
  std::vector<report::extra> extras{
      {"client_cpu_ns_per_op", static_cast<double>(client_cpu) / static_cast<double>(messages)}};
  job.notes->add_to(extras);
  report{is_websocket ? "websocket" : "echo", s, messages, used, extras}.print();
  return 0;
}

}  // namespace

void echo_notes::add(std::string_view name, double value) {
  if (count_ == count_max || name.size() >= sizeof(note::name)) fail("this note does not fit");
  name.copy(notes_[count_].name, name.size());
  notes_[count_].value = value;
  ++count_;
}

void echo_notes::await() const {
  for (int tries = 0; state_ == state::promised; ++tries) {
    if (tries == 4000) fail("the server promised notes and wrote none");
    const timespec pause{0, 500'000};
    nanosleep(&pause, nullptr);
  }
}

void echo_notes::add_to(std::vector<report::extra>& extras) const {
  for (std::size_t i = 0; i < count_; ++i) extras.push_back({notes_[i].name, notes_[i].value});
}

void set_no_delay(int fd) {
  const int on = 1;
  if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) fail_errno("TCP_NODELAY");
}

int run_echo(int argc, char** argv, echo_server serve) {
  server_of_this_peer = serve;
  return guarded(measure, argc, argv);
}

int run_websocket(int argc, char** argv, echo_server serve, void (*unmask)(meter&)) {
  is_websocket = true;
  unmask_of_this_peer = unmask;
  return run_echo(argc, argv, serve);
}

}  // namespace bench
