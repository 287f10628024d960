// SPDX-License-Identifier: BSL-1.0
// Finds the object that an element is read into, and checks aggregates at their ends.
#include <beck/redis/reader.hpp>

namespace beck::redis {
namespace {

using detail::reader_type;
using detail::shape;

constexpr reader_type nothing{};

constexpr reader_type make_key_type() noexcept {
  reader_type type;
  type.kind = shape::text;
  type.assign = [](void* to, const char* data, std::size_t size) {
    auto& key = *static_cast<detail::small_store<64>*>(to);
    key.clear();
    key.append({data, size});
  };
  return type;
}
constexpr reader_type key_type = make_key_type();

}  // namespace

reply_reader::slot reply_reader::next_slot(const token& next) {
  if (depth_ == 0) return {type_, to_};
  frame& parent = top();
  switch (parent.type->kind) {
    case shape::sequence:
      return next_of_sequence(parent, next);
    case shape::map:
    case shape::fields:
      return next_of_pairs(parent, next);
    case shape::tuple:
      return next_of_tuple(parent);
    case shape::nothing:
    case shape::integer:
    case shape::real:
    case shape::boolean:
    case shape::text:
    case shape::room:
    case shape::tree:
    case shape::raw:
    case shape::optional:
    case shape::variant:
    case shape::reply:
      break;
  }
  return {&nothing, nullptr};
}

/// Decides by its first element how an array is taken. Returns false if it cannot be.
bool reply_reader::decide(frame& parent, const token& next) {
  if (parent.mode != frame_mode::undecided) return true;
  const bool is_sequence = parent.type->kind == shape::sequence;
  if (is_aggregate(next.type)) {
    parent.mode = is_sequence ? frame_mode::plain : frame_mode::entries;
    return true;
  }
  parent.mode = is_sequence ? frame_mode::flat : frame_mode::plain;
  if (parent.left == unknown_size || parent.left % 2 == 0) return true;
  fail(error::wrong_reply, "keys and values were expected, and an odd number of elements came");
  return false;
}

reply_reader::slot reply_reader::next_of_sequence(frame& parent, const token& next) {
  if (!decide(parent, next)) return {};
  const reader_type& type = *parent.type;
  const bool is_flat = parent.mode == frame_mode::flat;
  if (!is_flat || parent.index % 2 == 0) {
    if (type.add != nullptr) {
      parent.current = type.add(parent.target);
    } else {
      if (parent.made == nullptr) parent.made = type.make();
      parent.current = parent.made;
    }
  }
  if (!is_flat) return {type.inner, parent.current};
  const std::size_t member = parent.index % 2;
  return {type.inner->member_types[member], type.inner->member(parent.current, member)};
}

reply_reader::slot reply_reader::next_of_pairs(frame& parent, const token& next) {
  if (!decide(parent, next)) return {};
  const reader_type& type = *parent.type;
  if (parent.mode == frame_mode::entries) {
    if (is_aggregate(next.type)) return {&type, parent.target, true};
    fail(error::wrong_reply, "an array of a key and a value was expected");
    return {};
  }
  const bool is_key = parent.index % 2 == 0;
  if (type.kind == shape::map) {
    if (!is_key) return {type.inner, parent.current};
    if (parent.made == nullptr) parent.made = type.make();
    return {type.key, parent.made};
  }
  if (is_key) {
    parent.name = nullptr;
    return {&key_type, &key_};
  }
  if (parent.current == nullptr) return {&nothing, nullptr};
  return {parent.field_type, parent.current};
}

reply_reader::slot reply_reader::next_of_tuple(const frame& parent) {
  const reader_type& type = *parent.type;
  if (parent.index < type.members)
    return {type.member_types[parent.index], type.member(parent.target, parent.index)};
  fail(error::wrong_reply, "more elements came than the tuple has");
  return {};
}

/// Counts an element of an aggregate that has ended, and inserts it if it was made apart.
void reply_reader::end_child(frame& parent) {
  const reader_type& type = *parent.type;
  const bool is_second = parent.index % 2 == 1;
  ++parent.index;
  if (type.kind == shape::sequence) {
    if (parent.made != nullptr && (parent.mode != frame_mode::flat || is_second))
      type.insert(parent.target, parent.made);
  } else if (type.kind == shape::map && parent.mode != frame_mode::entries) {
    if (!is_second) parent.current = type.insert(parent.target, parent.made);
  } else if (type.kind == shape::fields && parent.mode != frame_mode::entries) {
    if (!is_second)
      parent.current = type.field(parent.target, key_.view(), &parent.field_type, &parent.name);
  }
}

/// Checks an aggregate at its end; only streamed ones can be wrong. Returns whether it is right.
bool reply_reader::end_aggregate(const frame& ended) {
  const reader_type& type = *ended.type;
  const bool is_by_turns =
      ended.mode == frame_mode::flat ||
      ((type.kind == shape::map || type.kind == shape::fields) && ended.mode == frame_mode::plain);
  if (type.kind == shape::tuple && ended.index != type.members) {
    fail(error::wrong_reply, "fewer elements came than the tuple has");
  } else if (is_by_turns && (ended.index % 2 != 0 || (ended.is_entry && ended.index != 2))) {
    fail(error::wrong_reply, "keys and values were expected, and an odd number of elements came");
  }
  return !has_failed_;
}

}  // namespace beck::redis
