// SPDX-License-Identifier: BSL-1.0
//
// threads with beck: a stream of posts from another thread; two contexts of an io_pool, and for
// comparison two processes with a context each; one context on two threads, and on one.
#include <beck/io/io_pool.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/local.hpp>
#include <beck/run/work_guard.hpp>
#include <deque>
#include <functional>
#include <thread>

#include "../common/crowd.hpp"
#include "../common/lanes.hpp"
#include "../common/stream.hpp"
#include "counters.hpp"

namespace {

using protocol = beck::local::stream_protocol;

class session {
 public:
  session(beck::io_context& context, bench::lane& lane, const std::function<void()>& over,
          std::size_t index)
      : socket_(context, protocol(), lane.sockets()[index]),
        lane_(lane),
        over_(over),
        end_(index / 2, index % 2 == 0) {}

  void write() {
    async_write(socket_, beck::buffer(end_.data(), bench::lane_end::message_size),
                [this](beck::error_code ec, std::size_t) {
                  bench::require(!ec, "a write failed");
                  lane_.sent() ? read() : over_();
                });
  }
  void read() {
    socket_.async_read_some(beck::buffer(end_.data(), bench::lane_end::message_size),
                            [this](beck::error_code ec, std::size_t n) {
                              if (ec) return;
                              end_.take(n);
                              write();
                            });
  }

 private:
  protocol::socket socket_;
  bench::lane& lane_;
  const std::function<void()>& over_;
  bench::lane_end end_;
};

// The sessions of one lane. The first session that finds the lane over calls `over`.
class sessions {
 public:
  sessions(beck::io_context& context, bench::lane& lane, std::function<void()> over)
      : over_(std::move(over)) {
    for (std::size_t i = 0; i < lane.sockets().size(); ++i)
      all_.emplace_back(context, lane, over_, i);
  }
  void start() {
    for (std::size_t i = 0; i < all_.size(); ++i) i % 2 == 0 ? all_[i].write() : all_[i].read();
  }

 private:
  std::function<void()> over_;
  std::deque<session> all_;
};

const bench::settings* options;

void play(bench::lane& lane) {
  beck::io_context context(beck_peer::context_options(*options));
  sessions all(context, lane, [&] { context.stop(); });
  lane.start();
  all.start();
  context.run();
}

void pool_2(bench::meter& m) {
  bench::lanes_meeting meeting;
  std::deque<bench::lane> lanes;
  beck::io_pool pool(2, beck_peer::context_options(m.options()));
  std::deque<sessions> all;
  for (int i = 0; i < 2; ++i) {
    lanes.emplace_back(m, meeting, i);
    all.emplace_back(pool.at(static_cast<std::size_t>(i)), lanes.back(), [&] { pool.stop(); });
  }
  for (std::size_t i = 0; i < 2; ++i) {
    beck::post(pool.at(i), [&, i] {
      lanes[i].pin();
      lanes[i].start();
      all[i].start();
    });
  }
  pool.join();
  for (bench::lane& l : lanes) l.finish();
  m.finish(meeting.sent[0] + meeting.sent[1]);
}

void processes_2(bench::meter& m) {
  options = &m.options();
  bench::lanes_in_processes(m, play);
}

void post_stream(bench::meter& m) {
  beck::io_context context(beck_peer::context_options(m.options()));
  auto guard = beck::make_work_guard(context);
  bench::post_stream stream;
  m.start();
  std::thread loop([&] {
    bench::pin_to_cpu(m.options().other_cpu);
    context.run();
  });
  const std::uint64_t posted =
      stream.run(m, [&] { beck::post(context, [&stream] { stream.handled(); }); });
  guard.reset();
  loop.join();
  m.finish(stream.done());
  bench::require(stream.done() == posted, "a post was lost");
  const beck::context_stats stats = context.stats();
  bench::require(stats.wakeups <= stats.kernel_entries, "a sleep was ended twice");
  m.note("wakeups_per_op", static_cast<double>(stats.wakeups) / static_cast<double>(posted));
  m.note("kernel_entries_per_op",
         static_cast<double>(stats.kernel_entries) / static_cast<double>(posted));
}

class crowd_session {
 public:
  crowd_session(beck::io_context& context, bench::crowd_end& end)
      : socket_(context, protocol(), end.socket()), context_(context), end_(end) {}

  void begin() { end_.opens() ? write() : read(); }

 private:
  void write() {
    async_write(socket_, beck::buffer(end_.data(), bench::lane_end::message_size),
                [this](beck::error_code ec, std::size_t) {
                  bench::require(!ec, "a write failed");
                  end_.sent() ? read() : context_.stop();
                });
  }
  void read() {
    socket_.async_read_some(beck::buffer(end_.data(), bench::lane_end::message_size),
                            [this](beck::error_code ec, std::size_t n) {
                              if (ec) return;
                              end_.take(n);
                              write();
                            });
  }

  protocol::socket socket_;
  beck::io_context& context_;
  bench::crowd_end& end_;
};

// Measures one context that is made for `made_for` threads and run by `threads`.
void play_together(bench::meter& m, int made_for, int threads, bool busy) {
  bench::crowd crowd(m, busy);
  beck::io_context::options settings = beck_peer::context_options(m.options());
  settings.threads = made_for;
  beck::io_context context(settings);
  std::deque<crowd_session> all;
  for (bench::crowd_end& end : crowd.ends()) all.emplace_back(context, end);
  for (crowd_session& s : all) s.begin();
  const beck_peer::counters counters(context);
  const std::uint64_t sent = crowd.measure(threads, [&] { context.run(); });
  counters.report(sent, [&](const char* name, double value) { m.note(name, value); });
}

void exclusive_1(bench::meter& m) { play_together(m, 1, 1, false); }
void shared_1(bench::meter& m) { play_together(m, 2, 1, false); }
void shared_2(bench::meter& m) { play_together(m, 2, 2, false); }
void shared_1_busy(bench::meter& m) { play_together(m, 2, 1, true); }
void shared_2_busy(bench::meter& m) { play_together(m, 2, 2, true); }

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "threads",
                          {{"post_stream", post_stream},
                           {"pool_2", pool_2},
                           {"processes_2", processes_2},
                           {"exclusive_1", exclusive_1},
                           {"shared_1", shared_1},
                           {"shared_2", shared_2},
                           {"shared_1_busy", shared_1_busy},
                           {"shared_2_busy", shared_2_busy}});
}
