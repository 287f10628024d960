// SPDX-License-Identifier: BSL-1.0
// Buffers that the kernel keeps hold of, so that it need not find their memory again for each read
// and write of a file. With Asio's names.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/run/any_io_executor.hpp>
#include <beck/run/post.hpp>
#include <cstdint>

namespace beck {

namespace detail {
struct io_vector;

}  // namespace detail

/// Which of a context's registered buffers.
class registered_buffer_id {
 public:
  registered_buffer_id() noexcept = default;
  explicit registered_buffer_id(std::uint16_t number) noexcept : number_(number) {}
  /// From 1 on; 0: none.
  std::uint16_t number() const noexcept { return number_; }
  friend bool operator==(registered_buffer_id, registered_buffer_id) noexcept = default;

 private:
  std::uint16_t number_ = 0;
};

/// A part of a registered buffer. A value; everywhere else it is a mutable_buffer.
class mutable_registered_buffer {
 public:
  mutable_registered_buffer() noexcept = default;
  mutable_registered_buffer(mutable_buffer memory, registered_buffer_id id) noexcept
      : memory_(memory), id_(id) {}

  const mutable_buffer& buffer() const noexcept { return memory_; }
  void* data() const noexcept { return memory_.data(); }
  std::size_t size() const noexcept { return memory_.size(); }
  registered_buffer_id id() const noexcept { return id_; }
  operator mutable_buffer() const noexcept { return memory_; }
  operator const_buffer() const noexcept { return memory_; }
  /// Drops the first n bytes, at most all of them.
  mutable_registered_buffer& operator+=(std::size_t n) noexcept {
    memory_ += n;
    return *this;
  }

 private:
  mutable_buffer memory_;
  registered_buffer_id id_;
};

/// The same, only to be read.
class const_registered_buffer {
 public:
  const_registered_buffer() noexcept = default;
  const_registered_buffer(const mutable_registered_buffer& b) noexcept
      : memory_(b.buffer()), id_(b.id()) {}

  const const_buffer& buffer() const noexcept { return memory_; }
  const void* data() const noexcept { return memory_.data(); }
  std::size_t size() const noexcept { return memory_.size(); }
  registered_buffer_id id() const noexcept { return id_; }
  operator const_buffer() const noexcept { return memory_; }
  const_registered_buffer& operator+=(std::size_t n) noexcept {
    memory_ += n;
    return *this;
  }

 private:
  const_buffer memory_;
  registered_buffer_id id_;
};

inline mutable_registered_buffer operator+(mutable_registered_buffer b, std::size_t n) noexcept {
  return b += n;
}
inline const_registered_buffer operator+(const_registered_buffer b, std::size_t n) noexcept {
  return b += n;
}

/// At most the first n bytes.
inline mutable_registered_buffer buffer(const mutable_registered_buffer& b,
                                        std::size_t n) noexcept {
  return {mutable_buffer(b.data(), n < b.size() ? n : b.size()), b.id()};
}
inline mutable_registered_buffer buffer(const mutable_registered_buffer& b) noexcept { return b; }

namespace detail {

template <class B>
concept registered_buffer = std::same_as<std::remove_cvref_t<B>, mutable_registered_buffer> ||
                            std::same_as<std::remove_cvref_t<B>, const_registered_buffer>;

/// The part of a registration that is no template.
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

  std::size_t size() const noexcept;
  const_iterator begin() const noexcept;
  const_iterator end() const noexcept { return begin() + size(); }
  const_iterator cbegin() const noexcept { return begin(); }
  const_iterator cend() const noexcept { return end(); }
  const mutable_registered_buffer& operator[](std::size_t i) const noexcept { return begin()[i]; }
  /// Requires i < size(), asserted.
  const mutable_registered_buffer& at(std::size_t i) const noexcept;
  /// Whether the kernel has them; else they are buffers like others.
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

/// A registration; gives its buffers as a range. Move-only.
template <class Sequence>
class buffer_registration : public detail::registered_buffers {
 public:
  using buffer_sequence_type = Sequence;

  buffer_registration() noexcept = default;
  /// See register_buffers().
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

/// Registers buffers with an io_context, until the result is destroyed. Reads and writes of its
/// files that are given one of the result's buffers, or a part of one, then spare the kernel the
/// work of finding their pages: for large direct transfers, mostly.
/// io_uring: IORING_REGISTER_BUFFERS; a context has one registration at a time. Where there is no
/// ring, where there is a registration already, and where the kernel refuses (RLIMIT_MEMLOCK, an
/// empty buffer) the result holds buffers like others, and says so (takes_effect()).
/// Requires: the memory lives as long as the result, and the context longer; no operation uses one
/// of the buffers when it ends (asserted on io_uring). Thread: on the runner, or while nobody runs
/// the context; elsewhere it has no effect. Throws std::bad_alloc.
template <detail::executor_like E, mutable_buffer_sequence B>
buffer_registration<B> register_buffers(const E& executor, const B& buffers) {
  return buffer_registration<B>(any_io_executor(executor), buffers);
}
template <detail::has_executor C, mutable_buffer_sequence B>
buffer_registration<B> register_buffers(C& context, const B& buffers) {
  return buffer_registration<B>(any_io_executor(context.get_executor()), buffers);
}

}  // namespace beck
