// SPDX-License-Identifier: BSL-1.0
// Child processes: how they begin, what they have and have not, and why they do not begin.
#include <csignal>
#include <cstdlib>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <beck/base/unique_fd.hpp>
#include <beck/file/directory.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/io/stream_descriptor.hpp>
#include <beck/net/descriptor_passing.hpp>
#include <beck/net/local_pair.hpp>
#include <beck/net/tcp.hpp>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/open_descriptors.hpp"
#include "support/processes.hpp"

using beck::buffer;
using beck::error_code;
using beck::process;
using beck::process_options;
using beck::readable_pipe;
using beck::writable_pipe;
using beck::test::all_of;
using beck::test::end_of;
using beck::test::kernel;
using beck::test::outcome;
using beck::test::output_of;
using beck::test::waiting_child;
namespace error = beck::error;

template <class Texts>
concept takes_double_braces = requires { Texts({{"-n", "a"}}); };
static_assert(!takes_double_braces<beck::detail::process_texts>);

CONFORMANCE_ON(kernel, "arguments reach the program as they are, also empty ones and with spaces") {
  beck::io_context ctx(context_options());
  readable_pipe from(ctx);
  const std::vector<std::string> arguments{"-c", "printf '[%s]' \"$@\"", "sh", "a b", "", "$x"};
  process child(ctx, "/bin/sh", arguments, process_options().out(from));
  CHECK(all_of(ctx, from) == "[a b][][$x]");
  CHECK(end_of(ctx, child).success());
}

CONFORMANCE_ON(kernel, "a process reads what we write and we read what it writes") {
  beck::io_context ctx(context_options());
  writable_pipe to(ctx);
  readable_pipe from(ctx);
  process child(ctx, "cat", {}, process_options().in(to).out(from));
  std::string sent(400'000, 'x');
  std::string there(sent.size(), '\0');
  outcome written, read;
  async_write(to, buffer(sent), beck::test::note(written));
  async_read(from, buffer(there), beck::test::note(read));
  beck::test::run_all(ctx);
  CHECK(written.ok());
  CHECK(read.ok());
  CHECK((there == sent));
  to.close();
  CHECK(all_of(ctx, from).empty());
  CHECK(end_of(ctx, child).success());
}

CONFORMANCE_ON(kernel, "output and errors go to pipes of their own, or to one") {
  beck::io_context ctx(context_options());
  readable_pipe out(ctx);
  readable_pipe err(ctx);
  const char* const script = "echo out; echo err >&2";
  {
    process child(ctx, "/bin/sh", {"-c", script}, process_options().out(out).err(err));
    CHECK(all_of(ctx, out) == "out\n");
    CHECK(all_of(ctx, err) == "err\n");
    CHECK(end_of(ctx, child).success());
  }
  CHECK(output_of(ctx, script, process_options().err_to_out()) == "out\nerr\n");
  CHECK(output_of(ctx, script, process_options().err(nullptr)) == "out\n");
}

CONFORMANCE_ON(kernel, "one pipe for two streams is refused, and nothing is opened") {
  beck::io_context ctx(context_options());
  readable_pipe from(ctx);
  process child(ctx);
  const std::set<int> before = beck::test::open_descriptors();
  error_code ec;
  child.spawn("true", {}, process_options().out(from).err(from), ec);
  CHECK(ec == error::already_open);
  CHECK_FALSE(child.is_open());
  CHECK_FALSE(from.is_open());
  CHECK((beck::test::open_descriptors() == before));
}

CONFORMANCE_ON(kernel, "a process can be given nothing to read, or a descriptor of ours") {
  beck::io_context ctx(context_options());
  CHECK(output_of(ctx, "cat", process_options().in(nullptr)).empty());
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const beck::unique_fd out(ends[0]);
  beck::unique_fd in(ends[1]);
  REQUIRE(::write(in.get(), "mine", 4) == 4);
  in.reset();
  CHECK(output_of(ctx, "cat", process_options().in(out.get())) == "mine");
  error_code ec;
  process child(ctx);
  child.spawn("true", {}, process_options().in(987'654), ec);
  CHECK(ec == error::bad_descriptor);
}

CONFORMANCE_ON(kernel,
               "a process begins where it is told to and with the environment it is given") {
  beck::io_context ctx(context_options());
  CHECK(output_of(ctx, "pwd", process_options().directory("/usr")) == "/usr\n");
  ::setenv("BECK_TEST_INHERITED", "old", 1);
  const char* const script = "echo $BECK_TEST_INHERITED $BECK_TEST_NEW";
  CHECK(output_of(ctx, script) == "old\n");
  CHECK(output_of(ctx, script, process_options().variables({"BECK_TEST_NEW=new"})) == "old new\n");
  CHECK(output_of(ctx, script,
                  process_options().variables({"BECK_TEST_NEW=1", "BECK_TEST_INHERITED=2"})) ==
        "2 1\n");
  CHECK(output_of(ctx, script, process_options().environment({"BECK_TEST_NEW=only"})) == "only\n");
  ::unsetenv("BECK_TEST_INHERITED");
}

CONFORMANCE_ON(kernel, "a process has no descriptor of ours but its three") {
  beck::io_context ctx(context_options());
  int ends[2];
  REQUIRE(::pipe(ends) == 0);  // without close-on-exec
  const beck::unique_fd out(ends[0]);
  const beck::unique_fd in(ends[1]);
  const waiting_child cat(ctx);
  std::string script = "for n in 0 1 2";
  for (const int number : {out.get(), in.get(), cat.child.native_handle()})
    script += " " + std::to_string(number);
  script += "; do [ -e /proc/$$/fd/$n ] && echo $n; done; true";
  CHECK(output_of(ctx, script, process_options().in(nullptr).err(nullptr)) == "0\n1\n2\n");
}

/// Runs `code` in a child of fork without standard streams, where it returns whether all is right.
template <class Code>
bool holds_without_streams(Code code) {
  const pid_t bare = ::fork();
  if (bare == 0) {
    for (const int number : {0, 1, 2}) ::close(number);
    ::_exit(code() ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(bare, &status, 0) == bare && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Makes standard error a pipe for its lifetime.
class standard_error_to_pipe {
 public:
  standard_error_to_pipe() : before_(::dup(STDERR_FILENO)) {
    REQUIRE(::pipe2(ends_, O_CLOEXEC) == 0);
    REQUIRE(::dup2(ends_[1], STDERR_FILENO) == STDERR_FILENO);
  }
  standard_error_to_pipe(const standard_error_to_pipe&) = delete;
  standard_error_to_pipe& operator=(const standard_error_to_pipe&) = delete;
  ~standard_error_to_pipe() {
    ::dup2(before_, STDERR_FILENO);
    for (const int fd : {before_, ends_[0], ends_[1]}) ::close(fd);
  }

 private:
  int before_;
  int ends_[2] = {-1, -1};
};

bool has_no_streams() {
  for (const int number : {0, 1, 2}) {
    if (::fcntl(number, F_GETFD) >= 0) return false;
  }
  return true;
}

CONFORMANCE_ON(kernel, "a process inherits a stream that a stream_descriptor has") {
  beck::io_context ctx(context_options());
  const standard_error_to_pipe redirected;  // a file cannot be waited for
  beck::posix::stream_descriptor errors(ctx, STDERR_FILENO);
  process child(ctx, "/bin/sh", {"-c", "[ -e /proc/$$/fd/2 ]"}, process_options().in(nullptr));
  CHECK(end_of(ctx, child).success());
  CHECK(errors.release() == STDERR_FILENO);
}

CONFORMANCE_ON(kernel, "a process does not inherit a stream that the program closes on exec") {
  beck::io_context ctx(context_options());
  const int flags = ::fcntl(STDERR_FILENO, F_GETFD);
  REQUIRE(flags >= 0);
  ::fcntl(STDERR_FILENO, F_SETFD, FD_CLOEXEC);
  process child(ctx, "/bin/sh", {"-c", "[ ! -e /proc/$$/fd/2 ]"}, process_options().in(nullptr));
  ::fcntl(STDERR_FILENO, F_SETFD, flags);
  CHECK(end_of(ctx, child).success());
}

CONFORMANCE_ON(kernel,
               "no descriptor that the library opens takes the place of a standard stream") {
  CHECK(holds_without_streams([] {
    using beck::ip::tcp;
    beck::io_context ctx(context_options());
    if (!has_no_streams()) return false;
    tcp::acceptor acceptor(ctx, beck::test::loopback_v4());
    tcp::socket client(ctx);
    client.connect(acceptor.local_endpoint());
    const tcp::socket server = acceptor.accept();
    if (!has_no_streams()) return false;
    beck::local::stream_protocol::socket one(ctx), other(ctx);
    beck::connect_pair(one, other);
    readable_pipe reading(ctx);
    writable_pipe writing(ctx);
    beck::connect_pipe(reading, writing);
    if (!has_no_streams()) return false;
    const beck::random_access_file file(ctx, "/dev/null", beck::random_access_file::read_only);
    beck::random_access_file opened(ctx);
    opened.async_open("/etc/passwd", beck::random_access_file::read_only, [](error_code) {});
    ctx.run();
    beck::directory folder(ctx);
    folder.open("/");
    return opened.is_open() && folder.is_open() && has_no_streams();
  }));
}

CONFORMANCE_ON(kernel, "a descriptor that arrives does not take the place of a standard stream") {
  CHECK(holds_without_streams([] {
    beck::io_context ctx(context_options());
    beck::local::stream_protocol::socket one(ctx), other(ctx);
    beck::connect_pair(one, other);
    const beck::passed_descriptors sent(one.native_handle(), other.native_handle());
    char byte = 0;
    beck::received_descriptors arrived;
    beck::async_send_descriptors(one, buffer("x", 1), sent, [](error_code, std::size_t) {});
    beck::async_receive_descriptors(other, buffer(&byte, 1), arrived,
                                    [](error_code, std::size_t) {});
    ctx.run();
    const beck::unique_fd first = arrived.take(0);
    const beck::unique_fd second = arrived.take(1);
    return first && second && has_no_streams();
  }));
}

CONFORMANCE_ON(kernel, "a process without streams to inherit has none") {
  CHECK(holds_without_streams([] {
    beck::io_context ctx(context_options());
    const waiting_child cat(ctx);
    const char* const script = "for n in 0 1 2; do [ ! -e /proc/$$/fd/$n ] || exit 1; done";
    process child(ctx, "/bin/sh", {"-c", script});
    error_code ec;
    return child.wait(ec).success() && has_no_streams();
  }));
}

CONFORMANCE_ON(kernel, "a program is looked for in PATH, also below its own directory") {
  beck::io_context ctx(context_options());
  const std::string path = std::getenv("PATH");
  const auto started = [&](const char* folders, const char* program, const char* below) {
    folders != nullptr ? ::setenv("PATH", folders, 1) : ::unsetenv("PATH");
    error_code ec;
    process child(ctx);
    process_options how;
    if (below != nullptr) how.directory(below);
    child.spawn(program, {}, how, ec);
    ::setenv("PATH", path.c_str(), 1);
    if (!ec && !end_of(ctx, child).success()) ec = error::broken_pipe;
    return ec;
  };
  CHECK_FALSE(started("/nowhere:/etc/passwd:/usr/bin", "true", nullptr));
  CHECK_FALSE(started(nullptr, "true", nullptr));
  CHECK_FALSE(started("", "true", "/usr/bin"));
  CHECK_FALSE(started("/nowhere:", "true", "/usr/bin"));
  CHECK_FALSE(started("bin", "true", "/usr"));
  CHECK(started("/nowhere", "true", nullptr) == beck::errc::no_such_file_or_directory);
  CHECK(started("/etc:/nowhere", "passwd", nullptr) == error::access_denied);
}

CONFORMANCE_ON(kernel, "a process begins well where we have no standard streams ourselves") {
  beck::io_context ctx(context_options());
  const pid_t bare = ::fork();
  if (bare == 0) {
    for (const int number : {0, 1, 2}) ::close(number);
    beck::io_context own(context_options());
    readable_pipe out(own), err(own);
    writable_pipe in(own);
    process child(own, "/bin/sh", {"-c", "read x; echo $x; echo e >&2"},
                  process_options().in(in).out(out).err(err));
    error_code ec;
    beck::write(in, buffer("line\n", 5), ec);
    char text[16] = {};
    const std::size_t got = beck::read(out, buffer(text), ec);
    char error_text[16] = {};
    const std::size_t got_error = beck::read(err, buffer(error_text), ec);
    const bool right = std::string(text, got) == "line\n" &&
                       std::string(error_text, got_error) == "e\n" && child.wait(ec).success();
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(bare, &status, 0) == bare);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

CONFORMANCE_ON(kernel, "a program that is not there is an error of the spawn and names itself") {
  beck::io_context ctx(context_options());
  process child(ctx);
  readable_pipe from(ctx);
  error_code ec;
  child.spawn("/no/such/program", {}, process_options().out(from), ec);
  CHECK(ec == beck::errc::no_such_file_or_directory);
  CHECK_FALSE(child.is_open());
  CHECK_FALSE(from.is_open());
  child.spawn("/etc/passwd", {}, {}, ec);
  CHECK(ec == error::access_denied);
  child.spawn("no-such-program-in-the-path", {}, {}, ec);
  CHECK(ec == beck::errc::no_such_file_or_directory);
  try {
    child.spawn("/no/such/program");
    CHECK(false);
  } catch (const beck::io_error& refused) {
    CHECK(std::string(refused.what()).find("/no/such/program") != std::string::npos);
  }
  try {
    child.spawn("true", {}, process_options().directory("/no/such/place"));
    CHECK(false);
  } catch (const beck::io_error& refused) {
    CHECK(refused.code() == beck::errc::no_such_file_or_directory);
    CHECK(std::string(refused.what()).find("/no/such/place") != std::string::npos);
  }
  child.spawn("true");
  CHECK(end_of(ctx, child).success());
}

CONFORMANCE_ON(kernel, "texts with a NUL, an empty program and open objects are refused") {
  beck::io_context ctx(context_options());
  process child(ctx);
  error_code ec;
  child.spawn("", {}, {}, ec);
  CHECK(ec == error::invalid_argument);
  child.spawn("true", {std::string_view("a\0b", 3)}, {}, ec);
  CHECK(ec == error::invalid_argument);
  child.spawn("true", {}, process_options().variables({std::string_view("A=\0", 3)}), ec);
  CHECK(ec == error::invalid_argument);
  waiting_child other(ctx);
  child.spawn("true", {}, process_options().in(other.input), ec);
  CHECK(ec == error::already_open);
  other.child.spawn("true", {}, {}, ec);
  CHECK(ec == error::already_open);
  CHECK(other.child.running());
}

CONFORMANCE_ON(kernel, "a child starts without blocked or ignored signals of ours") {
  beck::io_context ctx(context_options());
  sigset_t usual, blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &usual);
  struct sigaction before{}, ignored{};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignored, &before);
  {
    waiting_child one(ctx);
    one.child.request_exit();
    CHECK(end_of(ctx, one.child).signal() == SIGTERM);
    process other(ctx, "/bin/sh", {"-c", "kill -PIPE $$"});
    CHECK(end_of(ctx, other).signal() == SIGPIPE);
  }
  ::sigaction(SIGPIPE, &before, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &usual, nullptr);
}
