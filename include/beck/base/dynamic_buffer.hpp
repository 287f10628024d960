// SPDX-License-Identifier: BSL-1.0
//
// A growing container of bytes behind one type, so that async_read_until and similar functions are
// not templates of the user's container. A reference is three words; the user still owns the
// container.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/detail/opaque_value.hpp>
#include <concepts>
#include <cstddef>
#include <string_view>

namespace beck {

namespace detail {

/// The functions of a growing container; `container` is the pointer passed to the
/// dynamic_buffer_ref.
struct dynamic_buffer_table {
  mutable_buffer (*data)(void* container) noexcept;
  void (*resize)(void* container,
                 std::size_t size);  // keeps the front; may throw, then nothing changed
  void (*consume)(void* container,
                  std::size_t size);  // drops the front; requires size <= data().size()
  std::size_t (*capacity)(const void* container) noexcept;
};

}  // namespace detail

/// Refers to a growing container and bounds its size. If the container is longer than `size_max`,
/// only its first `size_max` bytes count, and functions that change the size remove the others.
/// Copies refer to the same container, which must outlive them. Thread: one at a time. Every growth
/// invalidates the result of data().
class dynamic_buffer_ref {
 public:
  /// Refers to `container`; for dynamic_buffer().
  constexpr dynamic_buffer_ref(void* container, const detail::dynamic_buffer_table& table,
                               std::size_t size_max) noexcept
      : container_(container), table_(&table), size_max_(size_max) {}
  dynamic_buffer_ref(const dynamic_buffer_ref& other) noexcept
      : container_(detail::opaque_value(other.container_)),
        table_(detail::opaque_value(other.table_)),
        size_max_(other.size_max_) {}
  dynamic_buffer_ref& operator=(const dynamic_buffer_ref&) noexcept = default;

  /// Returns all bytes; one indirect call.
  mutable_buffer data() const noexcept { return buffer(table_->data(container_), size_max_); }
  /// Returns at most `n` bytes from `position` on; an empty buffer if that is past the end.
  mutable_buffer data(std::size_t position, std::size_t n) const noexcept {
    return buffer(data() + position, n);
  }
  /// Returns all bytes as text, to search in.
  std::string_view view() const noexcept {
    const auto all = data();
    return {static_cast<const char*>(all.data()), all.size()};
  }

  /// Returns the number of bytes.
  std::size_t size() const noexcept { return data().size(); }
  /// Returns the bound of size().
  std::size_t max_size() const noexcept { return size_max_; }
  /// Returns the capacity of the container, at most max_size(): the greatest size() without a new
  /// allocation. A flat_buffer with consumed bytes may allocate earlier.
  std::size_t capacity() const noexcept {
    const auto real = table_->capacity(container_);
    return real < size_max_ ? real : size_max_;
  }

  /// Sets the size; new bytes at the back are zero or undetermined. Throws std::length_error, which
  /// names both numbers, if `n` is more than max_size(), and the exceptions of the container; then
  /// nothing has changed.
  void resize(std::size_t n) const;
  /// Adds `n` bytes at the back, as resize().
  void grow(std::size_t n) const;
  /// Removes `n` bytes at the back, at most all. Never throws for the containers that
  /// dynamic_buffer() takes.
  void shrink(std::size_t n) const;
  /// Removes `n` bytes at the front, at most all.
  void consume(std::size_t n) const;

 private:
  void* container_;
  const detail::dynamic_buffer_table* table_;
  std::size_t size_max_;
};

namespace detail {

/// The shape of std::string and of std::vector of char, unsigned char or std::byte.
template <class C>
concept growing_container = requires(C& c, std::size_t n) {
  requires buffer_element<std::remove_cvref_t<decltype(*c.data())>>;
  requires sizeof(*c.data()) == 1;
  { c.size() } -> std::convertible_to<std::size_t>;
  { c.capacity() } -> std::convertible_to<std::size_t>;
  c.resize(n);
  c.erase(c.begin(), c.begin() + 1);
};

/// The functions of container type C.
template <growing_container C>
inline constexpr dynamic_buffer_table dynamic_buffer_table_of{
    [](void* c) noexcept { return beck::buffer(*static_cast<C*>(c)); },
    [](void* c, std::size_t n) { static_cast<C*>(c)->resize(n); },
    [](void* c, std::size_t n) {
      auto& container = *static_cast<C*>(c);
      container.erase(container.begin(), container.begin() + static_cast<std::ptrdiff_t>(n));
    },
    [](const void* c) noexcept -> std::size_t { return static_cast<const C*>(c)->capacity(); }};

}  // namespace detail

/// Returns a reference to `container` that keeps its size at or under `size_max` bytes.
template <detail::growing_container C>
constexpr dynamic_buffer_ref dynamic_buffer(
    C& container, std::size_t size_max = static_cast<std::size_t>(-1)) noexcept {
  return {__builtin_addressof(container), detail::dynamic_buffer_table_of<C>, size_max};
}

}  // namespace beck
