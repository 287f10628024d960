// SPDX-License-Identifier: BSL-1.0
// A transmission under way: its file, its progress, and its stream, which another thread may close.
#pragma once

#include <cerrno>
#include <utility>

#include <beck/detail/deferred_init.hpp>
#include <beck/transfer/transmit.hpp>

#include "io/op/readiness.hpp"
#include "transfer/transfer_work.hpp"

namespace beck::detail {

struct transmission {
  transmission(descriptor& stream, std::uint32_t life, descriptor& file, std::uint64_t offset,
               std::uint64_t bytes, const transmit_options& options) noexcept
      : to(stream),
        to_life(life),
        from(file),
        begin(offset),
        limit(bytes),
        to_end(bytes == to_the_end),
        how(within_bounds(options)) {}

  io_loop& loop() const noexcept { return *to.loop; }
  std::uint64_t left() const noexcept { return limit - report.bytes; }
  const_buffer prefix_left() const noexcept {
    return how.prefix + static_cast<std::size_t>(report.prefix_bytes);
  }
  void sent(transfer_mechanism by, std::size_t bytes) {
    if (bytes == 0) return;
    report.mechanism = by;
    report.bytes += bytes;
    how.progress.tell(report.bytes);
  }
  /// Makes the end that a read has found, after `bytes` bytes, the limit, if the length was not
  /// known before. Returns whether it did.
  bool ends_at(std::uint64_t bytes) noexcept {
    const bool ends_here = open_ended || (to_end && claims_bytes_at(from, begin + bytes));
    if (ends_here) limit = bytes;
    return ends_here;
  }
  /// Calls `action` while no other thread can close the stream: on a shared loop it holds the lock.
  template <class Action>
  void while_open(Action&& action) const noexcept {
    if (loop().runs_alone()) return action();
    static_cast<void>(loop().as_runner([&action](io_loop&) { action(); }));
  }
  /// Returns 0 if the stream and the file can be used now, else the error.
  int usable() const noexcept {
    int result = 0;
    while_open([&] { result = usable_here(); });
    return result;
  }
  /// Returns the result of usable(), for callers inside while_open(). Compares the generation,
  /// because a closed slot may belong to another object now.
  int usable_here() const noexcept {
    if (!is_open_here() || is_closing(from)) return cancelled_result;
    return to.expired ? timeout_result : 0;
  }
  /// Returns whether the stream is open, for callers inside while_open().
  bool is_open_here() const noexcept {
    return to.generation == to_life && to.fd >= 0 && !is_closing(to);
  }
  /// Makes `call`, which sends without waiting, unless the stream or the file cannot be used any
  /// more. Returns its value, or the error.
  template <class Call>
  std::ptrdiff_t send_now(Call&& call) const noexcept {
    std::ptrdiff_t result = 0;
    while_open([&] {
      result = usable_here();
      if (result < 0) return;
      result = call(loop().sys());
      if (result != -EAGAIN) return;
      // Only the next event can announce room: before it no attempt is needed.
      const descriptor_lock held(loop().core(), to);
      note_not_ready(to.queue[direction_out]);
    });
    return result;
  }
  /// Sets the error of the transmission, unless there is one already.
  void fail(const error_code& ec) noexcept {
    if (!error) error = ec;
  }

  descriptor& to;
  const std::uint32_t to_life;  ///< the generation of the slot
  descriptor& from;
  const std::uint64_t begin;  ///< in the file
  std::uint64_t limit;        ///< in bytes
  const bool to_end;          ///< no number of bytes was requested
  bool open_ended = false;    ///< the limit is unknown until a read finds the end
  const transmit_options how;
  transfer_report report;
  error_code error;
};

/// Keeps the stream open during an operation on it. On a shared loop another thread may close the
/// stream before the operation has begun, and the operation would then use the next owner of the
/// slot.
class stream_hold {
 public:
  explicit stream_hold(const transmission& work) noexcept {
    refused_ = work.loop().runs_alone() ? 0 : hold_.emplace(work.to, work.to_life).result();
    if (refused_ == 0) refused_ = work.usable();
  }
  /// Returns 0 if the operation may begin, else the error.
  int refused() const noexcept { return refused_; }

 private:
  deferred_init<open_hold> hold_;
  int refused_;
};

/// Makes a TCP socket send full packets only (TCP_CORK), from begin() until the destructor. The
/// kernel's sendfile(2) passes pages on in portions; without this each acknowledgement between two
/// portions would send an incomplete packet.
class packet_filling {
 public:
  explicit packet_filling(transmission& work) noexcept : work_(work) {}
  ~packet_filling() {
    if (begun_) set(0);
  }
  packet_filling(const packet_filling&) = delete;
  packet_filling& operator=(const packet_filling&) = delete;

  /// The number of remaining bytes from which on begin() sets the option.
  static constexpr std::size_t bytes_min = 262'144;

  /// Sets the option, unless fewer than `bytes_min` bytes are left or the program fills packets
  /// itself.
  void begin() noexcept {
    if (work_.to.nature != descriptor_nature::tcp || work_.left() < bytes_min) return;
    if (std::exchange(asked_, true)) return;
    work_.while_open([this] {
      if (work_.usable_here() != 0) return;
      int now = 0;
      std::size_t bytes = sizeof now;
      if (sys().get_option(work_.to.fd, level, name, &now, bytes) == 0 && now == 0) begun_ = true;
    });
    if (begun_) set(1);
  }

 private:
  static constexpr int level = 6, name = 3;  // IPPROTO_TCP, TCP_CORK

  system& sys() const noexcept { return work_.loop().sys(); }
  void set(int to) const noexcept {
    work_.while_open([&] {
      if (work_.is_open_here())
        static_cast<void>(sys().set_option(work_.to.fd, level, name, &to, sizeof to));
    });
  }

  transmission& work_;
  bool asked_ = false;
  bool begun_ = false;
};

}  // namespace beck::detail
