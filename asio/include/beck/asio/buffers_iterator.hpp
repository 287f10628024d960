// SPDX-License-Identifier: BSL-1.0
// buffers_iterator: iterates over the bytes of a sequence of buffers. That of a single buffer is a
// pointer: read_until() calls match conditions with pointers.
#pragma once

#include <compare>
#include <cstddef>
#include <iterator>
#include <type_traits>

#include <beck/asio/buffer.hpp>
#include <beck/asio/config.hpp>

BECK_ASIO_BEGIN

namespace facade {

/// The type of the bytes of a sequence: const unless all buffers can be written to.
template <class Sequence, class Byte>
using byte_of = std::conditional_t<beck::mutable_buffer_sequence<Sequence>, Byte, const Byte>;

/// A random access iterator over the bytes of several buffers. It refers to the sequence's own
/// iterators, so the sequence must outlive it. Thread: one at a time.
template <class Sequence, class Byte>
class sequence_iterator {
  using buffers = decltype(beck::buffer_sequence_begin(std::declval<const Sequence&>()));

 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = Byte;
  using difference_type = std::ptrdiff_t;
  using reference = byte_of<Sequence, Byte>&;
  using pointer = byte_of<Sequence, Byte>*;

  sequence_iterator() = default;
  /// Returns the position of the first byte of `sequence`.
  static sequence_iterator begin(const Sequence& sequence) {
    sequence_iterator made;
    made.at_ = beck::buffer_sequence_begin(sequence);
    made.last_ = beck::buffer_sequence_end(sequence);
    made.skip_empty();
    return made;
  }
  /// Returns the position behind the last byte of `sequence`.
  static sequence_iterator end(const Sequence& sequence) {
    sequence_iterator made;
    made.at_ = made.last_ = beck::buffer_sequence_end(sequence);
    made.position_ = static_cast<difference_type>(beck::buffer_size(sequence));
    return made;
  }

  reference operator*() const { return bytes()[offset_]; }
  pointer operator->() const { return bytes() + offset_; }
  reference operator[](difference_type n) const { return *(*this + n); }

  sequence_iterator& operator++() { return *this += 1; }
  sequence_iterator& operator--() { return *this += -1; }
  sequence_iterator operator++(int) {
    const sequence_iterator before = *this;
    *this += 1;
    return before;
  }
  sequence_iterator operator--(int) {
    const sequence_iterator before = *this;
    *this += -1;
    return before;
  }
  sequence_iterator& operator+=(difference_type n) {
    position_ += n;
    for (; n < 0; n += step_back(static_cast<std::size_t>(-n))) {}
    for (; n > 0; n -= step_on(static_cast<std::size_t>(n))) {}
    return *this;
  }
  sequence_iterator& operator-=(difference_type n) { return *this += -n; }
  friend sequence_iterator operator+(sequence_iterator a, difference_type n) { return a += n; }
  friend sequence_iterator operator+(difference_type n, sequence_iterator a) { return a += n; }
  friend sequence_iterator operator-(sequence_iterator a, difference_type n) { return a -= n; }
  friend difference_type operator-(const sequence_iterator& a, const sequence_iterator& b) {
    return a.position_ - b.position_;
  }
  friend bool operator==(const sequence_iterator& a, const sequence_iterator& b) {
    return a.position_ == b.position_;
  }
  friend auto operator<=>(const sequence_iterator& a, const sequence_iterator& b) {
    return a.position_ <=> b.position_;
  }

 private:
  std::size_t size() const { return beck::const_buffer(*at_).size(); }
  pointer bytes() const {
    if constexpr (beck::mutable_buffer_sequence<Sequence>) {
      return static_cast<pointer>(beck::mutable_buffer(*at_).data());
    } else {
      return static_cast<pointer>(beck::const_buffer(*at_).data());
    }
  }
  void skip_empty() {
    while (at_ != last_ && size() == 0) ++at_;
  }
  /// Moves forward by at most `n` bytes inside one buffer. Returns their number.
  difference_type step_on(std::size_t n) {
    const std::size_t rest = size() - offset_;
    if (n < rest) {
      offset_ += n;
      return static_cast<difference_type>(n);
    }
    offset_ = 0;
    ++at_;
    skip_empty();
    return static_cast<difference_type>(rest);
  }
  /// As step_on(), backward.
  difference_type step_back(std::size_t n) {
    while (offset_ == 0) {
      --at_;
      offset_ = size();
    }
    const std::size_t moved = n < offset_ ? n : offset_;
    offset_ -= moved;
    return static_cast<difference_type>(moved);
  }

  buffers at_{};
  buffers last_{};
  std::size_t offset_ = 0;
  difference_type position_ = 0;
};

template <class Sequence, class Byte>
struct iterator_of {
  using type = sequence_iterator<Sequence, Byte>;
};
template <beck::detail::single_buffer Buffer, class Byte>
struct iterator_of<Buffer, Byte> {
  using type = byte_of<Buffer, Byte>*;
};

}  // namespace facade

/// The iterator over the bytes of a sequence.
template <class Sequence, class Byte = char>
using buffers_iterator = typename facade::iterator_of<Sequence, Byte>::type;

/// Returns the position of the first byte of a sequence, which must outlive the iterator unless it
/// is one buffer.
template <class Sequence>
buffers_iterator<Sequence> buffers_begin(const Sequence& sequence) {
  if constexpr (beck::detail::single_buffer<Sequence>) {
    return static_cast<buffers_iterator<Sequence>>(
        std::conditional_t<beck::mutable_buffer_sequence<Sequence>, beck::mutable_buffer,
                           beck::const_buffer>(sequence)
            .data());
  } else {
    return buffers_iterator<Sequence>::begin(sequence);
  }
}
/// Returns the position behind the last byte.
template <class Sequence>
buffers_iterator<Sequence> buffers_end(const Sequence& sequence) {
  if constexpr (beck::detail::single_buffer<Sequence>) {
    return BECK_ASIO::buffers_begin(sequence) + beck::buffer_size(sequence);
  } else {
    return buffers_iterator<Sequence>::end(sequence);
  }
}

BECK_ASIO_END
