// SPDX-License-Identifier: BSL-1.0
// Receives as much as is there, and parses as far as the next event.
#include <beck/http/event_reader.hpp>

#include <utility>

#include <beck/base/error.hpp>

#include "http/message/event_parser.hpp"

namespace beck::http {
namespace detail {

/// The body of a reader, and the bytes of it that were not parsed. Thread: that of the client.
class event_source {
 public:
  event_source(const response_body& body, const event_limits& bounds, std::string_view last_id)
      : body_(body), parser_(bounds, last_id) {}

  task<io_result<received_event>> next() {
    io_result<received_event> result;
    for (;;) {
      const event_status status = parser_.parse(left_);
      if (status == event_status::event) {
        parser_.take(result->name, result->data);
        result->id = parser_.last_id();
        break;
      }
      if (status == event_status::too_long) {
        result.error_ = make_error_code(std::errc::message_size);
        break;
      }
      const mutable_buffer to(room_, sizeof room_);
      auto received = co_await body_.async_read_some(to);
      left_ = std::string_view(room_, received.value_);
      if (!received.error()) continue;
      result.error_ = received.error();
      break;
    }
    co_return result;
  }
  const event_parser& parser() const noexcept { return parser_; }

 private:
  response_body body_;
  event_parser parser_;
  std::string_view left_;  // in room_
  char room_[8192];
};

}  // namespace detail

event_reader::event_reader(const response_body& body, const event_limits& bounds,
                           std::string_view last_id)
    : source_(new detail::event_source(body, bounds, last_id)) {}

event_reader::event_reader(event_reader&& other) noexcept
    : source_(std::exchange(other.source_, nullptr)) {}

event_reader& event_reader::operator=(event_reader&& other) noexcept {
  std::swap(source_, other.source_);
  return *this;
}

event_reader::~event_reader() { delete source_; }

task<io_result<received_event>> event_reader::next() { return source_->next(); }

std::string_view event_reader::last_id() const noexcept { return source_->parser().last_id(); }

duration event_reader::retry() const noexcept {
  return duration(static_cast<long long>(source_->parser().retry_ms().value_or(0)) * 1'000'000);
}

}  // namespace beck::http
