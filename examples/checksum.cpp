// SPDX-License-Identifier: BSL-1.0
// Prints the sum of all bytes of the given files: checksum FILE... Eight reads of each file are in
// flight at a time, and all files are read in parallel.
#include <beck/beck.hpp>
#include <beck/file/random_access_file.hpp>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr std::size_t block_bytes = 64 * 1024;
constexpr std::uint64_t readers = 8;

struct total {
  std::uint64_t sum = 0;
  std::uint64_t bytes = 0;
  beck::error_code error;
};

/// Reads every eighth block.
beck::task<> read_blocks(beck::random_access_file& file, std::uint64_t first, total& all) {
  std::vector<unsigned char> block(block_bytes);
  for (std::uint64_t at = first * block_bytes;; at += readers * block_bytes) {
    for (std::size_t had = 0; had < block_bytes;) {
      auto [ec, n] =
          co_await file.async_read_some_at(at + had, beck::buffer(block.data(), block_bytes - had));
      if (ec) {
        if (ec != beck::error::eof) all.error = ec;
        co_return;
      }
      for (std::size_t i = 0; i < n; ++i) all.sum += block[i];
      all.bytes += n;
      had += n;
    }
  }
}

beck::task<> sum_file(beck::io_context& ctx, const char* path) {
  beck::random_access_file file(ctx);
  auto opened = co_await file.async_open(path, beck::file_object::read_only);
  total all;
  all.error = opened.error();
  if (!all.error) {
    co_await beck::task_group::run([&](beck::task_group& group) -> beck::task<> {
      for (std::uint64_t i = 0; i < readers; ++i) group.spawn(read_blocks(file, i, all));
      co_return;
    });
  }
  if (all.error) {
    std::fprintf(stderr, "%s: %s\n", path, all.error.message().c_str());
  } else {
    std::printf("%llu %llu %s\n", static_cast<unsigned long long>(all.sum),
                static_cast<unsigned long long>(all.bytes), path);
  }
}

}  // namespace

int main(int count, char** arguments) {
  beck::io_context ctx;
  for (int i = 1; i < count; ++i) {
    beck::co_spawn(ctx, sum_file(ctx, arguments[i]), beck::detached);
  }
  ctx.run();
}
