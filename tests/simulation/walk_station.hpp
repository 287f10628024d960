// SPDX-License-Identifier: BSL-1.0
// A place of the walk: two connected sockets, and the operations that may be started on them.
#pragma once

#include <beck/coro/task.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "simulation/oracles.hpp"
#include "simulation/walk.hpp"

namespace beck::test {
using namespace detail;

/// One life of a connection: what was sent over it is judged apart from what comes after it.
struct connection_life {
  connection_life(oracles& of, std::uint64_t salt) : streams{{of, salt}, {of, salt + 1}} {}

  judged_stream streams[2];  ///< what end 0 reads, what end 1 reads
  bool writing[2] = {};      ///< at most one write a direction: its bytes follow from its position
  bool shut[2] = {};         ///< no more writes by this end
  bool wants_shutdown[2] = {};  ///< as soon as the write has ended
  bool broken = false;          ///< closed, or an error: bytes may be missing
};

/// `stream` is local::stream_protocol::socket or tcp::socket.
template <class Stream>
class walk_station {
 public:
  walk_station(io_context& ctx, oracles& of, choices& from, bool faults);

  void step();
  /// Stops writing, reads everything: run() returns then.
  void finish();

 private:
  using life_pointer = std::shared_ptr<connection_life>;
  static constexpr std::size_t room_max = 70'000;
  static constexpr unsigned reads_max = 6;

  void open();
  void close();
  void connect();
  void start_read(unsigned end);
  void start_wait(unsigned end);
  void start_write(unsigned end);
  task<> read_task(unsigned end, std::size_t room, life_pointer life);
  task<> write_task(unsigned end, std::string text, life_pointer life);
  task<> drain(unsigned end, life_pointer life);

  void read_done(connection_life& life, unsigned end, std::uint64_t start, const error_code& ec,
                 const char* data, std::size_t n);
  void write_done(connection_life& life, unsigned end, const error_code& ec, std::size_t asked,
                  std::size_t n);
  void shut_down(connection_life& life, unsigned end);
  std::string next_text(connection_life& life, unsigned end, std::size_t bytes);
  void judge(connection_life& life, const error_code& ec);

  io_context& ctx_;
  oracles& oracles_;
  choices& from_;
  bool faults_;
  Stream ends_[2];
  life_pointer life_;
  unsigned reads_[2] = {};
  std::uint64_t lives_ = 0;
  unsigned drained_ = 0;
};

}  // namespace beck::test
