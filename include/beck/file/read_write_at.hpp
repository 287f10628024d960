// SPDX-License-Identifier: BSL-1.0
// async_read_at and async_write_at: whole buffers at an offset, and the synchronous forms. For
// random_access_file, and for every device with async_read_some_at or async_write_some_at.
#pragma once

#include <beck/detail/composed_operation.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/run/compose.hpp>
#include <beck/run/default_completion_token.hpp>

namespace beck {

namespace detail {

/// A device that can be read or written at offsets.
template <class D>
concept async_random_access_read_device =
    has_executor<D> && requires(D& device, const mutable_buffer& buffer) {
      device.async_read_some_at(std::uint64_t{0}, buffer, deferred);
    };
template <class D>
concept async_random_access_write_device =
    has_executor<D> && requires(D& device, const const_buffer& buffer) {
      device.async_write_some_at(std::uint64_t{0}, buffer, deferred);
    };

/// A device that also takes several buffers at once.
template <class D, class Buffer>
concept takes_parts_at = (std::is_same_v<Buffer, mutable_buffer> &&
                          requires(D& device, const buffer_parts<mutable_buffer>& parts) {
                            device.async_read_some_at(std::uint64_t{0}, parts, deferred);
                          }) ||
                         (std::is_same_v<Buffer, const_buffer> &&
                          requires(D& device, const buffer_parts<const_buffer>& parts) {
                            device.async_write_some_at(std::uint64_t{0}, parts, deferred);
                          });

/// The steps of async_read_at and async_write_at: as transfer_steps.
template <class Device, class Buffer, class Buffers, class Condition>
class transfer_at_steps {
 public:
  transfer_at_steps(Device& device, std::uint64_t offset, const Buffers& buffers,
                    Condition condition)
      : device_(&device),
        offset_(offset),
        buffers_(buffers),
        condition_(static_cast<Condition&&>(condition)) {}

  template <class Self>
  void operator()(Self& self) {
    go_on(self, error_code());
  }
  template <class Self>
  void operator()(Self& self, const error_code& ec, std::size_t bytes) {
    total_ += bytes;
    if (ec || bytes == 0) {
      static_cast<void>(
          detail::bytes_wanted(condition_, ec, total_));  // conditions may count errors
      self.complete(ec, total_);
    } else {
      go_on(self, ec);
    }
  }

 private:
  template <class Self>
  void go_on(Self& self, const error_code& ec) {
    const std::size_t more = detail::bytes_wanted(condition_, ec, total_);
    const Buffer part = detail::part_of<Buffer>(buffers_.get(), total_, more);
    if (part.size() == 0) {
      self.complete(ec, total_);
    } else if constexpr (!single_buffer<Buffers> && takes_parts_at<Device, Buffer>) {
      step(self, buffer_parts<Buffer>(buffers_.get(), total_, more));
    } else {
      step(self, part);
    }
  }

  template <class Self, class Parts>
  void step(Self& self, const Parts& parts) {
    Device& device = *device_;  // `self` moves this object away
    const std::uint64_t at = offset_ + total_;
    if constexpr (std::is_same_v<Buffer, mutable_buffer>) {
      device.async_read_some_at(at, parts, static_cast<Self&&>(self));
    } else {
      device.async_write_some_at(at, parts, static_cast<Self&&>(self));
    }
  }

  Device* device_;
  std::uint64_t offset_;
  kept_sequence<Buffers> buffers_;
  Condition condition_;
  std::size_t total_ = 0;
};

/// One buffer: a single operation of a file moves all of it.
template <class B>
concept whole_read_buffer = registered_buffer<B> || single_mutable_buffer<B>;
template <class B>
concept whole_write_buffer = registered_buffer<B> || single_buffer<B>;

}  // namespace detail

/// Reads at `offset` until the buffer is full or the file ends. Completes with (error_code,
/// std::size_t): the number of bytes read, also with an error. Errors: eof at the end of the file.
/// Several operations may be under way on one file.
template <class Executor, detail::whole_read_buffer B>
detail::file_transfer async_read_at(basic_random_access_file<Executor>& file, std::uint64_t offset,
                                    const B& buffer) noexcept {
  detail::file_transfer op = file.async_read_some_at(offset, buffer);
  op.flags = detail::io_op::flag_all;
  return op;
}
/// As above. `token` takes (error_code, std::size_t).
template <class Executor, detail::whole_read_buffer B, class Token>
  requires(!detail::completion_condition<std::decay_t<Token>>)
auto async_read_at(basic_random_access_file<Executor>& file, std::uint64_t offset, const B& buffer,
                   Token&& token) {
  return detail::launch(beck::async_read_at(file, offset, buffer), static_cast<Token&&>(token));
}
/// Reads from any device with async_read_some_at() until `condition` is met, the buffers are full,
/// or a step fails or moves nothing. Requires that the device outlives the operation.
template <detail::async_random_access_read_device D, mutable_buffer_sequence B,
          detail::completion_condition C, class Token = detail::default_token_of<D>>
auto async_read_at(D& device, std::uint64_t offset, const B& buffers, C condition,
                   Token&& token = Token()) {
  using steps = detail::transfer_at_steps<D, mutable_buffer, B, C>;
  return beck::async_compose<Token, void(error_code, std::size_t)>(
      steps(device, offset, buffers, static_cast<C&&>(condition)), token, device);
}
/// As above, until the buffers are full.
template <detail::async_random_access_read_device D, mutable_buffer_sequence B,
          class Token = detail::default_token_of<D>>
  requires(!detail::completion_condition<std::decay_t<Token>> && !detail::registered_buffer<B>)
auto async_read_at(D& device, std::uint64_t offset, const B& buffers, Token&& token = Token()) {
  return beck::async_read_at(device, offset, buffers, transfer_all(), static_cast<Token&&>(token));
}

/// Writes the whole buffer at `offset`. Completes with (error_code, std::size_t): the number of
/// bytes written, also with an error.
template <class Executor, detail::whole_write_buffer B>
detail::file_transfer async_write_at(basic_random_access_file<Executor>& file, std::uint64_t offset,
                                     const B& buffer) noexcept {
  detail::file_transfer op = file.async_write_some_at(offset, buffer);
  op.flags = detail::io_op::flag_all;
  return op;
}
/// As above. `token` takes (error_code, std::size_t).
template <class Executor, detail::whole_write_buffer B, class Token>
  requires(!detail::completion_condition<std::decay_t<Token>>)
auto async_write_at(basic_random_access_file<Executor>& file, std::uint64_t offset, const B& buffer,
                    Token&& token) {
  return detail::launch(beck::async_write_at(file, offset, buffer), static_cast<Token&&>(token));
}
/// Writes to any device with async_write_some_at() until `condition` is met, all is written, or a
/// step fails or moves nothing. Requires that the device outlives the operation.
template <detail::async_random_access_write_device D, const_buffer_sequence B,
          detail::completion_condition C, class Token = detail::default_token_of<D>>
auto async_write_at(D& device, std::uint64_t offset, const B& buffers, C condition,
                    Token&& token = Token()) {
  using steps = detail::transfer_at_steps<D, const_buffer, B, C>;
  return beck::async_compose<Token, void(error_code, std::size_t)>(
      steps(device, offset, buffers, static_cast<C&&>(condition)), token, device);
}
/// As above, until all is written.
template <detail::async_random_access_write_device D, const_buffer_sequence B,
          class Token = detail::default_token_of<D>>
  requires(!detail::completion_condition<std::decay_t<Token>> && !detail::registered_buffer<B>)
auto async_write_at(D& device, std::uint64_t offset, const B& buffers, Token&& token = Token()) {
  return beck::async_write_at(device, offset, buffers, transfer_all(), static_cast<Token&&>(token));
}

/// Reads from any device with read_some_at() until the buffers are full, or a step fails or moves
/// nothing. Blocks. Returns the number of bytes read, also with an error.
template <class Device, mutable_buffer_sequence B>
std::size_t read_at(Device& device, std::uint64_t offset, const B& buffers, error_code& ec) {
  transfer_all all;
  return detail::transfer_steps_now<mutable_buffer>(
      buffers, all, ec,
      [&](const auto& parts,
          std::size_t total) -> decltype(device.read_some_at(offset, parts, ec)) {
        return device.read_some_at(offset + total, parts, ec);
      });
}
/// As above, and throws io_error on failure, with the number of bytes read as transferred().
template <class Device, mutable_buffer_sequence B>
std::size_t read_at(Device& device, std::uint64_t offset, const B& buffers) {
  error_code ec;
  const std::size_t total = beck::read_at(device, offset, buffers, ec);
  if (ec) detail::throw_error(ec, "read_at", total);
  return total;
}
/// Writes to any device with write_some_at() until all is written, or a step fails or moves
/// nothing. Blocks. Returns the number of bytes written, also with an error.
template <class Device, const_buffer_sequence B>
std::size_t write_at(Device& device, std::uint64_t offset, const B& buffers, error_code& ec) {
  transfer_all all;
  return detail::transfer_steps_now<const_buffer>(
      buffers, all, ec,
      [&](const auto& parts,
          std::size_t total) -> decltype(device.write_some_at(offset, parts, ec)) {
        return device.write_some_at(offset + total, parts, ec);
      });
}
/// As above, and throws io_error on failure, with the number of bytes written as transferred().
template <class Device, const_buffer_sequence B>
std::size_t write_at(Device& device, std::uint64_t offset, const B& buffers) {
  error_code ec;
  const std::size_t total = beck::write_at(device, offset, buffers, ec);
  if (ec) detail::throw_error(ec, "write_at", total);
  return total;
}

}  // namespace beck
