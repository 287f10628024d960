// SPDX-License-Identifier: BSL-1.0
// Work for a driver: echo over socket pairs with every way of reading and writing, all bytes
// checked; a reader that is cancelled at random; one operation of every kind in flight.
#pragma once

#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/outcome.hpp"
#include "support/small_random.hpp"

namespace beck::test {
using namespace detail;

/// An echo over several pairs of sockets. Messages have from one byte to more bytes than a socket's
/// buffers hold; read buffers are smaller and larger than the limit up to which io_uring arms
/// receives.
class echo_load {
 public:
  static constexpr int rounds = 6;

  echo_load(io_context& context, std::size_t pairs, std::uint64_t seed);

  /// Returns the number of pairs that carried all bytes and ended with eof on both sides.
  std::size_t finished() const { return finished_; }
  std::size_t wrong_bytes() const { return wrong_; }

 private:
  using stream = local::stream_protocol::socket;
  struct pair {
    explicit pair(io_context& context, std::uint64_t seed)
        : client(context), server(context), random(seed) {
      connect_pair(client, server);
    }
    stream client;
    stream server;
    testing::small_random random;
    int ends = 0;
  };

  task<> talk(pair& p);
  task<> exchange(pair& p, std::string& text);
  task<> hear(pair& p, std::string& text);
  task<> answer(pair& p);
  void ended(pair& p);

  io_context& context_;
  std::vector<std::unique_ptr<pair>> pairs_;
  std::size_t finished_ = 0;
  std::size_t wrong_ = 0;
};

/// A stream of numbered bytes whose reads are cancelled again and again, at random times and so in
/// different states.
class cancelled_reader {
 public:
  cancelled_reader(io_context& context, std::uint64_t seed);

  const std::string& sent() const { return sent_; }
  const std::string& received() const { return received_; }
  int cancelled() const { return cancelled_; }

 private:
  task<> write();
  task<> read();
  task<> cancel();

  io_context& context_;
  local::stream_protocol::socket from_;
  local::stream_protocol::socket to_;
  testing::small_random random_;
  std::string sent_;
  std::string received_;
  int cancelled_ = 0;
  bool over_ = false;
};

/// An operation in flight of every kind that can wait, and the events that complete them.
class kinds_in_flight {
 public:
  explicit kinds_in_flight(io_context& context);

  std::size_t count() const { return outcomes_.size(); }
  std::size_t completed() const;
  std::size_t succeeded() const;
  /// Causes the event that each of the operations waits for: data, room, a connection.
  void make_all_happen();

 private:
  using stream = local::stream_protocol::socket;
  stream& next_pair();

  io_context& context_;
  std::vector<std::unique_ptr<stream>> ours_;
  std::vector<std::unique_ptr<stream>> peers_;
  ip::tcp::acceptor acceptor_;
  ip::tcp::socket client_;
  ip::tcp::socket server_;
  std::vector<outcome> outcomes_;
  std::vector<char> small_;
  std::vector<char> large_;
  std::string data_;
};

}  // namespace beck::test
