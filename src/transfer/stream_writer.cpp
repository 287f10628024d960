// SPDX-License-Identifier: BSL-1.0
// The writer holds its owner while the entry for the end of the turn is queued, and while its
// coroutine lives. A context that is destroyed destroys both, and so releases the owner.
#include <beck/transfer/stream_writer.hpp>

#include <exception>

#include <beck/coro/co_spawn.hpp>

#include "base/transitions.hpp"

namespace beck {
using namespace detail;
namespace {

enum class writer_event : std::uint8_t {
  start,   ///< it has a stream
  write,   ///< a coroutine, or a borrower, begins to write
  drain,   ///< it has written everything
  stop,    ///< nothing more is sent
  defer,   ///< nothing more is sent, but one of them still writes
  finish,  ///< that one has ended
};

/// In the order of writer_event.
constexpr transition_table<stream_writer::state, 6> writer_transitions = [] {
  using enum stream_writer::state;
  return transition_table<stream_writer::state, 6>{{
      /* start  */ {idle, any_of({stopped})},
      /* write  */ {writing, any_of({idle})},
      /* drain  */ {idle, any_of({writing})},
      /* stop   */ {stopped, any_of({idle})},
      /* defer  */ {stopping, any_of({writing})},
      /* finish */ {stopped, any_of({stopping})},
  }};
}();

std::size_t bytes_of(const_buffer_span parts) noexcept {
  std::size_t bytes = 0;
  for (const const_buffer& part : parts) bytes += part.size();
  return bytes;
}

}  // namespace

void writer_source::keep_rest(const_buffer_span, std::size_t) {
  BECK_ASSERT(false, "send_behind() needs a source that keeps the rest");
}

/// A hold on the owner of a writer.
class stream_writer::share {
 public:
  explicit share(stream_writer& of) noexcept : writer_(&of) { of.source_.hold(); }
  share(share&& other) noexcept : writer_(std::exchange(other.writer_, nullptr)) {}
  share& operator=(share&&) = delete;
  ~share() {
    if (writer_ != nullptr) writer_->source_.let_go();
  }
  stream_writer& operator*() const noexcept { return *writer_; }

 private:
  stream_writer* writer_;
};

stream_writer::stream_writer(writer_source& source, unsigned writes_max) noexcept
    : source_(source), writes_max_(writes_max) {
  turn_end_.run = &run_turn_end;
  turn_end_.writer = this;
}

void stream_writer::start(const any_io_executor& executor, byte_stream& to) noexcept {
  advance(state_, writer_event::start, writer_transitions);
  executor_ = executor;
  stream_ = &to;
}

void stream_writer::stop() noexcept {
  if (is_stopped()) return;
  advance(state_, is_writing() ? writer_event::defer : writer_event::stop, writer_transitions);
}

void stream_writer::schedule() noexcept {
  if (is_posted_ || state_ != state::idle) return;
  is_posted_ = true;
  source_.hold();
  executor_.post(&turn_end_);
}

void stream_writer::run_turn_end(queue_entry* entry, runner* where) {
  stream_writer& self = *static_cast<turn_end*>(entry)->writer;
  self.is_posted_ = false;
  if (where != nullptr) self.flush();
  self.source_.let_go();
}

void stream_writer::take_sent(std::size_t bytes) noexcept {
  sent_ += bytes;
  source_.take_sent(bytes);
}

std::size_t stream_writer::gather(writer_source::part_array& parts) noexcept {
  try {
    return source_.gather(parts);
  } catch (const std::exception&) {
    source_.take_write_error(error::make_error_code(error::no_memory));
    return 0;
  }
}

std::size_t stream_writer::write_now(const_buffer_span parts, error_code& ec) noexcept {
  return is_last_ ? stream_->write_last(parts, ec) : stream_->write_now(parts, ec);
}

/// Returns whether there were bytes, and the stream has taken all.
bool stream_writer::write_once() noexcept {
  writer_source::part_array parts;
  const std::size_t count = gather(parts);
  const const_buffer_span waiting(parts, count);
  const std::size_t offered = bytes_of(waiting);
  if (offered == 0) return false;
  error_code ec;
  // Behind as many parts as there can be others may come: the end does not follow these.
  const bool are_all = count < writer_source::parts_max;
  const std::size_t sent = are_all ? write_now(waiting, ec) : stream_->write_now(waiting, ec);
  take_sent(sent);
  if (ec && ec != error::would_block) {
    source_.take_write_error(ec);
    return false;
  }
  if (sent < offered) write_in_background();
  return sent == offered;
}

void stream_writer::flush() noexcept {
  unsigned writes = 0;
  while (state_ == state::idle && write_once()) {
    if (++writes == writes_max_) return schedule();
  }
}

void stream_writer::send_behind(const_buffer_span parts) {
  if (state_ != state::idle) return source_.keep_rest(parts, 0);
  writer_source::part_array all;
  std::size_t count = source_.gather(all);
  const std::size_t before = bytes_of({all, count});
  for (const const_buffer& part : parts) {
    if (count == writer_source::parts_max) {
      source_.keep_rest(parts, 0);
      return flush();
    }
    all[count++] = part;
  }
  error_code ec;
  const std::size_t sent = write_now({all, count}, ec);
  const std::size_t of_parts = sent > before ? sent - before : 0;
  sent_ += of_parts;
  if (ec && ec != error::would_block) {
    take_sent(sent - of_parts);
    return source_.take_write_error(ec);
  }
  try {
    source_.keep_rest(parts, of_parts);  // first: take_sent() may add bytes that follow
  } catch (...) {
    if (of_parts != 0) {
      return source_.take_write_error(error::make_error_code(error::no_memory));
    }
    take_sent(sent);
    flush();  // the rest of what was gathered
    throw;
  }
  take_sent(sent - of_parts);
  if (sent < before + bytes_of(parts)) {
    write_in_background();
  } else {
    flush();  // bytes that take_sent() has added
  }
}

void stream_writer::write_in_background() noexcept {
  if (state_ != state::idle) return;  // take_sent() has stopped it
  begin_writing();
  try {
    co_spawn(executor_, write_rest(share(*this)),
             [self = share(*this)](const std::exception_ptr& failed) {
               if (failed) {
                 (*self).source_.take_write_error(error::make_error_code(error::no_memory));
               }
               (*self).end_writing();
             });
  } catch (const std::exception&) {
    source_.take_write_error(error::make_error_code(error::no_memory));
    end_writing();
  }
}

task<> stream_writer::write_rest(share self) {
  stream_writer& w = *self;
  writer_source::part_array parts;
  while (w.state_ == state::writing) {
    const const_buffer_span waiting(parts, w.source_.gather(parts));
    if (bytes_of(waiting) == 0) break;
    auto sent = co_await w.stream_->write_some(waiting);
    w.take_sent(sent.value_);
    if (sent.error()) w.source_.take_write_error(sent.error());
  }
}

void stream_writer::begin_writing() noexcept {
  advance(state_, writer_event::write, writer_transitions);
  idle_.reset();
  source_.begin_stall();
}

void stream_writer::end_writing() noexcept {
  advance(state_, is_stopped() ? writer_event::finish : writer_event::drain, writer_transitions);
  source_.end_stall();
  if (!is_writing()) idle_.set();  // end_stall() may have sent more
}

task<error_code> stream_writer::wait_until_idle() {
  while (is_writing()) {
    auto waited = co_await idle_.wait();
    if (waited.error()) co_return waited.error();
  }
  co_return error_code();
}

}  // namespace beck
