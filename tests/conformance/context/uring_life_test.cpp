// SPDX-License-Identifier: BSL-1.0
// The beginning and the end of rings on the real kernel: refused ones (U13), threads that end with
// operations in flight (U18), and contexts that end while the disk still writes into their buffers
// (U20).
#include <beck/io/read_write.hpp>
#include <beck/io/uring_submit.hpp>
#include <beck/net/local.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sanitizers.hpp"
#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/echo_load.hpp"
#include "support/outcome.hpp"
#include "support/refused_call.hpp"
#include "support/scale.hpp"

using beck::buffer;
using beck::error_code;
using beck::test::note;
using beck::test::outcome;
using beck::test::said_by_child;
namespace error = beck::error;

namespace {

constexpr std::size_t reads = 16;
constexpr std::size_t read_bytes = 1 << 20;
constexpr unsigned char poison = 0xa5;

/// A file that is not in the page cache, for direct reads; closed and gone at the end. In the
/// current folder: /tmp may lie in memory, where there are none.
class disk_file {
 public:
  disk_file() {
    char path[] = "beck-direct-read-XXXXXX";
    const int made = ::mkstemp(path);
    if (made < 0) return;
    const std::vector<char> part(read_bytes, 'd');
    for (std::size_t i = 0; i < reads; ++i) {
      if (::write(made, part.data(), part.size()) != static_cast<ssize_t>(part.size())) break;
    }
    ::fsync(made);
    ::close(made);
    fd_ = ::open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    ::unlink(path);
  }
  ~disk_file() {
    if (fd_ >= 0) ::close(fd_);
  }
  disk_file(const disk_file&) = delete;
  disk_file& operator=(const disk_file&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

/// Memory that direct reads can write to.
class aligned_memory {
 public:
  explicit aligned_memory(std::size_t bytes)
      : bytes_(bytes), data_(static_cast<unsigned char*>(std::aligned_alloc(4096, bytes))) {}
  ~aligned_memory() { std::free(data_); }
  aligned_memory(const aligned_memory&) = delete;
  aligned_memory& operator=(const aligned_memory&) = delete;
  unsigned char* at(std::size_t offset) const { return data_ + offset; }
  void fill(unsigned char with) const { std::memset(data_, with, bytes_); }
  bool is(unsigned char expected) const {
    for (std::size_t i = 0; i < bytes_; ++i) {
      if (data_[i] != expected) return false;
    }
    return true;
  }

 private:
  std::size_t bytes_;
  unsigned char* data_;
};

/// Starts all reads of the file into `memory`; each end is counted in `ends`.
void start_reads(beck::io_context& ctx, const disk_file& file, const aligned_memory& memory,
                 std::atomic<int>& ends) {
  for (std::size_t i = 0; i < reads; ++i) {
    const auto fill = [fd = file.fd(), to = memory.at(i * read_bytes), i](io_uring_sqe& entry) {
      entry.opcode = IORING_OP_READ;
      entry.fd = fd;
      entry.addr = reinterpret_cast<std::uintptr_t>(to);
      entry.len = read_bytes;
      entry.off = i * read_bytes;
    };
    beck::uring::async_submit(ctx, fill, [&ends](const error_code&, int) { ++ends; });
  }
}

/// Everything that was asked of the disk before has happened afterwards.
void read_all(const disk_file& file) {
  const aligned_memory other(read_bytes);
  for (std::size_t i = 0; i < reads; ++i) {
    const auto at = static_cast<off_t>(i * read_bytes);
    CHECK(::pread(file.fd(), other.at(0), read_bytes, at) == static_cast<ssize_t>(read_bytes));
  }
}

/// Makes io_uring_setup fail with `reason` in this process, for ever.
void refuse_rings(int reason) { beck::test::refuse_call(__NR_io_uring_setup, reason); }

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// "epoll|<report>|works", if it does.
std::string describe(beck::io_context& ctx) {
  beck::test::local_connection c(ctx);
  char got[2] = {};
  outcome received;
  outcome sent;
  async_read(c.a, buffer(got), note(received));
  async_write(c.b, buffer("ok", 2), note(sent));
  ctx.run();
  return std::string(beck::to_string(ctx.backend_in_use())) + "|" + ctx.backend_report() + "|" +
         (received.ok() && sent.ok() ? "works" : "does not work");
}

std::string refusal_of(beck::backend which) {
  try {
    beck::io_context ctx({.backend = which});
    return "not refused";
  } catch (const beck::io_error& refused) {
    return std::to_string(refused.code().value()) + "|" + refused.what();
  }
}

}  // namespace

CONFORMANCE_ON(beck::test::uring,
               "U20: a context destroyed by another thread reaps its direct disk reads first") {
  const disk_file file;
  if (file.fd() < 0) SKIP_CASE("the file system here has no direct reads");
  for (int round = 0; round < beck::test::scaled(10); ++round) {
    const aligned_memory memory(reads * read_bytes);
    memory.fill(0);
    std::atomic<int> ends{0};
    auto ctx = std::make_unique<beck::io_context>(context_options());
    std::thread runner([&] {
      start_reads(*ctx, file, memory, ends);
      ctx->poll_one();  // the reads are the kernel's now
      ctx->stop();
    });
    runner.join();
    CHECK(ends <= 1);
    ctx.reset();
    memory.fill(poison);
    read_all(file);
    CHECK(memory.is(poison));  // no write into what might be freed memory
  }
}

CONFORMANCE_ON(beck::test::uring,
               "U18: disk reads of a thread that has ended complete or say that they did not") {
  const disk_file file;
  if (file.fd() < 0) SKIP_CASE("the file system here has no direct reads");
  const aligned_memory memory(reads * read_bytes);
  std::atomic<int> ends{0};
  beck::io_context ctx(context_options());
  std::thread([&] {
    start_reads(ctx, file, memory, ends);
    ctx.poll();
  }).join();
  beck::test::run_all(ctx);
  CHECK(ends == reads);
  memory.fill(poison);
  read_all(file);
  CHECK(memory.is(poison));
}

CONFORMANCE_ON(
    beck::test::kernel,
    "U18: every kind of operation goes on although the thread that submitted it has ended") {
  beck::io_context ctx(context_options());
  std::unique_ptr<beck::test::kinds_in_flight> kinds;
  for (int i = 0; i < 3; ++i) {
    std::thread([&] {
      if (kinds == nullptr) kinds = std::make_unique<beck::test::kinds_in_flight>(ctx);
      beck::test::let_settle(ctx);
    }).join();
  }
  beck::test::let_settle(ctx);
  CHECK(kinds->completed() == 0);
  kinds->make_all_happen();
  beck::test::run_all(ctx);
  CHECK(kinds->succeeded() == kinds->count());
}

CONFORMANCE_ON(beck::test::uring,
               "U13: where seccomp refuses rings, automatic uses epoll and says why") {
  if (beck::detail::thread_sanitizer)
    SKIP_CASE("ThreadSanitizer ends a child that seccomp restricts");
  for (const int reason : {EPERM, ENOSYS}) {
    const std::string said = said_by_child([reason] {
      ::unsetenv("BECK_BACKEND");
      refuse_rings(reason);
      beck::io_context ctx;
      return describe(ctx);
    });
    INFO(said);
    CHECK(said.starts_with("epoll|"));
    CHECK(said.ends_with("|works"));
    CHECK(contains(said, "seccomp"));
    CHECK(contains(said, reason == EPERM ? "EPERM" : "ENOSYS"));
  }
}

CONFORMANCE_ON(beck::test::uring,
               "U13: a ring that was asked for by name and is refused throws the reason") {
  if (beck::detail::thread_sanitizer)
    SKIP_CASE("ThreadSanitizer ends a child that seccomp restricts");
  for (const int reason : {EPERM, ENOSYS, ENOMEM}) {
    const std::string said = said_by_child([reason] {
      refuse_rings(reason);
      return refusal_of(beck::backend::io_uring);
    });
    INFO(said);
    CHECK(said.starts_with(std::to_string(reason) + "|"));
    CHECK(contains(said, "io_uring"));
  }
}

CONFORMANCE_ON(beck::test::uring,
               "U13: BECK_BACKEND=io_uring throws the reason too, where rings are refused") {
  if (beck::detail::thread_sanitizer)
    SKIP_CASE("ThreadSanitizer ends a child that seccomp restricts");
  const std::string said = said_by_child([] {
    ::setenv("BECK_BACKEND", "io_uring", 1);
    refuse_rings(EPERM);
    return refusal_of(beck::backend::automatic);
  });
  INFO(said);
  CHECK(said.starts_with(std::to_string(EPERM) + "|"));
}

CONFORMANCE_ON(beck::test::kernel, "U13: the report names the backend in use") {
  beck::io_context ctx(context_options());
  CHECK(contains(ctx.backend_report(), where == beck::backend::epoll ? "epoll" : "io_uring"));
  CHECK(ctx.backend_in_use() == where);
}

CONFORMANCE_ON(beck::test::kernel,
               "a raw ring entry elsewhere than on a ring gives operation_not_supported") {
  beck::io_context ctx(context_options());
  outcome done;
  int result = -1;
  beck::uring::async_submit(
      ctx, [](io_uring_sqe& entry) { entry.opcode = IORING_OP_NOP; },
      [&](const error_code& ec, int res) {
        note{done}(ec);
        result = res;
      });
  beck::test::run_all(ctx);
  if (where == beck::backend::io_uring) {
    CHECK(done.ok());
    CHECK(result == 0);
  } else {
    CHECK(done.ended_with(error::operation_not_supported));
  }
}
