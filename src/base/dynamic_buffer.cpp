// SPDX-License-Identifier: BSL-1.0
// Buffers that grow: checks the limits of a dynamic buffer before it changes the container, and
// decides whether a flat_buffer moves its bytes to the front or grows.
#include <beck/base/dynamic_buffer.hpp>

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/base/flat_buffer.hpp>

#include "base/fatal_call.hpp"

namespace beck {
using namespace detail;

void detail::throw_length_error(const char* what, std::size_t size, std::size_t more,
                                std::size_t size_max) {
  throw std::length_error(std::string(what) + ": " + std::to_string(size) + " + " +
                          std::to_string(more) + " bytes are over the limit of " +
                          std::to_string(size_max) + " bytes");
}

void dynamic_buffer_ref::resize(std::size_t n) const {
  const auto old = size();
  if (n > size_max_) throw_length_error("dynamic_buffer", old, n - old, size_max_);
  table_->resize(container_, n);
}

void dynamic_buffer_ref::grow(std::size_t n) const {
  const auto old = size();
  if (n > size_max_ - old) throw_length_error("dynamic_buffer", old, n, size_max_);
  table_->resize(container_, old + n);
}

void dynamic_buffer_ref::shrink(std::size_t n) const {
  const auto old = size();
  table_->resize(container_, n < old ? old - n : 0);
}

void dynamic_buffer_ref::consume(std::size_t n) const {
  const auto old = size();
  table_->consume(container_, n < old ? n : old);
}

// flat_buffer moves its bytes to the front of its memory, or grows.

namespace {

// A smaller first capacity would cost more in growth than it saves in memory.
constexpr std::size_t first_capacity = 512;

constexpr std::size_t larger(std::size_t a, std::size_t b) noexcept { return a > b ? a : b; }
constexpr std::size_t smaller(std::size_t a, std::size_t b) noexcept { return a < b ? a : b; }

constexpr dynamic_buffer_table flat_buffer_table{
    [](void* c) noexcept { return static_cast<flat_buffer*>(c)->data(); },
    [](void* c, std::size_t n) { static_cast<flat_buffer*>(c)->resize(n); },
    [](void* c, std::size_t n) { static_cast<flat_buffer*>(c)->consume(n); },
    [](const void* c) noexcept { return static_cast<const flat_buffer*>(c)->capacity(); }};

}  // namespace

flat_buffer::flat_buffer(const flat_buffer& other) : size_max_(other.size_max_) {
  if (other.empty()) return;
  memory_ = new char[other.size()];
  capacity_ = end_ = other.size();
  std::memcpy(memory_, other.memory_ + other.begin_, end_);
}

flat_buffer::flat_buffer(flat_buffer&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      begin_(std::exchange(other.begin_, 0)),
      end_(std::exchange(other.end_, 0)),
      prepared_(std::exchange(other.prepared_, 0)),
      capacity_(std::exchange(other.capacity_, 0)),
      size_max_(other.size_max_) {}

flat_buffer& flat_buffer::operator=(const flat_buffer& other) {
  if (this != &other) *this = flat_buffer(other);
  return *this;
}

flat_buffer& flat_buffer::operator=(flat_buffer&& other) noexcept {
  if (this == &other) return *this;
  delete[] memory_;
  memory_ = std::exchange(other.memory_, nullptr);
  begin_ = std::exchange(other.begin_, 0);
  end_ = std::exchange(other.end_, 0);
  prepared_ = std::exchange(other.prepared_, 0);
  capacity_ = std::exchange(other.capacity_, 0);
  size_max_ = other.size_max_;
  return *this;
}

flat_buffer::~flat_buffer() { delete[] memory_; }

mutable_buffer flat_buffer::prepare(std::size_t n) {
  if (n > size_max_ - size()) throw_length_error("flat_buffer", size(), n, size_max_);
  if (empty())
    begin_ = end_ = prepared_ = 0;  // here and not in consume(): a read may be in flight then
  if (n > capacity_ - end_) make_room(n);
  prepared_ = n;
  return {memory_ + end_, n};
}

void flat_buffer::commit(std::size_t n) noexcept {
  BECK_ASSERT(n <= prepared_, "more bytes committed than were prepared");
  prepared_ -= n;
  end_ += n;
}

void flat_buffer::consume(std::size_t n) noexcept { begin_ += smaller(n, size()); }

void flat_buffer::resize(std::size_t n) {
  if (n > size()) {
    const auto more = n - size();
    prepare(more);
    commit(more);
  } else {
    end_ = begin_ + n;
    prepared_ = 0;
  }
}

void flat_buffer::reserve(std::size_t capacity) {
  capacity = smaller(capacity, size_max_);
  if (capacity > capacity_) reallocate(capacity);
}

// Makes room for `n` more bytes when the tail has none. Moving size() bytes is amortised by the
// `begin_` bytes consumed since the last move, if those are as many; otherwise the capacity
// doubles, amortised as in a vector. When the capacity is at least twice the size, a full tail
// implies that enough bytes were consumed, so the capacity stays below twice the largest size.
void flat_buffer::make_room(std::size_t n) {
  const auto held = size();
  const auto needed = held + n;
  if (needed <= capacity_ && begin_ >= held) {
    std::memmove(memory_, memory_ + begin_, held);
    begin_ = 0;
    end_ = held;
    return;
  }
  const auto doubled = smaller(larger(first_capacity, 2 * capacity_), 2 * size_max_);
  reallocate(larger(needed, doubled));
}

void flat_buffer::reallocate(std::size_t capacity) {
  const auto held = size();
  char* const memory = new char[capacity];
  if (held != 0) std::memcpy(memory, memory_ + begin_, held);
  delete[] memory_;
  memory_ = memory;
  capacity_ = capacity;
  begin_ = 0;
  end_ = held;
  prepared_ = 0;
}

dynamic_buffer_ref dynamic_buffer(flat_buffer& buffer, std::size_t size_max) noexcept {
  return {&buffer, flat_buffer_table, smaller(size_max, buffer.max_size())};
}

}  // namespace beck
