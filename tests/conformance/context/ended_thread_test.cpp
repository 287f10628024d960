// SPDX-License-Identifier: BSL-1.0
// Contexts whose submitting thread has ended, destroyed by another thread (U18, U20): everything is
// reaped, no handler runs, and the kernel writes into no buffer afterwards. The buffers outlive
// their context here, because no sanitizer sees what the kernel writes.
#include <beck/base/unique_fd.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/uring_submit.hpp>
#include <beck/net/local.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <ostream>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/context_options.hpp"
#include "support/outcome.hpp"

namespace {

using stream = beck::local::stream_protocol::socket;

constexpr unsigned char poison = 0xa5;
constexpr char late[] = "written when the context was gone";

/// A buffer that must stay as it is, and both ends of what is read into it.
class channel {
 public:
  enum class kind { sockets, pipe };

  channel(kind of, std::size_t bytes) : buffer_(bytes, poison) {
    int ends[2] = {-1, -1};
    if (of == kind::pipe) {
      REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    } else {
      REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    }
    ours_.reset(ends[0]);
    peer_.reset(ends[1]);
  }

  int fd() const { return ours_.get(); }
  beck::mutable_buffer space() { return beck::buffer(buffer_.data(), buffer_.size()); }

  /// Whether what the peer sends now stays where it is, and the buffer is as it was.
  bool is_left_alone() const {
    if (::write(peer_.get(), late, sizeof late) != sizeof late) return false;
    char got[sizeof late] = {};
    if (::read(ours_.get(), got, sizeof got) != sizeof got) return false;
    return std::memcmp(got, late, sizeof late) == 0 &&
           std::all_of(buffer_.begin(), buffer_.end(), [](unsigned char c) { return c == poison; });
  }

 private:
  std::vector<unsigned char> buffer_;
  beck::unique_fd ours_;
  beck::unique_fd peer_;
};

/// Counts the handlers that exist, and those that ran.
class handlers {
 public:
  auto make() {
    return [this, token = token_](auto&&...) { ++calls_; };
  }
  int calls() const { return calls_; }
  long alive() const { return token_.use_count() - 1; }

 private:
  std::atomic<int> calls_{0};  // relaxed would do: threads are joined before anybody looks
  std::shared_ptr<int> token_ = std::make_shared<int>(0);
};

/// Reads of both sizes (armed in the ring, and by readiness), some behind others, on sockets.
class socket_reads {
 public:
  socket_reads() {
    for (const std::size_t bytes : {64U, 65536U, 64U, 65536U, 512U, 131072U}) {
      channels_.emplace_back(channel::kind::sockets, bytes);
    }
  }

  /// Gives how many operations were started; the sockets go with the context.
  int start(beck::io_context& ctx, handlers& ends) {
    int started = 0;
    auto sockets = std::make_shared<std::vector<stream>>();
    for (channel& each : channels_) {
      stream& socket = sockets->emplace_back(ctx);
      socket.assign(beck::local::stream_protocol(), ::dup(each.fd()));
      socket.async_read_some(each.space(), ends.make());
      async_read(socket, each.space(), ends.make());  // waits behind the first
      socket.async_wait(stream::wait_error, ends.make());
      started += 3;
    }
    kept_ = std::move(sockets);
    return started;
  }
  void leave_to(beck::io_context& ctx) {
    beck::post(ctx, [kept = std::move(kept_)] {});
  }
  bool are_left_alone() const {
    return std::all_of(channels_.begin(), channels_.end(),
                       [](const channel& each) { return each.is_left_alone(); });
  }

 private:
  std::vector<channel> channels_;
  std::shared_ptr<std::vector<stream>> kept_;
};

void settle(beck::io_context& ctx) {
  for (int i = 0; i < 3; ++i) beck::test::let_settle(ctx);
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel,
               "U18, U20: reads of a thread that has ended are reaped when another thread destroys "
               "their context") {
  for (const auto arming :
       {beck::io_context::receive_arming::lazy, beck::io_context::receive_arming::eager}) {
    socket_reads reads;
    handlers ends;
    auto ctx = std::make_unique<beck::io_context>(context_options({.arming = arming}));
    int started = 0;
    std::thread([&] {
      started = reads.start(*ctx, ends);
      settle(*ctx);
    }).join();
    CHECK(ctx->stats().outstanding == static_cast<std::uint64_t>(started));
    CHECK(ends.alive() == started);
    reads.leave_to(*ctx);
    std::thread([&] { ctx.reset(); }).join();
    CHECK(ends.alive() == 0);
    CHECK(reads.are_left_alone());
    CHECK(ends.calls() == 0);
  }
}

CONFORMANCE_ON(beck::test::kernel,
               "U18, U20: a context whose operations two threads submitted, one of which has "
               "ended, is destroyed by the other") {
  for (const auto arming :
       {beck::io_context::receive_arming::lazy, beck::io_context::receive_arming::eager}) {
    socket_reads of_ended;
    socket_reads of_living;
    handlers ends;
    auto ctx = std::make_unique<beck::io_context>(context_options({.arming = arming}));
    std::thread([&] {
      of_ended.start(*ctx, ends);
      settle(*ctx);
    }).join();
    std::thread([&] {
      const int more = of_living.start(*ctx, ends);
      settle(*ctx);  // takes over what the first thread left
      CHECK(ctx->stats().outstanding == 2 * static_cast<std::uint64_t>(more));
      of_ended.leave_to(*ctx);
      of_living.leave_to(*ctx);
      ctx.reset();
    }).join();
    CHECK(ends.alive() == 0);
    CHECK(of_ended.are_left_alone());
    CHECK(of_living.are_left_alone());
    CHECK(ends.calls() == 0);
  }
}

CONFORMANCE_ON(beck::test::uring,
               "U18, U20: raw reads of pipes are reaped, whether their thread has ended or not") {
  for (const bool thread_ends : {true, false}) {
    std::vector<channel> channels;
    for (const std::size_t bytes : {1U, 64U, 4096U, 65536U}) {
      channels.emplace_back(channel::kind::pipe, bytes);
    }
    handlers ends;
    auto ctx = std::make_unique<beck::io_context>(context_options());
    const auto start = [&] {
      for (channel& each : channels) {
        const auto fill = [fd = each.fd(), to = each.space()](io_uring_sqe& entry) {
          entry.opcode = IORING_OP_READ;
          entry.fd = fd;
          entry.addr = reinterpret_cast<std::uintptr_t>(to.data());
          entry.len = static_cast<unsigned>(to.size());
        };
        beck::uring::async_submit(*ctx, fill, ends.make());
      }
      settle(*ctx);
      CHECK(ctx->stats().outstanding == channels.size());
    };
    if (thread_ends) {
      std::thread(start).join();
    } else {
      start();
    }
    std::thread([&] { ctx.reset(); }).join();
    CHECK(ends.alive() == 0);
    for (const channel& each : channels) CHECK(each.is_left_alone());
    CHECK(ends.calls() == 0);
  }
}
