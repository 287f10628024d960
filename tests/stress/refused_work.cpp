// SPDX-License-Identifier: BSL-1.0
// The activities. Each opens what it needs itself, so that a refusal in one ends no other, and
// looks at its data.
#include "stress/refused_work.hpp"

#include <chrono>
#include <csignal>
#include <exception>
#include <stdexcept>
#include <utility>

#include <unistd.h>

using namespace std::chrono_literals;

namespace beck::test {
using namespace detail;
namespace {

constexpr std::size_t text_bytes = 300'000;  // more than a socket takes at once
constexpr auto for_writing = file_object::read_write | file_object::create;

std::string numbered_text() {
  std::string text(text_bytes, '\0');
  for (std::size_t i = 0; i < text_bytes; ++i) text[i] = static_cast<char>('!' + i % 91);
  return text;
}

}  // namespace

refused_work::refused_work(io_context& context, std::string folder)
    : context_(context),
      folder_(std::move(folder)),
      text_(numbered_text()),
      waiting_(context),
      signals_(context, SIGUSR1) {}

refused_work::~refused_work() {
  if (poster_.joinable()) poster_.join();
}

void refused_work::expect(bool right) {
  const std::lock_guard lock(mutex_);
  if (!right) ++wrong_;
}

void refused_work::spawn(const char* what, awaitable<> activity) {
  ++started_;
  // Where two threads run the context stops reach composed operations through strands.
  co_spawn(make_strand(context_), std::move(activity),
           [this, what](const std::exception_ptr& failure) {
             const std::lock_guard lock(mutex_);
             ++ended_;
             if (failure == nullptr) return;
             ++failed_;
             try {
               std::rethrow_exception(failure);
             } catch (const std::exception& error) {
               errors_ += std::string(what) + ": " + error.what() + "; ";
             }
           });
}

void refused_work::start() {
  spawn("streams", exchange_streams());
  spawn("tcp", connect_tcp());
  spawn("datagrams", exchange_datagrams());
  spawn("timers", wait_for_timers());
  spawn("pipe", use_pipe());
  spawn("file", use_file());
  spawn("copy", copy_file());
  spawn("transmit", transmit_file());
  spawn("relay", relay_streams());
  spawn("process", run_process());
  spawn("name", look_up_name());
  spawn("signal", take_signal());
  spawn("post", take_post());
}

// --- streams -------------------------------------------------------------------------------------

awaitable<> refused_work::send_text(stream_object& to) {
  const auto whole = buffer(text_);
  co_await async_write(to, whole);
}

awaitable<> refused_work::receive_text(stream_object& from) {
  std::string got(text_bytes, '\0');
  const auto room = buffer(got);
  co_await async_read(from, room);
  expect(got == text_);
}

awaitable<> refused_work::exchange_streams() {
  co_await when_all(send_text(waiting_.a), receive_text(waiting_.b));
}

awaitable<> refused_work::accept_one(ip::tcp::acceptor& acceptor) {
  ip::tcp::socket server(context_);
  co_await acceptor.async_accept(server);
  co_await send_text(server);
}

awaitable<> refused_work::connect_one(ip::tcp::endpoint to) {
  ip::tcp::socket client(context_);
  co_await client.async_connect(to);
  co_await receive_text(client);
}

awaitable<> refused_work::connect_tcp() {
  ip::tcp::acceptor acceptor(context_, ip::tcp::endpoint(ip::address_v4::loopback(), 0));
  const ip::tcp::endpoint at = acceptor.local_endpoint();
  co_await when_all(accept_one(acceptor), connect_one(at));
}

awaitable<> refused_work::exchange_datagrams() {
  const ip::udp::endpoint any(ip::address_v4::loopback(), 0);
  ip::udp::socket a(context_, any);
  ip::udp::socket b(context_, any);
  const ip::udp::endpoint to = b.local_endpoint();
  const auto hello = buffer("hello", 5);
  co_await a.async_send_to(hello, to);
  char room[16] = {};
  ip::udp::endpoint from;
  const auto place = buffer(room);
  const std::size_t n = co_await b.async_receive_from(place, from);
  expect(n == 5 && std::string(room) == "hello");
}

awaitable<> refused_work::relay(stream& a, stream& b) { co_await beck::relay(a, b); }

awaitable<> refused_work::relay_streams() {
  pair near(context_);
  pair far(context_);
  const auto send_and_end = [](refused_work& self, stream& out, stream& in) -> awaitable<> {
    co_await self.send_text(out);
    out.shutdown(stream::shutdown_send);
    co_await self.receive_text(in);
    in.shutdown(stream::shutdown_send);
  };
  co_await when_all(relay(near.b, far.a), send_and_end(*this, near.a, far.b));
}

// --- time, pipes, files --------------------------------------------------------------------------

awaitable<> refused_work::wait_for_timers() {
  steady_timer steady(context_, 20ms);
  co_await steady.async_wait();
  system_timer dated(context_, 5ms);
  co_await dated.async_wait();
}

awaitable<> refused_work::use_pipe() {
  readable_pipe in(context_);
  writable_pipe out(context_);
  connect_pipe(in, out);
  co_await when_all(send_text(out), receive_text(in));
}

awaitable<> refused_work::use_file() {
  random_access_file file(context_, folder_ + "file", for_writing);
  const auto whole = buffer(text_);
  co_await async_write_at(file, 0, whole);
  co_await file.async_sync_data();
  std::string got(text_bytes, '\0');
  const auto room = buffer(got);
  co_await async_read_at(file, 0, room);
  expect(got == text_);
  co_await file.async_resize(10);
  expect(file.size() == 10);
}

awaitable<> refused_work::copy_file() {
  random_access_file from(context_, folder_ + "from", for_writing);
  random_access_file to(context_, folder_ + "to", for_writing);
  const auto whole = buffer(text_);
  co_await async_write_at(from, 0, whole);
  co_await async_copy(from, to);
  std::string got(text_bytes, '\0');
  const auto room = buffer(got);
  co_await async_read_at(to, 0, room);
  expect(got == text_);
}

awaitable<> refused_work::transmit(stream& to, random_access_file& from) {
  co_await async_transmit(to, from, 0, text_bytes);
}

awaitable<> refused_work::transmit_file() {
  random_access_file file(context_, folder_ + "sent", for_writing);
  const auto whole = buffer(text_);
  co_await async_write_at(file, 0, whole);
  pair streams(context_);
  co_await when_all(transmit(streams.a, file), receive_text(streams.b));
}

// --- processes, names, signals, threads ----------------------------------------------------------

awaitable<> refused_work::run_process() {
  process child(context_, "true");
  const exit_status status = co_await child.async_wait();
  if (!status.success()) throw std::runtime_error("it needs the call itself");
  process killed(context_, "sleep", {"5"});
  killed.terminate();
  const exit_status how = co_await killed.async_wait();
  expect(!how.success());
}

awaitable<> refused_work::look_up_name() {
  ip::tcp::resolver resolver(context_);
  const auto found = co_await resolver.async_resolve("localhost", "80");
  expect(!found.empty());
}

awaitable<> refused_work::take_signal() {
  if (::raise(SIGUSR1) != 0) throw std::runtime_error("raise");
  const int number = co_await signals_.async_wait();
  expect(number == SIGUSR1);
}

awaitable<> refused_work::take_post() {
  manual_reset_event posted;
  poster_ = std::thread([this, &posted] {
    for (int i = 0; i < 20; ++i) post(context_, [] {});  // whether the loop sleeps or not
    post(context_, [&posted] { posted.set(); });
  });
  co_await posted.wait();
}

}  // namespace beck::test
