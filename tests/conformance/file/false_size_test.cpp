// SPDX-License-Identifier: BSL-1.0
//
// Copies and transmissions of files whose size is not their length, as those that the kernel
// generates: 0 in procfs, 4,096 bytes in sysfs.
#include <sys/stat.h>
#include <beck/coro/when_all.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/net/tcp.hpp>
#include <beck/transfer/copy.hpp>
#include <beck/transfer/transmit.hpp>
#include <fstream>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>

#include "io/system/posix_system.hpp"
#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/context_seam.hpp"
#include "support/pattern.hpp"
#include "support/two_files.hpp"

using beck::copy_options;
using beck::file_object;
using beck::random_access_file;
using beck::transfer_mechanism;
using beck::transfer_report;
using beck::transmit_options;
using beck::test::contents;
using beck::test::fill;
using beck::test::pattern;
using beck::test::run_task;
using beck::test::two_files;

namespace {

/// A file of the kernel, and its contents.
struct generated_file {
  explicit generated_file(const char* at) : path(at) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream all;
    all << file.rdbuf();
    text = all.str();
    struct stat status{};
    has_false_size = ::stat(path, &status) == 0 && S_ISREG(status.st_mode) && !text.empty() &&
                     static_cast<std::uint64_t>(status.st_size) != text.size();
  }
  const char* path;
  std::string text;
  bool has_false_size;
};

constexpr const char* generated[] = {"/proc/version", "/proc/sys/kernel/ostype",
                                     "/sys/kernel/mm/transparent_hugepage/enabled",
                                     "/sys/class/net/lo/mtu"};
constexpr transfer_mechanism ways_to_copy[] = {
    transfer_mechanism::automatic, transfer_mechanism::read_write, transfer_mechanism::copy_range,
    transfer_mechanism::send_file, transfer_mechanism::splice};
constexpr transfer_mechanism ways_to_send[] = {
    transfer_mechanism::automatic, transfer_mechanism::read_write, transfer_mechanism::send_file};

bool may_refuse(transfer_mechanism which) {
  return which != transfer_mechanism::automatic && which != transfer_mechanism::read_write;
}

/// Says of every file that it has more bytes than there are.
class boasting_system final : public beck::detail::posix_system {
 public:
  int more = 0;

  std::int64_t file_size(int fd) noexcept override { return posix_system::file_size(fd) + more; }
  int examine_file(int fd, beck::detail::file_facts& facts) noexcept override {
    const int result = posix_system::examine_file(fd, facts);
    if (result == 0) facts.bytes += static_cast<std::uint64_t>(more);
    return result;
  }
};

/// Moves nothing inside the kernel, and calls that success, as old kernels do with procfs.
class blind_system final : public beck::detail::posix_system {
 public:
  std::ptrdiff_t copy_range(int, std::uint64_t, int, std::uint64_t, std::size_t) noexcept override {
    return 0;
  }
  std::ptrdiff_t send_to_file(int, std::uint64_t, int, std::uint64_t,
                              std::size_t) noexcept override {
    return 0;
  }
  std::ptrdiff_t splice_to_file(int, std::uint64_t, const int (&)[2], int, std::uint64_t,
                                std::size_t) noexcept override {
    return 0;
  }
  std::ptrdiff_t send_to_stream(int, std::uint64_t, int, std::size_t) noexcept override {
    return 0;
  }
};

boasting_system& boast_in(beck::io_context& ctx) {
  auto made = std::make_unique<boasting_system>();
  boasting_system& system = *made;
  beck::testing::context_seam::replace_system(ctx, std::move(made));
  return system;
}

/// A file that is transmitted over TCP, behind a prefix.
struct prefixed_file {
  prefixed_file(beck::io_context& ctx, random_access_file& from) : line(ctx), file(from) {}

  beck::task<> receive() {
    std::string part(65'536, 'x');
    for (;;) {
      auto got = co_await line.client.async_read_some(beck::buffer(part));
      if (got.error()) break;
      arrived.append(part, 0, *got);
    }
  }
  beck::task<> send(std::uint64_t offset, transmit_options how) {
    how.prefix = beck::buffer(prefix);
    auto [ec, done] =
        co_await beck::async_transmit(line.server, file, offset, beck::to_the_end, how);
    error = ec;
    report = done;
    line.server.close();
  }
  void exchange(beck::io_context& ctx, std::uint64_t offset, transmit_options how) {
    run_task(ctx, [&]() -> beck::task<> {
      auto both = beck::when_all(send(offset, how), receive());
      beck::ignore(co_await std::move(both));
    });
  }

  beck::test::tcp_connection line;
  random_access_file& file;
  std::string prefix = "prefix\n";
  std::string arrived;
  beck::error_code error;
  transfer_report report;
};

}  // namespace

CONFORMANCE_ON(beck::test::kernel, "a file with a false size is copied whole, or not at all") {
  int tried = 0;
  for (const char* path : generated) {
    const generated_file source(path);
    if (!source.has_false_size) continue;
    ++tried;
    for (const auto which : ways_to_copy) {
      for (const std::uint64_t offset : {0U, 2U}) {
        CAPTURE(std::string(path));
        CAPTURE(std::string(beck::to_string(which)));
        beck::io_context ctx(context_options());
        two_files files(ctx, where);
        files.from.close();
        files.from.open(path, file_object::read_only);
        beck::error_code ec;
        const auto how = copy_options{.from_offset = offset, .only = which};
        const transfer_report done = files.copy(ctx, how, ec);
        CHECK((!ec || may_refuse(which)));
        CHECK(ec != beck::error::eof);
        CHECK(contents(files.to) == (ec ? std::string() : source.text.substr(offset)));
        CHECK(done.bytes == files.to.size());
      }
    }
  }
  if (tried == 0) SKIP_CASE("neither procfs nor sysfs is here");
}

CONFORMANCE_ON(beck::test::kernel, "a file with a false size is transmitted whole, or not at all") {
  for (const char* path : generated) {
    const generated_file source(path);
    if (!source.has_false_size) continue;
    for (const auto which : ways_to_send) {
      for (const std::uint64_t offset : {0U, 2U}) {
        CAPTURE(std::string(path));
        CAPTURE(std::string(beck::to_string(which)));
        beck::io_context ctx(context_options());
        random_access_file file(ctx, path, file_object::read_only);
        prefixed_file t(ctx, file);
        t.exchange(ctx, offset, transmit_options{.only = which});
        CHECK((!t.error || may_refuse(which)));
        CHECK(t.error != beck::error::eof);
        CHECK(t.report.bytes == (t.error ? 0 : source.text.size() - offset));
        CHECK(t.report.prefix_bytes + t.report.bytes == t.arrived.size());
        if (!t.error) CHECK(t.arrived == t.prefix + source.text.substr(offset));
      }
    }
  }
}

CONFORMANCE_ON(beck::test::kernel, "a length that a file with a false size does not have is eof") {
  const generated_file source("/proc/version");
  if (!source.has_false_size) SKIP_CASE("procfs is not here");
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  files.from.close();
  files.from.open(source.path, file_object::read_only);
  beck::error_code ec;
  const transfer_report done = files.copy(ctx, copy_options{.length = source.text.size() + 1}, ec);
  CHECK(ec == beck::error::eof);
  CHECK(done.bytes == source.text.size());
}

CONFORMANCE_ON(beck::test::kernel,
               "an end that comes before the size of a file is one for all blocks") {
  for (const std::size_t depth : {1U, 7U}) {
    CAPTURE(depth);
    beck::io_context ctx(context_options());
    boasting_system& system = boast_in(ctx);
    two_files files(ctx, where);
    const std::string data = pattern(100'001);
    fill(files.from, data);
    system.more = 3 << 20;
    beck::error_code ec;
    constexpr auto only = transfer_mechanism::read_write;
    const transfer_report done =
        files.copy(ctx, {.only = only, .depth = depth, .block_bytes = 4096}, ec);
    CHECK_FALSE(ec);
    CHECK(done.bytes == data.size());
    prefixed_file t(ctx, files.from);
    t.exchange(ctx, 1, {.only = only, .depth = depth, .block_bytes = 4096});
    CHECK_FALSE(t.error);
    CHECK((t.arrived == t.prefix + data.substr(1)));
    system.more = 0;
    CHECK((contents(files.to) == data));
  }
}

CONFORMANCE_ON(beck::test::kernel, "a mechanism that sees nothing in a file is refused") {
  const std::string data = pattern(10'000);
  for (const auto which : ways_to_copy) {
    CAPTURE(std::string(beck::to_string(which)));
    beck::io_context ctx(context_options());
    beck::testing::context_seam::replace_system(ctx, std::make_unique<blind_system>());
    two_files files(ctx, where);
    fill(files.from, data);
    beck::error_code ec;
    const transfer_report done = files.copy(ctx, copy_options{.only = which}, ec);
    CHECK((ec == std::errc::operation_not_supported) == may_refuse(which));
    CHECK(done.bytes == (ec ? 0 : data.size()));
    if (which == transfer_mechanism::copy_range || which == transfer_mechanism::splice) continue;
    prefixed_file t(ctx, files.from);
    t.exchange(ctx, 0, transmit_options{.only = which});
    CHECK((t.error == std::errc::operation_not_supported) == may_refuse(which));
    CHECK(t.report.bytes == (t.error ? 0 : data.size()));
  }
}

CONFORMANCE("a prefix is all that is sent of an empty file up to its end") {
  for (const auto which : ways_to_send) {
    if (where == beck::test::on_sim && may_refuse(which)) continue;
    CAPTURE(std::string(beck::to_string(which)));
    beck::io_context ctx(context_options());
    two_files files(ctx, where);
    prefixed_file t(ctx, files.from);
    t.exchange(ctx, 0, transmit_options{.only = which});
    CHECK_FALSE(t.error);
    CHECK(t.report.bytes == 0);
    CHECK(t.arrived == t.prefix);
  }
}
