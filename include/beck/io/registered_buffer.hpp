// SPDX-License-Identifier: BSL-1.0
// Buffers that are registered with the kernel, so that it need not look up their memory for each
// read and write of a file. With Asio's names.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/run/any_io_executor.hpp>
#include <beck/run/post.hpp>
#include <cstdint>

namespace beck {

namespace detail {
struct io_vector;

}  // namespace detail

/// The number of a registered buffer within its context.
class registered_buffer_id {
 public:
  registered_buffer_id() noexcept = default;
  /// For the library: names buffer `number`.
  explicit registered_buffer_id(std::uint16_t number) noexcept : number_(number) {}
  /// Returns the number, from 1 on; 0 means none.
  std::uint16_t number() const noexcept { return number_; }
  friend bool operator==(registered_buffer_id, registered_buffer_id) noexcept = default;

 private:
  std::uint16_t number_ = 0;
};

/// A part of a registered buffer. A value; converts to a mutable_buffer.
class mutable_registered_buffer {
 public:
  mutable_registered_buffer() noexcept = default;
  /// For the library: `memory` is a part of buffer `id`.
  mutable_registered_buffer(mutable_buffer memory, registered_buffer_id id) noexcept
      : memory_(memory), id_(id) {}

  /// Returns the memory.
  const mutable_buffer& buffer() const noexcept { return memory_; }
  /// Returns the first byte.
  void* data() const noexcept { return memory_.data(); }
  /// Returns the number of bytes.
  std::size_t size() const noexcept { return memory_.size(); }
  /// Returns the registered buffer that this is a part of.
  registered_buffer_id id() const noexcept { return id_; }
  /// Converts to the memory.
  operator mutable_buffer() const noexcept { return memory_; }
  /// Converts to the memory.
  operator const_buffer() const noexcept { return memory_; }
  /// Drops the first `n` bytes, at most all of them.
  mutable_registered_buffer& operator+=(std::size_t n) noexcept {
    memory_ += n;
    return *this;
  }

 private:
  mutable_buffer memory_;
  registered_buffer_id id_;
};

/// A part of a registered buffer that is only read. A value; converts to a const_buffer.
class const_registered_buffer {
 public:
  const_registered_buffer() noexcept = default;
  /// Converts from a writable one.
  const_registered_buffer(const mutable_registered_buffer& b) noexcept
      : memory_(b.buffer()), id_(b.id()) {}

  /// Returns the memory.
  const const_buffer& buffer() const noexcept { return memory_; }
  /// Returns the first byte.
  const void* data() const noexcept { return memory_.data(); }
  /// Returns the number of bytes.
  std::size_t size() const noexcept { return memory_.size(); }
  /// Returns the registered buffer that this is a part of.
  registered_buffer_id id() const noexcept { return id_; }
  /// Converts to the memory.
  operator const_buffer() const noexcept { return memory_; }
  /// Drops the first `n` bytes, at most all of them.
  const_registered_buffer& operator+=(std::size_t n) noexcept {
    memory_ += n;
    return *this;
  }

 private:
  const_buffer memory_;
  registered_buffer_id id_;
};

/// Returns `b` without its first `n` bytes.
inline mutable_registered_buffer operator+(mutable_registered_buffer b, std::size_t n) noexcept {
  return b += n;
}
/// Returns `b` without its first `n` bytes.
inline const_registered_buffer operator+(const_registered_buffer b, std::size_t n) noexcept {
  return b += n;
}

/// Returns at most the first `n` bytes of `b`.
inline mutable_registered_buffer buffer(const mutable_registered_buffer& b,
                                        std::size_t n) noexcept {
  return {mutable_buffer(b.data(), n < b.size() ? n : b.size()), b.id()};
}
/// Returns `b`.
inline mutable_registered_buffer buffer(const mutable_registered_buffer& b) noexcept { return b; }

namespace detail {

template <class B>
concept registered_buffer = std::same_as<std::remove_cvref_t<B>, mutable_registered_buffer> ||
                            std::same_as<std::remove_cvref_t<B>, const_registered_buffer>;

/// The part of a registration that is no template: a range of its buffers.
class registered_buffers {
 public:
  using value_type = mutable_registered_buffer;
  using const_iterator = const mutable_registered_buffer*;
  using iterator = const_iterator;

  registered_buffers() noexcept = default;
  registered_buffers(registered_buffers&& other) noexcept
      : state_(std::exchange(other.state_, nullptr)) {}
  registered_buffers& operator=(registered_buffers&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  /// Ends the registration.
  ~registered_buffers();

  /// Returns the number of buffers.
  std::size_t size() const noexcept;
  /// Returns the first buffer's position.
  const_iterator begin() const noexcept;
  const_iterator end() const noexcept { return begin() + size(); }
  const_iterator cbegin() const noexcept { return begin(); }
  const_iterator cend() const noexcept { return end(); }
  /// Returns buffer `i`. Requires i < size(); not checked.
  const mutable_registered_buffer& operator[](std::size_t i) const noexcept { return begin()[i]; }
  /// Returns buffer `i`. Requires i < size(), asserted.
  const mutable_registered_buffer& at(std::size_t i) const noexcept;
  /// Returns whether the buffers are registered with the kernel; if not, they are ordinary buffers.
  bool takes_effect() const noexcept;

 protected:
  registered_buffers(const any_io_executor& where, std::size_t count);
  void set(std::size_t i, mutable_buffer memory) noexcept;
  void enroll() noexcept;

 private:
  struct state;
  state* state_ = nullptr;
};

}  // namespace detail

/// A registration, and a range of its buffers. Move-only; its destructor ends the registration.
template <class Sequence>
class buffer_registration : public detail::registered_buffers {
 public:
  /// The type of the sequence that was registered.
  using buffer_sequence_type = Sequence;

  /// Registers nothing.
  buffer_registration() noexcept = default;
  /// Registers `buffers`: see register_buffers().
  template <class B>
  buffer_registration(const any_io_executor& where, const B& buffers)
      : detail::registered_buffers(where, count(buffers)) {
    std::size_t i = 0;
    const auto end = beck::buffer_sequence_end(buffers);
    for (auto at = beck::buffer_sequence_begin(buffers); at != end; ++at) this->set(i++, *at);
    this->enroll();
  }

 private:
  template <class B>
  static std::size_t count(const B& buffers) {
    std::size_t n = 0;
    const auto end = beck::buffer_sequence_end(buffers);
    for (auto at = beck::buffer_sequence_begin(buffers); at != end; ++at) ++n;
    return n;
  }
};

/// Registers buffers with an io_context until the result is destroyed. Reads and writes of its
/// files that use one of the result's buffers, or a part of one, spare the kernel looking up their
/// pages: mostly useful for large direct transfers.
/// io_uring: IORING_REGISTER_BUFFERS; a context has one registration at a time. Without a ring, if
/// there is a registration already, and if the kernel refuses (RLIMIT_MEMLOCK, an empty buffer) the
/// result holds ordinary buffers, and takes_effect() returns false.
/// Requires: the memory lives as long as the result, and the context longer; no operation uses one
/// of the buffers when it ends (asserted on io_uring). Thread: on the runner, or while no thread
/// runs the context; elsewhere it has no effect. Throws std::bad_alloc.
template <detail::executor_like E, mutable_buffer_sequence B>
buffer_registration<B> register_buffers(const E& executor, const B& buffers) {
  return buffer_registration<B>(any_io_executor(executor), buffers);
}
/// As above, with the executor of `context`.
template <detail::has_executor C, mutable_buffer_sequence B>
buffer_registration<B> register_buffers(C& context, const B& buffers) {
  return buffer_registration<B>(any_io_executor(context.get_executor()), buffers);
}

}  // namespace beck
