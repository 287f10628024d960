// SPDX-License-Identifier: BSL-1.0
// Ten thousand tasks that wait for different things, and the dump that says where they stand. With
// an argument it stays until SIGINT, and prints again at each SIGUSR1.
//
//   dump_tasks                         dump_tasks stay & kill -USR1 %1
#include <beck/beck.hpp>
#include <beck/io/dump_on_signal.hpp>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>

using namespace std::chrono_literals;
using beck::local::stream_protocol;

beck::task<bool> read_request(stream_protocol::socket& peer) {
  std::string text;
  auto read = co_await beck::async_read_until(peer, beck::dynamic_buffer(text), '\n');
  co_return !read.error();
}

beck::task<> serve(std::shared_ptr<stream_protocol::socket> peer) {
  for (bool more = true; more;) more = co_await read_request(*peer);
}

beck::task<> keep_time(beck::io_context& ctx, beck::duration period) {
  beck::steady_timer timer(ctx);
  for (;;) {
    timer.expires_after(period);
    auto waited = co_await timer.async_wait();
    if (waited.error()) break;
  }
}

beck::task<> update(beck::mutex& book) { beck::ignore(co_await book.scoped_lock()); }

beck::task<> work_off(beck::channel<int>& jobs) {
  for (;;) {
    auto job = co_await jobs.async_receive();
    if (job.error()) break;
  }
}

beck::task<> supervise(beck::io_context& ctx, beck::channel<int>& jobs) {
  beck::ignore(co_await beck::when_all(work_off(jobs), keep_time(ctx, 10s)));
}

beck::task<> run_nightly(beck::io_context& ctx) {
  auto body = [&ctx](beck::task_group& group) -> beck::task<> {
    for (int i = 0; i < 498; ++i) group.spawn(keep_time(ctx, 24h));
    co_return;
  };
  co_await beck::task_group::run(body);
}

int main(int argc, char**) {
  beck::mutex book;
  beck::ignore(book.try_lock());
  beck::channel<int> jobs(16);
  beck::io_context ctx;
  const beck::dump_on_signal on_demand(ctx, SIGUSR1, 1);
  for (int i = 0; i < 100; ++i) {
    auto near = std::make_shared<stream_protocol::socket>(ctx);
    auto far = std::make_shared<stream_protocol::socket>(ctx);
    beck::connect_pair(*near, *far);
    for (const auto& end : {near, far}) beck::co_spawn(ctx, serve(end), beck::detached);
  }
  for (int i = 0; i < 3001; ++i) beck::co_spawn(ctx, keep_time(ctx, 1min), beck::detached);
  for (int i = 0; i < 2500; ++i) beck::co_spawn(ctx, update(book), beck::detached);
  for (int i = 0; i < 2300; ++i) beck::co_spawn(ctx, work_off(jobs), beck::detached);
  for (int i = 0; i < 500; ++i) beck::co_spawn(ctx, supervise(ctx, jobs), beck::detached);
  beck::co_spawn(ctx, run_nightly(ctx), beck::detached);
  ctx.run_for(200ms);
  ctx.dump(1);
  beck::signal_set end(ctx, SIGINT);
  end.async_wait([&](beck::error_code, int) { ctx.stop(); });
  if (argc > 1) ctx.run();
}
