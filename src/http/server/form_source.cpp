// SPDX-License-Identifier: BSL-1.0
// Receives forms with files, no faster than the handler reads them.
#include "http/server/form_source.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/base/error.hpp>
#include <beck/http/failure.hpp>

#include "http/server/part_file.hpp"

namespace beck::http::detail {
namespace {

constexpr std::size_t received_bytes = 16'384;
constexpr std::size_t written_bytes = 65'536;

/// Returns the limit that a form has exceeded; an empty text if the reason is no limit.
std::string limit_of(form_refusal why, const multipart_limits& bounds) {
  const auto limit = [](std::uint64_t number, const char* member) {
    return " (limit: " + std::to_string(number) + ", set by multipart_limits::" + member + ')';
  };
  if (why == form_refusal::head_too_long) return limit(bounds.head_bytes, "head_bytes");
  if (why == form_refusal::too_many_parts) return limit(bounds.parts, "parts");
  if (why == form_refusal::part_too_long) return limit(bounds.part_bytes, "part_bytes");
  if (why == form_refusal::form_too_long) return limit(bounds.body_bytes, "body_bytes");
  return {};
}

[[noreturn]] void refuse_form(form_refusal why, const multipart_limits& bounds) {
  throw failure(form_refusal_status(why),
                std::string(form_refusal_text(why)) + limit_of(why, bounds));
}

/// Returns the boundary of a request that may have a form. Throws failure.
std::string boundary_of(const request& q, const multipart_limits& bounds) {
  if (q.head().repeats(field::content_type)) refuse_form(form_refusal::bad_content_type, bounds);
  std::string boundary;
  const form_refusal bad = read_boundary(q.get(field::content_type), boundary);
  if (bad != form_refusal::none) refuse_form(bad, bounds);
  const bool has_length = q.head().framing() == body_framing::length;
  if (has_length && q.head().content_length() > bounds.body_bytes)
    refuse_form(form_refusal::form_too_long, bounds);
  return boundary;
}

}  // namespace

form_source::form_source(request& q, std::string_view boundary, const multipart_limits& bounds)
    : body_(q.body()),
      bounds_(bounds),
      parser_(boundary, bounds),
      room_bytes_(parser_.pending_max() + received_bytes),
      room_(std::make_unique_for_overwrite<char[]>(room_bytes_)) {}

void form_source::refuse() const { refuse_form(parser_.reason(), bounds_); }

std::optional<part_event> form_source::parse() {
  for (;;) {
    const std::string_view input(room_.get() + begin_, end_ - begin_);
    const part_step step = parser_.parse(input);
    begin_ += step.consumed;
    data_ = step.data;
    if (step.event == part_event::refused) refuse();
    if (step.event != part_event::more) return step.event;
    if (step.consumed != 0) continue;
    if (!has_body_) return std::nullopt;
    if (!parser_.finish(input)) refuse();
    return part_event::more;
  }
}

/// Receives more of the body behind the bytes that the parser has not taken.
task<> form_source::receive() {
  BECK_ASSERT(data_.empty() && end_ - begin_ <= parser_.pending_max(),
              "the parser of a form has left more than it may");
  if (begin_ != 0) std::memmove(room_.get(), room_.get() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  const mutable_buffer to(room_.get() + end_, room_bytes_ - end_);
  auto received = co_await body_.async_read_some(to);
  end_ += received.value_;
  has_body_ = received.error() == error::eof && body_.is_whole();
  if (received.error() && !has_body_) beck::detail::throw_error(received.error(), "multipart_form");
}

task<bool> form_source::next() {
  ++number_;
  in_part_ = false;
  for (;;) {
    const std::optional<part_event> found = parse();
    if (!found) {
      co_await receive();
    } else if (*found == part_event::head) {
      in_part_ = true;
      co_return true;
    } else if (*found == part_event::more) {
      co_return false;
    }
  }
}

void form_source::take_data(mutable_buffer to, std::size_t& bytes) noexcept {
  bytes = std::min(to.size(), data_.size());
  std::memcpy(to.data(), data_.data(), bytes);
  data_.remove_prefix(bytes);
}

task<std::size_t> form_source::read_some(mutable_buffer to) {
  BECK_ASSERT(to.size() != 0, "form_part::read_some() needs room");
  std::size_t bytes = 0;
  while (data_.empty() && in_part_) {
    const std::optional<part_event> found = parse();
    if (!found) {
      co_await receive();
    } else if (*found == part_event::end) {
      in_part_ = false;
    } else {
      BECK_ASSERT(*found == part_event::data, "a part of a form contains another one");
    }
  }
  if (!data_.empty()) take_data(to, bytes);
  co_return bytes;
}

task<std::string> form_source::text(std::size_t limit) {
  std::string all;
  char piece[1024];
  const mutable_buffer room(piece, sizeof piece);
  for (;;) {
    const std::size_t bytes = co_await read_some(room);
    if (bytes == 0) co_return all;
    if (bytes > limit - all.size())
      throw failure(413,
                    "a field of the form is too long (limit: " + std::to_string(limit) + " bytes)");
    all.append(piece, bytes);
  }
}

task<std::uint64_t> form_source::save(std::string path) {
  part_file made(get_executor(), std::move(path));
  co_await made.open();
  const auto room = std::make_unique_for_overwrite<char[]>(written_bytes);
  std::uint64_t written = 0;
  for (bool more = true; more;) {
    std::size_t filled = 0;
    while (more && filled != written_bytes) {
      const mutable_buffer left(room.get() + filled, written_bytes - filled);
      const std::size_t bytes = co_await read_some(left);
      filled += bytes;
      more = bytes != 0;
    }
    if (filled != 0) co_await made.write(written, const_buffer(room.get(), filled));
    written += filled;
  }
  co_await made.publish();
  co_return written;
}

}  // namespace beck::http::detail

namespace beck::http {

detail::form_source& form_part::source() const {
  if (of_ == nullptr || of_->number() != number_)
    throw std::logic_error("http: a part of a form was left for the next one");
  return *of_;
}

std::string_view form_part::name() const { return source().head().name; }
bool form_part::is_file() const { return source().head().is_file; }
std::string_view form_part::file_name() const { return source().head().file_name; }
std::string_view form_part::media_type() const { return source().head().media_type; }
std::string_view form_part::content_type() const { return source().head().content_type; }

task<std::string> form_part::text(std::size_t limit) { return source().text(limit); }
task<std::size_t> form_part::read_some(mutable_buffer to) { return source().read_some(to); }
task<std::uint64_t> form_part::save(std::string path) { return source().save(std::move(path)); }

multipart_form::multipart_form(request& q, const multipart_limits& bounds)
    : source_(new detail::form_source(q, detail::boundary_of(q, bounds), bounds)) {}

multipart_form::~multipart_form() { delete source_; }

task<form_part> multipart_form::next() {
  detail::form_source& from = *source_;
  const bool found = co_await from.next();
  co_return found ? form_part(from, from.number()) : form_part();
}

}  // namespace beck::http
