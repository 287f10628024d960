// SPDX-License-Identifier: BSL-1.0
//
// The part of the micro frame that is not in a measured loop.
#include "micro.hpp"

#include <sys/socket.h>

#include <string_view>

namespace bench {

void meter::start() {
  limit_.start();
  begin_ = usage::now();
}

void meter::finish(std::uint64_t operations) {
  used_ = usage::now().since(begin_);
  operations_ = operations;
  require(operations > 0, "nothing was done");
}

void meter::add_cpu(const usage& other) {
  used_.cpu_ns += other.cpu_ns;
  used_.user_ns += other.user_ns;
  used_.system_ns += other.system_ns;
}

void meter::print() const { report{bench_, options_, operations_, used_, extras_}.print(); }

int run_micro(int argc, char** argv, const char* bench, std::initializer_list<micro_case> cases) {
  static const char* name;
  static std::initializer_list<micro_case> known;
  name = bench;
  known = cases;
  return guarded(
      [](const settings& s) {
        pin_to_cpu(s.cpu);
        for (const micro_case& candidate : known) {
          if (std::string_view(s.case_name) != candidate.name) continue;
          meter m(name, s);
          candidate.run(m);
          m.print();
          return 0;
        }
        fail("no such case");
      },
      argc, argv);
}

socket_pair connected_sockets() {
  int fd[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0) fail_errno("socketpair");
  return {fd[0], fd[1]};
}

}  // namespace bench
