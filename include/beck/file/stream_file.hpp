// SPDX-License-Identifier: BSL-1.0
// A file that is read and written from front to back. The object itself stores the position, not
// the kernel: it moves by the number of transferred bytes, and no other process can move it.
#pragma once

#include <beck/file/file_object.hpp>
#include <beck/io/registered_buffer.hpp>
#include <string_view>

namespace beck {

/// A file that is read and written from front to back: a stream, which async_read, async_write and
/// async_read_until take (io/generic_stream.hpp). Operations that are started together run one
/// after the other, in the order of their start. Thread, cancellation: as file_object.
template <class Executor = any_io_executor>
class basic_stream_file : public basic_file<Executor> {
  using base = basic_file<Executor>;

 public:
  /// How to open a file.
  using flags = file_object::flags;
  /// The position that seek() counts from.
  using seek_basis = file_object::seek_basis;
  /// The same type with another executor.
  template <class Other>
  struct rebind_executor {
    using other = basic_stream_file<Other>;
  };

  /// Makes a closed file.
  explicit basic_stream_file(io_context& context)
    requires std::is_constructible_v<Executor, io_context::executor_type>
      : base(Executor(context.get_executor())) {}
  /// Makes a closed file whose operations complete on `executor`. Throws io_error
  /// (invalid_argument) unless its context is an io_context.
  explicit basic_stream_file(const Executor& executor) : base(executor) {}
  /// Makes a closed file that `context` drives, and whose operations complete on `executor`.
  basic_stream_file(io_context& context, const Executor& executor) : base(context, executor) {}
  /// Takes over a file whose executor has another type.
  template <detail::other_executor<Executor> Other>
  basic_stream_file(basic_stream_file<Other>&& other) noexcept
      : base(static_cast<basic_file<Other>&&>(other)) {}
  /// Opens a file: see open(). Throws io_error.
  basic_stream_file(io_context& context, std::string_view path, flags how)
      : basic_stream_file(context) {
    this->open(path, how);
  }
  /// Takes over an open descriptor: see assign(). Throws io_error.
  basic_stream_file(io_context& context, int handle) : basic_stream_file(context) {
    this->assign(handle);
  }
  /// As the two above, with operations that complete on `executor`.
  basic_stream_file(const Executor& executor, std::string_view path, flags how)
      : basic_stream_file(executor) {
    this->open(path, how);
  }
  basic_stream_file(const Executor& executor, int handle) : basic_stream_file(executor) {
    this->assign(handle);
  }

  /// Moves the position. Returns the new one, in bytes from the beginning; the present one after an
  /// error. Requires, asserted, that no operation is under way. Errors: invalid_argument for a
  /// place before the beginning.
  std::uint64_t seek(std::int64_t offset, seek_basis whence, error_code& ec) noexcept {
    return this->seek_to(offset, whence, ec);
  }
  /// As above, and throws io_error on failure.
  std::uint64_t seek(std::int64_t offset, seek_basis whence) {
    error_code ec;
    const std::uint64_t position = this->seek_to(offset, whence, ec);
    detail::throw_if(ec, "seek");
    return position;
  }

  /// Reads at least one byte. Completes with (error_code, std::size_t): the number of bytes, 0 at
  /// once for an empty buffer. Errors: eof at the end; those of pread(2).
  detail::file_transfer async_read_some(mutable_buffer buffer) noexcept {
    return {detail::op_kind::file_in_order,
            detail::file_call::read,
            this->descriptor_,
            0,
            buffer.data(),
            buffer.size()};
  }
  /// As above, into a sequence of buffers.
  template <mutable_buffer_sequence B>
    requires(!detail::single_mutable_buffer<B>)
  detail::file_vector_transfer async_read_some(const B& buffers) noexcept {
    return {detail::op_kind::file_in_order, detail::file_call::read_vector, this->descriptor_, 0,
            buffers};
  }
  /// As above. `token` takes (error_code, std::size_t).
  template <mutable_buffer_sequence B, class Token>
  auto async_read_some(const B& buffers, Token&& token) {
    return detail::launch(async_read_some(buffers), static_cast<Token&&>(token));
  }

  /// As with a mutable_buffer, into a registered one; see register_buffers().
  template <detail::registered_buffer B>
  detail::file_transfer async_read_some(const B& buffer) noexcept {
    static_assert(std::is_same_v<B, mutable_registered_buffer>, "this buffer is only for writing");
    detail::file_transfer op = async_read_some(buffer.buffer());
    op.registered = buffer.id().number();
    return op;
  }

  /// Writes at least one byte. Completes with (error_code, std::size_t): the number of bytes. With
  /// `append` the write ignores the position, and sets it to the end of the file. Errors: those of
  /// pwrite(2).
  detail::file_transfer async_write_some(const_buffer buffer) noexcept {
    return {detail::op_kind::file_in_order,
            detail::file_call::write,
            this->descriptor_,
            0,
            const_cast<void*>(buffer.data()),
            buffer.size()};
  }
  /// As above, from a sequence of buffers.
  template <const_buffer_sequence B>
    requires(!detail::single_buffer<B>)
  detail::file_vector_transfer async_write_some(const B& buffers) noexcept {
    return {detail::op_kind::file_in_order, detail::file_call::write_vector, this->descriptor_, 0,
            buffers};
  }
  /// As above. `token` takes (error_code, std::size_t).
  template <const_buffer_sequence B, class Token>
  auto async_write_some(const B& buffers, Token&& token) {
    return detail::launch(async_write_some(buffers), static_cast<Token&&>(token));
  }

  /// As with a const_buffer, from a registered one; see register_buffers().
  template <detail::registered_buffer B>
  detail::file_transfer async_write_some(const B& buffer) noexcept {
    detail::file_transfer op = async_write_some(const_buffer(buffer.buffer()));
    op.registered = buffer.id().number();
    return op;
  }

  /// Reads at least one byte; waits for the device. Returns the number of bytes.
  template <mutable_buffer_sequence B>
  std::size_t read_some(const B& buffers, error_code& ec) {
    auto op = async_read_some(buffers);
    return this->call_now(op, ec);
  }
  /// As above, and throws io_error on failure.
  template <mutable_buffer_sequence B>
  std::size_t read_some(const B& buffers) {
    error_code ec;
    const std::size_t bytes = read_some(buffers, ec);
    detail::throw_if(ec, "read_some");
    return bytes;
  }
  /// Writes at least one byte; waits for the device. Returns the number of bytes.
  template <const_buffer_sequence B>
  std::size_t write_some(const B& buffers, error_code& ec) {
    auto op = async_write_some(buffers);
    return this->call_now(op, ec);
  }
  /// As above, and throws io_error on failure.
  template <const_buffer_sequence B>
  std::size_t write_some(const B& buffers) {
    error_code ec;
    const std::size_t bytes = write_some(buffers, ec);
    detail::throw_if(ec, "write_some");
    return bytes;
  }
};

/// A stream file with any executor.
using stream_file = basic_stream_file<>;

}  // namespace beck
