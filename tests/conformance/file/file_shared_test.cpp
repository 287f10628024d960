// SPDX-License-Identifier: BSL-1.0
//
// Files of shared contexts: handlers on several threads start, cancel and close what others do.
#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/file/stream_file.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "support/context_options.hpp"
#include "support/file_place.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using beck::file_object;
using beck::random_access_file;
using beck::stream_file;
using beck::test::file_place;
using beck::test::pattern;

namespace {

constexpr auto for_writing = file_object::read_write | file_object::create;
constexpr unsigned not_uring = beck::test::epoll | beck::test::sim;

/// Runs it by two threads; a simulated one has virtual ones.
void run_shared(beck::io_context& ctx, beck::backend where) {
  if (where == beck::test::on_sim) {
    ctx.run();
    return;
  }
  std::thread other([&ctx] { ctx.run(); });
  ctx.run();
  other.join();
}

}  // namespace

CONFORMANCE_ON(not_uring, "threads of a shared context read one file side by side") {
  beck::io_context ctx(context_options({.threads = 2}));
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  const std::string data = pattern(64 * 64);
  CHECK(file.write_some_at(0, beck::buffer(data)) == data.size());
  std::atomic<int> right = 0;
  struct reader {
    std::string part = std::string(64, 'x');
    std::uint64_t at = 0;
    int left = 100;
  };
  std::vector<reader> readers(16);
  std::mutex
      starting;  // an object is used by one thread at a time; its operations run side by side
  std::function<void(reader&)> next = [&](reader& self) {
    if (--self.left < 0) return;
    // Virtual threads are one: they take turns inside the call, and a mutex would stop them all.
    std::unique_lock lock(starting, std::defer_lock);
    if (where == beck::test::on_epoll) lock.lock();
    file.async_read_some_at(self.at, beck::buffer(self.part),
                            [&](beck::error_code ec, std::size_t n) {
                              if (!ec && n == 64 && self.part == data.substr(self.at, 64)) ++right;
                              self.at = (self.at + 7 * 64) % data.size();
                              next(self);
                            });
  };
  for (std::size_t i = 0; i < readers.size(); ++i) {
    readers[i].at = i * 64;
    next(readers[i]);
  }
  run_shared(ctx, where);
  CHECK(right == 1600);
}

CONFORMANCE_ON(not_uring, "writes of a stream file keep their order on a shared context") {
  beck::io_context ctx(context_options({.threads = 2}));
  const file_place place(where);
  stream_file file(ctx, place.path("a"), for_writing);
  const std::string data = pattern(200);
  std::atomic<int> done = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    file.async_write_some(beck::buffer(data.data() + i, 1),
                          [&](beck::error_code ec, std::size_t n) {
                            if (!ec && n == 1) ++done;
                          });
  }
  run_shared(ctx, where);
  CHECK(done == 200);
  file.seek(0, file_object::seek_set);
  std::string back(200, 'x');
  CHECK(file.read_some(beck::buffer(back)) == 200);
  CHECK(back == data);
}

CONFORMANCE_ON(not_uring, "a file that is closed on a shared context ends each operation once") {
  for (int round = 0; round < 20; ++round) {
    beck::io_context ctx(context_options({.threads = 2}));
    const file_place place(where);
    auto file = std::make_unique<random_access_file>(ctx, place.path("a"), for_writing);
    const std::string data = pattern(512);
    std::atomic<int> ended = 0;
    for (std::uint64_t i = 0; i < 30; ++i) {
      file->async_write_some_at(i * 512, beck::buffer(data),
                                [&](beck::error_code, std::size_t) { ++ended; });
    }
    beck::post(ctx, [&] { file.reset(); });
    run_shared(ctx, where);
    CHECK(ended == 30);
  }
}
