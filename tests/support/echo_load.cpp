// SPDX-License-Identifier: BSL-1.0
// The echo workload of the fault tests: sizes around every limit that the library has, every byte
// checked.
#include "support/echo_load.hpp"

#include <algorithm>
#include <utility>

#include "support/connections.hpp"
#include "support/pattern.hpp"

namespace beck::test {
using namespace detail;
namespace {

constexpr std::size_t sizes[] = {1, 7, 64, 1000, 4096, 4097, 20'000, 300'000};
constexpr std::size_t rooms[] = {1, 50, 4096, 4097, 70'000};

template <std::size_t N>
std::size_t pick(testing::small_random& random, const std::size_t (&from)[N]) {
  return from[random.below(static_cast<unsigned>(N))];
}

std::string text_of(testing::small_random& random, std::size_t bytes) {
  return test::pattern(bytes, random.below(91));
}

}  // namespace

echo_load::echo_load(io_context& context, std::size_t pairs, std::uint64_t seed)
    : context_(context) {
  for (std::size_t i = 0; i < pairs; ++i) {
    pairs_.push_back(std::make_unique<pair>(context, seed * 1000 + i));
    pair& p = *pairs_.back();
    co_spawn(context, talk(p), detached);
    co_spawn(context, answer(p), detached);
  }
}

void echo_load::ended(pair& p) {
  if (++p.ends == 2) ++finished_;
}

task<> echo_load::talk(pair& p) {
  for (int round = 0; round < rounds; ++round) {
    std::string text = text_of(p.random, pick(p.random, sizes));
    co_await exchange(p, text);
  }
  p.client.shutdown(socket_base::shutdown_send);
  char last = 0;
  auto [ec, n] = co_await p.client.async_read_some(buffer(&last, 1));
  if (ec == error::eof && n == 0) ended(p);
}

task<> echo_load::exchange(pair& p, std::string& text) {
  // The answer is read while the message is sent, because a message may be larger than the buffers
  // of both directions together.
  bool sent = false;
  bool over = false;
  auto write = [&]() -> task<> {
    const std::size_t half = text.size() / 2;
    std::vector<const_buffer> parts{buffer(text.data(), half),
                                    buffer(text.data() + half, text.size() - half)};
    io_result<std::size_t> r(error_code(), 0);
    if (p.random.chance(500)) {
      r = co_await async_write(p.client, buffer(text));
    } else {
      r = co_await async_write(p.client, parts);
    }
    sent = !r.error() && *r == text.size();
    over = true;
  };
  co_spawn(context_, std::move(write), detached);
  std::string got;
  co_await hear(p, got);
  got.resize(std::min(got.size(), text.size()));
  std::string rest(text.size() - got.size(), '?');
  auto [ec, n] = co_await async_read(p.client, buffer(rest));
  got += rest;
  steady_timer pause(context_);
  while (!over) {  // its last completion may come after the bytes
    pause.expires_after(duration(10'000));
    beck::ignore(co_await pause.async_wait());
  }
  if (ec || n != rest.size() || got != text || !sent) ++wrong_;
}

/// Reads the first bytes of an answer by one of the other ways to read.
task<> echo_load::hear(pair& p, std::string& text) {
  char one = 0;
  if (p.random.chance(300)) {
    auto waited = co_await p.client.async_wait(socket_base::wait_read);
    if (!waited) ++wrong_;
  }
  auto [ec, n] = co_await p.client.async_read_some(buffer(&one, 1));
  if (ec || n != 1) ++wrong_;
  text.assign(1, one);
}

task<> echo_load::answer(pair& p) {
  testing::small_random random(p.random.next());
  std::vector<char> data(70'000);
  for (;;) {
    const std::size_t room = pick(random, rooms);
    std::size_t got = 0;
    error_code ended_with;
    if (random.chance(700)) {
      auto [ec, n] = co_await p.server.async_read_some(buffer(data.data(), room));
      got = n;
      ended_with = ec;
    } else {
      const std::size_t half = room / 2;
      std::vector<mutable_buffer> parts{buffer(data.data(), half),
                                        buffer(data.data() + half, room - half)};
      auto [ec, n] = co_await p.server.async_read_some(parts);
      got = n;
      ended_with = ec;
    }
    if (ended_with == error::eof) break;
    if (ended_with || got == 0) ++wrong_;
    if (ended_with) break;
    auto [ec, n] = co_await async_write(p.server, buffer(data.data(), got));
    if (ec || n != got) ++wrong_;
    if (ec) break;
  }
  p.server.close();
  ended(p);
}

cancelled_reader::cancelled_reader(io_context& context, std::uint64_t seed)
    : context_(context), from_(context), to_(context), random_(seed) {
  connect_pair(from_, to_);
  sent_ = text_of(random_, 3000);
  co_spawn(context, write(), detached);
  co_spawn(context, read(), detached);
  co_spawn(context, cancel(), detached);
}

task<> cancelled_reader::write() {
  std::size_t at = 0;
  while (at < sent_.size()) {
    const std::size_t count = std::min<std::size_t>(random_.between(1, 60), sent_.size() - at);
    auto [ec, n] = co_await async_write(from_, buffer(sent_.data() + at, count));
    if (ec) break;
    at += n;
    steady_timer pause(context_, duration(random_.below(3) * 1000));
    beck::ignore(co_await pause.async_wait());
  }
  from_.close();
}

task<> cancelled_reader::read() {
  std::vector<char> data(70'000);
  for (;;) {
    auto [ec, n] = co_await to_.async_read_some(buffer(data.data(), pick(random_, rooms)));
    received_.append(data.data(), n);
    if (ec == error::operation_aborted) {
      ++cancelled_;
    } else if (ec) {
      break;
    }
  }
  over_ = true;
}

task<> cancelled_reader::cancel() {
  while (!over_) {
    to_.cancel();
    // If every poll takes longer than the pause, a read that is cancelled in each is never tried.
    const std::size_t before = received_.size();
    const bool until_read = random_.chance(300);
    do {
      steady_timer pause(context_, duration(random_.below(3) * 1000));
      beck::ignore(co_await pause.async_wait());
    } while (until_read && received_.size() == before && !over_);
  }
}

kinds_in_flight::kinds_in_flight(io_context& context)
    : context_(context),
      acceptor_(context, loopback_v4()),
      client_(context),
      server_(context),
      outcomes_(8),
      small_(8),
      large_(70'000),
      data_(4 << 20, 'k') {
  const mutable_buffer parts[2] = {buffer(&small_[1], 1), buffer(&small_[2], 1)};
  next_pair().async_read_some(buffer(&small_[0], 1), note(outcomes_[0]));
  next_pair().async_read_some(buffer(large_), note(outcomes_[1]));
  next_pair().async_read_some(parts, note(outcomes_[2]));
  next_pair().async_wait(socket_base::wait_read, note(outcomes_[3]));
  stream& full = next_pair();
  fill(full);
  full.async_wait(socket_base::wait_write, note(outcomes_[4]));
  stream& single = next_pair();
  fill(single);
  async_write(single, buffer(data_), note(outcomes_[5]));
  stream& vector = next_pair();
  fill(vector);
  const std::vector<const_buffer> halves{buffer(data_.data(), data_.size() / 2),
                                         buffer(data_.data() + data_.size() / 2, data_.size() / 2)};
  async_write(vector, halves, note(outcomes_[6]));
  acceptor_.async_accept(server_, note(outcomes_[7]));
}

kinds_in_flight::stream& kinds_in_flight::next_pair() {
  ours_.push_back(std::make_unique<stream>(context_));
  peers_.push_back(std::make_unique<stream>(context_));
  connect_pair(*ours_.back(), *peers_.back());
  return *ours_.back();
}

std::size_t kinds_in_flight::completed() const {
  return static_cast<std::size_t>(std::count_if(outcomes_.begin(), outcomes_.end(),
                                                [](const outcome& one) { return one.done(); }));
}

std::size_t kinds_in_flight::succeeded() const {
  return static_cast<std::size_t>(std::count_if(outcomes_.begin(), outcomes_.end(),
                                                [](const outcome& one) { return one.ok(); }));
}

void kinds_in_flight::make_all_happen() {
  for (std::size_t i = 0; i < 4; ++i) beck::write(*peers_[i], buffer("now", 3));
  for (std::size_t i = 4; i < 7; ++i) {
    stream& peer = *peers_[i];
    auto empty = [&peer]() -> task<> {
      std::vector<char> sink(65536);
      for (;;) {
        auto [ec, n] = co_await peer.async_read_some(buffer(sink));
        if (ec) co_return;
      }
    };
    co_spawn(context_, std::move(empty), detached);
  }
  auto finish = [this]() -> task<> {
    steady_timer pause(context_);
    for (;;) {
      pause.expires_after(duration(100'000));
      beck::ignore(co_await pause.async_wait());
      if (outcomes_[4].done() && outcomes_[5].done() && outcomes_[6].done()) break;
    }
    for (std::size_t i = 4; i < 7; ++i) ours_[i]->close();
  };
  co_spawn(context_, std::move(finish), detached);
  client_.connect(acceptor_.local_endpoint());
}

}  // namespace beck::test
