// SPDX-License-Identifier: BSL-1.0
// A file that is read and written at offsets. Operations have no order: 32 reads started together
// are 32 reads in flight.
#pragma once

#include <beck/file/file_object.hpp>
#include <beck/io/registered_buffer.hpp>
#include <string_view>

namespace beck {

/// A file that is read and written at offsets. Operations are not ordered. Thread, cancellation: as
/// file_object.
template <class Executor = any_io_executor>
class basic_random_access_file : public basic_file<Executor> {
  using base = basic_file<Executor>;

 public:
  /// How to open a file.
  using flags = file_object::flags;
  /// The same type with another executor.
  template <class Other>
  struct rebind_executor {
    using other = basic_random_access_file<Other>;
  };

  /// Makes a closed file.
  explicit basic_random_access_file(io_context& context)
    requires std::is_constructible_v<Executor, io_context::executor_type>
      : base(Executor(context.get_executor())) {}
  /// Makes a closed file whose operations complete on `executor`. Throws io_error
  /// (invalid_argument) unless its context is an io_context.
  explicit basic_random_access_file(const Executor& executor) : base(executor) {}
  /// Makes a closed file that `context` drives, and whose operations complete on `executor`.
  basic_random_access_file(io_context& context, const Executor& executor)
      : base(context, executor) {}
  /// Takes over a file whose executor has another type.
  template <detail::other_executor<Executor> Other>
  basic_random_access_file(basic_random_access_file<Other>&& other) noexcept
      : base(static_cast<basic_file<Other>&&>(other)) {}
  /// Opens a file: see open(). Throws io_error.
  basic_random_access_file(io_context& context, std::string_view path, flags how)
      : basic_random_access_file(context) {
    this->open(path, how);
  }
  /// Takes over an open descriptor: see assign(). Throws io_error.
  basic_random_access_file(io_context& context, int handle) : basic_random_access_file(context) {
    this->assign(handle);
  }
  /// As the two above, with operations that complete on `executor`.
  basic_random_access_file(const Executor& executor, std::string_view path, flags how)
      : basic_random_access_file(executor) {
    this->open(path, how);
  }
  basic_random_access_file(const Executor& executor, int handle)
      : basic_random_access_file(executor) {
    this->assign(handle);
  }

  /// Reads at least one byte at `offset`. Completes with (error_code, std::size_t): the number of
  /// bytes, 0 at once for an empty buffer. Errors: eof at or after the end; those of pread(2).
  /// Source: pread(2), preadv(2).
  detail::file_transfer async_read_some_at(std::uint64_t offset, mutable_buffer buffer) noexcept {
    return {detail::op_kind::file, detail::file_call::read,
            this->descriptor_,     offset,
            buffer.data(),         buffer.size()};
  }
  /// As above, into a sequence of buffers.
  template <mutable_buffer_sequence B>
    requires(!detail::single_mutable_buffer<B>)
  detail::file_vector_transfer async_read_some_at(std::uint64_t offset, const B& buffers) noexcept {
    return {detail::op_kind::file, detail::file_call::read_vector, this->descriptor_, offset,
            buffers};
  }
  /// As above. `token` takes (error_code, std::size_t).
  template <mutable_buffer_sequence B, class Token>
  auto async_read_some_at(std::uint64_t offset, const B& buffers, Token&& token) {
    return detail::launch(async_read_some_at(offset, buffers), static_cast<Token&&>(token));
  }

  /// As with a mutable_buffer, into a registered one; see register_buffers().
  template <detail::registered_buffer B>
  detail::file_transfer async_read_some_at(std::uint64_t offset, const B& buffer) noexcept {
    static_assert(std::is_same_v<B, mutable_registered_buffer>, "this buffer is only for writing");
    detail::file_transfer op = async_read_some_at(offset, buffer.buffer());
    op.registered = buffer.id().number();
    return op;
  }

  /// Writes at least one byte at `offset`. Completes with (error_code, std::size_t): the number of
  /// bytes, 0 at once for an empty buffer. Errors: those of pwrite(2). Source: pwrite(2),
  /// pwritev(2).
  detail::file_transfer async_write_some_at(std::uint64_t offset, const_buffer buffer) noexcept {
    return {detail::op_kind::file,
            detail::file_call::write,
            this->descriptor_,
            offset,
            const_cast<void*>(buffer.data()),
            buffer.size()};
  }
  /// As above, from a sequence of buffers.
  template <const_buffer_sequence B>
    requires(!detail::single_buffer<B>)
  detail::file_vector_transfer async_write_some_at(std::uint64_t offset,
                                                   const B& buffers) noexcept {
    return {detail::op_kind::file, detail::file_call::write_vector, this->descriptor_, offset,
            buffers};
  }
  /// As above. `token` takes (error_code, std::size_t).
  template <const_buffer_sequence B, class Token>
  auto async_write_some_at(std::uint64_t offset, const B& buffers, Token&& token) {
    return detail::launch(async_write_some_at(offset, buffers), static_cast<Token&&>(token));
  }

  /// As with a const_buffer, from a registered one; see register_buffers().
  template <detail::registered_buffer B>
  detail::file_transfer async_write_some_at(std::uint64_t offset, const B& buffer) noexcept {
    detail::file_transfer op = async_write_some_at(offset, const_buffer(buffer.buffer()));
    op.registered = buffer.id().number();
    return op;
  }

  /// Reads at least one byte at `offset`; waits for the device. Returns the number of bytes.
  template <mutable_buffer_sequence B>
  std::size_t read_some_at(std::uint64_t offset, const B& buffers, error_code& ec) {
    auto op = async_read_some_at(offset, buffers);
    return this->call_now(op, ec);
  }
  /// As above, and throws io_error on failure.
  template <mutable_buffer_sequence B>
  std::size_t read_some_at(std::uint64_t offset, const B& buffers) {
    error_code ec;
    const std::size_t bytes = read_some_at(offset, buffers, ec);
    detail::throw_if(ec, "read_some_at");
    return bytes;
  }
  /// Writes at least one byte at `offset`; waits for the device. Returns the number of bytes.
  template <const_buffer_sequence B>
  std::size_t write_some_at(std::uint64_t offset, const B& buffers, error_code& ec) {
    auto op = async_write_some_at(offset, buffers);
    return this->call_now(op, ec);
  }
  /// As above, and throws io_error on failure.
  template <const_buffer_sequence B>
  std::size_t write_some_at(std::uint64_t offset, const B& buffers) {
    error_code ec;
    const std::size_t bytes = write_some_at(offset, buffers, ec);
    detail::throw_if(ec, "write_some_at");
    return bytes;
  }
};

/// A random-access file with any executor.
using random_access_file = basic_random_access_file<>;

}  // namespace beck
