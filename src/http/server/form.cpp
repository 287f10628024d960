// SPDX-License-Identifier: BSL-1.0
// Forms are decoded once, into one text; the fields are places in it.
#include <beck/http/form.hpp>

#include <algorithm>
#include <cstring>

#include <beck/base/assert.hpp>
#include <beck/base/error.hpp>
#include <beck/http/failure.hpp>

#include "http/message/characters.hpp"

namespace beck::http {
namespace {

/// Where a field is in the text.
struct place_of_field {
  std::size_t at;
  std::size_t name_bytes, value_bytes;
};

/// Appends the decoded text. Throws failure(400).
void append_decoded(std::string& to, std::string_view encoded) {
  for (std::size_t at = 0; at < encoded.size(); ++at) {
    if (encoded[at] == '%') {
      if (!detail::is_escape(encoded, at))
        throw failure(400, "a percent sign in a form is not followed by two hexadecimal digits");
      to += detail::escaped_byte(encoded, at);
      at += 2;
    } else {
      to += encoded[at] == '+' ? ' ' : encoded[at];
    }
  }
}

[[noreturn]] void refuse_length(std::size_t limit) {
  throw failure(413, "the body is too long (limit: " + std::to_string(limit) + " bytes)");
}

}  // namespace

form_fields::form_fields(std::string_view encoded, std::size_t most) {
  text_.reserve(encoded.size());
  while (!encoded.empty()) {
    const std::size_t end = std::min(encoded.find('&'), encoded.size());
    const std::string_view pair = encoded.substr(0, end);
    encoded.remove_prefix(std::min(end + 1, encoded.size()));
    if (pair.empty()) continue;
    if (size_ == most)
      throw failure(400, "a form has too many fields (limit: " + std::to_string(most) + ')');
    const std::size_t equals = std::min(pair.find('='), pair.size());
    place_of_field place{text_.size(), 0, 0};
    append_decoded(text_, pair.substr(0, equals));
    place.name_bytes = text_.size() - place.at;
    append_decoded(text_, pair.substr(std::min(equals + 1, pair.size())));
    place.value_bytes = text_.size() - place.at - place.name_bytes;
    places_.append(reinterpret_cast<const char*>(&place), sizeof place);
    ++size_;
  }
}

form_fields::field form_fields::operator[](std::size_t i) const noexcept {
  BECK_ASSERT(i < size(), "form_fields: the index is beyond the last field");
  place_of_field place;
  std::memcpy(&place, places_.data() + i * sizeof place, sizeof place);
  const std::string_view all(text_);
  return {all.substr(place.at, place.name_bytes),
          all.substr(place.at + place.name_bytes, place.value_bytes)};
}

std::size_t form_fields::find(std::string_view name) const noexcept {
  std::size_t at = 0;
  while (at < size() && (*this)[at].name != name) ++at;
  return at;
}

std::string_view form_fields::get(std::string_view name) const noexcept {
  const std::size_t at = find(name);
  return at < size() ? (*this)[at].value : std::string_view();
}

void form_fields::refuse(std::string_view name) {
  throw failure(400, "the field \"" + std::string(name) + "\" is not a number in range");
}

task<std::string> functions::read_text(request& q, std::size_t limit) {
  constexpr std::size_t first_bytes = 4096;
  std::string all;
  if (q.head().framing() == body_framing::length) {
    if (q.head().content_length() > limit) refuse_length(limit);
    all.resize(static_cast<std::size_t>(q.head().content_length()));
  }
  const std::size_t most = std::min(limit, all.max_size() - 1);
  request_body body = q.body();
  std::size_t bytes = 0;
  while (!body.is_whole()) {
    if (bytes == all.size()) all.resize(std::min(std::max(2 * bytes, first_bytes), most + 1));
    auto read =
        co_await body.async_read_some(mutable_buffer(all.data() + bytes, all.size() - bytes));
    bytes += read.value_;
    if (bytes > most) refuse_length(limit);
    if (read.error() == error::eof) break;
    if (read.error()) beck::detail::throw_error(read.error(), "read_text");
  }
  all.resize(bytes);
  co_return all;
}

}  // namespace beck::http
