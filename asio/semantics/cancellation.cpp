// SPDX-License-Identifier: BSL-1.0
// Cancellation signals and slots, and the types of cancellation that each operation obeys.
#include "rows.hpp"

#include <optional>

namespace semantics::cancellation {

using asio::cancellation_type;
using asio::use_awaitable;
using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr std::pair<cancellation_type, const char*> types[] = {
    {cancellation_type::total, "total"},
    {cancellation_type::partial, "partial"},
    {cancellation_type::terminal, "terminal"},
    {cancellation_type::all, "all"},
};

/// Starts an operation and emits a signal of each type, one after the other, until one ends it.
/// `start` gets a handler.
template <class Start>
std::string ended_by(asio::io_context& context, Start&& start) {
  asio::cancellation_signal signal;
  trace words;
  bool ended = false;
  start(asio::bind_cancellation_slot(signal.slot(), [&](asio::error_code ec, auto&&...) {
    words << ec;
    ended = true;
  }));
  context.poll();
  for (const auto& [type, name] : types) {
    if (ended) break;
    words << name;
    signal.emit(type);
    context.poll();
  }
  return words;
}

ROW("cancel type: a wait of a timer") {
  asio::io_context context;
  asio::steady_timer timer(context, 1h);
  return ended_by(context, [&](auto h) { timer.async_wait(std::move(h)); });
}
ROW("cancel type: a read of a socket") {
  asio::io_context context;
  local_pair pair(context);
  char data[4];
  return ended_by(context,
                  [&](auto h) { pair.near.async_read_some(asio::buffer(data), std::move(h)); });
}
ROW("cancel type: a wait of a socket") {
  asio::io_context context;
  local_pair pair(context);
  return ended_by(context,
                  [&](auto h) { pair.near.async_wait(tcp::socket::wait_read, std::move(h)); });
}
ROW("cancel type: an accept") {
  asio::io_context context;
  tcp::acceptor acceptor(context, any_port());
  return ended_by(context, [&](auto h) { acceptor.async_accept(std::move(h)); });
}
ROW("cancel type: a receive of a datagram") {
  asio::io_context context;
  asio::ip::udp::socket socket(context, {asio::ip::address_v4::loopback(), 0});
  asio::ip::udp::endpoint from;
  char data[4];
  return ended_by(
      context, [&](auto h) { socket.async_receive_from(asio::buffer(data), from, std::move(h)); });
}
ROW("cancel type: a composed read") {
  asio::io_context context;
  local_pair pair(context);
  char data[4];
  return ended_by(context,
                  [&](auto h) { asio::async_read(pair.near, asio::buffer(data), std::move(h)); });
}
ROW("cancel type: a composed read that has read a part") {
  asio::io_context context;
  local_pair pair(context);
  pair.far.write_some(asio::buffer("ab", 2));
  char data[4];
  return ended_by(context,
                  [&](auto h) { asio::async_read(pair.near, asio::buffer(data), std::move(h)); });
}
ROW("cancel type: read_until") {
  asio::io_context context;
  local_pair pair(context);
  std::string data;
  return ended_by(context, [&](auto h) {
    asio::async_read_until(pair.near, asio::dynamic_buffer(data), '\n', std::move(h));
  });
}
ROW("cancel type: a composed write that the peer does not read") {
  asio::io_context context;
  tcp_pair pair(context);
  const std::string much(50'000'000, 'x');
  return ended_by(context,
                  [&](auto h) { asio::async_write(pair.near, asio::buffer(much), std::move(h)); });
}
ROW("cancel type: a wait of a signal set") {
  asio::io_context context;
  asio::signal_set signals(context, SIGUSR1);
  return ended_by(context, [&](auto h) { signals.async_wait(std::move(h)); });
}
ROW("cancel type: a post is not cancelled") {
  asio::io_context context;
  asio::cancellation_signal signal;
  trace words;
  asio::post(context, asio::bind_cancellation_slot(signal.slot(), [&] { words << "handler"; }));
  signal.emit(cancellation_type::all);
  context.run();
  return words;
}
ROW("cancel type: none") {
  asio::io_context context;
  asio::steady_timer timer(context, 1ms);
  asio::cancellation_signal signal;
  trace words;
  timer.async_wait(asio::bind_cancellation_slot(signal.slot(), note(words, "wait")));
  signal.emit(cancellation_type::none);
  context.run();
  return words;
}

ROW("signal: emit without a handler") {
  asio::cancellation_signal signal;
  signal.emit(cancellation_type::all);
  return line(signal.slot().is_connected(), signal.slot().has_handler());
}
ROW("signal: a default slot") {
  const asio::cancellation_slot slot;
  return line(slot.is_connected(), slot.has_handler(), slot == asio::cancellation_slot());
}
ROW("signal: assign, emit and clear") {
  asio::cancellation_signal signal;
  trace words;
  signal.slot().assign([&](cancellation_type type) { words << int(type); });
  words << signal.slot().has_handler();
  signal.emit(cancellation_type::partial);
  signal.emit(cancellation_type::terminal | cancellation_type::total);
  signal.slot().clear();
  words << signal.slot().has_handler();
  signal.emit(cancellation_type::all);
  return words;
}
struct noisy {
  trace* words;
  const char* name;
  noisy(trace& w, const char* n) : words(&w), name(n) {}
  ~noisy() { *words << (std::string("~") + name); }
  void operator()(cancellation_type) const { *words << name; }
};
ROW("signal: emplace replaces and destroys the handler") {
  trace words;
  {
    asio::cancellation_signal signal;
    noisy& first = signal.slot().emplace<noisy>(words, "a");
    words << first.name;
    signal.slot().emplace<noisy>(words, "b");
    signal.emit(cancellation_type::all);
  }
  return words;
}
ROW("signal: slots compare") {
  asio::cancellation_signal signal, other;
  return line(signal.slot() == signal.slot(), signal.slot() == other.slot(),
              signal.slot() != other.slot());
}
ROW("signal: the slot's handler is gone when the operation has ended") {
  asio::io_context context;
  asio::steady_timer timer(context, -1s);
  asio::cancellation_signal signal;
  trace words;
  timer.async_wait(asio::bind_cancellation_slot(
      signal.slot(), [&](asio::error_code) { words << signal.slot().has_handler(); }));
  words << signal.slot().has_handler();
  context.run();
  words << signal.slot().has_handler();
  return words;
}
ROW("signal: emit inside of the handler") {
  asio::io_context context;
  asio::steady_timer timer(context, -1s);
  asio::cancellation_signal signal;
  trace words;
  timer.async_wait(asio::bind_cancellation_slot(signal.slot(), [&](asio::error_code ec) {
    signal.emit(cancellation_type::all);
    words << ec;
  }));
  context.run();
  return words;
}
ROW("signal: the handler is not called inside emit") {
  asio::io_context context;
  asio::steady_timer timer(context, 1h);
  asio::cancellation_signal signal;
  trace words;
  timer.async_wait(asio::bind_cancellation_slot(signal.slot(), note(words, "wait")));
  asio::post(context, [&] {
    signal.emit(cancellation_type::all);
    words << "emitted";
  });
  context.run();
  return words;
}
ROW("signal: cancels one of two waits") {
  asio::io_context context;
  asio::steady_timer timer(context, 1h);
  asio::cancellation_signal signal;
  trace words;
  timer.async_wait(note(words, "a"));
  timer.async_wait(asio::bind_cancellation_slot(signal.slot(), note(words, "b")));
  signal.emit(cancellation_type::all);
  context.poll();
  words << timer.cancel();
  context.run();
  return words;
}
ROW("signal: cancels one of two reads") {
  asio::io_context context;
  local_pair pair(context);
  asio::cancellation_signal signal;
  char a[1], b[1];
  trace words;
  pair.near.async_read_some(asio::buffer(a),
                            asio::bind_cancellation_slot(signal.slot(), note_size(words, "a")));
  pair.near.async_read_some(asio::buffer(b), note_size(words, "b"));
  context.poll();
  signal.emit(cancellation_type::terminal);
  context.poll();
  pair.far.write_some(asio::buffer("x", 1));
  context.run();
  return words;
}
ROW("state: filters and what was emitted") {
  asio::cancellation_signal signal;
  asio::cancellation_state all(signal.slot(), asio::enable_total_cancellation());
  trace words;
  words << int(all.cancelled());
  signal.emit(cancellation_type::partial);
  words << int(all.cancelled());
  all.clear();
  words << int(all.cancelled());
  return words;
}
ROW("state: the default filter takes only terminal") {
  asio::cancellation_signal signal;
  asio::cancellation_state state(signal.slot());
  trace words;
  signal.emit(cancellation_type::total);
  words << int(state.cancelled());
  signal.emit(cancellation_type::terminal);
  words << int(state.cancelled());
  return words;
}

/// Runs a coroutine with a slot, emits `type` once it waits, and returns what it has noted.
template <class Body>
std::string cancelled_body(cancellation_type type, Body body) {
  asio::io_context context;
  asio::cancellation_signal signal;
  trace words;
  asio::co_spawn(context, body(words),
                 asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) {
                   words << ("handler:" + kind_of(e));
                 }));
  context.poll();
  signal.emit(type);
  context.poll();
  return words;
}
/// Waits for ever twice, without exceptions.
asio::awaitable<void> two_waits(trace& words) {
  asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
  asio::error_code ec;
  co_await timer.async_wait(asio::redirect_error(use_awaitable, ec));
  words << ec;
  const auto state = co_await asio::this_coro::cancellation_state;
  words << int(state.cancelled());
  timer.expires_after(1ms);
  co_await timer.async_wait(asio::redirect_error(use_awaitable, ec));
  words << ec;
}
ROW("coroutine: cancelled with terminal") {
  return cancelled_body(cancellation_type::terminal, two_waits);
}
ROW("coroutine: cancelled with total") {
  return cancelled_body(cancellation_type::total, two_waits);
}
ROW("coroutine: cancelled with partial") {
  return cancelled_body(cancellation_type::partial, two_waits);
}
}  // namespace semantics::cancellation
