// SPDX-License-Identifier: BSL-1.0
// A transport that takes little at once, like a socket whose peer reads slowly, or takes nothing
// any more: encrypted bytes then have to wait.
#pragma once

#include <beck/coro/this_coro.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/stream_layer.hpp>

#include <algorithm>
#include <utility>

namespace beck::tls::test {

class narrow_stream final : public byte_stream {
 public:
  /// Takes `bytes` at once, and the next ones when `pause` has passed.
  explicit narrow_stream(owned_stream of, std::size_t bytes = 1000, duration pause = duration())
      : of_(std::move(of)), bytes_(bytes), pause_(pause) {}

  task<io_result<buffer_lease>> receive() override { return of_->receive(); }
  task<io_result<std::size_t>> read_some(mutable_buffer to) override { return of_->read_some(to); }
  task<io_result<std::size_t>> write_some(const_buffer_span parts) override {
    const const_buffer few(parts.begin()->data(), std::min(parts.begin()->size(), bytes_));
    const any_io_executor here = co_await this_coro::executor;
    steady_timer timer(here, pause_);
    auto waited = co_await timer.async_wait();
    if (waited.error()) co_return io_result<std::size_t>(waited.error(), 0);
    auto sent = co_await of_->write_some(const_buffer_span(&few, 1));
    co_return sent;
  }
  std::size_t write_now(const_buffer_span parts, error_code& ec) noexcept override {
    const_buffer few[parts_max];
    std::size_t count = 0;
    std::size_t left = bytes_;
    for (const const_buffer& part : parts) {
      if (count == parts_max) break;
      few[count] = {part.data(), std::min(part.size(), left)};
      left -= few[count++].size();
    }
    return of_->write_now(const_buffer_span(few, count), ec);
  }
  task<io_result<>> finish() override { return of_->finish(); }
  beck::detail::stream_object& socket() noexcept override { return of_->socket(); }
  bool is_plain() const noexcept override { return of_->is_plain(); }

 private:
  static constexpr std::size_t parts_max = 16;

  owned_stream of_;
  std::size_t bytes_;
  duration pause_;
};

}  // namespace beck::tls::test
