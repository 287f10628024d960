// SPDX-License-Identifier: BSL-1.0
// Sets scalars from tokens, and words the errors of a reader. Keeps the error of a reply.
#include <beck/redis/reader.hpp>

#include <charconv>
#include <cstring>
#include <new>
#include <utility>

#include <beck/detail/fixed_text.hpp>

#include "redis/protocol/number_text.hpp"

namespace beck::redis {
namespace {

using detail::reader_type;
using detail::shape;
using message = beck::detail::fixed_text<250>;

constexpr std::size_t shown_max = 40;  // bytes of a refused text

void add(message& to, std::string_view text) { to.append({text.data(), text.size()}); }

void add(message& to, std::size_t number) { add(to, detail::number_text(number).view()); }

/// Reads the whole of a text as a number of type Number into `to`.
template <class Number>
bool read(void* to, std::string_view text) noexcept {
  Number number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return false;
  std::memcpy(to, &number, sizeof number);
  return true;
}

/// Stores a number as one of type Number, if it is within its range.
template <class Number>
bool store(void* to, std::int64_t number) noexcept {
  if (!std::in_range<Number>(number)) return false;
  const auto narrow = static_cast<Number>(number);
  std::memcpy(to, &narrow, sizeof narrow);
  return true;
}

void add_wanted(message& to, const reader_type& type) {
  switch (type.kind) {
    case shape::integer:
      add(to, type.is_signed ? "an integer of " : "an unsigned integer of ");
      add(to, std::size_t{type.bytes} * 8);
      return add(to, " bits");
    case shape::real:
      return add(to, "a number");
    case shape::boolean:
      return add(to, "a truth value");
    case shape::text:
    case shape::room:
      return add(to, "a text");
    case shape::map:
    case shape::fields:
      return add(to, "a map");
    case shape::tuple:
      add(to, "an array of ");
      return add(to, type.members);
    case shape::nothing:
    case shape::tree:
    case shape::raw:
    case shape::optional:
    case shape::variant:
    case shape::sequence:
    case shape::reply:
      break;
  }
  add(to, "an array");
}

}  // namespace

/// Sets a scalar. An integer is set as such, or by its digits.
void reply_reader::set(const slot& to, data_type kind, std::string_view text, std::int64_t number) {
  if (kind != data_type::integer) return set_text(to, kind, text, number);
  if (to.type->kind == shape::integer && set_integer(*to.type, to.target, number)) return;
  set_text(to, kind, detail::number_text(number).view(), number);
}

/// Sets a scalar by its text; a boolean, which has none, by its number.
void reply_reader::set_text(const slot& to, data_type kind, std::string_view text,
                            std::int64_t number) {
  const reader_type& type = *to.type;
  bool is_good = kind != data_type::boolean;
  switch (type.kind) {
    case shape::integer:
      is_good = is_good && kind != data_type::double_number && set_integer(type, to.target, text);
      break;
    case shape::real:
      is_good = is_good && set_real(type, to.target, text);
      break;
    case shape::boolean:
      is_good = kind == data_type::boolean || text == "1" || text == "0";
      if (is_good)
        *static_cast<bool*>(to.target) = kind == data_type::boolean ? number != 0 : text == "1";
      break;
    case shape::text:
      if (is_good) type.assign(to.target, text.data(), text.size());
      break;
    case shape::room: {
      into& room = *static_cast<into*>(to.target);
      room.clear();
      if (is_good && !room.append(text)) return fail_room(room);
      break;
    }
    case shape::nothing:
    case shape::tree:
    case shape::raw:
    case shape::optional:
    case shape::variant:
    case shape::sequence:
    case shape::map:
    case shape::tuple:
    case shape::fields:
    case shape::reply:
      return;
  }
  if (!is_good) fail_type(to, kind, text);
}

bool reply_reader::set_integer(const reader_type& type, void* to, std::int64_t number) noexcept {
  switch (type.bytes) {
    case 1:
      return type.is_signed ? store<std::int8_t>(to, number) : store<std::uint8_t>(to, number);
    case 2:
      return type.is_signed ? store<std::int16_t>(to, number) : store<std::uint16_t>(to, number);
    case 4:
      return type.is_signed ? store<std::int32_t>(to, number) : store<std::uint32_t>(to, number);
    default:
      return type.is_signed ? store<std::int64_t>(to, number) : store<std::uint64_t>(to, number);
  }
}

bool reply_reader::set_integer(const reader_type& type, void* to, std::string_view text) noexcept {
  switch (type.bytes) {
    case 1:
      return type.is_signed ? read<std::int8_t>(to, text) : read<std::uint8_t>(to, text);
    case 2:
      return type.is_signed ? read<std::int16_t>(to, text) : read<std::uint16_t>(to, text);
    case 4:
      return type.is_signed ? read<std::int32_t>(to, text) : read<std::uint32_t>(to, text);
    default:
      return type.is_signed ? read<std::int64_t>(to, text) : read<std::uint64_t>(to, text);
  }
}

bool reply_reader::set_real(const reader_type& type, void* to, std::string_view text) noexcept {
  return type.bytes == sizeof(float) ? read<float>(to, text) : read<double>(to, text);
}

void reply_reader::fail_room(const into& room) {
  message what;
  add(what, "the buffer has ");
  add(what, room.room().size());
  add(what, " bytes, and a longer text came");
  fail(error::reply_too_large, {what.data(), what.size()});
}

void reply_reader::fail_type(const slot& wanted, data_type got, std::string_view text) {
  message shown;
  if (!text.empty()) {
    add(shown, " \"");
    add(shown, text.substr(0, shown_max));
    add(shown, text.size() > shown_max ? "...\"" : "\"");
  }
  fail_wanted(wanted, got, {shown.data(), shown.size()});
}

void reply_reader::fail_size(const slot& wanted, const token& got) {
  message size;
  add(size, " of ");
  add(size, static_cast<std::size_t>(got.number));
  fail_wanted(wanted, got.type, {size.data(), size.size()});
}

void reply_reader::fail_wanted(const slot& wanted, data_type got, std::string_view more) {
  message what;
  add_wanted(what, *wanted.type);
  add(what, " was expected, and ");
  add(what, name_of(got));
  add(what, more);
  add(what, " came");
  fail(error::wrong_reply, {what.data(), what.size()});
}

/// Ends the reading because an object of the program's has thrown. A container's own exceptions say
/// the same as std::bad_alloc: no room.
void reply_reader::fail_constructor() noexcept {
  drop_frames();
  has_failed_ = true;
  status_->set(std::make_error_code(errc::not_enough_memory), "a container refused an element");
}

/// Ends the reading with an error. Its text begins with the place in the reply.
void reply_reader::fail(error why, std::string_view what) {
  message text;
  for (std::size_t i = 0; i < depth_; ++i) {
    const frame& at = frames()[i];
    if (at.is_attribute || at.mode == frame_mode::entries) continue;
    const bool is_key = at.index % 2 == 0;
    add(text, text.empty() ? "" : ", ");
    if (at.type->kind == shape::fields) {
      add(text, at.name != nullptr ? "field " : "a key");
      if (at.name != nullptr) add(text, at.name);
    } else if (at.type->kind == shape::map) {
      add(text, is_key ? "key " : "value ");
      add(text, at.index / 2 + 1);
    } else {
      add(text, "element ");
      add(text, at.index + 1);
    }
  }
  add(text, text.empty() ? "" : ": ");
  add(text, what);
  drop_frames();
  has_failed_ = true;
  status_->set(make_error_code(why), {text.data(), text.size()});
}

bool into::append(std::string_view text) noexcept {
  if (text.size() > room_.size() - size_) return false;
  if (!text.empty())
    std::memcpy(static_cast<char*>(room_.data()) + size_, text.data(), text.size());
  size_ += text.size();
  return true;
}

namespace detail {

void reply_status::add_text(std::string_view part) {
  text_.append(part.substr(0, text_max - text_.size()));
}

void reply_status::set_server_error() noexcept { error_ = error_of(text_.view()); }

void reply_status::set(const error_code& ec, std::string_view text) noexcept {
  error_ = ec;
  text_.clear();
  try {
    add_text(text);
  } catch (const std::bad_alloc&) {
    text_.clear();  // the error stays without its text
  }
}

void reply_status::raise() const { beck::detail::throw_error(error_, "redis", text()); }

}  // namespace detail

}  // namespace beck::redis
