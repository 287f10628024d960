// SPDX-License-Identifier: BSL-1.0
// A layer in the place of TLS: a handshake of two messages, then bytes that are masked by their
// position. A byte that is lost, sent twice, out of order, or past the layer is noticed.
#pragma once

#include <beck/io/read_write.hpp>
#include <beck/io/stream_layer.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

namespace beck::http::test {

/// The mask of one direction.
class mask {
 public:
  /// Masks or unmasks the next bytes of the stream.
  void apply(char* data, std::size_t bytes) noexcept {
    for (std::size_t i = 0; i < bytes; ++i) {
      data[i] = static_cast<char>(data[i] ^ static_cast<char>(0x5a + 7 * (at_ + i)));
    }
    at_ += bytes;
  }
  std::string of(std::string text) noexcept {
    apply(text.data(), text.size());
    return text;
  }

 private:
  std::size_t at_ = 0;
};

inline constexpr std::string_view mask_question = "MASK?";
inline constexpr std::string_view mask_answer = "MASK!";

/// A masked stream. `ahead`: masked bytes that came behind the handshake.
class masked_stream final : public byte_stream {
 public:
  explicit masked_stream(owned_stream carrier) : carrier_(std::move(carrier)) {}

  task<io_result<buffer_lease>> receive() override {
    auto got = co_await carrier_->receive();
    if (!got) co_return got;
    buffer_lease lease = std::move(got).value();
    in_.apply(lease.data(), lease.size());
    co_return io_result<buffer_lease>(error_code(), std::move(lease));
  }
  task<io_result<std::size_t>> read_some(mutable_buffer to) override {
    auto got = co_await carrier_->read_some(to);
    in_.apply(static_cast<char*>(to.data()), got.value_);
    co_return got;
  }
  task<io_result<std::size_t>> write_some(const_buffer_span parts) override {
    char room[5000];
    const const_buffer next(room, gather(parts, room, sizeof room));
    auto sent = co_await carrier_->write_some(const_buffer_span(&next, 1));
    out_.apply(room, sent.value_);
    co_return sent;
  }
  std::size_t write_now(const_buffer_span parts, error_code& ec) noexcept override {
    char room[5000];
    const const_buffer next(room, gather(parts, room, sizeof room));
    const std::size_t sent = carrier_->write_now(const_buffer_span(&next, 1), ec);
    out_.apply(room, sent);
    return sent;
  }
  task<io_result<>> finish() override { return carrier_->finish(); }
  beck::detail::stream_object& socket() noexcept override { return carrier_->socket(); }
  bool is_plain() const noexcept override { return false; }

 private:
  /// Copies the first bytes, masked; the mask moves on when they have been sent.
  std::size_t gather(const_buffer_span parts, char* room, std::size_t most) const noexcept {
    std::size_t bytes = 0;
    for (const const_buffer& part : parts) {
      const std::size_t here = std::min(most - bytes, part.size());
      if (here != 0) std::memcpy(room + bytes, part.data(), here);
      bytes += here;
    }
    mask copy = out_;
    copy.apply(room, bytes);
    return bytes;
  }

  owned_stream carrier_;
  mask in_, out_;
};

/// The layer. A client asks, a server answers; anything else is bad_message.
class masked_layer final : public stream_layer {
 public:
  task<io_result<owned_stream>> accept(owned_stream carrier) override {
    error_code ec = co_await expect(*carrier, mask_question);
    if (!ec) ec = co_await say(*carrier, mask_answer);
    if (ec) co_return io_result<owned_stream>(ec, owned_stream());
    co_return io_result<owned_stream>(ec, owned_stream(new masked_stream(std::move(carrier))));
  }
  task<io_result<owned_stream>> connect(owned_stream carrier, std::string_view name) override {
    if (name.size() == 0) {
      co_return io_result<owned_stream>(make_error_code(std::errc::invalid_argument),
                                        owned_stream());
    }
    error_code ec = co_await say(*carrier, mask_question);
    if (!ec) ec = co_await expect(*carrier, mask_answer);
    if (ec) co_return io_result<owned_stream>(ec, owned_stream());
    co_return io_result<owned_stream>(ec, owned_stream(new masked_stream(std::move(carrier))));
  }

 private:
  static task<error_code> expect(byte_stream& from, std::string_view text) {
    std::string got(text.size(), ' ');
    std::size_t at = 0;
    while (at < got.size()) {
      const mutable_buffer room(got.data() + at, got.size() - at);
      auto [ec, n] = co_await from.read_some(room);
      if (ec) co_return ec;
      at += n;
    }
    co_return got == text ? error_code() : make_error_code(std::errc::bad_message);
  }
  static task<error_code> say(byte_stream& to, std::string_view text) {
    while (!text.empty()) {
      const const_buffer part(text.data(), text.size());
      auto [ec, n] = co_await to.write_some(const_buffer_span(&part, 1));
      if (ec) co_return ec;
      text.remove_prefix(n);
    }
    co_return error_code();
  }
};

/// Whether servers of the running case listen with a layer; both_streams.hpp sets it.
inline bool layered = false;

}  // namespace beck::http::test
