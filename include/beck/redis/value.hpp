// SPDX-License-Identifier: BSL-1.0
//
// A whole reply as a value: an array of nodes and a block of text, however deep the reply is. It is
// built from tokens, moved cheaply, and used again without allocating.
#pragma once

#include <beck/redis/resp3.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace beck::redis {

class value_item;

namespace detail {

class node_walk;

/// An element of a value. The elements that it contains follow it.
struct value_node {
  std::uint32_t end;    // the node behind the element and all in it; while it is built: its parent
  std::uint32_t size;   // bytes of a text, elements of an aggregate
  std::int64_t number;  // of an integer or boolean, the bits of a double; the place of a text
  data_type type;
  char format[3];
};

/// Returns whether nodes of this type have a text.
constexpr bool has_text(data_type type) noexcept {
  constexpr unsigned without = 1U << static_cast<unsigned>(data_type::null) |
                               1U << static_cast<unsigned>(data_type::integer) |
                               1U << static_cast<unsigned>(data_type::boolean) |
                               1U << static_cast<unsigned>(data_type::double_number);
  return type < data_type::array && (without >> static_cast<unsigned>(type) & 1) == 0;
}

}  // namespace detail

/// A reply, or a push, with everything in it, attributes too. The texts are copies. A resource of
/// two blocks of memory: 24 bytes for each element and attribute, and the texts. Each block grows
/// to at most twice the bytes that have come and 64 KiB, whatever size was announced.
/// Thread: one at a time; several may read.
class value {
 public:
  /// Makes a value without elements.
  value() noexcept = default;
  /// Takes over the elements of `other`, which is empty afterwards.
  value(value&& other) noexcept { swap(other); }
  value& operator=(value&& other) noexcept;
  /// Copies all elements. Requires a value that is complete or empty. Throws std::bad_alloc.
  value(const value& other);
  value& operator=(const value& other);
  ~value();

  /// Adds the tokens of one reply, in the order of the parser, in one call or in several. Returns
  /// how many were added: at most up to the token that is_last, with which the value is complete.
  /// Requires that the value is not complete. Throws std::bad_alloc or std::length_error (more than
  /// 2^32-1 elements or bytes of text), and then the value is as before the token.
  std::size_t append(const token* tokens, std::size_t count);
  /// As above, with one token. Returns whether the value is complete.
  bool append(const token& next) {
    append(&next, 1);
    return is_complete_;
  }

  /// Makes room for the rest of a long text whose last token was no end of it, for receiving it in
  /// place: at most `bytes` bytes, and at most as many as have come and 64 KiB. Returns its place,
  /// and the size of the room in `bytes`. Throws std::bad_alloc.
  char* text_room(std::size_t& bytes);
  /// Adds the `bytes` bytes that were written to text_room() to the text; see
  /// reply_parser::skip_text().
  void text_written(std::size_t bytes) noexcept;

  /// Removes all elements and keeps the memory, for the next reply.
  void clear() noexcept {
    nodes_count_ = text_bytes_ = 0;
    root_ = open_ = open_depth_ = 0;
    is_complete_ = false;
  }
  /// Frees the memory if it is more than `bytes` bytes. Requires, asserted, a cleared value.
  void shrink(std::size_t bytes = 0) noexcept;
  /// Exchanges the contents.
  void swap(value& other) noexcept;

  /// Returns whether a whole reply has been added.
  bool is_complete() const noexcept { return is_complete_; }
  /// Returns the outermost element. Requires is_complete(); it is valid until the value changes.
  value_item root() const noexcept;
  /// Returns the number of elements on all levels, attributes included.
  std::size_t elements() const noexcept { return nodes_count_; }
  /// Returns how many bytes of memory are held.
  std::size_t capacity_bytes() const noexcept {
    return nodes_capacity_ * sizeof(detail::value_node) + text_capacity_;
  }

 private:
  friend class value_item;

  std::size_t append_plain(const token* tokens, std::size_t count) noexcept;
  void add(const token& next) noexcept;
  void add_part(const token& next) noexcept;
  void close_to(std::size_t depth) noexcept;
  void grow_nodes();
  void grow_text(const token& next);
  void grow_text_to(std::size_t bytes);
  void release() noexcept;

  detail::value_node* nodes_ = nullptr;
  char* text_ = nullptr;
  std::size_t nodes_count_ = 0;
  std::size_t nodes_capacity_ = 0;
  std::size_t text_bytes_ = 0;
  std::size_t text_capacity_ = 0;
  std::uint32_t root_ = 0;        // behind its attributes
  std::uint32_t open_ = 0;        // the innermost aggregate that is not whole
  std::uint32_t open_depth_ = 0;  // how many are not whole
  bool is_complete_ = false;
};

/// An element of a value: a handle, valid until the value changes. It reads; several threads may.
class value_item {
 public:
  class iterator;

  /// Returns the type; never data_type::end.
  data_type type() const noexcept { return node().type; }
  /// Returns whether this is a null.
  bool is_null() const noexcept { return type() == data_type::null; }
  /// Returns whether this is an error of the server; text() is its message.
  bool is_error() const noexcept { return redis::is_error(type()); }
  /// Returns the value of an integer or boolean (1 or 0). Requires one.
  std::int64_t integer() const noexcept { return node().number; }
  /// Returns the value of a double_number. Requires one.
  double real() const noexcept { return std::bit_cast<double>(node().number); }
  /// Returns the text of a string, error, big number or verbatim; empty for other types.
  std::string_view text() const noexcept;
  /// Returns the format of a verbatim, such as "txt"; empty for other types.
  std::string_view format() const noexcept;

  /// Returns the number of elements in an aggregate, keys and values each; 0 for other types.
  std::size_t size() const noexcept { return is_aggregate(type()) ? node().size : 0; }
  /// Returns the elements of an aggregate in order, without attributes.
  iterator begin() const noexcept;
  iterator end() const noexcept;
  /// Returns element `place` of an aggregate. Requires place < size(). Takes time in proportion to
  /// `place`.
  value_item operator[](std::size_t place) const noexcept;
  /// Returns whether the element has attributes.
  bool has_attributes() const noexcept { return attribute_ != index_; }
  /// Returns the first of the attributes before the element. Requires has_attributes(). Where there
  /// are several, next_attribute() of one returns the next.
  value_item attributes() const noexcept { return {*owner_, attribute_, attribute_}; }
  /// Returns whether there is a further attribute behind this attribute of `described`.
  bool has_next_attribute(const value_item& described) const noexcept {
    return node().end != described.index_;
  }
  /// Returns the attribute behind this one. Requires has_next_attribute().
  value_item next_attribute() const noexcept { return {*owner_, node().end, node().end}; }

  /// Returns whether both have the same type, value and elements in the same order, attributes too.
  /// Doubles are equal if they are the same number or both NaN.
  friend bool operator==(const value_item& one, const value_item& other) noexcept;

 private:
  friend class value;
  friend class detail::node_walk;

  value_item(const value& owner, std::uint32_t index, std::uint32_t attribute) noexcept
      : owner_(&owner), index_(index), attribute_(attribute) {}
  const detail::value_node& node() const noexcept { return owner_->nodes_[index_]; }
  bool equals(const value_item& other) const noexcept;
  static value_item behind_attributes(const value& owner, std::uint32_t index) noexcept;

  const value* owner_;
  std::uint32_t index_;
  std::uint32_t attribute_;  // of the first attribute; index_ without one
};

/// Visits the elements of an aggregate.
class value_item::iterator {
 public:
  using value_type = value_item;
  using difference_type = std::ptrdiff_t;

  iterator() noexcept = default;
  value_item operator*() const noexcept { return behind_attributes(*owner_, index_); }
  iterator& operator++() noexcept;
  iterator operator++(int) noexcept {
    const iterator old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const iterator& one, const iterator& other) noexcept {
    return one.index_ == other.index_;
  }

 private:
  friend class value_item;
  iterator(const value* owner, std::uint32_t index) noexcept : owner_(owner), index_(index) {}

  const value* owner_ = nullptr;
  std::uint32_t index_ = 0;
};

/// Returns the element at `index`, or behind the attributes there.
inline value_item value_item::behind_attributes(const value& owner, std::uint32_t index) noexcept {
  std::uint32_t place = index;
  while (owner.nodes_[place].type == data_type::attribute) place = owner.nodes_[place].end;
  return {owner, place, index};
}

inline std::string_view value_item::text() const noexcept {
  const detail::value_node& own = node();
  if (!detail::has_text(own.type)) return {};
  return {owner_->text_ + own.number, own.size};
}

inline value_item::iterator value_item::begin() const noexcept { return {owner_, index_ + 1}; }

inline value_item::iterator value_item::end() const noexcept { return {owner_, node().end}; }

inline value_item::iterator& value_item::iterator::operator++() noexcept {
  index_ = behind_attributes(*owner_, index_).node().end;
  return *this;
}

inline value_item value::root() const noexcept { return {*this, root_, 0}; }

/// Returns whether both are complete and their roots are equal, or both are not complete and empty.
bool operator==(const value& one, const value& other) noexcept;

namespace detail {

/// Visits an element, its attributes before it, and all that is in it, in the order of the reply.
class node_walk {
 public:
  explicit node_walk(const value_item& item) noexcept
      : owner_(item.owner_), at_(item.attribute_), end_(item.node().end) {}

  bool is_at_end() const noexcept { return at_ == end_; }
  value_item next() noexcept {
    const std::uint32_t index = at_++;
    return {*owner_, index, index};
  }

 private:
  const value* owner_;
  std::uint32_t at_;
  std::uint32_t end_;
};

/// Writes an element for debugging; see redis::to_text().
std::size_t write_text(const value_item& item, char* to, std::size_t room) noexcept;

}  // namespace detail

namespace functions {

/// Returns the element as text for debugging, on one line, such as
/// `[1, "a\x0d", {"k": null}, !"ERR no", 1.5, true, txt:"verbatim"]`. Texts are quoted; other bytes
/// than printable ASCII, quotes and backslashes are escaped. Sets are `~[...]`, pushes `>[...]`,
/// attributes `|{...}` before their element. `Text` is a string: `to_text<std::string>(v.root())`.
/// Throws as the string does.
template <class Text>
Text to_text(const value_item& item) {
  Text text;
  text.resize(detail::write_text(item, nullptr, 0));
  detail::write_text(item, text.data(), text.size());
  return text;
}

}  // namespace functions
using namespace functions;

}  // namespace beck::redis
