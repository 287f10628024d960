// SPDX-License-Identifier: BSL-1.0
//
// Small sends while many sockets are busy: on io_uring they wait for the next poll, and nothing
// that happens to their sockets before it can tell. The other backends send at once.
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include <sys/socket.h>

#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/faulty_system.hpp"
#include "support/outcome.hpp"
#include "support/stream_pair.hpp"

namespace {

using beck::test::note;
using beck::test::outcome;

constexpr int many = 20;
constexpr int few = 7;

/// Returns the bytes that have arrived at a socket.
std::string arrived(beck::test::stream_socket& at) {
  char data[8192];
  const ssize_t n = ::recv(at.native_handle(), data, sizeof data, MSG_DONTWAIT);
  return std::string(data, n > 0 ? static_cast<std::size_t>(n) : 0);
}

/// Pairs of sockets. A poll finds a byte at one end of each, and the handlers of these reads run.
class crowd {
 public:
  using answer = std::function<void(int i)>;

  /// `room`: the bytes that each read has room for.
  crowd(beck::io_context& ctx, int count, std::size_t room = 1) : ctx_(ctx), room_(room) {
    for (int i = 0; i < count; ++i) pairs_.emplace_back(ctx);
    sent.resize(static_cast<std::size_t>(count));
    bytes_.resize(room * static_cast<std::size_t>(count));
  }

  beck::test::stream_socket& end(int i) { return pairs_[static_cast<std::size_t>(i)].a; }
  beck::test::stream_socket& peer(int i) { return pairs_[static_cast<std::size_t>(i)].b; }
  outcome& sent_by(int i) { return sent[static_cast<std::size_t>(i)]; }

  void send(int i, const char* text) {
    end(i).async_write_some(beck::buffer(text, std::char_traits<char>::length(text)),
                            note(sent_by(i)));
  }

  /// Starts a read at each end, whose handler calls `then(i)`, and sends the bytes that they find.
  void prepare(answer then) {
    then_ = std::move(then);
    for (int i = 0; i < count(); ++i) {
      end(i).async_read_some(beck::buffer(&bytes_[room_ * static_cast<std::size_t>(i)], room_),
                             [this, i](beck::error_code, std::size_t) { then_(i); });
      REQUIRE(::send(peer(i).native_handle(), "x", 1, 0) == 1);
    }
  }

  /// Runs everything. Returns by how much the counters have grown.
  beck::context_stats play(answer then) {
    prepare(std::move(then));
    const beck::context_stats before = ctx_.stats();
    beck::test::run_all(ctx_);
    beck::context_stats grown = ctx_.stats();
    grown.sends_batched -= before.sends_batched;
    grown.attempts -= before.attempts;
    grown.kernel_entries -= before.kernel_entries;
    return grown;
  }

  int count() const { return static_cast<int>(pairs_.size()); }

  std::deque<outcome> sent;

 private:
  beck::io_context& ctx_;
  std::deque<beck::test::stream_pair> pairs_;
  std::size_t room_;
  std::string bytes_;
  answer then_;
};

bool batches(const beck::io_context& ctx) {
  return ctx.backend_in_use() == beck::backend::io_uring;
}

}  // namespace

CONFORMANCE_ON(beck::test::uring, "sends after a poll that has found much are batched") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  const auto grown = all.play([&](int i) { all.send(i, "abc"); });
  CHECK(grown.sends_batched == many);
  CHECK(grown.attempts == 0);
  CHECK(grown.kernel_entries <= 3);
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(all.sent_by(i).bytes == 3);
    CHECK(arrived(all.peer(i)) == "abc");
  }
}

CONFORMANCE_ON(beck::test::uring,
               "sends after a poll that has found many sockets ready are batched") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many, 8192);  // too large to be armed
  CHECK(all.play([&](int i) { all.send(i, "abc"); }).sends_batched == many);
}

CONFORMANCE_ON(beck::test::uring, "sends of coroutines are batched") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  const auto answer = [&](int i) -> beck::task<> {
    const auto [ec, bytes] = co_await async_write(all.end(i), beck::buffer("abc", 3));
    all.sent_by(i) = {1, ec, bytes};
  };
  const auto grown = all.play([&](int i) { co_spawn(ctx, answer(i), beck::detached); });
  CHECK(grown.sends_batched == many);
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(arrived(all.peer(i)) == "abc");
  }
}

CONFORMANCE_ON(beck::test::uring, "the next poll makes the sends, whatever else it finds") {
  beck::io_context ctx(context_options());
  crowd all(ctx, 100);
  std::string seen;
  all.play([&](int i) {
    async_write(all.end(i), beck::buffer("abc", 3), [&, i](beck::error_code, std::size_t) {
      if (i == 0) seen = arrived(all.peer(99));  // the first 64 were sent before the last
    });
  });
  CHECK(seen == "abc");
}

CONFORMANCE_ON(beck::test::uring, "sends after a poll that has found little are made at once") {
  beck::io_context ctx(context_options());
  crowd all(ctx, few);
  std::string seen;
  const auto grown = all.play([&](int i) {
    all.send(i, "abc");
    seen += arrived(all.peer(i));
  });
  CHECK(grown.sends_batched == 0);
  CHECK(grown.attempts == few);
  CHECK(seen.size() == 3 * few);
}

CONFORMANCE_ON(beck::test::uring, "sends are made at once where batches are switched off") {
  beck::io_context ctx(context_options().batched_sends(false));
  crowd all(ctx, many);
  const auto grown = all.play([&](int i) { all.send(i, "abc"); });
  CHECK(grown.sends_batched == 0);
  CHECK(grown.attempts == many);
}

CONFORMANCE_ON(beck::test::uring, "sends of more than 4096 bytes, and of none, are not batched") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  const std::string large(4097, 'l');
  const std::string largest(4096, 'b');
  const auto grown = all.play([&](int i) {
    const auto data = i == 0 ? beck::buffer(largest) : beck::buffer(large);
    async_write(all.end(i), i == 1 ? beck::const_buffer() : data, note(all.sent_by(i)));
  });
  CHECK(grown.sends_batched == 1);
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(arrived(all.peer(i)).size() == (i == 0 ? 4096U : i == 1 ? 0U : 4097U));
  }
}

CONFORMANCE_ON(beck::test::uring, "no more than 64 sends wait") {
  beck::io_context ctx(context_options());
  crowd all(ctx, 100);
  std::string seen;
  std::string after;
  const auto grown = all.play([&](int i) {
    all.send(i, "abc");
    if (i == 62) seen = arrived(all.peer(0));
    if (i == 63) after = arrived(all.peer(63)) + arrived(all.peer(0));
  });
  CHECK(grown.sends_batched == 100);
  CHECK(seen.empty());
  CHECK(after == "abcabc");
  CHECK(grown.kernel_entries >= 3);
  CHECK(grown.kernel_entries <= 6);
}

CONFORMANCE_ON(beck::test::uring, "sends do not wait after handlers that have taken long") {
  beck::io_context ctx(context_options());
  beck::test::faulty_system& system = beck::test::make_faulty(ctx);
  system.clock_ns = system.now();
  crowd all(ctx, many);
  const auto takes = [&](std::int64_t ns) {
    return all.play([&, ns](int i) {
      all.send(i, "a");
      system.clock_ns += ns;
    });
  };
  CHECK(takes(4'000).sends_batched == many);  // the longest
  CHECK(takes(4'001).sends_batched == many);
  for (int i = 0; i < 64; ++i) CHECK(takes(0).sends_batched == 0);
  CHECK(takes(0).sends_batched == many);
}

CONFORMANCE_ON(beck::test::uring, "the time of sends is not that of handlers") {
  beck::io_context ctx(context_options());
  beck::test::faulty_system& system = beck::test::make_faulty(ctx);
  system.clock_ns = system.now();
  crowd all(ctx, 100);
  const auto send = [&](int i) {
    if (i == 63) system.pauses = {0, 10'000'000};  // before and after the call for 64 sends
    all.send(i, "a");
  };
  CHECK(all.play(send).sends_batched == 100);
  CHECK(system.pauses.empty());
  CHECK(all.play(send).sends_batched == 100);
}

CONFORMANCE_ON(beck::test::kernel, "a socket that is closed behind its send has sent") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  all.play([&](int i) {
    all.send(i, "abc");
    all.end(i).close();
  });
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(arrived(all.peer(i)) == "abc");
  }
}

CONFORMANCE_ON(beck::test::kernel, "a socket that is destroyed behind its send has sent") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  all.play([&](int i) {
    all.send(i, "abc");
    const beck::test::stream_socket last = std::move(all.end(i));
  });
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(arrived(all.peer(i)) == "abc");
  }
}

CONFORMANCE_ON(beck::test::kernel, "a cancellation behind a send finds it done") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  beck::cancellation_signal signals[many];
  all.play([&](int i) {
    if (i % 2 == 0) {
      all.send(i, "abc");
      all.end(i).cancel();
      return;
    }
    async_write(all.end(i), beck::buffer("abc", 3),
                beck::bind_cancellation_slot(signals[i].slot(), note(all.sent_by(i))));
    signals[i].emit(beck::cancellation_type::terminal);
  });
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(arrived(all.peer(i)) == "abc");
  }
}

CONFORMANCE_ON(beck::test::kernel, "a socket released or shut down behind its send has sent") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  int released[many];
  all.play([&](int i) {
    all.send(i, "abc");
    if (i % 2 == 0) {
      released[i] = all.end(i).release();
    } else {
      all.end(i).shutdown(beck::test::stream_socket::shutdown_send);
    }
  });
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(arrived(all.peer(i)) == "abc");
    if (i % 2 == 0) ::close(released[i]);
  }
}

CONFORMANCE_ON(beck::test::kernel, "several sends on one socket are in order, and all are made") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  outcome second[many];
  outcome third[many];
  const auto grown = all.play([&](int i) {
    all.send(i, "a");
    async_write(all.end(i), beck::buffer("b", 1), note(second[i]));
    const std::array<beck::const_buffer, 2> parts{beck::buffer("c", 1), beck::buffer("d", 1)};
    async_write(all.end(i), parts, note(third[i]));
    CHECK(arrived(all.peer(i)) == "abcd");
  });
  if (batches(ctx)) CHECK(grown.sends_batched == 2 * many);
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(second[i].ok());
    CHECK(third[i].ok());
  }
}

CONFORMANCE_ON(beck::test::kernel, "a synchronous call comes behind all sends that were started") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  all.play([&](int i) {
    all.send(i, "abc");
    all.end(many - 1 - i).write_some(beck::buffer("s", 1));
    CHECK(arrived(all.peer(i)).find("abc") != std::string::npos);
  });
  for (int i = 0; i < many; ++i) CHECK(all.sent_by(i).ok());
}

CONFORMANCE_ON(beck::test::kernel, "run() has sent when it returns") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  all.prepare([&](int i) {
    all.send(i, "abc");
    if (i == many - 1) ctx.stop();
  });
  beck::test::run_until(ctx, [&] { return ctx.stopped(); });
  for (int i = 0; i < many; ++i) CHECK(arrived(all.peer(i)) == "abc");
  beck::test::run_all(ctx);
  for (int i = 0; i < many; ++i) CHECK(all.sent_by(i).ok());
}

CONFORMANCE_ON(beck::test::kernel, "each run_one() has sent when it returns") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  all.prepare([&](int i) { all.send(i, "abc"); });
  std::size_t bytes = 0;
  for (int i = 0; i < many; ++i) {
    REQUIRE(ctx.run_one() == 1);
    for (int peer = 0; peer < many; ++peer) bytes += arrived(all.peer(peer)).size();
    CHECK(bytes == 3 * static_cast<std::size_t>(i + 1));
  }
  beck::test::run_all(ctx);
}

CONFORMANCE_ON(beck::test::kernel, "a batched send to a peer that is gone reports it") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  all.play([&](int i) {
    all.peer(i).close();
    all.send(i, "abc");
  });
  for (int i = 0; i < many; ++i) CHECK(all.sent_by(i).ended_with(beck::error::broken_pipe));
}

CONFORMANCE_ON(beck::test::kernel, "a batched send that finds no room goes on, or is cancelled") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  const std::string text(4096, 't');
  for (int i = 0; i < many; ++i) REQUIRE(beck::test::fill(all.end(i)) != 0);
  all.prepare([&](int i) { async_write(all.end(i), beck::buffer(text), note(all.sent_by(i))); });
  beck::test::let_settle(ctx);
  for (int i = 0; i < many; ++i) CHECK(!all.sent_by(i).done());
  for (int i = 0; i < many / 2; ++i) all.end(i).cancel();
  beck::test::let_settle(ctx);
  for (int i = 0; i < many / 2; ++i) {
    CHECK(all.sent_by(i).aborted());
    CHECK(all.sent_by(i).bytes < 4096);
  }
  for (int i = many / 2; i < many; ++i) {
    while (!arrived(all.peer(i)).empty()) continue;
  }
  beck::test::run_all(ctx);
  for (int i = many / 2; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(all.sent_by(i).bytes == 4096);
  }
}

CONFORMANCE_ON(beck::test::kernel, "a context that ends with waiting sends leaves nothing behind") {
  auto ctx = std::make_unique<beck::io_context>(context_options());
  crowd all(*ctx, many);
  const auto alive = std::make_shared<int>(0);
  all.prepare([&](int i) {
    async_write(all.end(i), beck::buffer("abc", 3),
                [alive](const beck::error_code&, std::size_t) { ++*alive; });
    if (i == many - 1) throw 1;
  });
  CHECK_THROWS_AS(ctx->run(), int);
  for (int i = 0; i < many; ++i) CHECK(arrived(all.peer(i)) == "abc");
  for (int i = 0; i < many; ++i) {
    all.end(i).close();
    all.peer(i).close();
  }
  CHECK(*alive == 0);
}

CONFORMANCE_ON(beck::test::kernel, "a child of fork sends nothing of its parent's") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  beck::test::stream_pair other(ctx);
  const auto grown = all.play([&](int i) {
    all.send(i, "abc");
    if (i != many - 1) return;
    const auto end = beck::test::run_child([&](int) {
      other.a.write_some(beck::buffer("c", 1));
      for (int k = 0; k < many; ++k) all.end(k).close();
    });
    CHECK(end.status == 0);
    CHECK(arrived(other.b) == "c");
  });
  if (batches(ctx)) CHECK(grown.sends_batched == many);
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(arrived(all.peer(i)) == "abc");
  }
}
