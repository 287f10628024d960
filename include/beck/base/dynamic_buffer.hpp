// SPDX-License-Identifier: BSL-1.0
//
// A growing container of bytes behind one type, so that async_read_until and its like are functions
// and not templates of the user's container. A reference is three words; the container stays the
// user's.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/detail/text_view.hpp>
#include <beck/detail/unfused.hpp>
#include <concepts>
#include <cstddef>

namespace beck {

namespace detail {

/// What a growing container does, as functions; `container` is the pointer given to the
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

/// Refers to a growing container and bounds its size: of one that is longer than `size_max` only so
/// many bytes count, and what changes the size cuts the others off. Copies refer to the same
/// container, which must outlive them. One thread at a time. Every growth invalidates what data()
/// gave.
class dynamic_buffer_ref {
 public:
  constexpr dynamic_buffer_ref(void* container, const detail::dynamic_buffer_table& table,
                               std::size_t size_max) noexcept
      : container_(container), table_(&table), size_max_(size_max) {}
  dynamic_buffer_ref(const dynamic_buffer_ref& other) noexcept
      : container_(detail::unfused(other.container_)),
        table_(detail::unfused(other.table_)),
        size_max_(other.size_max_) {}
  dynamic_buffer_ref& operator=(const dynamic_buffer_ref&) noexcept = default;

  /// All bytes: pointer and size in one indirect call.
  mutable_buffer data() const noexcept { return buffer(table_->data(container_), size_max_); }
  /// At most n bytes from `position`; empty if that is past the end.
  mutable_buffer data(std::size_t position, std::size_t n) const noexcept {
    return buffer(data() + position, n);
  }
  /// All bytes, to search in.
  detail::text_view view() const noexcept {
    const auto all = data();
    return {static_cast<const char*>(all.data()), all.size()};
  }

  std::size_t size() const noexcept { return data().size(); }
  std::size_t max_size() const noexcept { return size_max_; }
  /// What size() may become without a new allocation; never more than max_size().
  std::size_t capacity() const noexcept {
    const auto real = table_->capacity(container_);
    return real < size_max_ ? real : size_max_;
  }

  /// Sets the size; new bytes at the back are zero or undetermined. Throws std::length_error, which
  /// names both numbers, if n is more than max_size(), and what the container throws; then nothing
  /// has changed.
  void resize(std::size_t n) const;
  /// Adds n bytes at the back, as resize().
  void grow(std::size_t n) const;
  /// Removes n bytes at the back, at most all. Never throws for the containers that
  /// dynamic_buffer() takes.
  void shrink(std::size_t n) const;
  /// Removes n bytes at the front, at most all.
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

/// A reference to `container` whose size is kept at or under `size_max` bytes.
template <detail::growing_container C>
constexpr dynamic_buffer_ref dynamic_buffer(
    C& container, std::size_t size_max = static_cast<std::size_t>(-1)) noexcept {
  return {__builtin_addressof(container), detail::dynamic_buffer_table_of<C>, size_max};
}

}  // namespace beck
