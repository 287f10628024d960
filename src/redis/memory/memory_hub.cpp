// SPDX-License-Identifier: BSL-1.0
// Accepting within the limit of connections, the clock, and the faults of connections.
#include "redis/memory/memory_hub.hpp"

#include <utility>

#include <beck/coro/co_spawn.hpp>

#include "redis/memory/memory_connection.hpp"

namespace beck::redis::detail {
namespace {

constexpr duration memory_pause = duration(10'000'000);  // before another accept without memory

}  // namespace

memory_hub::memory_hub(io_context& context, const memory_server_options& how)
    : options_(how),
      executor_(context.get_executor()),
      engine_(how.password),
      acceptor_(std::in_place_index<0>, executor_),
      clock_(context),
      date_(context),
      timer_(context) {
  options_.password = {};  // the engine has a copy
}

memory_hub::~memory_hub() {
  BECK_ASSERT(connections_.empty(), "a memory_server's hub was destroyed with connections");
}

void memory_hub::listen(const ip::tcp::endpoint& at) {
  ip::tcp::acceptor& acceptor = std::get<0>(acceptor_);
  acceptor.open(at.protocol());
  acceptor.set_option(socket_base::reuse_address(true));
  acceptor.set_option(ip::tcp::no_delay(true));  // accepted sockets inherit it
  acceptor.bind(at);
  acceptor.listen();
  endpoint_ = acceptor.local_endpoint();
  start();
}

void memory_hub::listen(const local::stream_protocol::endpoint& at) {
  auto& acceptor = acceptor_.emplace<1>(executor_);
  acceptor.open(local::stream_protocol());
  acceptor.bind(at);
  acceptor.listen();
  start();
}

void memory_hub::start() { co_spawn(executor_, accept_loop(shared_from_this()), detached); }

task<> memory_hub::accept_loop(std::shared_ptr<memory_hub> self) {
  memory_hub& h = *self;
  steady_timer pause(h.executor_);
  while (!h.closed_) {
    const std::shared_ptr<memory_connection> one = h.make_connection();
    if (one == nullptr) {
      pause.expires_after(memory_pause);
      ignore(co_await pause.async_wait());
      continue;
    }
    auto accepting = std::visit(
        [&](auto& acceptor) { return acceptor.async_accept(one->socket()); }, h.acceptor_);
    auto accepted = co_await std::move(accepting);
    if (accepted.error()) break;
    h.begin(one);
  }
}

std::shared_ptr<memory_connection> memory_hub::make_connection() noexcept {
  try {
    return std::make_shared<memory_connection>(shared_from_this(), executor_);
  } catch (...) {  // no memory
    return nullptr;
  }
}

/// Starts to serve an accepted connection, or refuses it.
void memory_hub::begin(const std::shared_ptr<memory_connection>& one) noexcept {
  try {
    const bool is_full = connections_.size() >= options_.connections;
    connections_.push_back(one.get());
    if (is_full) {
      one->out.error("ERR max number of clients reached");
      one->close();
      one->flush();
      one->wake();
    } else {
      engine_.join(*one);
      co_spawn(executor_, memory_connection::receive(one), detached);
    }
    co_spawn(executor_, memory_connection::serve(one), detached);
  } catch (...) {  // no memory
    one->cut();
  }
}

void memory_hub::remove(memory_connection& gone) noexcept {
  connections_.remove(&gone);
  engine_.leave(gone);
}

// NOLINTNEXTLINE(bugprone-exception-escape): cancel() throws only beside a thread that runs
void memory_hub::close() noexcept {
  closed_ = true;
  std::visit([](auto& acceptor) { acceptor.close(); }, acceptor_);
  cut();
  static_cast<void>(timer_.cancel());
}

void memory_hub::cut() noexcept {
  while (!connections_.empty()) connections_.front()->cut();
}

void memory_hub::pause(bool on) noexcept {
  paused_ = on;
  if (on) return;
  for (memory_connection* const one : connections_) one->wake();
}

void memory_hub::cut_after(std::size_t bytes, std::size_t times) noexcept {
  cut_bytes_ = bytes;
  cuts_left_ = times;
}

std::size_t memory_hub::allow(std::size_t sent, std::size_t bytes, bool& cuts) noexcept {
  const std::size_t left = cut_bytes_ > sent ? cut_bytes_ - sent : 0;
  cuts = cuts_left_ != 0 && bytes >= left;
  if (!cuts) return bytes;
  --cuts_left_;
  return left;
}

void memory_hub::read_clock() {
  clock_.expires_after(duration::zero());
  date_.expires_after(duration::zero());
  engine_.set_time({clock_.expiry().nanoseconds(), date_.expiry().nanoseconds()});
}

void memory_hub::deliver() {
  while (memory_peer* const peer = engine_.outbox().take()) {
    auto& one = static_cast<memory_connection&>(*peer);
    one.flush();
    one.wake_if_unblocked();
  }
  set_timer();
}

void memory_hub::set_timer() {
  const std::int64_t next = engine_.waits().next_deadline();
  if (next == timer_deadline_) return;
  timer_deadline_ = next;
  static_cast<void>(timer_.expires_at(time_point(duration(next))));
  if (next == memory_wait::never) return;
  timer_.async_wait([self = weak_from_this()](const error_code& ec) {
    const auto hub = ec ? nullptr : self.lock();
    if (hub != nullptr) hub->on_timer();
  });
}

void memory_hub::on_timer() {
  timer_deadline_ = memory_wait::never;
  read_clock();
  engine_.waits().end_late(engine_.now().steady_ns);
  deliver();
}

}  // namespace beck::redis::detail
