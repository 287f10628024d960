// SPDX-License-Identifier: BSL-1.0
//
// Transmissions with bytes before the file, and the system calls of transmissions: few looks at the
// page cache, no polls, full packets.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <algorithm>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/io/pipe.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/bind.hpp>
#include <beck/transfer/transmit.hpp>
#include <chrono>
#include <memory>
#include <ostream>
#include <string>

#include "io/system/posix_system.hpp"
#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/context_seam.hpp"
#include "support/file_place.hpp"
#include "support/pattern.hpp"
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

namespace {

/// Counts the calls that a transmission makes, and can let time pass and keep pages away.
class counting_system final : public beck::detail::posix_system {
 public:
  int sends = 0, sends_with_more = 0, files_sent = 0, polls = 0, looks = 0, reads_ahead = 0;
  std::size_t longest_look = 0;
  std::int64_t later_ns = 0;
  bool is_cold = false;

  /// Lets only `later_ns` move the clock: no pause of a busy machine counts then.
  void stop_clock() noexcept { stopped_at_ = posix_system::now(); }
  std::int64_t now() noexcept override {
    return (stopped_at_ != 0 ? stopped_at_ : posix_system::now()) + later_ns;
  }
  std::ptrdiff_t send(int fd, const void* data, std::size_t bytes) noexcept override {
    ++sends;
    return posix_system::send(fd, data, bytes);
  }
  std::ptrdiff_t send_more(int fd, const beck::detail::io_vector* parts,
                           std::size_t count) noexcept override {
    ++sends_with_more;
    return posix_system::send_more(fd, parts, count);
  }
  std::ptrdiff_t send_to_stream(int from, std::uint64_t at, int to,
                                std::size_t bytes) noexcept override {
    ++files_sent;
    return posix_system::send_to_stream(from, at, to, bytes);
  }
  int poll(int fd, unsigned events, std::int64_t deadline) noexcept override {
    ++polls;
    return posix_system::poll(fd, events, deadline);
  }
  bool is_in_memory(int fd, std::uint64_t offset, std::size_t bytes) noexcept override {
    ++looks;
    longest_look = std::max(longest_look, bytes);
    return !is_cold && posix_system::is_in_memory(fd, offset, bytes);
  }
  int read_ahead(int fd, std::uint64_t offset, std::size_t bytes,
                 std::size_t next_bytes) noexcept override {
    ++reads_ahead;  // the context makes them one after the other
    return posix_system::read_ahead(fd, offset, bytes, next_bytes);
  }

 private:
  std::int64_t stopped_at_ = 0;
};

counting_system& count_calls(beck::io_context& ctx) {
  auto made = std::make_unique<counting_system>();
  counting_system& seen = *made;
  beck::testing::context_seam::replace_system(ctx, std::move(made));
  return seen;
}

constexpr auto for_writing = file_object::read_write | file_object::create;
constexpr transfer_mechanism mechanisms[] = {transfer_mechanism::automatic,
                                             transfer_mechanism::read_write};

/// A file and a TCP connection that it is sent over, after a prefix.
struct replying {
  replying(beck::io_context& ctx, beck::backend where, std::size_t bytes, std::size_t prefix_bytes)
      : place(where),
        line(ctx),
        file(ctx, place.path("sent"), for_writing),
        data(pattern(bytes)),
        prefix(prefix_bytes, '#') {
    CHECK(beck::write_at(file, 0, beck::buffer(data)) == bytes);
  }

  template <class Stream>
  beck::task<> receive(Stream& from) {
    std::string part(65'536, 'x');
    for (;;) {
      auto got = co_await from.async_read_some(beck::buffer(part));
      if (got.error()) break;
      arrived.append(part, 0, *got);
      if (reader != nullptr) reader->later_ns += 1'000'000'000;
    }
  }
  template <class Stream>
  beck::task<> send(Stream& to, std::uint64_t offset, std::uint64_t bytes, transmit_options how) {
    how.prefix = beck::buffer(prefix);
    auto [ec, done] = co_await beck::async_transmit(to, file, offset, bytes, how);
    error = ec;
    report = done;
    if (!keeps_open) to.close();
  }
  void exchange(beck::io_context& ctx, std::uint64_t offset, std::uint64_t bytes,
                transmit_options how = transmit_options()) {
    run_task(ctx, [&]() -> beck::task<> {
      auto both = beck::when_all(send(line.server, offset, bytes, how), receive(line.client));
      beck::ignore(co_await std::move(both));
    });
  }

  file_place place;
  beck::test::tcp_connection line;
  random_access_file file;
  std::string data;
  std::string prefix;
  std::string arrived;
  beck::error_code error;
  transfer_report report;
  bool keeps_open = false;
  counting_system* reader = nullptr;  // time passes with each read
};

int fills_packets(beck::ip::tcp::socket& socket) {
  int value = -1;
  socklen_t bytes = sizeof value;
  CHECK(::getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_CORK, &value, &bytes) == 0);
  return value;
}

}  // namespace

CONFORMANCE("a prefix arrives before the file, and is counted for itself") {
  for (const auto which : mechanisms) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{1'000}, std::size_t{900'000}}) {
      CAPTURE(bytes);
      beck::io_context ctx(context_options());
      replying s(ctx, where, bytes, 200);
      s.exchange(ctx, 0, beck::to_the_end, transmit_options{.only = which, .block_bytes = 65'536});
      CHECK_FALSE(s.error);
      CHECK(s.report.bytes == bytes);
      CHECK(s.report.prefix_bytes == 200);
      CHECK((s.arrived == s.prefix + s.data));
    }
  }
}

CONFORMANCE("a prefix is sent without any byte of the file, too") {
  for (const auto which : mechanisms) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}}) {
      beck::io_context ctx(context_options());
      replying s(ctx, where, bytes, 200);
      s.exchange(ctx, bytes, bytes == 0 ? beck::to_the_end : 0, transmit_options{.only = which});
      CHECK_FALSE(s.error);
      CHECK(s.report.bytes == 0);
      CHECK(s.report.prefix_bytes == 200);
      CHECK(s.report.mechanism == transfer_mechanism::automatic);
      CHECK(s.arrived == s.prefix);
    }
  }
}

CONFORMANCE("a prefix that is larger than every buffer on the way arrives whole") {
  for (const auto which : mechanisms) {
    beck::io_context ctx(context_options());
    replying s(ctx, where, 100'000, 9'000'000);
    s.exchange(ctx, 10, 50'000, transmit_options{.only = which});
    CHECK_FALSE(s.error);
    CHECK(s.report.bytes == 50'000);
    CHECK(s.report.prefix_bytes == s.prefix.size());
    CHECK((s.arrived == s.prefix + s.data.substr(10, 50'000)));
  }
}

CONFORMANCE("what was sent of a prefix before a stop is counted exactly") {
  for (const auto which : mechanisms) {
    beck::io_context ctx(context_options());
    replying s(ctx, where, 1'000, 30'000'000);
    beck::cancellation_signal signal;
    std::uint64_t progress = 0;
    auto note = [&](std::uint64_t bytes) { progress = bytes; };
    const auto how =
        transmit_options{.only = which, .prefix = beck::buffer(s.prefix), .progress = note};
    beck::async_transmit(s.line.server, s.file, 0, 1'000, how,
                         beck::bind_cancellation_slot(
                             signal.slot(), [&](beck::error_code error, transfer_report done) {
                               s.error = error;
                               s.report = done;
                               s.line.server.close();
                             }));
    run_task(ctx, [&]() -> beck::task<> {  // the socket is full by then
      co_await beck::test::pause(ctx, 20ms);
      signal.emit(beck::cancellation_type::terminal);
      co_await s.receive(s.line.client);
    });
    CHECK(s.error == beck::error::operation_aborted);
    CHECK(s.report.bytes == 0);
    CHECK(progress == 0);
    CHECK(s.report.prefix_bytes > 0);
    CHECK(s.report.prefix_bytes < s.prefix.size());
    CHECK(s.arrived.size() == s.report.prefix_bytes);
  }
}

CONFORMANCE("of a file that cannot be read not even the prefix is sent") {
  for (const auto which : mechanisms) {
    beck::io_context ctx(context_options());
    replying s(ctx, where, 1'000, 200);
    s.file.close();
    s.file.open(s.place.path("sent"), file_object::write_only);
    s.exchange(ctx, 0, 10, transmit_options{.only = which});
    CHECK(s.error == beck::error::bad_descriptor);
    CHECK(s.report.prefix_bytes == 0);
    CHECK(s.arrived.empty());
  }
}

CONFORMANCE("a prefix goes into a pipe before the file") {
  beck::io_context ctx(context_options());
  replying s(ctx, where, 200'000, 100'000);
  beck::readable_pipe out(ctx);
  beck::writable_pipe in(ctx);
  beck::connect_pipe(out, in);
  run_task(ctx, [&]() -> beck::task<> {
    auto both = beck::when_all(s.send(in, 0, beck::to_the_end, transmit_options()), s.receive(out));
    beck::ignore(co_await std::move(both));
  });
  CHECK_FALSE(s.error);
  CHECK(s.report.prefix_bytes == s.prefix.size());
  CHECK((s.arrived == s.prefix + s.data));
}

CONFORMANCE_ON(beck::test::kernel, "a prefix shares its packet with the file, if there is any") {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1'000}}) {
    beck::io_context ctx(context_options());
    counting_system& seen = count_calls(ctx);
    replying s(ctx, where, 1'000, 200);
    seen.sends = seen.sends_with_more = 0;
    s.exchange(ctx, 0, bytes);
    CHECK(seen.sends_with_more == (bytes == 0 ? 0 : 1));
    CHECK(seen.sends == (bytes == 0 ? 1 : 0));
    CHECK(seen.files_sent == (bytes == 0 ? 0 : 1));
  }
}

CONFORMANCE_ON(beck::test::kernel,
               "a transmission looks rarely at the page cache, and never polls") {
  beck::io_context ctx(context_options());
  counting_system& seen = count_calls(ctx);
  constexpr std::size_t bytes = 16'777'216;
  replying s(ctx, where, bytes, 200);
  seen.polls = 0;
  seen.stop_clock();
  s.exchange(ctx, 0, beck::to_the_end);
  CHECK_FALSE(s.error);
  CHECK((s.arrived == s.prefix + s.data));
  CHECK(seen.polls == 0);
  CHECK(seen.looks <= 11);  // 256 KiB, 512 KiB, 1 MiB, then 2 MiB each
  CHECK(seen.looks >= 8);
  CHECK(seen.longest_look == 2'097'152);
}

CONFORMANCE_ON(beck::test::kernel, "what a slow reader has kept waiting is looked at again") {
  int looks[2] = {};
  for (const bool slow : {false, true}) {
    beck::io_context ctx(context_options());
    counting_system& seen = count_calls(ctx);
    replying s(ctx, where, 16'777'216, 0);
    s.reader = slow ? &seen : nullptr;
    seen.stop_clock();
    s.exchange(ctx, 0, beck::to_the_end);
    CHECK((s.arrived == s.data));
    looks[slow ? 1 : 0] = seen.looks;
  }
  CHECK(looks[1] > looks[0]);
}

CONFORMANCE_ON(beck::test::kernel, "what was in memory before a long prefix is looked at again") {
  beck::io_context ctx(context_options());
  counting_system& seen = count_calls(ctx);
  replying s(ctx, where, 1'000, 9'000'000);
  s.reader = &seen;
  s.exchange(ctx, 0, beck::to_the_end);
  CHECK((s.arrived == s.prefix + s.data));
  CHECK(seen.looks == 2);
}

CONFORMANCE_ON(beck::test::kernel,
               "transmissions share what they know of a file, but not for long") {
  beck::io_context ctx(context_options());
  counting_system& seen = count_calls(ctx);
  replying s(ctx, where, 600'000, 0);
  const auto looks_of = [&](std::uint64_t offset, std::uint64_t bytes) {
    const int before = seen.looks;
    beck::test::tcp_connection line(ctx);
    std::swap(s.line, line);
    s.arrived.clear();
    s.exchange(ctx, offset, bytes);
    CHECK_FALSE(s.error);
    CHECK((s.arrived == s.data.substr(offset, bytes)));
    return seen.looks - before;
  };
  CHECK(looks_of(100, 65'536) == 1);
  CHECK(looks_of(100, 65'536) == 0);
  CHECK(looks_of(5'000, 1'000) == 0);
  CHECK(looks_of(99, 1'000) == 1);      // before what is known
  CHECK(looks_of(1'000, 90'000) == 1);  // beyond it
  CHECK(looks_of(0, beck::to_the_end) == 2);
  CHECK(looks_of(0, beck::to_the_end) == 0);
  seen.later_ns += 101'000'000;  // its age is counted in whole milliseconds
  CHECK(looks_of(100, 65'536) == 1);
  s.file.close();
  s.file.open(s.place.path("sent"), file_object::read_only);  // another file, for the descriptor
  CHECK(looks_of(100, 65'536) == 1);
}

CONFORMANCE_ON(beck::test::kernel, "what is not in memory is read before each window is sent") {
  beck::io_context ctx(context_options());
  counting_system& seen = count_calls(ctx);
  replying s(ctx, where, 4'000'000, 200);
  seen.is_cold = true;
  s.exchange(ctx, 0, beck::to_the_end);
  CHECK_FALSE(s.error);
  CHECK((s.arrived == s.prefix + s.data));
  CHECK(seen.reads_ahead == seen.looks);
  CHECK(seen.looks >= 4);
}

CONFORMANCE_ON(beck::test::kernel, "packets are filled during a long transmission, and only then") {
  for (const bool before : {false, true}) {
    for (const std::size_t bytes : {std::size_t{100'000}, std::size_t{4'000'000}}) {
      CAPTURE(bytes);
      beck::io_context ctx(context_options());
      replying s(ctx, where, bytes, 0);
      s.keeps_open = true;
      const int on = 1;
      const int fd = s.line.server.native_handle();
      if (before) CHECK(::setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on) == 0);
      int during = 0;
      auto look = [&](std::uint64_t sent) {
        if (sent != bytes) during = fills_packets(s.line.server);
      };
      const auto send = [&]() -> beck::task<> {
        co_await s.send(s.line.server, 0, beck::to_the_end, transmit_options{.progress = look});
        CHECK(fills_packets(s.line.server) == (before ? 1 : 0));
        s.line.server.close();
      };
      run_task(ctx, [&]() -> beck::task<> {
        auto both = beck::when_all(send(), s.receive(s.line.client));
        beck::ignore(co_await std::move(both));
      });
      CHECK((s.arrived == s.data));
      CHECK(during == (bytes > 1'000'000 || (before && during != 0) ? 1 : 0));
    }
  }
}

CONFORMANCE_ON(beck::test::kernel, "a transmission that is stopped lets its last bytes go") {
  beck::io_context ctx(context_options());
  replying s(ctx, where, 30'000'000, 0);
  s.keeps_open = true;
  run_task(ctx, [&]() -> beck::task<> {
    auto op = s.send(s.line.server, 0, beck::to_the_end, transmit_options());
    auto ended = co_await beck::timeout(std::move(op), 20ms);
    beck::ignore(ended);
    CHECK(s.report.bytes > 0);
    CHECK(fills_packets(s.line.server) == 0);
  });
}
