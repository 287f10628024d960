// SPDX-License-Identifier: BSL-1.0
// Buffers, sequences of buffers and growing buffers.
#pragma once

#include <array>
#include <concepts>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <beck/asio/config.hpp>
#include <beck/base/buffer.hpp>
#include <beck/base/dynamic_buffer.hpp>

#if defined(BECK_ASIO_OLD_NAMES)
#include <beck/asio/old_buffer.hpp>
#endif

BECK_ASIO_BEGIN

using beck::buffer;
using beck::buffer_copy;
using beck::buffer_sequence_begin;
using beck::buffer_sequence_end;
using beck::buffer_size;
using beck::const_buffer;
using beck::mutable_buffer;

/// No buffer: a transfer with it waits until the object is ready, and moves no bytes. Asio's older
/// form of async_wait().
class null_buffers {
 public:
  using value_type = mutable_buffer;
  using const_iterator = const mutable_buffer*;
  static constexpr bool waits_for_readiness = true;
  const_iterator begin() const noexcept { return nullptr; }
  const_iterator end() const noexcept { return nullptr; }
};

namespace buffer_literals = beck::literals::buffer_literals;

/// Whether a class is a sequence of buffers to read from.
template <class T>
struct is_const_buffer_sequence : std::bool_constant<beck::const_buffer_sequence<T>> {};
/// Whether a class is a sequence of buffers to write to.
template <class T>
struct is_mutable_buffer_sequence : std::bool_constant<beck::mutable_buffer_sequence<T>> {};
/// Whether a class is a growing buffer in the older form, with prepare() and commit().
template <class T>
    struct is_dynamic_buffer_v1
    : std::bool_constant < requires(T& all, const T& seen, std::size_t n) {
  typename T::const_buffers_type;
  typename T::mutable_buffers_type;
  { seen.size() } -> std::convertible_to<std::size_t>;
  { seen.max_size() } -> std::convertible_to<std::size_t>;
  { seen.capacity() } -> std::convertible_to<std::size_t>;
  { seen.data() } -> std::convertible_to<typename T::const_buffers_type>;
  { all.prepare(n) } -> std::convertible_to<typename T::mutable_buffers_type>;
  all.commit(n);
  all.consume(n);
}>{};
/// Whether a class is a growing buffer in the form with grow() and shrink().
template <class T>
    struct is_dynamic_buffer_v2
    : std::bool_constant < requires(T& all, const T& seen, std::size_t n) {
  typename T::const_buffers_type;
  typename T::mutable_buffers_type;
  { seen.size() } -> std::convertible_to<std::size_t>;
  { seen.data(n, n) } -> std::convertible_to<typename T::const_buffers_type>;
  { all.data(n, n) } -> std::convertible_to<typename T::mutable_buffers_type>;
  all.grow(n);
  all.shrink(n);
  all.consume(n);
}>{};
/// Whether a class is a growing buffer in either form.
template <class T>
struct is_dynamic_buffer
    : std::bool_constant<is_dynamic_buffer_v1<T>::value || is_dynamic_buffer_v2<T>::value> {};

namespace facade {

/// What dynamic_buffer() returns: beck's reference with the functions of the older form, too, in
/// which bytes are prepared behind those that count, and then committed.
class growing_buffer : public beck::dynamic_buffer_ref {
 public:
  using const_buffers_type = const_buffer;
  using mutable_buffers_type = mutable_buffer;

  growing_buffer(const beck::dynamic_buffer_ref& all) noexcept : beck::dynamic_buffer_ref(all) {}
  /// As dynamic_buffer(container, max_size).
  template <class C>
    requires requires(C& container, std::size_t n) { beck::dynamic_buffer(container, n); }
  explicit growing_buffer(C& container, std::size_t max_size = static_cast<std::size_t>(-1))
      : beck::dynamic_buffer_ref(beck::dynamic_buffer(container, max_size)) {}

  /// Returns the number of bytes, without those that are prepared.
  std::size_t size() const noexcept { return prepared_ ? size_ : dynamic_buffer_ref::size(); }
  using dynamic_buffer_ref::data;
  /// Returns all bytes, without those that are prepared.
  mutable_buffer data() const noexcept { return beck::buffer(dynamic_buffer_ref::data(), size()); }
  /// Returns `n` bytes behind the others; the next commit(), prepare() or consume() ends that.
  /// Throws std::length_error if there are more than max_size() then.
  mutable_buffer prepare(std::size_t n) {
    const std::size_t size = this->size();
    if (size > max_size() || n > max_size() - size) resize(static_cast<std::size_t>(-1));  // throws
    resize(size + n);
    size_ = size;
    prepared_ = true;
    return data(size, n);
  }
  /// Adds `n` of the prepared bytes, at most all, and removes the others.
  void commit(std::size_t n) {
    const std::size_t left = dynamic_buffer_ref::size() - size();
    resize(size() + (n < left ? n : left));
    prepared_ = false;
  }
  /// Removes `n` bytes at the front, at most all.
  void consume(std::size_t n) {
    const std::size_t size = this->size();
    dynamic_buffer_ref::consume(n < size ? n : size);
    size_ = n < size ? size - n : 0;
  }

 private:
  std::size_t size_ = 0;
  bool prepared_ = false;
};

}  // namespace facade

/// The type of dynamic_buffer() of a string.
template <class Character, class Traits, class Allocator>
using dynamic_string_buffer = facade::growing_buffer;
/// The type of dynamic_buffer() of a vector.
template <class Element, class Allocator>
using dynamic_vector_buffer = facade::growing_buffer;

/// Returns a reference to `container`, a string or a vector of bytes, that keeps its size at or
/// under `size_max` bytes.
template <beck::detail::growing_container C>
facade::growing_buffer dynamic_buffer(
    C& container, std::size_t size_max = static_cast<std::size_t>(-1)) noexcept {
  return beck::dynamic_buffer(container, size_max);
}

namespace facade {

/// A contiguous container that is only seen through its iterators.
template <class C>
concept contiguous_container =
    !beck::detail::buffer_container<C> && !beck::detail::single_buffer<C> &&
    std::contiguous_iterator<decltype(std::declval<C&>().begin())> &&
    std::is_trivially_copyable_v<typename C::value_type>;

/// A temporary, for an overload that is preferred to the one that beck deletes.
template <class C>
concept temporary_container = beck::detail::temporary_container<C> && std::is_object_v<C>;

}  // namespace facade

/// Returns the bytes of all elements of a container; read-only if they are const.
template <facade::contiguous_container C>
auto buffer(C& c) noexcept {
  auto* const data = std::to_address(c.begin());
  return beck::buffer(data, c.size() * sizeof(*data));
}
/// As above, at most the first `size_max`.
template <facade::contiguous_container C>
auto buffer(C& c, std::size_t size_max) noexcept {
  return beck::buffer(BECK_ASIO::buffer(c), size_max);
}
/// Returns the bytes of a temporary, read-only and at most the first `size_max`. They last until
/// the end of the full expression: long enough for a blocking operation.
template <facade::temporary_container C>
const_buffer buffer(C&& c, std::size_t size_max = static_cast<std::size_t>(-1)) noexcept {
  return beck::buffer(beck::buffer(c), size_max);
}

BECK_ASIO_END
