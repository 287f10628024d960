// SPDX-License-Identifier: BSL-1.0
//
// threads with Asio: a stream of posts from another thread; two contexts on two threads, and for
// comparison two processes with a context each; one context on two threads, and on one.
#include <asio/buffer.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/post.hpp>
#include <asio/write.hpp>
#include <deque>
#include <thread>

#include "../common/crowd.hpp"
#include "../common/lanes.hpp"
#include "../common/stream.hpp"

namespace {

using protocol = asio::local::stream_protocol;

class session {
 public:
  session(asio::io_context& context, bench::lane& lane, std::size_t index)
      : socket_(context, protocol(), lane.sockets()[index]),
        context_(context),
        lane_(lane),
        end_(index / 2, index % 2 == 0) {}

  void write() {
    asio::async_write(socket_, asio::buffer(end_.data(), bench::lane_end::message_size),
                      [this](asio::error_code ec, std::size_t) {
                        bench::require(!ec, "a write failed");
                        lane_.sent() ? read() : context_.stop();
                      });
  }
  void read() {
    socket_.async_read_some(asio::buffer(end_.data(), bench::lane_end::message_size),
                            [this](asio::error_code ec, std::size_t n) {
                              if (ec) return;
                              end_.take(n);
                              write();
                            });
  }

 private:
  protocol::socket socket_;
  asio::io_context& context_;
  bench::lane& lane_;
  bench::lane_end end_;
};

void play(bench::lane& lane) {
  asio::io_context context(1);
  std::deque<session> all;
  for (std::size_t i = 0; i < lane.sockets().size(); ++i) all.emplace_back(context, lane, i);
  lane.start();
  for (std::size_t i = 0; i < all.size(); ++i) i % 2 == 0 ? all[i].write() : all[i].read();
  context.run();
}

void pool_2(bench::meter& m) { bench::lanes_in_threads(m, play); }
void processes_2(bench::meter& m) { bench::lanes_in_processes(m, play); }

void post_stream(bench::meter& m) {
  asio::io_context context(1);
  auto guard = asio::make_work_guard(context);
  bench::post_stream stream;
  m.start();
  std::thread loop([&] {
    bench::pin_to_cpu(m.options().other_cpu);
    context.run();
  });
  const std::uint64_t posted =
      stream.run(m, [&] { asio::post(context, [&stream] { stream.handled(); }); });
  guard.reset();
  loop.join();
  m.finish(stream.done());
  bench::require(stream.done() == posted, "a post was lost");
}

class crowd_session {
 public:
  crowd_session(asio::io_context& context, bench::crowd_end& end)
      : socket_(context, protocol(), end.socket()), context_(context), end_(end) {}

  void begin() { end_.opens() ? write() : read(); }

 private:
  void write() {
    asio::async_write(socket_, asio::buffer(end_.data(), bench::lane_end::message_size),
                      [this](asio::error_code ec, std::size_t) {
                        bench::require(!ec, "a write failed");
                        end_.sent() ? read() : context_.stop();
                      });
  }
  void read() {
    socket_.async_read_some(asio::buffer(end_.data(), bench::lane_end::message_size),
                            [this](asio::error_code ec, std::size_t n) {
                              if (ec) return;
                              end_.take(n);
                              write();
                            });
  }

  protocol::socket socket_;
  asio::io_context& context_;
  bench::crowd_end& end_;
};

// Measures one context that is made for `made_for` threads and run by `threads`.
void play_together(bench::meter& m, int made_for, int threads, bool busy) {
  bench::crowd crowd(m, busy);
  asio::io_context context(made_for);
  std::deque<crowd_session> all;
  for (bench::crowd_end& end : crowd.ends()) all.emplace_back(context, end);
  for (crowd_session& s : all) s.begin();
  crowd.measure(threads, [&] { context.run(); });
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
