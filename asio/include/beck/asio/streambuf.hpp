// SPDX-License-Identifier: BSL-1.0
// streambuf: a growing buffer that is also a std::streambuf. Reads and writes of the library take
// it as a dynamic buffer, and std::istream and std::ostream work on it.
#pragma once

#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <streambuf>
#include <vector>

#include <beck/asio/buffer.hpp>
#include <beck/asio/config.hpp>

BECK_ASIO_BEGIN

/// At most `size_max` bytes, which are read at the front and written at the back. A write of more
/// to a std::ostream sets its badbit; prepare() throws. Thread: one at a time.
template <class Allocator = std::allocator<char>>
class basic_streambuf : public std::streambuf {
 public:
  /// The type of data().
  using const_buffers_type = beck::const_buffer;
  /// The type of prepare().
  using mutable_buffers_type = beck::mutable_buffer;

  /// Makes an empty buffer.
  explicit basic_streambuf(std::size_t size_max = std::numeric_limits<std::size_t>::max(),
                           const Allocator& allocator = Allocator())
      : size_max_(size_max),
        memory_(size_max < first_bytes ? size_max : first_bytes, 0, allocator) {
    place(0, 0);
  }
  basic_streambuf(const basic_streambuf&) = delete;
  basic_streambuf& operator=(const basic_streambuf&) = delete;

  /// Returns the number of bytes that can be read.
  std::size_t size() const noexcept { return static_cast<std::size_t>(pptr() - gptr()); }
  /// Returns the bound of size().
  std::size_t max_size() const noexcept { return size_max_; }
  /// Returns the number of bytes that fit into the memory allocated so far.
  std::size_t capacity() const noexcept { return memory_.size(); }
  /// Returns the bytes that can be read. Valid until the next call of another function.
  const_buffers_type data() const noexcept { return {gptr(), size()}; }
  /// Returns memory for `n` bytes at the back. Throws std::length_error if size() would be more
  /// than max_size(), and std::bad_alloc.
  mutable_buffers_type prepare(std::size_t n) {
    make_room(n);
    return {pptr(), n};
  }
  /// Adds the first `n` bytes of prepare(), at most all.
  void commit(std::size_t n) noexcept {
    const std::size_t room = memory_.size() - write_at();
    place(read_at(), write_at() + (n < room ? n : room));
  }
  /// Removes `n` bytes at the front, at most all.
  void consume(std::size_t n) noexcept { place(read_at() + (n < size() ? n : size()), write_at()); }

  /// Refers to this buffer, for the reads and writes of the library.
  operator beck::dynamic_buffer_ref() noexcept { return {this, table, size_max_}; }

 protected:
  /// Makes the bytes that were written readable.
  int_type underflow() override {
    place(read_at(), write_at());
    return gptr() < egptr() ? traits_type::to_int_type(*gptr()) : traits_type::eof();
  }
  /// Adds a byte.
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    if (pptr() == epptr()) {
      if (size() == size_max_) return traits_type::eof();
      const std::size_t more = size() < size_max_ - size() ? size() : size_max_ - size();
      make_room(more > 0 ? more : 1);
    }
    *pptr() = traits_type::to_char_type(c);
    commit(1);
    return c;
  }

 private:
  static constexpr std::size_t first_bytes = 128;

  std::size_t read_at() const noexcept { return static_cast<std::size_t>(gptr() - eback()); }
  std::size_t write_at() const noexcept { return static_cast<std::size_t>(pptr() - eback()); }
  /// Sets the positions of reading and writing in the memory, because the functions that move one
  /// take an int.
  void place(std::size_t read, std::size_t write) noexcept {
    char* const first = memory_.data();
    setg(first, first + read, first + write);
    setp(first + write, first + memory_.size());
  }
  void make_room(std::size_t n) {
    if (n <= memory_.size() - write_at()) return;
    const std::size_t bytes = size();
    if (n > size_max_ - bytes) throw std::length_error("asio::streambuf: more than max_size()");
    if (bytes > 0) std::memmove(memory_.data(), gptr(), bytes);
    place(0, bytes);
    if (bytes + n <= memory_.size()) return;
    memory_.resize(bytes + n);
    place(0, bytes);
  }
  void resize(std::size_t n) {
    if (n > size()) {
      commit(prepare(n - size()).size());
    } else {
      place(read_at(), read_at() + n);
    }
  }

  static basic_streambuf& from(void* self) noexcept { return *static_cast<basic_streambuf*>(self); }
  static constexpr beck::detail::dynamic_buffer_table table{
      [](void* self) noexcept {
        return beck::mutable_buffer(from(self).gptr(), from(self).size());
      },
      [](void* self, std::size_t n) { from(self).resize(n); },
      [](void* self, std::size_t n) { from(self).consume(n); },
      [](const void* self) noexcept {
        return static_cast<const basic_streambuf*>(self)->capacity();
      }};

  std::size_t size_max_;
  std::vector<char, Allocator> memory_;
};

/// A buffer with the standard allocator.
using streambuf = basic_streambuf<>;

/// Asio's dynamic buffer of a streambuf.
template <class Allocator = std::allocator<char>>
class basic_streambuf_ref {
 public:
  /// Refers to `of`, which must outlive it.
  explicit basic_streambuf_ref(basic_streambuf<Allocator>& of) noexcept : of_(&of) {}
  std::size_t size() const noexcept { return of_->size(); }
  std::size_t max_size() const noexcept { return of_->max_size(); }
  std::size_t capacity() const noexcept { return of_->capacity(); }
  beck::const_buffer data() const noexcept { return of_->data(); }
  beck::mutable_buffer prepare(std::size_t n) { return of_->prepare(n); }
  void commit(std::size_t n) noexcept { of_->commit(n); }
  void consume(std::size_t n) noexcept { of_->consume(n); }
  /// Refers to the same buffer.
  operator beck::dynamic_buffer_ref() const noexcept { return *of_; }

 private:
  basic_streambuf<Allocator>* of_;
};

BECK_ASIO_END
