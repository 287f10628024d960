// SPDX-License-Identifier: BSL-1.0
// A layer that encrypts nothing, and notes its handshakes: for cases about connections that have to
// pass one.
#pragma once

#include <beck/coro/event.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/stream_layer.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beck::redis::test {

class plain_layer final : public stream_layer {
 public:
  task<io_result<owned_stream>> accept(owned_stream carrier) override {
    co_return take(std::move(carrier));
  }
  task<io_result<owned_stream>> connect(owned_stream carrier, std::string_view name) override {
    peers.emplace_back(name.data(), name.size());
    error_code ec;
    if (peers.size() == hangs_at) ec = co_await wait();
    if (ec) carrier = owned_stream();
    auto result = take(std::move(carrier));
    result.error_ = ec;
    co_return result;
  }

  std::vector<std::string> peers;  ///< the name that each handshake expects
  std::size_t hangs_at = 0;        ///< the handshake that never ends, from 1

 private:
  task<error_code> wait() {
    auto waiting = never_.wait();
    const auto waited = co_await std::move(waiting);
    co_return waited.error();
  }
  static io_result<owned_stream> take(owned_stream carrier) {
    io_result<owned_stream> result;
    result.value_ = std::move(carrier);
    return result;
  }

  manual_reset_event never_;
};

}  // namespace beck::redis::test
