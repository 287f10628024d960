// SPDX-License-Identifier: BSL-1.0
// A stream that takes as many bytes as a test says, and a protocol that sends over it.
#pragma once

#include <algorithm>
#include <beck/coro/event.hpp>
#include <beck/io/io_context.hpp>
#include <beck/net/tcp.hpp>
#include <beck/transfer/stream_writer.hpp>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace beck::test {

using beck::stream_writer;
using beck::writer_source;
namespace error = beck::error;

/// A stream that has room for some bytes, and waits for more room.
class narrow_stream final : public beck::byte_stream {
 public:
  explicit narrow_stream(beck::io_context& ctx) : socket_(ctx) {}

  task<beck::io_result<beck::buffer_lease>> receive() override {
    co_return beck::io_result<beck::buffer_lease>(error::make_error_code(error::eof), {});
  }
  task<beck::io_result<std::size_t>> read_some(beck::mutable_buffer) override {
    co_return beck::io_result<std::size_t>(error::make_error_code(error::eof), 0);
  }
  task<beck::io_result<std::size_t>> write_some(beck::const_buffer_span parts) override {
    ++waits;
    while (room == 0 && !fails) {
      has_room_.reset();
      auto waited = co_await has_room_.wait();
      if (waited.error()) co_return beck::io_result<std::size_t>(waited.error(), 0);
    }
    const error_code ec = fails;
    const std::size_t bytes = ec ? 0 : take(parts);
    co_return beck::io_result<std::size_t>(ec, bytes);
  }
  std::size_t write_now(beck::const_buffer_span parts, error_code& ec) noexcept override {
    ++writes;
    was_last = false;
    ec = fails;
    if (!ec && room == 0) ec = error::would_block;
    return ec ? 0 : take(parts);
  }
  std::size_t write_last(beck::const_buffer_span parts, error_code& ec) noexcept override {
    const std::size_t sent = write_now(parts, ec);
    was_last = true;
    ++lasts;
    return sent;
  }
  task<beck::io_result<>> finish() override { co_return beck::io_result<>(); }
  beck::detail::stream_object& socket() noexcept override { return socket_; }
  bool is_plain() const noexcept override { return true; }

  /// Makes room, also for a write that waits.
  void widen(std::size_t by) {
    room += by;
    has_room_.set();
  }
  /// Lets all writes fail, also one that waits.
  void fail(error_code why) {
    fails = why;
    has_room_.set();
  }

  std::string taken;
  std::size_t room = SIZE_MAX / 2;
  error_code fails;
  int writes = 0, waits = 0, lasts = 0;
  bool was_last = false;  // the last write by write_now() or write_last() was by that

 private:
  std::size_t take(beck::const_buffer_span parts) {
    const std::size_t before = taken.size();
    for (const beck::const_buffer& part : parts) {
      const std::size_t bytes = std::min(part.size(), room);
      taken.append(static_cast<const char*>(part.data()), bytes);
      room -= bytes;
    }
    return taken.size() - before;
  }

  beck::ip::tcp::socket socket_;
  beck::manual_reset_event has_room_;
};

/// A protocol that queues text.
class sender final : public writer_source, public std::enable_shared_from_this<sender> {
 public:
  explicit sender(beck::io_context& ctx, unsigned writes_max = 64)
      : stream(ctx), writer(*this, writes_max), executor_(ctx.get_executor()) {
    writer.start(executor_, stream);
  }

  void say(std::string_view text) {
    waiting += text;
    writer.schedule();
  }

  std::size_t gather(part_array& parts) override {
    if (no_memory) throw std::bad_alloc();
    const std::size_t bytes = std::min(waiting.size(), bytes_a_write);
    std::size_t count = 0;
    for (std::size_t at = 0; at < bytes && count < parts_max; at += parts[count++].size()) {
      parts[count] = beck::const_buffer(waiting.data() + at, std::min(part_bytes, bytes - at));
    }
    return count;
  }
  void take_sent(std::size_t bytes) noexcept override {
    waiting.erase(0, bytes);
    if (!answer.empty()) waiting += std::exchange(answer, {});
  }
  void keep_rest(beck::const_buffer_span parts, std::size_t sent) override {
    if (keeps_nothing || no_memory) throw std::bad_alloc();
    for (const beck::const_buffer& part : parts) {
      const std::size_t skipped = std::min(sent, part.size());
      sent -= skipped;
      waiting.append(static_cast<const char*>(part.data()) + skipped, part.size() - skipped);
    }
  }
  void take_write_error(const error_code& why) noexcept override {
    failed = why;
    ++errors;
    if (stops_on_error) writer.stop();
  }
  void begin_stall() noexcept override { ++stalls; }
  void end_stall() noexcept override {
    ++stall_ends;
    if (std::exchange(flushes_at_end, false)) writer.flush();
  }
  void hold() noexcept override { hold_.hold(shared_from_this()); }
  void let_go() noexcept override { hold_.let_go(); }

  narrow_stream stream;
  stream_writer writer;
  std::string waiting, answer;
  std::size_t bytes_a_write = SIZE_MAX, part_bytes = SIZE_MAX;
  error_code failed;
  int errors = 0, stalls = 0, stall_ends = 0;
  bool no_memory = false, keeps_nothing = false, stops_on_error = true;
  bool flushes_at_end = false;

 private:
  beck::any_io_executor executor_;
  beck::shared_hold<std::shared_ptr<void>> hold_;
};

struct writer_fixture {
  std::optional<beck::io_context> ctx{std::in_place};
  std::shared_ptr<sender> s = std::make_shared<sender>(*ctx);
  void run() {
    ctx->restart();
    ctx->run();
  }
  /// Runs what is ready; a write may still wait for room.
  void settle() {
    ctx->restart();
    ctx->poll();
  }
};

inline beck::const_buffer buffer_of(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace beck::test
