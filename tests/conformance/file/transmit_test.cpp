// SPDX-License-Identifier: BSL-1.0
//
// Files over streams: every byte in order, by either mechanism, and exact counts when something
// goes wrong.
#include <algorithm>
#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/interop/use_future.hpp>
#include <beck/io/pipe.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/bind.hpp>
#include <beck/transfer/transmit.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "io/system/posix_system.hpp"
#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/context_seam.hpp"
#include "support/file_place.hpp"
#include "support/open_descriptors.hpp"
#include "support/pattern.hpp"
#include "support/scale.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::file_object;
using beck::random_access_file;
using beck::transfer_mechanism;
using beck::transfer_report;
using beck::transmit_options;
using beck::test::file_place;
using beck::test::pattern;
using beck::test::run_task;
using beck::test::stream_pair;

namespace {

/// Counts the calls of sendfile(2), and those that are made while somebody could close the stream.
class watching_system final : public beck::detail::posix_system {
 public:
  explicit watching_system(beck::detail::io_loop& loop) : loop_(loop) {}

  std::ptrdiff_t send_to_stream(int from, std::uint64_t from_offset, int to,
                                std::size_t bytes) noexcept override {
    ++calls;
    if (!loop_.on_runner()) ++unguarded;
    return posix_system::send_to_stream(from, from_offset, to, bytes);
  }

  std::atomic<int> calls = 0;
  std::atomic<int> unguarded = 0;

 private:
  beck::detail::io_loop& loop_;
};

constexpr auto for_writing = file_object::read_write | file_object::create;
constexpr transfer_mechanism mechanisms[] = {transfer_mechanism::automatic,
                                             transfer_mechanism::read_write};

struct sending {
  sending(beck::io_context& ctx, beck::backend where, std::size_t bytes)
      : place(where), pair(ctx), file(ctx, place.path("sent"), for_writing), data(pattern(bytes)) {
    CHECK(beck::write_at(file, 0, beck::buffer(data)) == bytes);
  }

  /// Everything that arrives until the end.
  beck::task<> receive_all() {
    std::string part(65'536, 'x');
    for (;;) {
      auto got = co_await pair.b.async_read_some(beck::buffer(part));
      if (got.error()) break;
      arrived.append(part, 0, *got);
    }
  }
  beck::task<> send(std::uint64_t offset, std::uint64_t bytes, transmit_options how) {
    auto [ec, done] = co_await beck::async_transmit(pair.a, file, offset, bytes, how);
    error = ec;
    report = done;
    beck::error_code ignored;
    pair.a.close(ignored);
  }
  void exchange(beck::io_context& ctx, std::uint64_t offset, std::uint64_t bytes,
                transmit_options how = transmit_options()) {
    run_task(ctx, [&]() -> beck::task<> {
      auto both = beck::when_all(send(offset, bytes, how), receive_all());
      beck::ignore(co_await std::move(both));
    });
  }

  file_place place;
  stream_pair pair;
  random_access_file file;
  std::string data;
  std::string arrived;
  beck::error_code error;
  transfer_report report;
};

}  // namespace

CONFORMANCE("a whole file arrives in order, larger than every buffer on the way") {
  for (const auto which : mechanisms) {
    beck::io_context ctx(context_options());
    sending s(ctx, where, 2'000'003);
    s.exchange(ctx, 0, beck::to_the_end, transmit_options{.only = which});
    CHECK_FALSE(s.error);
    CHECK(s.report.bytes == s.data.size());
    CHECK(s.arrived == s.data);
    const bool by_kernel = where != beck::test::on_sim && which == transfer_mechanism::automatic;
    CHECK(s.report.mechanism ==
          (by_kernel ? transfer_mechanism::send_file : transfer_mechanism::read_write));
  }
}

CONFORMANCE("a part of a file arrives, and nothing around it") {
  for (const auto which : mechanisms) {
    beck::io_context ctx(context_options());
    sending s(ctx, where, 500'000);
    s.exchange(ctx, 123'457, 200'001,
               transmit_options{.only = which, .depth = 3, .block_bytes = 4096});
    CHECK_FALSE(s.error);
    CHECK(s.report.bytes == 200'001);
    CHECK(s.arrived == s.data.substr(123'457, 200'001));
  }
}

CONFORMANCE("blocks of 0 bytes, and 0 of them, count as the least that there may be") {
  for (const auto which : mechanisms) {
    beck::io_context ctx(context_options());
    sending s(ctx, where, 50'000);
    s.exchange(ctx, 0, beck::to_the_end,
               transmit_options{.only = which, .depth = 0, .block_bytes = 0});
    CHECK_FALSE(s.error);
    CHECK(s.arrived == s.data);
  }
}

CONFORMANCE("a file that ends before its length gives eof, and how much was sent") {
  for (const auto which : mechanisms) {
    beck::io_context ctx(context_options());
    sending s(ctx, where, 100'000);
    s.exchange(ctx, 40'000, 100'000, transmit_options{.only = which, .block_bytes = 16'384});
    CHECK(s.error == beck::error::eof);
    CHECK(s.report.bytes == 60'000);
    CHECK(s.arrived == s.data.substr(40'000));
  }
}

CONFORMANCE("nothing is sent of an empty part, and that is no error") {
  for (const auto which : mechanisms) {
    beck::io_context ctx(context_options());
    sending s(ctx, where, 1'000);
    s.exchange(ctx, 500, 0, transmit_options{.only = which});
    CHECK_FALSE(s.error);
    CHECK(s.report.bytes == 0);
    CHECK(s.arrived.empty());
  }
}

CONFORMANCE("a part behind the end of a file is empty up to the end, and eof with a length") {
  beck::io_context ctx(context_options());
  sending s(ctx, where, 1'000);
  s.exchange(ctx, 5'000, beck::to_the_end);
  CHECK_FALSE(s.error);
  sending t(ctx, where, 1'000);
  t.exchange(ctx, 5'000, 10);
  CHECK(t.error == beck::error::eof);
  CHECK(t.report.bytes == 0);
}

CONFORMANCE("a peer that is gone gives broken_pipe or a reset, and no signal") {
  for (const auto which : mechanisms) {
    beck::io_context ctx(context_options());
    sending s(ctx, where, 1'000'000);
    s.pair.b.close();
    run_task(ctx, s.send(0, beck::to_the_end, transmit_options{.only = which}));
    CHECK((s.error == beck::error::broken_pipe || s.error == beck::error::connection_reset));
    CHECK(s.report.bytes < s.data.size());
  }
}

CONFORMANCE("what was sent before a stop is counted exactly") {
  for (const auto which : mechanisms) {
    beck::io_context ctx(context_options());
    sending s(ctx, where, 4'000'000);
    beck::cancellation_signal signal;
    beck::error_code ec;
    transfer_report report;
    beck::async_transmit(s.pair.a, s.file, 0, beck::to_the_end, transmit_options{.only = which},
                         beck::bind_cancellation_slot(
                             signal.slot(), [&](beck::error_code error, transfer_report done) {
                               ec = error;
                               report = done;
                               s.pair.a.close();
                             }));
    run_task(ctx, [&]() -> beck::task<> {  // the socket is full by then
      co_await beck::test::pause(ctx, 20ms);
      signal.emit(beck::cancellation_type::terminal);
      co_await s.receive_all();
    });
    CHECK(ec == beck::error::operation_aborted);
    CHECK(report.bytes > 0);
    CHECK(report.bytes < s.data.size());
    CHECK(s.arrived == s.data.substr(0, report.bytes));
  }
}

CONFORMANCE("closing the socket or the file ends a transmission with operation_aborted") {
  for (const bool socket : {true, false}) {
    for (const auto which : mechanisms) {
      const auto before = beck::test::open_descriptors();
      {
        beck::io_context ctx(context_options());
        sending s(ctx, where, 4'000'000);
        auto close = [&](std::uint64_t) {
          if (socket) s.pair.a.close();
          if (!socket) s.file.close();
        };
        s.exchange(ctx, 0, beck::to_the_end,
                   transmit_options{.only = which, .block_bytes = 65'536, .progress = close});
        CHECK(s.error == beck::error::operation_aborted);
        CHECK(s.report.bytes > 0);
        CHECK(s.arrived == s.data.substr(0, s.report.bytes));
      }
      CHECK(beck::test::open_descriptors() == before);
    }
  }
}

CONFORMANCE(
    "a socket that is destroyed during a transmission ends it, and its slot's next owner gets "
    "nothing") {
  for (const auto which : mechanisms) {
    beck::io_context ctx(context_options());
    sending s(ctx, where, 4'000'000);
    std::unique_ptr<stream_pair> next;
    auto replace = [&](std::uint64_t) {
      if (next) return;
      { const beck::test::stream_socket gone(std::move(s.pair.a)); }
      next = std::make_unique<stream_pair>(ctx);
    };
    beck::error_code error;
    beck::async_transmit(s.pair.a, s.file, 0, beck::to_the_end,
                         transmit_options{.only = which, .progress = replace},
                         [&](beck::error_code ec, transfer_report) { error = ec; });
    run_task(ctx, s.receive_all());
    CHECK(error == beck::error::operation_aborted);
    CHECK((s.arrived == s.data.substr(0, s.arrived.size())));
    REQUIRE(next);
    CHECK(next->a.available() == 0);
    CHECK(next->b.available() == 0);
  }
}

CONFORMANCE("a transmission under a time limit to a peer that does not read gives timeout") {
  beck::io_context ctx(context_options());
  sending s(ctx, where, 4'000'000);
  run_task(ctx, [&]() -> beck::task<> {
    auto op = beck::async_transmit(s.pair.a, s.file, 0, beck::to_the_end);
    auto done = co_await beck::timeout(std::move(op), 20ms);
    CHECK(done.error() == beck::error::timeout);
    CHECK((*done).bytes > 0);
    s.pair.a.close();
    const std::uint64_t sent = (*done).bytes;
    co_await s.receive_all();
    CHECK(s.arrived.size() == sent);
  });
}

CONFORMANCE("progress tells every byte that is sent") {
  for (const auto which : mechanisms) {
    beck::io_context ctx(context_options());
    sending s(ctx, where, 700'000);
    std::vector<std::uint64_t> seen;
    auto note = [&](std::uint64_t bytes) { seen.push_back(bytes); };
    s.exchange(ctx, 0, beck::to_the_end, transmit_options{.only = which, .progress = note});
    REQUIRE_FALSE(seen.empty());
    CHECK(seen.back() == s.data.size());
    for (std::size_t i = 1; i < seen.size(); ++i) CHECK(seen[i - 1] < seen[i]);
  }
}

CONFORMANCE("a transmission takes a handler, a future and a coroutine") {
  beck::io_context ctx(context_options());
  sending s(ctx, where, 1'000);
  bool inside = true;
  std::uint64_t handled = 0;
  beck::async_transmit(s.pair.a, s.file, 0, 400, transmit_options(),
                       [&](beck::error_code ec, transfer_report done) {
                         CHECK_FALSE(inside);
                         CHECK_FALSE(ec);
                         handled = done.bytes;
                       });
  inside = false;
  ctx.run();
  ctx.restart();
  CHECK(handled == 400);
  auto future =
      beck::async_transmit(s.pair.a, s.file, 400, 300, transmit_options(), beck::use_future);
  ctx.run();
  ctx.restart();
  CHECK(future.get().bytes == 300);
  run_task(ctx, [&]() -> beck::awaitable<void> {
    const transfer_report done = co_await beck::async_transmit(
        s.pair.a, s.file, 700, beck::to_the_end, transmit_options(), beck::use_awaitable);
    CHECK(done.bytes == 300);
  });
  std::string back(1'000, 'x');
  run_task(ctx, [&]() -> beck::task<> {
    beck::ignore(co_await beck::async_read(s.pair.b, beck::buffer(back)));
  });
  CHECK(back == s.data);
}

CONFORMANCE("what is closed already, or cannot be read, sends nothing and says so") {
  beck::io_context ctx(context_options());
  sending s(ctx, where, 1'000);
  run_task(ctx, [&]() -> beck::task<> {
    random_access_file closed(ctx);
    auto none = co_await beck::async_transmit(s.pair.a, closed, 0, 10);
    CHECK(none.error() == beck::error::bad_descriptor);
    random_access_file unread(ctx, s.place.path("sent"), file_object::write_only);
    auto refused = co_await beck::async_transmit(s.pair.a, unread, 0, 10);
    CHECK(refused.error() == beck::error::bad_descriptor);
    const auto wrong = transmit_options{.only = transfer_mechanism::copy_range};
    auto unknown = co_await beck::async_transmit(s.pair.a, s.file, 0, 10, wrong);
    CHECK(unknown.error() == beck::error::invalid_argument);
    s.pair.a.close();
    auto nowhere = co_await beck::async_transmit(s.pair.a, s.file, 0, 10);
    CHECK(nowhere.error() == beck::error::bad_descriptor);
  });
}

CONFORMANCE("a slow reader holds a transmission up, and gets everything in the end") {
  beck::io_context ctx(context_options());
  sending s(ctx, where, 1'000'000);
  run_task(ctx, [&]() -> beck::task<> {
    const auto read_slowly = [&]() -> beck::task<> {
      std::string part(50'000, 'x');
      while (s.arrived.size() < s.data.size()) {
        co_await beck::test::pause(ctx, 1ms);
        auto got = co_await s.pair.b.async_read_some(beck::buffer(part));
        if (got.error()) break;
        s.arrived.append(part, 0, *got);
      }
    };
    auto both = beck::when_all(s.send(0, beck::to_the_end, transmit_options()), read_slowly());
    beck::ignore(co_await std::move(both));
  });
  CHECK_FALSE(s.error);
  CHECK(s.arrived == s.data);
}

CONFORMANCE("a file is transmitted into a pipe") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  const std::string data = pattern(300'000);
  CHECK(beck::write_at(file, 0, beck::buffer(data)) == data.size());
  beck::readable_pipe out(ctx);
  beck::writable_pipe in(ctx);
  beck::connect_pipe(out, in);
  std::string back(data.size(), 'x');
  const auto send = [&]() -> beck::task<> {
    auto done = co_await beck::async_transmit(in, file, 0, beck::to_the_end);
    CHECK_FALSE(done.error());
    CHECK((*done).bytes == data.size());
  };
  const auto receive = [&]() -> beck::task<> {
    beck::ignore(co_await beck::async_read(out, beck::buffer(back)));
  };
  run_task(ctx, [&]() -> beck::task<> {
    auto both = beck::when_all(send(), receive());
    beck::ignore(co_await std::move(both));
  });
  CHECK(back == data);
}

CONFORMANCE_ON(beck::test::kernel, "a file that was opened for direct transfers is sent, too") {
  beck::io_context ctx(context_options());
  sending s(ctx, where, 300'001);
  s.file.sync_all();
  s.file.close();
  beck::error_code ec;
  s.file.open(s.place.path("sent"), file_object::read_only | file_object::direct, ec);
  if (ec == std::errc::invalid_argument) SKIP_CASE("this file system has no direct transfers");
  s.exchange(ctx, 0, beck::to_the_end, transmit_options{.depth = 3, .block_bytes = 65'536});
  CHECK_FALSE(s.error);
  CHECK((s.arrived == s.data));
}

CONFORMANCE("other sockets of a context are served during a long transmission") {
  beck::io_context ctx(context_options());
  // Every byte of the simulator is copied and checked.
  const int bytes =
      where == beck::test::on_sim ? std::max(beck::test::scaled(8'000'000), 1'000'000) : 8'000'000;
  sending s(ctx, where, static_cast<std::size_t>(bytes));
  stream_pair other(ctx);
  bool sent = false;
  int echoes = 0;
  const auto play = [&]() -> beck::task<> {
    char ball = 'x';
    while (!sent) {
      beck::ignore(co_await beck::async_write(other.a, beck::buffer(&ball, 1)));
      beck::ignore(co_await beck::async_read(other.b, beck::buffer(&ball, 1)));
      echoes += sent ? 0 : 1;
      co_await beck::post(ctx);
    }
  };
  const auto send = [&]() -> beck::task<> {
    co_await s.send(0, beck::to_the_end, transmit_options());
    sent = true;
  };
  run_task(ctx, [&]() -> beck::task<> {
    auto all = beck::when_all(send(), s.receive_all(), play());
    beck::ignore(co_await std::move(all));
  });
  CHECK(s.arrived.size() == s.data.size());
  CHECK(echoes >= 10);
}

CONFORMANCE_ON(beck::test::epoll, "a transmission on a context that several threads run is right") {
  for (const auto which : mechanisms) {
    beck::io_context ctx({.backend = where, .threads = 2});
    sending s(ctx, where, 2'000'000);
    beck::co_spawn(ctx, s.receive_all(), beck::detached);
    beck::async_transmit(s.pair.a, s.file, 0, beck::to_the_end, transmit_options{.only = which},
                         [&](beck::error_code ec, transfer_report done) {
                           CHECK_FALSE(ec);
                           CHECK(done.bytes == s.data.size());
                           s.pair.a.close();
                         });
    std::thread other([&] { ctx.run(); });
    ctx.run();
    other.join();
    CHECK((s.arrived == s.data));
  }
}

CONFORMANCE_ON(beck::test::epoll, "nobody can close the stream of a shared context during a call") {
  beck::io_context ctx({.backend = where, .threads = 2});
  auto& loop = *static_cast<beck::detail::io_loop*>(ctx.get_executor().target());
  auto made = std::make_unique<watching_system>(loop);
  const watching_system& seen = *made;
  beck::testing::context_seam::replace_system(ctx, std::move(made));
  sending s(ctx, where, 2'000'000);
  s.exchange(ctx, 0, beck::to_the_end);
  CHECK_FALSE(s.error);
  CHECK((s.arrived == s.data));
  CHECK(seen.calls > 0);
  CHECK(seen.unguarded == 0);
}

namespace {

/// Sends nothing, and meanwhile the stream's object gets another connection, which takes no more.
class reopening_system final : public beck::detail::posix_system {
 public:
  std::ptrdiff_t send_to_stream(int, std::uint64_t, int, std::size_t) noexcept override {
    reopen();
    return -EAGAIN;
  }
  std::function<void()> reopen;
};

}  // namespace

CONFORMANCE_ON(
    beck::test::epoll,
    "a transmission on a shared context never waits for what has the stream's slot now") {
  beck::io_context ctx(context_options({.threads = 2}));
  auto system = std::make_unique<reopening_system>();
  reopening_system& seam = *system;
  beck::testing::context_seam::replace_system(ctx, std::move(system));
  sending s(ctx, where, 300'000);
  beck::test::stream_socket other(ctx);
  seam.reopen = [&] {
    s.pair.a.close();
    connect_pair(s.pair.a, other);
    beck::test::fill(s.pair.a);
  };
  beck::error_code ended = beck::error::interrupted;
  const auto note_end = [&](const beck::error_code& ec, const transfer_report&) { ended = ec; };
  beck::async_transmit(s.pair.a, s.file, 0, 300'000, transmit_options(), note_end);
  ctx.run_for(5s);
  CHECK(ended == beck::error::operation_aborted);
}
