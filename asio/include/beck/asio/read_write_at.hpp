// SPDX-License-Identifier: BSL-1.0
// Composed reads and writes at offsets: beck's, and those of Asio that fill a streambuf or take it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <beck/asio/buffer.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>
#include <beck/asio/streambuf.hpp>
#include <beck/asio/token.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/io/completion_condition.hpp>

BECK_ASIO_BEGIN

using beck::async_read_at;
using beck::async_write_at;
using beck::read_at;
using beck::transfer_all;
using beck::transfer_at_least;
using beck::transfer_exactly;
using beck::write_at;

namespace facade {

/// The most bytes that one step reads into a streambuf, and the fewest that it makes room for.
inline constexpr std::size_t step_max = 65536;
inline constexpr std::size_t step_min = 512;

/// Returns how many bytes a step may read into `into`: 0 if it is full or the condition is met.
template <class Condition, class Allocator>
std::size_t room_for_step(Condition& condition, const beck::error_code& ec, std::size_t total,
                          const basic_streambuf<Allocator>& into) {
  const std::size_t wanted = beck::detail::bytes_wanted(condition, ec, total);
  const std::size_t unused = into.capacity() - into.size();
  const std::size_t room = into.max_size() - into.size();
  std::size_t step = unused < step_min ? step_min : unused;
  for (const std::size_t bound : {wanted, step_max, room}) step = bound < step ? bound : step;
  return step;
}

/// The steps of async_read_at() into a streambuf.
template <class Device, class Allocator, class Condition>
class read_at_steps {
 public:
  read_at_steps(Device& device, std::uint64_t offset, basic_streambuf<Allocator>& into,
                Condition condition)
      : device_(&device), offset_(offset), into_(&into), condition_(std::move(condition)) {}

  template <class Self>
  void operator()(Self& self) {
    self.reset_cancellation_state(enable_partial_cancellation());
    go_on(self, beck::error_code());
  }
  template <class Self>
  void operator()(Self& self, const beck::error_code& ec, std::size_t bytes) {
    total_ += bytes;
    into_->commit(bytes);
    go_on(self, ec, bytes == 0);
  }

 private:
  template <class Self>
  void go_on(Self& self, const beck::error_code& ec, bool is_over = false) {
    const std::size_t room = facade::room_for_step(condition_, ec, total_, *into_);
    if (room == 0 || is_over) {
      self.complete(ec, total_);
      return;
    }
    if (!!self.cancelled()) {  // between two steps
      self.complete(error::operation_aborted, total_);
      return;
    }
    Device& device = *device_;  // `self` moves this object away
    const std::uint64_t at = offset_ + total_;
    const beck::mutable_buffer place = into_->prepare(room);
    device.async_read_some_at(at, place, static_cast<Self&&>(self));
  }

  Device* device_;
  std::uint64_t offset_;
  basic_streambuf<Allocator>* into_;
  Condition condition_;
  std::size_t total_ = 0;
};

/// The steps of async_write_at() from a streambuf, of which what was written is removed.
template <class Allocator, class Launch>
class write_at_steps {
 public:
  write_at_steps(basic_streambuf<Allocator>& from, Launch launch)
      : from_(&from), launch_(std::move(launch)) {}

  template <class Self>
  void operator()(Self& self) {
    self.reset_cancellation_state(enable_partial_cancellation());
    Launch launch(std::move(launch_));  // `self` moves this object away
    launch(static_cast<Self&&>(self));
  }
  template <class Self>
  void operator()(Self& self, const beck::error_code& ec, std::size_t bytes) {
    from_->consume(bytes);
    self.complete(ec, bytes);
  }

 private:
  basic_streambuf<Allocator>* from_;
  Launch launch_;
};

/// Whether T is a token for a read or write, and no condition.
template <class T>
concept transfer_token = !beck::detail::completion_condition<std::decay_t<T>>;

}  // namespace facade

/// Reads at `offset` into `buffers` until `condition` is met. Blocks. Returns the number of bytes
/// read, also with an error.
template <class Device, beck::mutable_buffer_sequence Buffers,
          beck::detail::completion_condition Condition>
std::size_t read_at(Device& device, std::uint64_t offset, const Buffers& buffers,
                    Condition condition, beck::error_code& ec) {
  return beck::detail::transfer_steps_now<beck::mutable_buffer>(
      buffers, condition, ec,
      [&](const auto& parts,
          std::size_t total) -> decltype(device.read_some_at(offset, parts, ec)) {
        return device.read_some_at(offset + total, parts, ec);
      });
}
/// As above. Throws an io_error.
template <class Device, beck::mutable_buffer_sequence Buffers,
          beck::detail::completion_condition Condition>
std::size_t read_at(Device& device, std::uint64_t offset, const Buffers& buffers,
                    Condition condition) {
  beck::error_code ec;
  const std::size_t n = BECK_ASIO::read_at(device, offset, buffers, std::move(condition), ec);
  if (ec) beck::detail::throw_error(ec, "read_at", n);
  return n;
}
/// Reads at `offset` into a streambuf until `condition` is met or it is full. Blocks. Returns the
/// number of bytes read, also with an error.
template <class Device, class Allocator, beck::detail::completion_condition Condition>
std::size_t read_at(Device& device, std::uint64_t offset, basic_streambuf<Allocator>& into,
                    Condition condition, beck::error_code& ec) {
  ec = beck::error_code();
  std::size_t total = 0;
  while (const std::size_t room = facade::room_for_step(condition, ec, total, into)) {
    const std::size_t n = device.read_some_at(offset + total, into.prepare(room), ec);
    into.commit(n);
    total += n;
    if (n == 0) break;
  }
  return total;
}
/// As above. Throws an io_error.
template <class Device, class Allocator, beck::detail::completion_condition Condition>
std::size_t read_at(Device& device, std::uint64_t offset, basic_streambuf<Allocator>& into,
                    Condition condition) {
  beck::error_code ec;
  const std::size_t n = BECK_ASIO::read_at(device, offset, into, std::move(condition), ec);
  if (ec) beck::detail::throw_error(ec, "read_at", n);
  return n;
}
/// As above, until the streambuf is full or an error occurs.
template <class Device, class Allocator>
std::size_t read_at(Device& device, std::uint64_t offset, basic_streambuf<Allocator>& into,
                    beck::error_code& ec) {
  return BECK_ASIO::read_at(device, offset, into, transfer_all(), ec);
}
/// As above. Throws an io_error.
template <class Device, class Allocator>
std::size_t read_at(Device& device, std::uint64_t offset, basic_streambuf<Allocator>& into) {
  return BECK_ASIO::read_at(device, offset, into, transfer_all());
}

/// Starts reading at `offset` into a streambuf until `condition` is met or it is full. `token`
/// takes (error_code, std::size_t): the number of bytes read, also with an error. Requires that the
/// device and the streambuf outlive the operation.
template <class Device, class Allocator, beck::detail::completion_condition Condition,
          facade::transfer_token Token = beck::detail::default_token_of<Device>>
auto async_read_at(Device& device, std::uint64_t offset, basic_streambuf<Allocator>& into,
                   Condition condition, Token&& token = Token()) {
  using steps = facade::read_at_steps<Device, Allocator, Condition>;
  return BECK_ASIO::async_compose<Token, void(beck::error_code, std::size_t)>(
      steps(device, offset, into, std::move(condition)), token, device);
}
/// As above, until the streambuf is full or an error occurs.
template <class Device, class Allocator,
          facade::transfer_token Token = beck::detail::default_token_of<Device>>
auto async_read_at(Device& device, std::uint64_t offset, basic_streambuf<Allocator>& into,
                   Token&& token = Token()) {
  return BECK_ASIO::async_read_at(device, offset, into, transfer_all(),
                                  static_cast<Token&&>(token));
}

/// Writes `buffers` at `offset` until `condition` is met. Blocks. Returns the number of bytes
/// written, also with an error.
template <class Device, beck::const_buffer_sequence Buffers,
          beck::detail::completion_condition Condition>
std::size_t write_at(Device& device, std::uint64_t offset, const Buffers& buffers,
                     Condition condition, beck::error_code& ec) {
  return beck::detail::transfer_steps_now<beck::const_buffer>(
      buffers, condition, ec,
      [&](const auto& parts,
          std::size_t total) -> decltype(device.write_some_at(offset, parts, ec)) {
        return device.write_some_at(offset + total, parts, ec);
      });
}
/// As above. Throws an io_error.
template <class Device, beck::const_buffer_sequence Buffers,
          beck::detail::completion_condition Condition>
std::size_t write_at(Device& device, std::uint64_t offset, const Buffers& buffers,
                     Condition condition) {
  beck::error_code ec;
  const std::size_t n = BECK_ASIO::write_at(device, offset, buffers, std::move(condition), ec);
  if (ec) beck::detail::throw_error(ec, "write_at", n);
  return n;
}
/// Writes the bytes of a streambuf at `offset` until `condition` is met, and removes those that
/// were written. Blocks. Returns their number, also with an error.
template <class Device, class Allocator, beck::detail::completion_condition Condition>
std::size_t write_at(Device& device, std::uint64_t offset, basic_streambuf<Allocator>& from,
                     Condition condition, beck::error_code& ec) {
  const std::size_t n = BECK_ASIO::write_at(device, offset, from.data(), std::move(condition), ec);
  from.consume(n);
  return n;
}
/// As above. Throws an io_error.
template <class Device, class Allocator, beck::detail::completion_condition Condition>
std::size_t write_at(Device& device, std::uint64_t offset, basic_streambuf<Allocator>& from,
                     Condition condition) {
  beck::error_code ec;
  const std::size_t n = BECK_ASIO::write_at(device, offset, from, std::move(condition), ec);
  if (ec) beck::detail::throw_error(ec, "write_at", n);
  return n;
}
/// As above, until all is written.
template <class Device, class Allocator>
std::size_t write_at(Device& device, std::uint64_t offset, basic_streambuf<Allocator>& from,
                     beck::error_code& ec) {
  return BECK_ASIO::write_at(device, offset, from, transfer_all(), ec);
}
/// As above. Throws an io_error.
template <class Device, class Allocator>
std::size_t write_at(Device& device, std::uint64_t offset, basic_streambuf<Allocator>& from) {
  return BECK_ASIO::write_at(device, offset, from, transfer_all());
}

/// Starts writing the bytes of a streambuf at `offset` until `condition` is met, and removes those
/// that were written. `token` takes (error_code, std::size_t). Requires that the device and the
/// streambuf outlive the operation.
template <class Device, class Allocator, beck::detail::completion_condition Condition,
          facade::transfer_token Token = beck::detail::default_token_of<Device>>
auto async_write_at(Device& device, std::uint64_t offset, basic_streambuf<Allocator>& from,
                    Condition condition, Token&& token = Token()) {
  auto launch = [&device, offset, data = from.data(),
                 condition = std::move(condition)](auto&& next) mutable {
    beck::async_write_at(device, offset, data, std::move(condition),
                         static_cast<decltype(next)&&>(next));
  };
  using steps = facade::write_at_steps<Allocator, decltype(launch)>;
  return BECK_ASIO::async_compose<Token, void(beck::error_code, std::size_t)>(
      steps(from, std::move(launch)), token, device);
}
/// As above, until all is written.
template <class Device, class Allocator,
          facade::transfer_token Token = beck::detail::default_token_of<Device>>
auto async_write_at(Device& device, std::uint64_t offset, basic_streambuf<Allocator>& from,
                    Token&& token = Token()) {
  return BECK_ASIO::async_write_at(device, offset, from, transfer_all(),
                                   static_cast<Token&&>(token));
}

BECK_ASIO_END
