// SPDX-License-Identifier: BSL-1.0
// Many sockets of one context that are ready in the same poll.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>

#include <sys/socket.h>

#include <doctest/doctest.h>

#include "support/outcome.hpp"
#include "support/stream_pair.hpp"

namespace beck::test {
using namespace detail;

/// Returns the bytes that have arrived at the socket `fd`.
inline std::string arrived(int fd) {
  char data[8192];
  const ssize_t n = ::recv(fd, data, sizeof data, MSG_DONTWAIT);
  return std::string(data, n > 0 ? static_cast<std::size_t>(n) : 0);
}

/// Pairs of sockets. A poll finds a byte at one end of each, and the handlers of these reads run.
class crowd {
 public:
  using answer = std::function<void(int i)>;

  /// `room`: the bytes that each read has room for.
  crowd(io_context& ctx, int count, std::size_t room = 1) : ctx_(ctx), room_(room) {
    for (int i = 0; i < count; ++i) {
      pairs_.emplace_back(ctx);
      fds_.push_back(pairs_.back().b.native_handle());
    }
    sent.resize(static_cast<std::size_t>(count));
    bytes_.resize(room * static_cast<std::size_t>(count));
  }

  stream_socket& end(int i) { return pairs_[static_cast<std::size_t>(i)].a; }
  stream_socket& peer(int i) { return pairs_[static_cast<std::size_t>(i)].b; }
  /// Returns the descriptor of peer(i). Unlike native_handle() this makes no sends.
  int fd(int i) const { return fds_[static_cast<std::size_t>(i)]; }
  outcome& sent_by(int i) { return sent[static_cast<std::size_t>(i)]; }

  void send(int i, const char* text) {
    end(i).async_write_some(buffer(text, std::char_traits<char>::length(text)), note(sent_by(i)));
  }

  /// Starts a read at each end, whose handler calls `then(i)`, and sends the bytes that they find.
  void prepare(answer then) {
    then_ = std::move(then);
    for (int i = 0; i < count(); ++i) {
      end(i).async_read_some(buffer(&bytes_[room_ * static_cast<std::size_t>(i)], room_),
                             [this, i](error_code, std::size_t) { then_(i); });
      REQUIRE(::send(fd(i), "x", 1, 0) == 1);
    }
  }

  /// Runs everything. Returns by how much the counters have grown.
  context_stats play(answer then) {
    prepare(std::move(then));
    const context_stats before = ctx_.stats();
    run_all(ctx_);
    context_stats grown = ctx_.stats();
    grown.sends_batched -= before.sends_batched;
    grown.attempts -= before.attempts;
    grown.kernel_entries -= before.kernel_entries;
    return grown;
  }

  int count() const { return static_cast<int>(pairs_.size()); }

  std::deque<outcome> sent;

 private:
  io_context& ctx_;
  std::deque<stream_pair> pairs_;
  std::deque<int> fds_;
  std::size_t room_;
  std::string bytes_;
  answer then_;
};

}  // namespace beck::test
