// SPDX-License-Identifier: BSL-1.0
//
// Reads that stop short with more behind them: at an urgent mark, behind a UNIX message that
// carries descriptors or is of another sender, at the end of a packet in a pipe. No event tells of
// the rest (docs/kernel.md), so the next read has to find it without one.
#include <beck/io/buffer_lease.hpp>
#include <beck/io/pipe.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/descriptor_passing.hpp>

#include <array>
#include <chrono>
#include <cstring>
#include <ostream>
#include <string>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/pipes.hpp"
#include "support/send_descriptors.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::buffer;
using beck::test::note;
using beck::test::outcome;
using beck::test::stream_pair;
using beck::test::tcp_connection;
namespace error = beck::error;

namespace {

/// Longer than anything here takes; a read that has lost its event ends with it.
constexpr auto limit = 2s;

enum class way { small, large, several, leased };
constexpr way all_ways[] = {way::small, way::large, way::several, way::leased};

/// One read of a stream, and what it gave.
template <class Stream>
class reader {
 public:
  reader(beck::io_context& ctx, Stream& from) : ctx_(ctx), from_(from) {}

  void start(way how) {
    got_ = outcome();
    text_.clear();
    switch (how) {
      case way::small:
        return from_.async_read_some(buffer(room_.data(), 512), note(got_));
      case way::large:
        return from_.async_read_some(buffer(room_), note(got_));
      case way::several:
        return from_.async_read_some(
            std::array{buffer(room_.data(), 1), buffer(room_.data() + 1, room_.size() - 1)},
            note(got_));
      case way::leased:
        return beck::async_receive(from_, [this](beck::error_code ec, beck::buffer_lease lease) {
          if (!ec) text_.assign(lease.data(), lease.size());
          note{got_}(ec, lease.size());
        });
    }
  }
  /// What the read that was started gives; "?" if it does not end.
  std::string result() {
    ctx_.restart();
    for (const auto begin = beck::steady_now(); !got_.done();) {
      if (ctx_.run_one_for(limit) == 0 || beck::steady_now() - begin > beck::duration(limit))
        return "?";
    }
    if (got_.ec) return got_.ec.message();
    return text_.empty() ? std::string(room_.data(), got_.bytes) : text_;
  }
  std::string next(way how) {
    start(how);
    return result();
  }

 private:
  beck::io_context& ctx_;
  Stream& from_;
  outcome got_;
  std::array<char, 65536> room_;
  std::string text_;
};

/// Whoever reads has waited once, so its descriptor is watched from then on.
template <class Stream, class Put>
void make_watched(beck::io_context& ctx, reader<Stream>& from, Put put) {
  from.start(way::large);
  beck::test::let_settle(ctx);
  put("first");
  REQUIRE(from.result() == "first");
}

void put(int fd, const std::string& text, int flags = 0) {
  REQUIRE(::send(fd, text.data(), text.size(), flags) == static_cast<ssize_t>(text.size()));
}

void put_by_child(int fd, const std::string& text) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), 0);
    ::_exit(sent == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
}

/// `put_all` sends "before", something that a read stops at, and "after".
template <class Stream, class PutAll>
void check(beck::io_context& ctx, Stream& from, int to, PutAll put_all) {
  reader<Stream> read(ctx, from);
  make_watched(ctx, read, [to](const char* text) { put(to, text); });
  for (const way first : all_ways) {
    for (const way second : all_ways) {
      CAPTURE(static_cast<int>(first));
      CAPTURE(static_cast<int>(second));
      read.start(first);
      beck::test::let_settle(ctx);
      put_all();
      REQUIRE(read.result() == "before");
      REQUIRE(read.next(second) == "after");
    }
  }
}

void check_everywhere(void (*body)(beck::io_context&)) {
  {
    beck::io_context ctx(context_options());
    body(ctx);
  }
  if (beck::test::current_backend() != beck::backend::epoll) return;
  beck::io_context shared(context_options().threads(2));
  body(shared);
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel, "what follows an urgent byte is read without news of it") {  // A
  check_everywhere([](beck::io_context& ctx) {
    tcp_connection c(ctx);
    const int to = c.client.native_handle();
    check(ctx, c.server, to, [to] {
      put(to, "before");
      put(to, "!", MSG_OOB);
      put(to, "after");
    });
  });
}

CONFORMANCE_ON(beck::test::kernel, "an urgent byte between others is read where it stands") {
  check_everywhere([](beck::io_context& ctx) {
    tcp_connection c(ctx);
    const int on = 1;
    REQUIRE(::setsockopt(c.server.native_handle(), SOL_SOCKET, SO_OOBINLINE, &on, sizeof on) == 0);
    const int to = c.client.native_handle();
    check(ctx, c.server, to, [to] {
      put(to, "before");
      put(to, "a", MSG_OOB);
      put(to, "fter");
    });
  });
}

CONFORMANCE_ON(beck::test::kernel, "what follows a message with descriptors is read") {
  check_everywhere([](beck::io_context& ctx) {
    stream_pair pair(ctx);
    const int to = pair.a.native_handle();
    check(ctx, pair.b, to, [to] {
      beck::test::send_with_copies<1>(to, "before", to);
      put(to, "after");
    });
  });
}

CONFORMANCE_ON(beck::test::kernel, "what another sender has written behind the first is read") {
  check_everywhere([](beck::io_context& ctx) {
    stream_pair pair(ctx);
    const int on = 1;
    REQUIRE(::setsockopt(pair.b.native_handle(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0);
    const int to = pair.a.native_handle();
    check(ctx, pair.b, to, [to] {
      put(to, "before");
      put_by_child(to, "after");
    });
  });
}

CONFORMANCE_ON(beck::test::kernel, "an accepted and an adopted UNIX socket are read the same way") {
  check_everywhere([](beck::io_context& ctx) {
    using local = beck::local::stream_protocol;
    local::acceptor acceptor(
        ctx, local::endpoint(std::string("\0beck-short-read", 16) + std::to_string(::getpid())));
    local::socket client(ctx);
    client.connect(acceptor.local_endpoint());
    local::socket accepted = acceptor.accept();
    const auto put_both = [](int to) {
      return [to] {
        beck::test::send_with_copies<1>(to, "before", to);
        put(to, "after");
      };
    };
    check(ctx, accepted, client.native_handle(), put_both(client.native_handle()));
    local::socket adopted(ctx, local(), accepted.release());
    check(ctx, adopted, client.native_handle(), put_both(client.native_handle()));
    check(ctx, client, adopted.native_handle(), put_both(adopted.native_handle()));
  });
}

CONFORMANCE_ON(beck::test::kernel, "packets of a pipe are read one after the other") {
  check_everywhere([](beck::io_context& ctx) {
    beck::test::pipe_ends pipe(ctx);
    const int to = pipe.in.native_handle();
    const auto put_packet = [to](const char* text) {
      REQUIRE(::write(to, text, std::strlen(text)) == static_cast<ssize_t>(std::strlen(text)));
    };
    // The writing end alone decides; a child that has it as its output may do so, too.
    REQUIRE(::fcntl(to, F_SETFL, O_NONBLOCK | O_DIRECT) == 0);
    reader read(ctx, pipe.out);
    make_watched(ctx, read, put_packet);
    for (const way first : all_ways) {
      for (const way second : all_ways) {
        read.start(first);
        beck::test::let_settle(ctx);
        put_packet("before");
        put_packet("after");
        REQUIRE(read.result() == "before");
        REQUIRE(read.next(second) == "after");
      }
    }
  });
}
