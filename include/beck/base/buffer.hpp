// SPDX-License-Identifier: BSL-1.0
//
// Buffers: a pointer and a size, made by buffer() from any object that holds bytes. Containers are
// recognised by shape (data() and size()), so this header includes none of them. Whether an
// operation gets one buffer or a sequence of buffers is known from the type, so that one becomes
// recv(2) and several become readv(2) without a decision at run time.
//
// No buffer owns its memory: it must stay valid until the operation that uses it has completed.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace beck {

/// Writable bytes: a pointer and a size. A value; any thread.
class mutable_buffer {
 public:
  /// Makes an empty buffer.
  constexpr mutable_buffer() noexcept = default;
  /// Refers to `size` bytes at `data`.
  constexpr mutable_buffer(void* data, std::size_t size) noexcept : data_(data), size_(size) {}
  /// Refers to the bytes of a span.
  template <class Span>
    requires requires(const Span& s) { s.subspan(0, s.size()); }
  explicit constexpr mutable_buffer(const Span& span) noexcept
      : data_(span.data()), size_(span.size() * sizeof(*span.data())) {}

  /// Returns the first byte.
  constexpr void* data() const noexcept { return data_; }
  /// Returns the number of bytes.
  constexpr std::size_t size() const noexcept { return size_; }

  /// Drops the first `n` bytes, at most all of them.
  mutable_buffer& operator+=(std::size_t n) noexcept {
    const auto step = n < size_ ? n : size_;
    data_ = static_cast<char*>(data_) + step;
    size_ -= step;
    return *this;
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Bytes that are only read: a pointer and a size. A value; any thread.
class const_buffer {
 public:
  /// Makes an empty buffer.
  constexpr const_buffer() noexcept = default;
  /// Refers to `size` bytes at `data`.
  constexpr const_buffer(const void* data, std::size_t size) noexcept : data_(data), size_(size) {}
  /// Refers to the bytes of a span.
  template <class Span>
    requires requires(const Span& s) { s.subspan(0, s.size()); }
  explicit constexpr const_buffer(const Span& span) noexcept
      : data_(span.data()), size_(span.size() * sizeof(*span.data())) {}
  /// Converts from writable bytes.
  constexpr const_buffer(const mutable_buffer& b) noexcept : data_(b.data()), size_(b.size()) {}

  /// Returns the first byte.
  constexpr const void* data() const noexcept { return data_; }
  /// Returns the number of bytes.
  constexpr std::size_t size() const noexcept { return size_; }

  /// Drops the first `n` bytes, at most all of them.
  const_buffer& operator+=(std::size_t n) noexcept {
    const auto step = n < size_ ? n : size_;
    data_ = static_cast<const char*>(data_) + step;
    size_ -= step;
    return *this;
  }

 private:
  const void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Returns `b` without its first `n` bytes.
inline mutable_buffer operator+(mutable_buffer b, std::size_t n) noexcept { return b += n; }
/// As above.
inline mutable_buffer operator+(std::size_t n, mutable_buffer b) noexcept { return b += n; }
/// As above.
inline const_buffer operator+(const_buffer b, std::size_t n) noexcept { return b += n; }
/// As above.
inline const_buffer operator+(std::size_t n, const_buffer b) noexcept { return b += n; }

namespace detail {

// ---- one buffer or many, from the type ----------------------------------------------------------

/// A single buffer.
template <class B>
concept single_buffer = std::convertible_to<const B&, const_buffer>;
template <class B>
concept single_mutable_buffer = std::convertible_to<const B&, mutable_buffer>;

/// A sequence of no buffers, with which a transfer waits until it could move bytes.
template <class B>
concept waits_instead = requires { requires B::waits_for_readiness; };

}  // namespace detail

/// Returns the position of the first buffer of a sequence. A single buffer is a sequence of one.
template <detail::single_buffer B>
constexpr const B* buffer_sequence_begin(const B& b) noexcept {
  return __builtin_addressof(b);
}
/// As above, of an array of buffers.
template <detail::single_buffer B, std::size_t N>
constexpr const B* buffer_sequence_begin(const B (&a)[N]) noexcept {
  return a;
}
/// As above, of any range of buffers.
template <class S>
  requires(!detail::single_buffer<S>) && requires(const S& s) { s.begin(); }
constexpr auto buffer_sequence_begin(const S& s) noexcept {
  return s.begin();
}

/// Returns the position after the last buffer of a sequence.
template <detail::single_buffer B>
constexpr const B* buffer_sequence_end(const B& b) noexcept {
  return __builtin_addressof(b) + 1;
}
/// As above, of an array of buffers.
template <detail::single_buffer B, std::size_t N>
constexpr const B* buffer_sequence_end(const B (&a)[N]) noexcept {
  return a + N;
}
/// As above, of any range of buffers.
template <class S>
  requires(!detail::single_buffer<S>) && requires(const S& s) { s.end(); }
constexpr auto buffer_sequence_end(const S& s) noexcept {
  return s.end();
}

/// The buffers of an operation that reads memory: one buffer, or any type with begin() and end()
/// over buffers. single_buffer tells the two apart.
template <class S>
concept const_buffer_sequence = requires(const S& s) {
  { *beck::buffer_sequence_begin(s) } -> std::convertible_to<const_buffer>;
  { beck::buffer_sequence_begin(s) != beck::buffer_sequence_end(s) } -> std::convertible_to<bool>;
};

/// The buffers of an operation that writes memory: one mutable_buffer, or any type with begin() and
/// end() over them.
template <class S>
concept mutable_buffer_sequence = const_buffer_sequence<S> && requires(const S& s) {
  { *beck::buffer_sequence_begin(s) } -> std::convertible_to<mutable_buffer>;
};

/// Returns the number of bytes of all buffers together. A sum above SIZE_MAX is a bug of the
/// caller, and wraps.
template <const_buffer_sequence S>
constexpr std::size_t buffer_size(const S& s) noexcept {
  std::size_t total = 0;
  const auto end = beck::buffer_sequence_end(s);
  for (auto at = beck::buffer_sequence_begin(s); at != end; ++at) total += const_buffer(*at).size();
  return total;
}

/// Copies as many bytes as fit, at most `size_max`, and returns their number. The memory of the two
/// may overlap.
inline std::size_t buffer_copy(const mutable_buffer& to, const const_buffer& from,
                               std::size_t size_max = static_cast<std::size_t>(-1)) noexcept {
  auto n = to.size() < from.size() ? to.size() : from.size();
  n = n < size_max ? n : size_max;
  if (n != 0) __builtin_memmove(to.data(), from.data(), n);  // an empty buffer may be null
  return n;
}
/// Copies between sequences as many bytes as fit, at most `size_max`, and returns their number. The
/// memory of the two must not overlap.
template <mutable_buffer_sequence To, const_buffer_sequence From>
std::size_t buffer_copy(const To& to, const From& from,
                        std::size_t size_max = static_cast<std::size_t>(-1)) noexcept {
  auto to_at = beck::buffer_sequence_begin(to);
  auto from_at = beck::buffer_sequence_begin(from);
  const auto to_end = beck::buffer_sequence_end(to);
  const auto from_end = beck::buffer_sequence_end(from);
  mutable_buffer target;
  const_buffer source;
  std::size_t total = 0;
  while (total < size_max) {
    if (target.size() == 0) {
      if (to_at == to_end) break;
      target = *to_at;
      ++to_at;
    } else if (source.size() == 0) {
      if (from_at == from_end) break;
      source = *from_at;
      ++from_at;
    } else {
      const auto n = buffer_copy(target, source, size_max - total);
      target += n;
      source += n;
      total += n;
    }
  }
  return total;
}

namespace detail {

// ---- buffer(): from any object that holds bytes -------------------------------------------------

/// Elements whose bytes may be copied in and out: trivially copyable, and not buffers themselves.
template <class T>
concept buffer_element = std::is_trivially_copyable_v<T> && !single_buffer<T>;

/// A contiguous container seen through data() and size(): std::string, vector, array, span,
/// string_view.
template <class C>
concept buffer_container = !single_buffer<C> && requires(C& c) {
  { c.size() } -> std::convertible_to<std::size_t>;
  requires buffer_element<std::remove_cvref_t<decltype(*c.data())>>;
};

/// A container that only refers to its bytes, so that a temporary of it may be passed: a span or a
/// view.
template <class C>
concept buffer_view = buffer_container<C> &&
                      (requires(C& c) { c.remove_prefix(0); } || requires(C& c) { c.subspan(0); });

/// A temporary that owns its bytes.
template <class C>
concept temporary_container =
    buffer_container<C> && !std::is_lvalue_reference_v<C> && !buffer_view<C>;

/// mutable_buffer, or const_buffer where the elements of C are const.
template <class C>
using buffer_of =
    std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(std::declval<C&>().data())>>,
                       const_buffer, mutable_buffer>;

}  // namespace detail

/// Returns a buffer of `size` bytes at `data`.
constexpr mutable_buffer buffer(void* data, std::size_t size) noexcept { return {data, size}; }
/// As above, read-only.
constexpr const_buffer buffer(const void* data, std::size_t size) noexcept { return {data, size}; }

/// Returns `b`.
constexpr mutable_buffer buffer(const mutable_buffer& b) noexcept { return b; }
/// Returns `b`.
constexpr const_buffer buffer(const const_buffer& b) noexcept { return b; }
/// Returns at most the first `size_max` bytes of `b`.
constexpr mutable_buffer buffer(const mutable_buffer& b, std::size_t size_max) noexcept {
  return {b.data(), b.size() < size_max ? b.size() : size_max};
}
/// Returns at most the first `size_max` bytes of `b`.
constexpr const_buffer buffer(const const_buffer& b, std::size_t size_max) noexcept {
  return {b.data(), b.size() < size_max ? b.size() : size_max};
}

/// Returns the bytes of an array.
template <detail::buffer_element T, std::size_t N>
constexpr mutable_buffer buffer(T (&a)[N]) noexcept {
  return {a, sizeof a};
}
/// Returns the bytes of an array, read-only. A literal includes its NUL, as in Asio; "..."_buf
/// excludes it.
template <detail::buffer_element T, std::size_t N>
constexpr const_buffer buffer(const T (&a)[N]) noexcept {
  return {a, sizeof a};
}
/// Returns at most the first `size_max` bytes of an array.
template <detail::buffer_element T, std::size_t N>
constexpr mutable_buffer buffer(T (&a)[N], std::size_t size_max) noexcept {
  return {a, sizeof a < size_max ? sizeof a : size_max};
}
/// As above, read-only.
template <detail::buffer_element T, std::size_t N>
constexpr const_buffer buffer(const T (&a)[N], std::size_t size_max) noexcept {
  return {a, sizeof a < size_max ? sizeof a : size_max};
}

/// Returns the bytes of all elements of a container; read-only if they are const.
template <detail::buffer_container C>
constexpr detail::buffer_of<C> buffer(C& c) noexcept {
  return {c.data(), c.size() * sizeof(*c.data())};
}
/// Returns at most the first `size_max` bytes of a container.
template <detail::buffer_container C>
constexpr detail::buffer_of<C> buffer(C& c, std::size_t size_max) noexcept {
  return beck::buffer(beck::buffer(c), size_max);
}

/// Returns the bytes of a temporary span or view.
template <detail::buffer_view C>
  requires(!std::is_lvalue_reference_v<C>)
constexpr detail::buffer_of<C> buffer(C&& c) noexcept {
  return beck::buffer(c);
}
/// As above, at most the first `size_max`.
template <detail::buffer_view C>
  requires(!std::is_lvalue_reference_v<C>)
constexpr detail::buffer_of<C> buffer(C&& c, std::size_t size_max) noexcept {
  return beck::buffer(beck::buffer(c), size_max);
}
/// Deleted for other temporaries: the bytes of a temporary string would be freed before the
/// operation ends.
template <detail::temporary_container C>
void buffer(C&&, std::size_t = 0) = delete;

inline namespace literals {
inline namespace buffer_literals {
/// Returns the characters of a literal without its NUL: "text"_buf.
constexpr const_buffer operator""_buf(const char* text, std::size_t size) noexcept {
  return {text, size};
}
}  // namespace buffer_literals
}  // namespace literals

}  // namespace beck
