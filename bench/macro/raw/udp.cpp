// SPDX-License-Identifier: BSL-1.0
//
// Datagrams on bare system calls and edge-triggered epoll: sendto and recvfrom, sendmmsg and
// recvmmsg, or one sendmsg with UDP_SEGMENT and one recvmsg with UDP_GRO for a whole burst.
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

#include "../common/datagrams.hpp"

namespace {

using frame = bench::datagrams;

int watch(int fd) {
  const int poller = epoll_create1(EPOLL_CLOEXEC);
  epoll_event e{};
  e.events = EPOLLIN | EPOLLET;
  if (poller < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e) != 0) bench::fail_errno("epoll");
  return poller;
}

// Measures bursts. `send` sends a burst; `receive` takes datagrams that have arrived, and returns
// false if there are none.
template <class Send, class Receive>
void run(bench::meter& m, frame& f, Send send, Receive receive) {
  const int poller = watch(f.receiver());
  m.start();
  while (!f.over()) {
    const std::uint64_t end = f.received() + frame::burst;
    f.number();
    send();
    while (f.received() < end) {
      epoll_event e{};
      if (epoll_wait(poller, &e, 1, -1) < 0 && errno == EINTR) continue;
      while (receive()) {}
    }
  }
  m.finish(f.received());
}

void one_by_one(bench::meter& m) {
  frame f(m);
  run(
      m, f,
      [&] {
        for (std::size_t i = 0; i < frame::burst; ++i) {
          const char* const data = f.outgoing() + i * frame::size;
          if (send(f.sender(), data, frame::size, MSG_DONTWAIT) < 0) bench::fail_errno("send");
        }
      },
      [&] {
        sockaddr_in from{};
        socklen_t bytes = sizeof from;
        const ssize_t n = recvfrom(f.receiver(), f.incoming(), frame::incoming_size, MSG_DONTWAIT,
                                   reinterpret_cast<sockaddr*>(&from), &bytes);
        if (n < 0) return false;
        f.take(f.incoming(), static_cast<std::size_t>(n));
        return true;
      });
}

void batch(bench::meter& m) {
  frame f(m);
  mmsghdr out[frame::burst] = {}, in[frame::burst] = {};
  iovec out_parts[frame::burst], in_parts[frame::burst];
  sockaddr_in names[frame::burst];
  for (std::size_t i = 0; i < frame::burst; ++i) {
    out_parts[i] = {f.outgoing() + i * frame::size, frame::size};
    in_parts[i] = {f.incoming() + i * frame::size, frame::size};
    out[i].msg_hdr.msg_iov = &out_parts[i];
    in[i].msg_hdr.msg_iov = &in_parts[i];
    out[i].msg_hdr.msg_iovlen = in[i].msg_hdr.msg_iovlen = 1;
    in[i].msg_hdr.msg_name = &names[i];
  }
  run(
      m, f,
      [&] {
        if (sendmmsg(f.sender(), out, frame::burst, MSG_DONTWAIT) != int{frame::burst}) {
          bench::fail_errno("sendmmsg");
        }
      },
      [&] {
        for (mmsghdr& one : in) one.msg_hdr.msg_namelen = sizeof(sockaddr_in);
        const int n = recvmmsg(f.receiver(), in, frame::burst, MSG_DONTWAIT, nullptr);
        for (int i = 0; i < n; ++i) f.take(static_cast<char*>(in_parts[i].iov_base), in[i].msg_len);
        return n == int{frame::burst} && !f.burst_complete();
      });
}

void gso_gro(bench::meter& m) {
  frame f(m);
  const int segment = int{frame::size}, on = 1;
  if (setsockopt(f.sender(), SOL_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0 ||
      setsockopt(f.receiver(), SOL_UDP, UDP_GRO, &on, sizeof on) != 0) {
    bench::fail_errno("setsockopt");
  }
  run(
      m, f,
      [&] {
        if (send(f.sender(), f.outgoing(), frame::burst * frame::size, MSG_DONTWAIT) < 0) {
          bench::fail_errno("send");
        }
      },
      [&] {
        alignas(cmsghdr) char control[64];
        iovec part{f.incoming(), frame::incoming_size};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        const ssize_t n = recvmsg(f.receiver(), &message, MSG_DONTWAIT);
        if (n < 0) return false;
        for (std::size_t at = 0; at < static_cast<std::size_t>(n); at += frame::size) {
          f.take(f.incoming() + at, frame::size);
        }
        return true;
      });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "udp",
                          {{"one_by_one", one_by_one}, {"batch", batch}, {"gso_gro", gso_gro}});
}
