// SPDX-License-Identifier: BSL-1.0
// Eight tasks, four connections, a hundred messages and a timer.
#include "simulation/schedule.hpp"

#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>
#include <utility>

namespace beck::test {
using namespace detail;
namespace {

using testing::sim::fault;

constexpr unsigned message_bytes_max = 64;
constexpr unsigned pause_ns_max = 300'000;

/// The byte at a position of the stream of a connection.
char expected(unsigned connection, std::uint64_t position) {
  return static_cast<char>((position * 131 + connection * 29 + (position >> 8)) & 0xff);
}

template <class Protocol>
class schedule {
 public:
  using acceptor = typename Protocol::acceptor;
  using endpoint = typename Protocol::endpoint;
  using socket = typename Protocol::socket;

  schedule(io_context& ctx, const endpoint& where, testing::sim::random_source& random,
           schedule_result& result)
      : ctx_(ctx),
        acceptor_(ctx, where),
        server_(acceptor_.local_endpoint()),
        timer_(ctx),
        random_(random),
        result_(result) {}

  void start() {
    for (unsigned i = 0; i < schedule_result::connections; ++i) {
      co_spawn(ctx_, serve(), detached);
      co_spawn(ctx_, ask(i), detached);
    }
  }

 private:
  bool failed(const error_code& ec) {
    if (ec) ++result_.failures;
    return static_cast<bool>(ec);
  }

  /// The first byte names the connection; everything that is read goes back.
  task<> serve() {
    auto accepted = co_await acceptor_.async_accept();
    if (failed(accepted.error())) co_return;
    socket peer = std::move(accepted).value();
    char data[message_bytes_max];
    std::uint64_t position = 0;
    unsigned connection = 0;
    for (;;) {
      auto [ec, n] = co_await peer.async_read_some(buffer(data));
      if (ec == error::eof) break;
      if (failed(ec)) co_return;
      if (position == 0) connection = static_cast<unsigned char>(data[0]);
      for (std::size_t i = position == 0 ? 1 : 0; i < n; ++i) {
        if (data[i] != expected(connection, position + i)) ++result_.wrong_bytes;
      }
      position += n;
      const auto sent = co_await async_write(peer, buffer(data, n));
      if (failed(sent.error())) co_return;
    }
    ++result_.ends;
  }

  task<> ask(unsigned connection) {
    co_await converse(connection);
    if (++done_ == schedule_result::connections) acceptor_.close();  // some may wait for nobody
  }

  task<> converse(unsigned connection) {
    socket peer(ctx_);
    const auto connected = co_await peer.async_connect(server_);
    if (failed(connected.error())) co_return;
    char sent[message_bytes_max];
    char echoed[message_bytes_max];
    std::uint64_t position = 0;
    for (unsigned message = 0; message < schedule_result::messages_each; ++message) {
      if (random_.chance(0.1)) co_await pause(random_.below(pause_ns_max));
      const std::size_t bytes = 1 + random_.below(message_bytes_max);
      for (std::size_t i = 0; i < bytes; ++i) sent[i] = expected(connection, position + i);
      if (position == 0) sent[0] = static_cast<char>(connection);
      const auto wrote = co_await async_write(peer, buffer(sent, bytes));
      if (failed(wrote.error())) co_return;
      const auto read = co_await async_read(peer, buffer(echoed, bytes));
      if (failed(read.error())) co_return;
      for (std::size_t i = 0; i < bytes; ++i) {
        if (echoed[i] != sent[i]) ++result_.wrong_bytes;
      }
      position += bytes;
      ++result_.messages;
    }
  }

  /// All clients share the timer: one that sets it anew cuts the others' waits short.
  task<> pause(std::uint64_t ns) {
    timer_.expires_after(duration(static_cast<std::int64_t>(ns)));
    const time_point due = timer_.expiry();
    const auto waited = co_await timer_.async_wait();
    if (!waited.error() && steady_now() < due) ++result_.early_timers;
  }

  io_context& ctx_;
  acceptor acceptor_;
  endpoint server_;
  steady_timer timer_;
  testing::sim::random_source& random_;
  schedule_result& result_;
  unsigned done_ = 0;
};

template <class Protocol>
void run(io_context& ctx, const typename Protocol::endpoint& where,
         testing::sim::random_source& random, schedule_result& result) {
  {
    schedule<Protocol> work(ctx, where, random, result);
    work.start();
    ctx.run();
  }
  result.outstanding = ctx.stats().outstanding;
  result.next_descriptor = ip::tcp::socket(ctx, ip::tcp::v4()).native_handle();
}

schedule_result run_with(testing::sim::world& world, const testing::sim::faults& faults) {
  auto how = testing::sim::settings().with(faults);
  if (world.random().chance(0.25)) how.buffer_sizes(24, 24);  // a message and its echo fit
  world.configure(how);
  schedule_result result;
  io_context ctx(world.host("one"));
  ctx.on_log([](const char*, void*) {});  // of acceptors that find no descriptor
  if (world.random().chance(0.5)) {
    run<local::stream_protocol>(ctx, "/schedule", world.random(), result);
  } else {
    run<ip::tcp>(ctx, ip::tcp::endpoint(ip::tcp::v4(), 0), world.random(), result);
  }
  for (const fault which : {fault::reset, fault::end, fault::connect_refused,
                            fault::connect_timed_out, fault::backlog_full, fault::accept_aborted}) {
    result.faults += world.count(which);
  }
  return result;
}

}  // namespace

schedule_result run_schedule(testing::sim::world& world) {
  return run_with(world, testing::sim::faults::none());
}

schedule_result run_faulty_schedule(testing::sim::world& world) {
  // Here nobody reads while it writes: smaller buffers than a message are a deadlock.
  return run_with(world, testing::sim::faults().set(fault::tiny_buffers, 0));
}

std::string schedule_result::report() const {
  if (wrong_bytes != 0) return "bytes arrived that were not sent there";
  if (failures != 0 && faults == 0) return "an operation failed that nobody disturbed";
  if (early_timers != 0) return "a timer fired early";
  if (messages != connections * messages_each && failures == 0) return "a message was lost";
  if (ends != connections && failures == 0) return "a server did not read to the end";
  if (outstanding != 0) return "operations are left";
  if (next_descriptor != 1000) return "a descriptor is left open";
  return {};
}

std::string schedule_program(testing::sim::world& world) { return run_schedule(world).report(); }
std::string faulty_schedule_program(testing::sim::world& world) {
  return run_faulty_schedule(world).report();
}

}  // namespace beck::test
