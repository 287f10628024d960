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
#include <utility>

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

/// Two streams that are connected: `from` is read, and the bytes come from `to`.
struct tcp_ends {
  explicit tcp_ends(beck::io_context& ctx) : c(ctx) {}

  tcp_connection c;
  beck::ip::tcp::socket& from = c.server;
  int to = c.client.native_handle();
};

struct pair_ends {
  explicit pair_ends(beck::io_context& ctx) : pair(ctx) {}

  stream_pair pair;
  beck::test::stream_socket& from = pair.b;
  int to = pair.a.native_handle();
};

using local = beck::local::stream_protocol;

struct unix_ends {
  explicit unix_ends(beck::io_context& ctx) : acceptor(ctx), client(ctx), from(ctx) {}

  local::acceptor acceptor;
  local::socket client;
  local::socket from;
  int to = -1;
};

struct accepted_ends : unix_ends {
  explicit accepted_ends(beck::io_context& ctx) : unix_ends(ctx) {
    acceptor = local::acceptor(
        ctx, local::endpoint(std::string("\0beck-short-read", 16) + std::to_string(::getpid())));
    connect();
    from = acceptor.accept();
  }
  void connect() {
    client.connect(acceptor.local_endpoint());
    to = client.native_handle();
  }
};

struct async_accepted_ends : accepted_ends {
  explicit async_accepted_ends(beck::io_context& ctx) : accepted_ends(ctx) {
    from.close();
    client.close();
    connect();
    outcome done;
    acceptor.async_accept(from, note(done));
    beck::test::let_settle(ctx);
    REQUIRE(done.ok());
  }
};

struct adopted_ends : accepted_ends {
  explicit adopted_ends(beck::io_context& ctx) : accepted_ends(ctx) {
    from.assign(local(), from.release());
  }
};

struct client_ends : accepted_ends {
  explicit client_ends(beck::io_context& ctx) : accepted_ends(ctx) {
    std::swap(from, client);
    to = client.native_handle();
  }
};

struct packet_ends : unix_ends {
  explicit packet_ends(beck::io_context& ctx) : unix_ends(ctx) {
    int pair[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
    from.assign(local(), pair[0]);
    client.assign(local(), pair[1]);
    to = pair[1];
  }
};

struct accepted_packet_ends : unix_ends {
  explicit accepted_packet_ends(beck::io_context& ctx) : unix_ends(ctx) {
    const int listener = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
    acceptor.assign(local(), listener);
    to = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
    client.assign(local(), to);
    const local::endpoint at(std::string("\0beck-packets", 13) + std::to_string(::getpid()));
    const auto* const name = static_cast<const sockaddr*>(at.data());
    const auto bytes = static_cast<socklen_t>(at.size());
    REQUIRE(::bind(listener, name, bytes) == 0);
    REQUIRE(::listen(listener, 1) == 0);
    REQUIRE(::connect(to, name, bytes) == 0);
    from = acceptor.accept();
  }
};

/// `put_all` sends "before", something that a read stops at, and "after".
template <class Ends, class PutAll>
void check(beck::io_context& ctx, PutAll put_all) {
  for (const way first : all_ways) {
    for (const way second : all_ways) {
      CAPTURE(static_cast<int>(first));
      CAPTURE(static_cast<int>(second));
      Ends ends(ctx);
      reader read(ctx, ends.from);
      make_watched(ctx, read, [&](const char* text) { put(ends.to, text); });
      for (int i = 0; i < 3; ++i) {
        read.start(first);
        beck::test::let_settle(ctx);
        put_all(ends);
        REQUIRE(read.result() == "before");
        REQUIRE(read.next(second) == "after");
      }
    }
  }
}

template <class Ends>
void put_descriptors(const Ends& ends) {
  beck::test::send_with_copies<1>(ends.to, "before", ends.to);
  put(ends.to, "after");
}

template <class Body>
void check_everywhere(Body body) {
  {
    beck::io_context ctx(context_options());
    body(ctx);
  }
  if (beck::test::current_backend() != beck::backend::epoll) return;
  beck::io_context shared(context_options({.threads = 2}));
  body(shared);
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel, "what follows an urgent byte is read without news of it") {  // A
  const auto put_urgent = [](const auto& ends) {
    put(ends.to, "before");
    put(ends.to, "!", MSG_OOB);
    put(ends.to, "after");
  };
  check_everywhere([&](beck::io_context& ctx) {
    check<tcp_ends>(ctx, put_urgent);
    check<pair_ends>(ctx, put_urgent);
  });
}

CONFORMANCE_ON(beck::test::kernel, "an urgent byte between others is read where it stands") {
  check_everywhere([](beck::io_context& ctx) {
    check<tcp_ends>(ctx, [](tcp_ends& ends) {
      const int on = 1;
      const int from = ends.from.native_handle();
      REQUIRE(::setsockopt(from, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on) == 0);
      put(ends.to, "before");
      put(ends.to, "a", MSG_OOB);
      put(ends.to, "fter");
    });
  });
}

CONFORMANCE_ON(beck::test::kernel, "what follows a message with descriptors is read") {
  check_everywhere([](beck::io_context& ctx) {
    check<pair_ends>(ctx, put_descriptors<pair_ends>);
    check<accepted_ends>(ctx, put_descriptors<accepted_ends>);
    check<async_accepted_ends>(ctx, put_descriptors<async_accepted_ends>);
    check<adopted_ends>(ctx, put_descriptors<adopted_ends>);
    check<client_ends>(ctx, put_descriptors<client_ends>);
  });
}

CONFORMANCE_ON(beck::test::kernel, "packets of a socket are read one after the other") {
  check_everywhere([](beck::io_context& ctx) {
    const auto put_packets = [](const auto& ends) {
      put(ends.to, "before");
      put(ends.to, "after");
    };
    check<packet_ends>(ctx, put_packets);
    check<accepted_packet_ends>(ctx, put_packets);
  });
}

CONFORMANCE_ON(beck::test::kernel, "what another sender has written behind the first is read") {
  check_everywhere([](beck::io_context& ctx) {
    check<pair_ends>(ctx, [](pair_ends& ends) {
      const int on = 1;
      const int from = ends.from.native_handle();
      REQUIRE(::setsockopt(from, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0);
      put(ends.to, "before");
      put_by_child(ends.to, "after");
    });
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
