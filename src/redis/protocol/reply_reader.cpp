// SPDX-License-Identifier: BSL-1.0
// The way of a token through a reader: it begins an element, continues its text, or ends
// aggregates.
#include <beck/redis/reader.hpp>

#include <algorithm>
#include <cstring>
#include <new>

#include <beck/base/assert.hpp>
#include <beck/detail/fixed_text.hpp>

#include "redis/protocol/number_text.hpp"

namespace beck::redis {
namespace {

using detail::reader_type;
using detail::shape;

constexpr reader_type nothing{};
constexpr std::size_t number_text_max = 400;  // more digits than any double needs

bool is_string(data_type type) noexcept {
  return type == data_type::simple_string || type == data_type::bulk_string ||
         type == data_type::verbatim;
}

bool is_scalar(shape kind) noexcept { return kind >= shape::integer && kind <= shape::room; }

bool is_pair(const reader_type& type) noexcept {
  return type.kind == shape::tuple && type.members == 2;
}

}  // namespace

reply_reader::reply_reader() noexcept : type_(&nothing) {}

reply_reader::~reply_reader() {
  drop_frames();
  delete[] more_frames_;
}

void reply_reader::begin(detail::reply_place to, const reply_limits& most) noexcept {
  type_ = to.type;
  to_ = to.to;
  status_ = &to.status();
  limits_ = most;
  const bool is_raw = type_->inner != nullptr && type_->inner->kind == shape::raw;
  raw_ = is_raw ? static_cast<raw_reply*>(type_->engage(to_)) : nullptr;
  clear();
}

void reply_reader::leave() noexcept {
  drop_frames();
  type_ = &nothing;
  to_ = nullptr;
  status_ = nullptr;
  raw_ = nullptr;
}

void reply_reader::clear() noexcept {
  drop_frames();
  attributes_.clear();
  text_bytes_ = 0;
  elements_ = 0;
  has_failed_ = false;
  try {
    type_->reset(to_);
  } catch (...) {
    fail_constructor();
  }
}

bool reply_reader::feed(const token& next) noexcept {
  if (has_failed_) return next.is_last;
  try {
    present_ = &next;
    if (!count(next)) return next.is_last;
    if (raw_ != nullptr) raw_->append(next);
    take(next);
  } catch (...) {  // a container's own exceptions say the same as std::bad_alloc: no room
    fail_constructor();
  }
  return next.is_last;
}

/// Counts a token. Returns false if the reply is over its limits.
bool reply_reader::count(const token& next) {
  text_bytes_ += next.text.size();
  if (next.type != data_type::end && !in_text_) ++elements_;
  if (text_bytes_ <= limits_.text_bytes && elements_ <= limits_.elements) return true;
  const bool is_text = text_bytes_ > limits_.text_bytes;
  beck::detail::fixed_text<79> what("more than ");
  what.append(detail::number_text(is_text ? limits_.text_bytes : limits_.elements).view());
  what.append(is_text ? " bytes of text came" : " elements came");
  fail(error::reply_too_large, {what.data(), what.size()});
  return false;
}

void reply_reader::take(const token& next) {
  if (in_text_) {
    take_text(next);
  } else if (next.type == data_type::end) {
    take_end();
  } else if (next.type == data_type::attribute) {
    take_attribute(next);
  } else {
    if (tree_ == &attributes_ && depth_ == tree_frames_) tree_ = nullptr;  // the attributes end
    const slot to = next_slot(next);
    if (!has_failed_) begin(next, to);
    if (tree_ == nullptr && attributes_.elements() != 0) attributes_.clear();
  }
  if (tree_ == nullptr || has_failed_) return;
  token part = next;
  part.depth = static_cast<std::uint8_t>(part.depth - tree_depth_);
  part.is_last = false;
  tree_->append(part);
}

/// Keeps an attribute that stands outside of a value, in case that it describes one.
void reply_reader::take_attribute(const token& next) {
  if (tree_ == nullptr) {
    tree_ = &attributes_;
    tree_frames_ = depth_;
    tree_depth_ = next.depth;
  }
  frame added;
  added.type = &nothing;
  added.left = next.number;
  added.is_attribute = true;
  if (next.number != 0) push(added);
}

void reply_reader::take_end() {
  BECK_ASSERT(depth_ != 0, "an aggregate ended that was not begun");
  const frame ended = top();
  if (!end_aggregate(ended)) return;
  pop();
  if (!ended.is_attribute) end_element();
}

/// Replaces a reply, optional or variant by the object inside it. Returns false if the element was
/// an error or a null, which is taken here.
bool reply_reader::resolve(const token& next, slot& to) {
  for (;;) {
    const reader_type& type = *to.type;
    if (type.kind == shape::reply) {
      if (depth_ != 0) type.status(to.target)->set(outcome::executed);
      if (is_error(next.type)) {
        text_error_ = type.status(to.target);
        begin_text(next, to);
        return false;
      }
      type.status(to.target)->clear();
      to = {type.inner, type.engage(to.target)};
    } else if (type.kind == shape::optional) {
      if (next.type == data_type::null) {
        type.reset(to.target);
        end_element();
        return false;
      }
      to = {type.inner, type.engage(to.target)};
    } else if (type.kind == shape::variant) {
      std::size_t best = 0;
      int best_fit = 0;
      for (std::size_t i = 0; i < type.members; ++i) {
        const int how = fit(*type.member_types[i], next);
        if (how <= best_fit) continue;
        best = i;
        best_fit = how;
      }
      to = {type.member_types[best], type.member(to.target, best)};
    } else {
      return true;
    }
  }
}

/// Returns how well an element fits a type: 2 exactly, 1 if it converts, 0 not at all. Recursion is
/// over the type.
int reply_reader::fit(const reader_type& type, const token& next) noexcept {
  const bool is_text = is_string(next.type);
  const bool has_digits =
      (is_text || next.type == data_type::big_number) && next.part == text_part::whole;
  std::uint64_t number = 0;  // of any type
  switch (type.kind) {
    case shape::nothing:
    case shape::tree:
    case shape::raw:
      return 1;
    case shape::integer:
      if (next.type == data_type::integer) return set_integer(type, &number, next.number) ? 2 : 0;
      return has_digits && set_integer(type, &number, next.text) ? 1 : 0;
    case shape::real:
      if (next.type == data_type::integer) return 1;
      if (next.type == data_type::double_number) return set_real(type, &number, next.text) ? 2 : 0;
      return has_digits && set_real(type, &number, next.text) ? 1 : 0;
    case shape::boolean:
      if (next.type == data_type::boolean) return 2;
      if (next.type == data_type::integer) return next.number == 0 || next.number == 1 ? 1 : 0;
      return is_text && (next.text == "0" || next.text == "1") ? 1 : 0;
    case shape::text:
    case shape::room:
      if (is_text) return 2;
      return next.type == data_type::integer || next.type == data_type::double_number ||
                     next.type == data_type::big_number
                 ? 1
                 : 0;
    case shape::optional:
      return next.type == data_type::null ? 2 : fit(*type.inner, next);
    case shape::reply:
      return is_error(next.type) ? 2 : fit(*type.inner, next);
    case shape::variant: {
      int best = 0;
      for (std::size_t i = 0; i < type.members; ++i)
        best = std::max(best, fit(*type.member_types[i], next));
      return best;
    }
    case shape::sequence:
      return next.type == data_type::map ? 1 : is_aggregate(next.type) ? 2 : 0;
    case shape::map:
    case shape::fields:
      return next.type == data_type::map ? 2 : is_aggregate(next.type) ? 1 : 0;
    case shape::tuple:
      if (!is_aggregate(next.type)) return 0;
      return next.number == static_cast<std::int64_t>(type.members) ? 2 : 0;
  }
  return 0;
}

void reply_reader::begin(const token& next, slot to) {
  if (!to.is_entry && !resolve(next, to)) return;
  const shape kind = to.type->kind;
  if (kind == shape::tree) {
    tree_ = static_cast<value*>(to.target);
    tree_->clear();
    tree_->swap(attributes_);
    tree_frames_ = depth_;
    tree_depth_ = next.depth;
  }
  if (kind == shape::tree || kind == shape::raw) to = {&nothing, nullptr};
  if (is_aggregate(next.type)) return begin_aggregate(next, to);
  if (to.type->kind == shape::nothing) return begin_text(next, to);
  if (is_error(next.type)) {
    text_error_ = status_;
    is_failure_ = true;
    return begin_text(next, to);
  }
  if (next.type == data_type::null)
    return fail(error::null_reply, "a null came, and only an optional holds one");
  if (!is_scalar(kind)) return fail_type(to, next.type, next.text);
  begin_text(next, to);
}

void reply_reader::begin_aggregate(const token& next, const slot& to) {
  const reader_type& type = *to.type;
  if (is_scalar(type.kind)) return fail_type(to, next.type);
  frame added;
  added.type = &type;
  added.target = to.target;
  added.left = next.number;
  added.is_entry = to.is_entry;
  const bool is_known = next.number != unknown_size;
  if (type.kind == shape::tuple && is_known &&
      static_cast<std::size_t>(next.number) != type.members)
    return fail_size(to, next);
  if (to.is_entry && is_known && next.number != 2) return fail_type(to, next.type);
  if (next.type == data_type::map || to.is_entry) added.mode = frame_mode::plain;
  if (type.kind == shape::sequence) {
    type.reset(to.target);
    added.mode = frame_mode::plain;
    if (is_pair(*type.inner))
      added.mode = next.type == data_type::map ? frame_mode::flat : frame_mode::undecided;
  } else if (type.kind == shape::map && !to.is_entry) {
    type.reset(to.target);
  }
  if (next.number == 0) return end_element();
  push(added);
}

/// Takes a scalar, or the first part of its text.
void reply_reader::begin_text(const token& next, const slot& to) {
  text_to_ = to;
  text_kind_ = next.type;
  scratch_.clear();
  if (text_error_ != nullptr) text_error_->clear();
  if (text_error_ == nullptr && next.part == text_part::whole) {
    set(to, next.type, next.text, next.number);
    if (!has_failed_) end_element();
    return;
  }
  in_text_ = true;
  if (text_error_ == nullptr && to.type->append != nullptr) to.type->assign(to.target, "", 0);
  if (text_error_ == nullptr && to.type->kind == shape::room)
    static_cast<into*>(to.target)->clear();
  take_text(next);
}

void reply_reader::take_text(const token& next) {
  const reader_type& type = *text_to_.type;
  if (text_error_ != nullptr) {
    text_error_->add_text(next.text);
  } else if (type.kind == shape::room) {
    into& room = *static_cast<into*>(text_to_.target);
    if (!room.append(next.text)) return fail_room(room);
  } else if (type.append != nullptr) {
    type.append(text_to_.target, next.text.data(), next.text.size());
  } else if (type.kind != shape::nothing) {
    const bool is_number = type.kind != shape::text;
    if (is_number && scratch_.size() + next.text.size() > number_text_max)
      return fail_type(text_to_, text_kind_, next.text);
    scratch_.append(next.text);
  }
  if (next.ends_text()) end_text();
}

void reply_reader::end_text() {
  in_text_ = false;
  const reader_type& type = *text_to_.type;
  if (text_error_ != nullptr) {
    text_error_->set_server_error();
    text_error_ = nullptr;
    if (is_failure_) {
      drop_frames();
      has_failed_ = true;
      return;
    }
  } else if (type.kind != shape::nothing && type.kind != shape::room && type.append == nullptr) {
    set(text_to_, text_kind_, scratch_.view(), 0);
    if (has_failed_) return;
  }
  end_element();
}

/// Ends an element, and every aggregate that ends with it.
void reply_reader::end_element() {
  for (;;) {
    if (tree_ != nullptr && depth_ == tree_frames_) {
      token last = *present_;
      last.depth = static_cast<std::uint8_t>(last.depth - tree_depth_);
      last.is_last = true;
      tree_->append(last);
      tree_ = nullptr;
    }
    if (depth_ == 0) return;
    frame& parent = top();
    end_child(parent);
    if (parent.left == unknown_size || --parent.left != 0) return;
    const frame ended = parent;
    if (!end_aggregate(ended)) return;
    pop();
    if (ended.is_attribute) return;
  }
}

reply_reader::frame* reply_reader::frames() noexcept {
  if (more_frames_ != nullptr) return more_frames_;
  return std::launder(reinterpret_cast<frame*>(frames_inside_));
}

reply_reader::frame& reply_reader::top() noexcept { return frames()[depth_ - 1]; }

void reply_reader::push(const frame& added) {
  if (depth_ == frames_max_) {
    frame* const more = new frame[frames_max_ * 2];
    std::copy(frames(), frames() + depth_, more);
    delete[] more_frames_;
    more_frames_ = more;
    frames_max_ *= 2;
  }
  if (more_frames_ != nullptr) {
    more_frames_[depth_] = added;
  } else {
    ::new (static_cast<void*>(frames_inside_ + depth_ * sizeof(frame))) frame(added);
  }
  ++depth_;
}

void reply_reader::pop() noexcept {
  const frame& ended = top();
  if (ended.made != nullptr) ended.type->destroy(ended.made);
  --depth_;
}

void reply_reader::drop_frames() noexcept {
  while (depth_ != 0) pop();
  in_text_ = false;
  is_failure_ = false;
  text_error_ = nullptr;
  tree_ = nullptr;
}

}  // namespace beck::redis
