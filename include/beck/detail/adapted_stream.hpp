// SPDX-License-Identifier: BSL-1.0
// A byte_stream that is a stream of the user's, such as one that counts or limits the bytes of a
// socket: TLS and other layers stand over it as over a socket.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <beck/detail/stream_object.hpp>
#include <beck/io/byte_stream.hpp>
#include <beck/net/socket_option.hpp>
#include <beck/run/deferred.hpp>

namespace beck::detail {

/// A stream of the user's over a socket of the library, which `lowest_layer()` returns.
template <class S>
concept layered_stream =
    !std::is_base_of_v<stream_object, S> &&
    requires(S& stream, const mutable_buffer& to, const const_buffer& from, error_code& ec) {
      stream.async_read_some(to, deferred);
      stream.async_write_some(from, deferred);
      { stream.lowest_layer() } -> std::convertible_to<stream_object&>;
      stream.lowest_layer().shutdown(socket_base::shutdown_send, ec);
    };

/// A byte_stream over a stream of the user's, which it owns. Unlike a socket_stream it holds a
/// buffer of 4 KiB while receive() waits, and cannot write at once, so what a layer makes is copied
/// and sent in the background.
template <layered_stream S>
class adapted_stream final : public byte_stream {
 public:
  /// Takes over a connected stream.
  explicit adapted_stream(S&& stream) : stream_(std::move(stream)) {}

  task<io_result<buffer_lease>> receive() override {
    constexpr std::size_t lease_bytes = 4096;
    io_result<buffer_lease> result;
    result.value_ = make_lease(lease_bytes);
    auto got = co_await read_some(mutable_buffer(result.value_.data(), lease_bytes));
    result.error_ = got.error();
    result.value_.truncate(got.value_);
    co_return result;
  }
  task<io_result<std::size_t>> read_some(mutable_buffer to) override {
    auto got = co_await stream_.async_read_some(to, deferred);
    co_return got;
  }
  task<io_result<std::size_t>> write_some(const_buffer_span parts) override {
    const const_buffer* part = parts.begin();
    while (part != parts.end() && part->size() == 0) ++part;
    if (part == parts.end()) co_return io_result<std::size_t>();
    auto sent = co_await stream_.async_write_some(*part, deferred);
    co_return sent;
  }
  std::size_t write_now(const_buffer_span, error_code& ec) noexcept override {
    ec = error::would_block;
    return 0;
  }
  task<io_result<>> finish() override {
    error_code ec;
    stream_.lowest_layer().shutdown(socket_base::shutdown_send, ec);
    co_return io_result<>(ec);
  }
  stream_object& socket() noexcept override { return stream_.lowest_layer(); }
  bool is_plain() const noexcept override { return false; }

 private:
  S stream_;
};

}  // namespace beck::detail
