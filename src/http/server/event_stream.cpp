// SPDX-License-Identifier: BSL-1.0
// Events and comments share a connection: a comment is written only between two events, and only if
// there is room at once, because a client that takes nothing needs none.
#include <beck/http/event_stream.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <beck/http/method.hpp>
#include <beck/io/context_services.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/steady_timer.hpp>

#include "http/message/characters.hpp"
#include "http/server/exchange_state.hpp"

namespace beck::http {
namespace detail {
namespace {

constexpr std::string_view comment = ":\n\n";

void set_unless_there(response& r, std::string_view name, std::string_view value) {
  if (!r.has(name)) r.set(name, value);
}

/// Appends the lines of `data`, each as a field of its own.
void append_data(std::string& to, std::string_view data) {
  for (;;) {
    const std::size_t end = line_bytes_of(data);
    to.append("data: ").append(data.substr(0, end)).append("\n");
    if (end == data.size()) return;
    const bool is_pair = data[end] == '\r' && data.substr(end + 1, 1) == "\n";
    data.remove_prefix(end + (is_pair ? 2 : 1));
  }
}

/// Returns an event as it is sent. Throws std::invalid_argument.
std::string text_of_event(const sent_event& one) {
  using namespace std::string_view_literals;
  if (one.name.find_first_of("\r\n") != std::string_view::npos)
    throw std::invalid_argument("http: a line end in the name of an event");
  if (one.id.find_first_of("\r\n\0"sv) != std::string_view::npos)
    throw std::invalid_argument("http: a line end or a NUL in the id of an event");
  std::string text;
  text.reserve(one.name.size() + one.data.size() + one.id.size() + 64);
  if (!one.name.empty()) text.append("event: ").append(one.name).append("\n");
  if (!one.id.empty()) text.append("id: ").append(one.id).append("\n");
  append_data(text, one.data);
  return text += '\n';
}

}  // namespace

/// The part of a stream that its timer and a write under way keep. Thread: that of the handler.
class event_sender : public std::enable_shared_from_this<event_sender> {
 public:
  event_sender(request& q, response& r, const event_options& how)
      : state_(state_of(q)),
        response_(&r),
        keep_alive_(how.keep_alive),
        timer_(q.get_executor()),
        is_head_(q.method() == method::head) {}

  /// Begins the response with `opening`.
  void begin(std::string_view opening) {
    state_.handler.waits_for_events = true;
    write_now(opening);
    sent_at_ = now(timer_.get_executor());
    if (keep_alive_ != duration() && !is_head_) wait();
    self_ = shared_from_this();
  }
  /// Ends the comments: the handler ends.
  void close() noexcept {
    const std::shared_ptr<event_sender> last = std::move(self_);
    has_ended_ = true;
    timer_.cancel();
  }

  task<io_result<>> send(std::string text) {
    const std::shared_ptr<event_sender> self = shared_from_this();
    if (is_head_) co_return error_code(error::eof);
    if (is_writing_) co_return error_code(error::already_started);
    if (is_broken_) co_return make_error_code(std::errc::broken_pipe);
    writing now_writing(*this);
    auto written = co_await async_write(*response_, buffer(text));
    now_writing.is_between_events = written.value_ == 0 || written.value_ == text.size();
    if (!written.error()) sent_at_ = now(timer_.get_executor());
    co_return written.error();
  }

 private:
  /// Marks a write that is under way. If it ends within an event, also by its destruction, nothing
  /// can follow.
  struct writing {
    explicit writing(event_sender& by) noexcept : of(by) { of.is_writing_ = true; }
    writing(const writing&) = delete;
    writing& operator=(const writing&) = delete;
    ~writing() {
      of.is_writing_ = false;
      of.is_broken_ = of.is_broken_ || !is_between_events;
    }
    event_sender& of;
    bool is_between_events = false;
  };

  /// Writes a text if there is room for it now.
  void write_now(std::string_view text) {
    std::size_t bytes = 0;
    error_code ignored;
    static_cast<void>(
        state_.port->write_ready(const_buffer(text.data(), text.size()), bytes, ignored));
  }
  void wait() {
    timer_.expires_at(sent_at_ + keep_alive_);
    timer_.async_wait([self = shared_from_this()](error_code) { self->on_silence(); });
  }
  /// Called when there may have been no event for long.
  void on_silence() noexcept {
    if (has_ended_) return;
    try {
      const time_point present = now(timer_.get_executor());
      if (is_writing_) {
        sent_at_ = present;  // the client takes the event slowly
      } else if (present >= sent_at_ + keep_alive_) {
        if (!is_broken_) write_now(comment);
        sent_at_ = present;
      }
      wait();
    } catch (...) {
      has_ended_ = true;  // no memory: the connection was lost, or it goes on without comments
    }
  }

  std::shared_ptr<event_sender> self_;  // until the end of the handler
  exchange_state& state_;
  response* response_;
  const duration keep_alive_;
  steady_timer timer_;
  time_point sent_at_;
  const bool is_head_;
  bool is_writing_ = false;
  bool is_broken_ = false;
  bool has_ended_ = false;
};

}  // namespace detail

event_stream::event_stream(request& q, response& r, const event_options& how) : request_(q) {
  if (how.keep_alive < duration() || how.retry < duration())
    throw std::invalid_argument("http: an event_stream with a negative duration");
  r.set(field::content_type, "text/event-stream");
  detail::set_unless_there(r, "Cache-Control", "no-store");
  detail::set_unless_there(r, "X-Accel-Buffering", "no");
  std::string opening(detail::comment);
  const long long retry_ms = how.retry.nanoseconds() / 1'000'000;
  if (retry_ms != 0) opening = "retry: " + std::to_string(retry_ms) + "\n\n";
  const auto made = std::make_shared<detail::event_sender>(q, r, how);
  made->begin(opening);
  sender_ = made.get();
}

event_stream::~event_stream() { sender_->close(); }

std::string_view event_stream::last_id() const noexcept { return request_.get("Last-Event-ID"); }

task<io_result<>> event_stream::send(const sent_event& one) {
  return sender_->send(detail::text_of_event(one));
}

}  // namespace beck::http
