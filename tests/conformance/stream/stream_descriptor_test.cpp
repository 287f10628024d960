// SPDX-License-Identifier: BSL-1.0
// posix::stream_descriptor over what programs inherit: pipes, terminals, sockets, devices, and what
// it refuses.
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/read_write_dynamic.hpp>
#include <beck/io/stream_descriptor.hpp>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <string>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <beck/base/unique_fd.hpp>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/pipes.hpp"

using beck::buffer;
using beck::error_code;
using beck::unique_fd;
using beck::posix::stream_descriptor;
using beck::test::kernel;
using beck::test::note;
using beck::test::outcome;
using beck::test::pipe_ends;
namespace error = beck::error;

namespace {

/// Two ends of a pipe as another program would hand them over: blocking.
struct foreign_pipe {
  explicit foreign_pipe(int flags = 0) {
    int ends[2];
    REQUIRE(::pipe2(ends, flags) == 0);
    out.reset(ends[0]);
    in.reset(ends[1]);
  }
  unique_fd out, in;
};

/// A terminal and who types at it.
struct terminal {
  terminal() : keyboard(::posix_openpt(O_RDWR | O_NOCTTY)) {
    REQUIRE(keyboard.get() >= 0);
    REQUIRE(::grantpt(keyboard.get()) == 0);
    REQUIRE(::unlockpt(keyboard.get()) == 0);
    line.reset(::open(::ptsname(keyboard.get()), O_RDWR | O_NOCTTY));
    REQUIRE(line.get() >= 0);
  }
  void type(const std::string& text) {
    REQUIRE(::write(keyboard.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  unique_fd keyboard, line;
};

template <class Pipe>
concept writes_compile = requires(Pipe& p, beck::mutable_buffer b) { p.async_write_some(b); };
template <class Pipe>
concept reads_compile = requires(Pipe& p, beck::mutable_buffer b) { p.async_read_some(b); };
template <class Pipe>
concept whole_writes_compile = requires(Pipe& p, beck::const_buffer b) { beck::async_write(p, b); };
template <class Pipe>
concept whole_reads_compile = requires(Pipe& p, beck::mutable_buffer b) { beck::async_read(p, b); };

static_assert(reads_compile<beck::readable_pipe> && !writes_compile<beck::readable_pipe>);
static_assert(writes_compile<beck::writable_pipe> && !reads_compile<beck::writable_pipe>);
static_assert(whole_reads_compile<beck::readable_pipe>);
static_assert(!whole_writes_compile<beck::readable_pipe>);
static_assert(whole_writes_compile<beck::writable_pipe>);
static_assert(!whole_reads_compile<beck::writable_pipe>);
static_assert(reads_compile<stream_descriptor> && writes_compile<stream_descriptor>);

}  // namespace

CONFORMANCE("a stream_descriptor takes a released end of a pipe over") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  stream_descriptor from(ctx, pipe.out.release());
  stream_descriptor to(ctx, pipe.in.release());
  char there[5] = {};
  outcome read, written;
  async_read(from, buffer(there), note(read));
  beck::test::let_settle(ctx);
  async_write(to, buffer("hello", 5), note(written));
  beck::test::run_all(ctx);
  CHECK(read.ok());
  CHECK(written.ok());
  CHECK(std::memcmp(there, "hello", 5) == 0);
  to.close();
  outcome end;
  from.async_read_some(buffer(there), note(end));
  beck::test::run_all(ctx);
  CHECK(end.ended_with(error::eof));
}

CONFORMANCE("the wrong direction of a descriptor gives bad_descriptor") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  stream_descriptor from(ctx, pipe.out.release());
  stream_descriptor to(ctx, pipe.in.release());
  char there[4];
  outcome read, written;
  to.async_read_some(buffer(there), note(read));
  from.async_write_some(buffer("x", 1), note(written));
  beck::test::run_all(ctx);
  CHECK(read.ended_with(error::bad_descriptor));
  CHECK(written.ended_with(error::bad_descriptor));
}

CONFORMANCE("async_wait says when a descriptor can be read or written") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  beck::test::fill(pipe.in);
  std::size_t held = static_cast<std::size_t>(pipe.out.available());
  stream_descriptor from(ctx, pipe.out.release());
  stream_descriptor to(ctx, pipe.in.release());
  outcome readable, writable;
  from.async_wait(stream_descriptor::wait_read, note(readable));
  to.async_wait(stream_descriptor::wait_write, note(writable));
  beck::test::run_until(ctx, readable);
  CHECK(readable.ok());
  CHECK_FALSE(writable.done());
  std::string there(held, '\0');
  CHECK(read(from, buffer(there)) == held);
  beck::test::run_all(ctx);
  CHECK(writable.ok());
  outcome again;
  from.async_wait(stream_descriptor::wait_read, note(again));
  beck::test::let_settle(ctx);
  CHECK_FALSE(again.done());
  from.cancel();
  beck::test::run_all(ctx);
  CHECK(again.aborted());
}

CONFORMANCE("a wait for an error ends when the reader of a pipe is gone") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  stream_descriptor to(ctx, pipe.in.release());
  outcome broken;
  to.async_wait(stream_descriptor::wait_error, note(broken));
  beck::test::let_settle(ctx);
  CHECK_FALSE(broken.done());
  pipe.out.close();
  beck::test::run_all(ctx);
  CHECK(broken.ok());
}

CONFORMANCE("a synchronous wait returns when there is something to read") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  stream_descriptor from(ctx, pipe.out.release());
  CHECK(pipe.in.write_some(buffer("x", 1)) == 1);
  from.wait(stream_descriptor::wait_read);
  error_code ec;
  from.close();
  from.wait(stream_descriptor::wait_read, ec);
  CHECK(ec == error::bad_descriptor);
}

CONFORMANCE("a descriptor may be assigned, released and closed like a socket") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  stream_descriptor d(ctx);
  CHECK_FALSE(d.is_open());
  error_code ec;
  d.assign(pipe.out.release(), ec);
  CHECK_FALSE(ec);
  CHECK(d.is_open());
  d.assign(d.native_handle(), ec);
  CHECK(ec == error::already_open);
  char there[4];
  outcome read;
  d.async_read_some(buffer(there), note(read));
  beck::test::let_settle(ctx);
  const int handle = d.release();
  CHECK(handle >= 0);
  CHECK_FALSE(d.is_open());
  beck::test::run_all(ctx);
  CHECK(read.aborted());
  d.assign(handle);
  d.close();
  CHECK_THROWS_AS(d.cancel(), beck::io_error);
}

CONFORMANCE_ON(kernel, "an inherited blocking pipe becomes non-blocking and close-on-exec") {
  beck::io_context ctx(context_options());
  foreign_pipe pipe;
  CHECK((::fcntl(pipe.out.get(), F_GETFL) & O_NONBLOCK) == 0);
  stream_descriptor from(ctx, pipe.out.release());
  CHECK((::fcntl(from.native_handle(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((::fcntl(from.native_handle(), F_GETFD) & FD_CLOEXEC) != 0);
  char there[4];
  outcome read;
  from.async_read_some(buffer(there), note(read));
  beck::test::let_settle(ctx);
  CHECK_FALSE(read.done());
  CHECK(::write(pipe.in.get(), "x", 1) == 1);
  beck::test::run_all(ctx);
  CHECK(read.ok());
}

CONFORMANCE_ON(
    kernel, "a regular file, as standard streams often are, is read and written at its position") {
  beck::io_context ctx(context_options());
  const unique_fd file(::memfd_create("beck", MFD_CLOEXEC));
  stream_descriptor out(ctx, ::dup(file.get()));
  outcome written[2];
  out.async_wait(stream_descriptor::wait_write, [](error_code ec) { CHECK(!ec); });
  beck::async_write(out, buffer("hello ", 6), note(written[0]));
  beck::test::run_all(ctx);
  beck::async_write(out, buffer("world", 5), note(written[1]));
  beck::test::run_all(ctx);
  CHECK(written[0].ok());
  CHECK(written[1].ok());

  REQUIRE(::lseek(file.get(), 0, SEEK_SET) == 0);
  stream_descriptor in(ctx, ::dup(file.get()));
  CHECK(in.available() == 11);
  in.async_wait(stream_descriptor::wait_read, [](error_code ec) { CHECK(!ec); });
  std::string text;
  beck::async_read(in, beck::dynamic_buffer(text), [](error_code ec, std::size_t n) {
    CHECK(ec == error::eof);
    CHECK(n == 11);
  });
  beck::test::run_all(ctx);
  CHECK(text == "hello world");
  char none[4];
  error_code ec;
  CHECK(in.read_some(buffer(none), ec) == 0);
  CHECK(ec == error::eof);
}

CONFORMANCE_ON(kernel, "a directory and a closed number are refused by name") {
  beck::io_context ctx(context_options());
  stream_descriptor d(ctx);
  error_code ec;
  const unique_fd folder(::open("/", O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  d.assign(folder.get(), ec);
  CHECK(ec == error::no_permission);
  CHECK_FALSE(d.is_open());
  CHECK(::fcntl(folder.get(), F_GETFD) >= 0);
  CHECK((::fcntl(folder.get(), F_GETFL) & O_NONBLOCK) == 0);
  d.assign(987'654, ec);
  CHECK(ec == error::bad_descriptor);
  try {
    stream_descriptor(ctx, folder.get());
    CHECK(false);
  } catch (const beck::io_error& refused) {
    CHECK(refused.code() == error::no_permission);
    CHECK(std::string(refused.what()).find("cannot be waited for") != std::string::npos);
  }
}

CONFORMANCE_ON(kernel,
               "packets of a pipe are read one by one, also if the buffer has room for two") {
  beck::io_context ctx(context_options());
  foreign_pipe pipe(O_DIRECT);
  stream_descriptor from(ctx, pipe.out.release());
  char there[64];
  outcome waiting;
  from.async_read_some(buffer(there), note(waiting));
  beck::test::let_settle(ctx);
  CHECK(::write(pipe.in.get(), "one", 3) == 3);
  CHECK(::write(pipe.in.get(), "three", 5) == 5);
  CHECK(::write(pipe.in.get(), "x", 1) == 1);
  beck::test::run_until(ctx, waiting);
  CHECK(waiting.bytes == 3);
  for (const std::size_t expected : {5u, 1u}) {
    outcome next;
    from.async_read_some(buffer(there), note(next));
    beck::test::run_all(ctx);
    CHECK(next.ok());
    CHECK(next.bytes == expected);
  }
}

CONFORMANCE_ON(kernel, "lines that are typed at a terminal are read one by one") {
  beck::io_context ctx(context_options());
  terminal tty;
  stream_descriptor input(ctx, tty.line.release());
  char there[64];
  outcome first;
  input.async_read_some(buffer(there), note(first));
  beck::test::let_settle(ctx);
  CHECK_FALSE(first.done());
  tty.type("one\nthree\n");
  beck::test::run_until(ctx, first);
  CHECK(first.ok());
  CHECK(std::string(there, first.bytes) == "one\n");
  outcome second;
  input.async_read_some(buffer(there), note(second));
  beck::test::run_all(ctx);
  CHECK(second.ok());
  CHECK(std::string(there, second.bytes) == "three\n");
  outcome third;
  input.async_read_some(buffer(there), note(third));
  beck::test::let_settle(ctx);
  CHECK_FALSE(third.done());
  tty.type("\x04");  // end of file
  beck::test::run_all(ctx);
  CHECK(third.ended_with(error::eof));
}

CONFORMANCE_ON(kernel, "a terminal is written to") {
  beck::io_context ctx(context_options());
  terminal tty;
  stream_descriptor output(ctx, tty.line.release());
  outcome written;
  async_write(output, buffer("hello", 5), note(written));
  beck::test::run_all(ctx);
  CHECK(written.ok());
  char there[16] = {};
  CHECK(::read(tty.keyboard.get(), there, sizeof there) == 5);
  CHECK(std::string(there) == "hello");
}

CONFORMANCE_ON(kernel, "an eventfd is a descriptor of eight bytes") {
  beck::io_context ctx(context_options());
  stream_descriptor event(ctx, ::eventfd(0, EFD_SEMAPHORE));
  std::uint64_t value = 0;
  outcome first;
  event.async_read_some(buffer(&value, sizeof value), note(first));
  beck::test::let_settle(ctx);
  CHECK_FALSE(first.done());
  const std::uint64_t three = 3;
  CHECK(event.write_some(buffer(&three, sizeof three)) == sizeof three);
  beck::test::run_until(ctx, first);
  CHECK(first.ok());
  for (int i = 0; i < 2; ++i) {
    outcome next;
    char room[16];
    event.async_read_some(buffer(room), note(next));
    beck::test::run_all(ctx);
    CHECK(next.ok());
    CHECK(next.bytes == sizeof value);
  }
  outcome waiting;
  event.async_read_some(buffer(&value, sizeof value), note(waiting));
  beck::test::let_settle(ctx);
  CHECK_FALSE(waiting.done());
  event.close();
  beck::test::run_all(ctx);
  CHECK(waiting.aborted());
}

CONFORMANCE_ON(kernel, "devices that are always ready are read and written without end") {
  beck::io_context ctx(context_options());
  stream_descriptor zero(ctx, ::open("/dev/zero", O_RDWR | O_CLOEXEC));
  stream_descriptor null(ctx, ::open("/dev/null", O_RDWR | O_CLOEXEC));
  std::string there(3'000'000, 'x');
  outcome read, written, end;
  async_read(zero, buffer(there), note(read));
  async_write(null, buffer(there), note(written));
  beck::test::run_all(ctx);
  CHECK(read.ok());
  CHECK(read.bytes == there.size());
  CHECK((there == std::string(there.size(), '\0')));
  CHECK(written.ok());
  int reads = 0;  // more than any budget lasts for
  auto many = [&]() -> beck::task<> {
    while (reads < 3000) {
      reads += (co_await zero.async_read_some(buffer(there))).value() != 0 ? 1 : 0;
    }
  };
  co_spawn(ctx, many(), beck::detached);
  null.async_read_some(buffer(there), note(end));
  beck::test::run_all(ctx);
  CHECK(reads == 3000);
  CHECK(end.ended_with(error::eof));
}

CONFORMANCE_ON(kernel, "an inherited socket is used as a socket") {
  beck::io_context ctx(context_options());
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  stream_descriptor a(ctx, pair[0]);
  stream_descriptor b(ctx, pair[1]);
  char there[4] = {};
  outcome read, written;
  async_read(a, buffer(there), note(read));
  async_write(b, buffer("four", 4), note(written));
  beck::test::run_all(ctx);
  CHECK(read.ok());
  CHECK(written.ok());
  CHECK(std::memcmp(there, "four", 4) == 0);
  a.close();
  outcome broken;
  b.async_write_some(buffer("x", 1), note(broken));
  beck::test::run_all(ctx);
  CHECK(broken.ended_with(error::broken_pipe));
}

CONFORMANCE_ON(kernel, "writing to a foreign pipe without a reader raises no SIGPIPE") {
  struct sigaction before{};
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  REQUIRE(::sigaction(SIGPIPE, &standard, &before) == 0);  // it would end this program
  beck::io_context ctx(context_options());
  foreign_pipe pipe;
  stream_descriptor to(ctx, pipe.in.release());
  pipe.out.reset();
  outcome broken;
  to.async_write_some(buffer("x", 1), note(broken));
  beck::test::run_all(ctx);
  CHECK(broken.ended_with(error::broken_pipe));
  error_code ec;
  to.write_some(buffer("x", 1), ec);
  CHECK(ec == error::broken_pipe);
  sigset_t pending;
  ::sigpending(&pending);
  CHECK(sigismember(&pending, SIGPIPE) == 0);
  ::sigaction(SIGPIPE, &before, nullptr);
}

CONFORMANCE_ON(beck::test::sim, "a simulated context takes no handle of the real system") {
  beck::io_context ctx(context_options());
  stream_descriptor d(ctx);
  error_code ec;
  d.assign(0, ec);
  CHECK(ec == error::bad_descriptor);
}
