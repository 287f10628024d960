// SPDX-License-Identifier: BSL-1.0
// Building, comparing and visiting values. Nodes are in the order of the reply, so everything here
// is a loop over them: nothing recurses, and destruction frees two blocks.
#include <beck/redis/value.hpp>

#include <beck/base/assert.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

namespace beck::redis {
namespace {

using detail::has_text;
using detail::value_node;

constexpr std::size_t nodes_min = 8;
constexpr std::size_t text_min = 64;
constexpr std::size_t room_max = 65'536;  // room for a text beyond the bytes that have come
constexpr std::size_t count_max = std::numeric_limits<std::uint32_t>::max();

/// Moves `bytes` bytes into a new block of `capacity` bytes.
void* moved(void* from, std::size_t bytes, std::size_t capacity) {
  void* const to = ::operator new(capacity);
  if (bytes != 0) std::memcpy(to, from, bytes);
  ::operator delete(from);
  return to;
}

/// Copies a text; without a call where it is short, as most are. Neither reads nor writes beyond.
inline void copy_text(char* to, std::string_view text) noexcept {
  const char* const from = text.data();
  const std::size_t bytes = text.size();
  if (bytes > 16) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 8) {
    char first[8], last[8];
    std::memcpy(first, from, 8);
    std::memcpy(last, from + bytes - 8, 8);
    std::memcpy(to, first, 8);
    std::memcpy(to + bytes - 8, last, 8);
  } else {
    for (std::size_t i = 0; i != bytes; ++i) to[i] = from[i];
  }
}

}  // namespace

value& value::operator=(value&& other) noexcept {
  value taken(std::move(other));
  swap(taken);
  return *this;
}

value::value(const value& other) {
  if (other.nodes_count_ == 0) return;
  BECK_ASSERT(other.is_complete_, "a value that is not complete cannot be copied");
  const std::size_t bytes = other.nodes_count_ * sizeof(value_node);
  nodes_ = static_cast<value_node*>(::operator new(bytes));
  std::memcpy(nodes_, other.nodes_, bytes);
  nodes_count_ = nodes_capacity_ = other.nodes_count_;
  if (other.text_bytes_ != 0) {
    try {
      text_ = static_cast<char*>(::operator new(other.text_bytes_));
    } catch (...) {
      release();
      throw;
    }
    std::memcpy(text_, other.text_, other.text_bytes_);
  }
  text_bytes_ = text_capacity_ = other.text_bytes_;
  root_ = other.root_;
  is_complete_ = true;
}

value& value::operator=(const value& other) {
  value copy(other);
  swap(copy);
  return *this;
}

value::~value() { release(); }

void value::release() noexcept {
  ::operator delete(nodes_);
  ::operator delete(text_);
}

std::size_t value::append(const token* tokens, std::size_t count) {
  BECK_ASSERT(!is_complete_, "the value is complete");
  for (std::size_t i = 0;;) {
    i += append_plain(tokens + i, count - i);
    if (i == count || is_complete_) return i;
    const token& next = tokens[i];
    if (nodes_count_ == nodes_capacity_) grow_nodes();
    if (next.text.size() > text_capacity_ - text_bytes_) grow_text(next);
    if (next.part <= text_part::first && next.type != data_type::end) {
      add(next);
    } else {
      add_part(next);
    }
    ++i;
    if (!next.is_last) continue;
    close_to(0);
    is_complete_ = true;
    return i;
  }
}

/// Adds a reply that is a scalar, or scalar elements of the innermost aggregate unless it is
/// streamed, as long as there is room; these are nearly all. Returns how many.
std::size_t value::append_plain(const token* tokens, std::size_t count) noexcept {
  if (open_depth_ == 0 ? nodes_count_ != 0 : nodes_[open_].number < 0) return 0;
  const std::size_t depth = open_depth_;
  value_node* made = nodes_ + nodes_count_;
  auto index = static_cast<std::uint32_t>(nodes_count_);
  char* const begin = text_;
  std::size_t text_bytes = text_bytes_;
  const std::size_t text_room = text_capacity_;
  const token* next = tokens;
  const token* const end = tokens + std::min(count, nodes_capacity_ - nodes_count_);
  for (; next != end; ++next, ++made) {
    const std::size_t bytes = next->text.size();
    const bool is_plain = next->type < data_type::verbatim && next->part == text_part::whole;
    if (!is_plain || next->depth != depth || bytes > text_room - text_bytes) break;
    made->type = next->type;
    made->end = ++index;
    if (has_text(next->type)) {
      made->size = static_cast<std::uint32_t>(bytes);
      made->number = static_cast<std::int64_t>(text_bytes);
      copy_text(begin + text_bytes, next->text);
      text_bytes += bytes;
    } else {
      made->size = 0;
      made->number = next->number;
    }
    if (next->is_last) {
      ++next;
      ++made;
      is_complete_ = true;
      break;
    }
  }
  nodes_count_ = index;
  text_bytes_ = text_bytes;
  if (is_complete_) close_to(0);
  return static_cast<std::size_t>(next - tokens);
}

/// Adds an element. Requires room for it.
void value::add(const token& next) noexcept {
  const auto index = static_cast<std::uint32_t>(nodes_count_);
  if (open_depth_ > next.depth) close_to(next.depth);
  BECK_ASSERT(open_depth_ == next.depth, "a token is inside an aggregate that was not begun");
  value_node& made = nodes_[nodes_count_++];
  made.type = next.type;
  made.end = index + 1;
  made.size = 0;
  made.number = next.number;
  if (next.type != data_type::attribute) {
    if (next.depth == 0) {
      root_ = index;
    } else if (nodes_[open_].number < 0) {
      ++nodes_[open_].size;  // of a streamed aggregate
    }
  }
  if (is_aggregate(next.type)) {
    made.size = next.number < 0 ? 0 : static_cast<std::uint32_t>(next.number);
    made.end = open_;
    open_ = index;
    ++open_depth_;
  } else if (has_text(next.type)) {
    made.size = static_cast<std::uint32_t>(next.text.size());
    made.number = static_cast<std::int64_t>(text_bytes_);
    std::memcpy(made.format, next.format, sizeof made.format);
    if (!next.text.empty()) std::memcpy(text_ + text_bytes_, next.text.data(), next.text.size());
    text_bytes_ += next.text.size();
  }
}

/// Adds a further part of the text of the last element, or the end of an aggregate.
void value::add_part(const token& next) noexcept {
  BECK_ASSERT(nodes_count_ != 0, "a value begins with the end of an aggregate, or of a text");
  if (next.type == data_type::end) {
    close_to(next.depth);
    return;
  }
  if (!next.text.empty()) std::memcpy(text_ + text_bytes_, next.text.data(), next.text.size());
  text_bytes_ += next.text.size();
  nodes_[nodes_count_ - 1].size += static_cast<std::uint32_t>(next.text.size());
}

/// Ends the aggregates that are inside `depth` others, or more.
void value::close_to(std::size_t depth) noexcept {
  for (; open_depth_ > depth; --open_depth_) {
    value_node& ended = nodes_[open_];
    open_ = ended.end;
    ended.end = static_cast<std::uint32_t>(nodes_count_);
  }
}

void value::grow_nodes() {
  if (nodes_count_ > count_max / 2) throw std::length_error("a reply has too many elements");
  const std::size_t capacity = std::max(nodes_min, nodes_count_ * 2);
  nodes_ = static_cast<value_node*>(
      moved(nodes_, nodes_count_ * sizeof(value_node), capacity * sizeof(value_node)));
  nodes_capacity_ = capacity;
}

/// Makes room for the text of a token; if more of it is announced and that is little, for all.
void value::grow_text(const token& next) {
  const std::size_t needed = text_bytes_ + next.text.size();
  const std::size_t most = needed * 2;
  std::size_t capacity = most;
  if (next.part == text_part::first && next.number > 0)
    capacity = std::clamp(text_bytes_ + static_cast<std::size_t>(next.number), needed, most);
  grow_text_to(std::max(text_min, capacity));
}

void value::grow_text_to(std::size_t bytes) {
  if (bytes / 2 > count_max) throw std::length_error("the texts of a reply are too long");
  text_ = static_cast<char*>(moved(text_, text_bytes_, bytes));
  text_capacity_ = bytes;
}

char* value::text_room(std::size_t& bytes) {
  BECK_ASSERT(nodes_count_ != 0 && !is_complete_, "no text is being added");
  bytes = std::min(bytes, text_bytes_ + room_max);
  if (bytes > text_capacity_ - text_bytes_) grow_text_to(text_bytes_ + bytes);
  return text_ + text_bytes_;
}

void value::text_written(std::size_t bytes) noexcept {
  BECK_ASSERT(bytes <= text_capacity_ - text_bytes_, "more was written than there was room for");
  BECK_ASSERT(nodes_count_ != 0 && !is_complete_, "no text is being added");
  text_bytes_ += bytes;
  nodes_[nodes_count_ - 1].size += static_cast<std::uint32_t>(bytes);
}

void value::shrink(std::size_t bytes) noexcept {
  BECK_ASSERT(nodes_count_ == 0, "the value is not cleared");
  if (capacity_bytes() <= bytes) return;
  release();
  nodes_ = nullptr;
  text_ = nullptr;
  nodes_capacity_ = text_capacity_ = 0;
}

void value::swap(value& other) noexcept {
  std::swap(nodes_, other.nodes_);
  std::swap(text_, other.text_);
  std::swap(nodes_count_, other.nodes_count_);
  std::swap(nodes_capacity_, other.nodes_capacity_);
  std::swap(text_bytes_, other.text_bytes_);
  std::swap(text_capacity_, other.text_capacity_);
  std::swap(root_, other.root_);
  std::swap(open_, other.open_);
  std::swap(open_depth_, other.open_depth_);
  std::swap(is_complete_, other.is_complete_);
}

bool operator==(const value& one, const value& other) noexcept {
  if (!one.is_complete() || !other.is_complete())
    return one.elements() == 0 && other.elements() == 0;
  return one.root() == other.root();
}

std::string_view value_item::format() const noexcept {
  if (type() != data_type::verbatim) return {};
  return {node().format, sizeof node().format};
}

value_item value_item::operator[](std::size_t place) const noexcept {
  BECK_ASSERT(place < size(), "the aggregate has fewer elements");
  iterator found = begin();
  for (; place != 0; --place) ++found;
  return *found;
}

/// Returns whether two nodes are equal, apart from the nodes behind them.
bool value_item::equals(const value_item& other) const noexcept {
  const value_node& one = node();
  const value_node& two = other.node();
  if (one.type != two.type || one.size != two.size) return false;
  if (is_aggregate(one.type)) return true;
  if (has_text(one.type)) return text() == other.text() && format() == other.format();
  if (one.type != data_type::double_number) return one.number == two.number;
  const double first = real();
  const double second = other.real();
  return first == second || (first != first && second != second);
}

bool operator==(const value_item& one, const value_item& other) noexcept {
  // The sizes of aggregates tell where each node belongs, so equal nodes in a row are equal trees.
  const std::uint32_t count = one.node().end - one.attribute_;
  if (count != other.node().end - other.attribute_) return false;
  for (std::uint32_t i = 0; i != count; ++i) {
    const std::uint32_t first = one.attribute_ + i;
    const std::uint32_t second = other.attribute_ + i;
    const value_item left(*one.owner_, first, first);
    if (!left.equals({*other.owner_, second, second})) return false;
  }
  return true;
}

}  // namespace beck::redis
