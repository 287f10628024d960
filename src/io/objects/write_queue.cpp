// SPDX-License-Identifier: BSL-1.0
// A write queue: a byte_queue and one operation that sends its bytes repeatedly. The state is
// separate from the queue because the kernel may still read its bytes after the queue was
// destroyed; then the completion of the last write frees it.
#include <beck/io/write_queue.hpp>

#include <new>
#include <string_view>

#include <beck/base/error.hpp>
#include <beck/run/byte_queue.hpp>

namespace beck {
using namespace detail;
/// The state of a queue. It is itself two things: the operation of the current write, and, before a
/// write starts, the queue entry that runs begin_entry() on the loop.
struct detail::write_queue_state final : vector_operation {
  write_queue_state(stream_object& s, std::size_t most) noexcept
      : vector_operation(op_kind::send_vector, nullptr, const_buffer()),
        stream(&s),
        bytes_max(most) {
    complete = &completed;
  }

  // --- taking bytes
  int room_for(std::size_t more, bool overtakes) const noexcept;
  int take(const const_buffer* parts, std::size_t count, bool overtakes) noexcept;
  void admit_pushes() noexcept;

  // --- sending them
  void schedule() noexcept;
  void send_all() noexcept;
  void prepare() noexcept;
  void note_sent() noexcept;
  void complete_if_done() noexcept;
  void end_drains() noexcept;
  void stop(int why, int told) noexcept;
  /// Cancels the write under way. Runs on the stream's executor.
  void cancel_write() noexcept {
    if (started) remote.request(*this, executor);
  }
  static void begin_entry(queue_entry* entry, runner* where);
  static void completed(queue_entry* entry, runner* where);
  static void sent_entry(queue_entry* entry, runner* where);

  static write_queue_state& of(queue_entry* entry) noexcept {
    return static_cast<write_queue_state&>(*static_cast<io_op*>(entry));
  }

  stream_object* stream;
  std::size_t bytes_max;
  byte_queue bytes;
  std::uint64_t sent = 0;
  std::uint64_t writes = 0;
  int failure = 0;           // the queue's error; 0 if none
  bool active = false;       // the entry is queued, or a write is under way
  bool started = false;      // a write is under way: the kernel may read the bytes
  bool orphaned = false;     // the queue was destroyed
  any_io_executor executor;  // set while `active`
  remote_cancel remote;
  waiter_list pushers;
  waiter_list drainers;
};

// --- taking bytes -------------------------------------------------------------------------------

/// Returns 0 if `more` bytes may be taken, else the error; `overtakes`: pushes wait before them.
int write_queue_state::room_for(std::size_t more, bool overtakes) const noexcept {
  if (failure != 0) return failure;
  if (more > bytes_max) return -error::message_size;
  return !overtakes && more <= bytes_max - bytes.size() ? 0 : -error::no_buffer_space;
}

/// Copies all parts into the queue, or none. Returns 0 or the error.
int write_queue_state::take(const const_buffer* parts, std::size_t count, bool overtakes) noexcept {
  std::size_t more = 0;
  for (std::size_t i = 0; i < count; ++i) more += parts[i].size();
  const int room = room_for(more, overtakes);
  if (room != 0 || more == 0) return room;
  try {
    bytes.reserve(more);
  } catch (const std::bad_alloc&) {
    return -error::no_memory;
  }
  for (std::size_t i = 0; i < count; ++i)
    bytes.copy({static_cast<const char*>(parts[i].data()), parts[i].size()});
  schedule();
  return 0;
}

/// Copies the bytes of waiting pushes into the queue, in their order, as far as there is room.
void write_queue_state::admit_pushes() noexcept {
  while (waiter* const first = pushers.front()) {
    const int taken = take(&static_cast<write_queue_operation&>(*first).data_, 1, false);
    if (taken == -error::no_buffer_space) return;
    pushers.pop()->wake(taken);
  }
}

// --- sending them -------------------------------------------------------------------------------

/// Posts the start of the next write behind the entries that are queued already: bytes that are
/// pushed until then are sent by the same write.
void write_queue_state::schedule() noexcept {
  if (active) return;
  active = true;
  target = stream->slot();
  executor = default_executor(*this);
  executor.on_work_started();
  run = &begin_entry;
  executor.post(this);
}

void write_queue_state::begin_entry(queue_entry* entry, runner* where) {
  write_queue_state& self = of(entry);
  if (where == nullptr) return self.stop(-error::operation_aborted, 0), self.complete_if_done();
  self.send_all();
}

/// Writes until there is nothing left, or until a write does not complete at once. Runs no user
/// code, so only the budget and the queued bytes limit its duration.
void write_queue_state::send_all() noexcept {
  while (!bytes.empty() && failure == 0 && !orphaned) {
    prepare();
    started = true;
    ++writes;
    if (!start_operation_immediate(*this)) return;
    note_sent();
  }
  complete_if_done();
}

/// Describes the next write: one block as a plain send of all its bytes, several as one vector.
void write_queue_state::prepare() noexcept {
  target = stream->slot();
  transferred = 0;
  const_buffer waiting[vector_operation::parts_max];
  const std::size_t count = bytes.gather(waiting);
  for (std::size_t i = 0; i < count; ++i)
    parts()[i] = {const_cast<void*>(waiting[i].data()), waiting[i].size()};
  if (count == 1) {
    kind = op_kind::send;
    flags = io_op::flag_all;
    address = parts()[0].data;
    length = parts()[0].bytes;
  } else {
    kind = op_kind::send_vector;
    flags = 0;
    length = count;
  }
}

/// Receives the completion of a write on the thread that runs the stream's context, and continues
/// on the stream's executor.
void write_queue_state::completed(queue_entry* entry, runner* where) {
  write_queue_state& self = of(entry);
  self.run = &sent_entry;
  if (where == nullptr || runs_operations_of(self.executor, self)) return sent_entry(entry, where);
  self.executor.post(entry);
}

/// Continues after a write, on the stream's executor.
void write_queue_state::sent_entry(queue_entry* entry, runner* where) {
  write_queue_state& self = of(entry);
  if (self.remote.keep_back(entry)) return;
  if (where == nullptr && self.failure == 0) self.failure = -error::operation_aborted;
  self.note_sent();
  if (where != nullptr) return self.send_all();
  self.complete_if_done();
}

/// Removes the bytes that were sent, and wakes pushes and drains.
void write_queue_state::note_sent() noexcept {
  started = false;
  sent += transferred;
  bytes.remove(transferred);
  if (result < 0 && failure == 0) failure = result;
  if (failure != 0) return stop(failure, 0);
  admit_pushes();
  end_drains();
}

/// Ends the queue with the error `why`. Wakes the waiting pushes, and the waiting drains unless a
/// write is under way, with `told` or, if that is 0, with the queue's error.
void write_queue_state::stop(int why, int told) noexcept {
  if (failure == 0) failure = why;
  waiter_chain ended;
  pushers.take_all(ended);
  if (!started) {
    bytes.clear();
    drainers.take_all(ended);
  }
  ended.wake_all(told != 0 ? told : failure);
}

/// Wakes the drains whose bytes have all been sent.
void write_queue_state::end_drains() noexcept {
  while (waiter* const first = drainers.front()) {
    if (static_cast<write_queue_operation&>(*first).position_ > sent) return;
    drainers.pop()->wake(0);
  }
}

/// Notes that no write is under way any more. May free the state.
void write_queue_state::complete_if_done() noexcept {
  active = false;
  const any_io_executor last(static_cast<any_io_executor&&>(executor));
  executor = any_io_executor();
  if (orphaned) delete this;
  last.on_work_finished();
}

// --- the queue ----------------------------------------------------------------------------------

write_queue::write_queue(stream_object& stream, std::size_t bytes_max)
    : state_(new write_queue_state(stream, bytes_max)) {}

/// Frees the state, or leaves it to the write under way, which is cancelled. Waiters are dropped
/// without a result.
write_queue::~write_queue() {
  write_queue_state& state = *state_;
  if (!state.active) {
    state.stop(-error::operation_aborted, waiter::dropped);
    delete state_;
    return;
  }
  state.orphaned = true;
  state.cancel_write();
  state.stop(-error::operation_aborted, waiter::dropped);
  waiter_chain given_up;
  state.drainers.take_all(given_up);
  given_up.wake_all(waiter::dropped);
}

error_code write_queue::push_parts(const const_buffer* parts, std::size_t count) noexcept {
  return make_error(state_->take(parts, count, !state_->pushers.empty()));
}

void write_queue::cancel() noexcept {
  if (state_->failure != 0) return;
  state_->cancel_write();
  state_->stop(-error::operation_aborted, 0);
}

std::size_t write_queue::size() const noexcept { return state_->bytes.size(); }
std::size_t write_queue::bytes_max() const noexcept { return state_->bytes_max; }
std::uint64_t write_queue::bytes_sent() const noexcept { return state_->sent; }
std::uint64_t write_queue::writes() const noexcept { return state_->writes; }
std::size_t write_queue::memory() const noexcept { return state_->bytes.memory(); }
error_code write_queue::error() const noexcept { return make_error(state_->failure); }

// --- waiting for room, and for the end of the data -----------------------------------------------

write_queue_operation::~write_queue_operation() {
  if (is_listed()) [[unlikely]] {
    write_queue_state& state = *queue_->state_;
    (drains_ ? state.drainers : state.pushers).leave(*this);
  }
}

bool write_queue_operation::ready() {
  write_queue_state& state = *queue_->state_;
  if (!drains_) {
    if (!state.pushers.empty()) return false;
    const int taken = state.take(&data_, 1, false);
    return taken != -error::no_buffer_space && finish(make_error(taken));
  }
  if (state.started) return false;  // the number of sent bytes is not final yet
  if (state.failure == 0 && !state.bytes.empty()) return false;
  return finish(make_error(state.failure));
}

void write_queue_operation::initiate(handler done) {
  write_queue_state& state = *queue_->state_;
  on_wake(&end_wait);
  done_ = static_cast<handler&&>(done);
  position_ = state.bytes.added();
  (drains_ ? state.drainers : state.pushers).join(*this);
}

void write_queue_operation::cancel() noexcept {
  if (queue_ == nullptr) return;
  write_queue_state& state = *queue_->state_;
  if (!(drains_ ? state.drainers : state.pushers).leave(*this)) return;
  end_wait(*this, cancelled);
  if (!drains_) state.admit_pushes();
}

any_io_executor write_queue_operation::get_executor() const noexcept {
  const io_op of_stream(op_kind::send, queue_->state_->stream->slot(), nullptr, 0);
  return default_executor(of_stream);
}

void write_queue_operation::end_wait(waiter& one, int result) noexcept {
  auto& self = static_cast<write_queue_operation&>(one);
  handler done(static_cast<handler&&>(self.done_));
  if (result == dropped) {
    self.queue_ = nullptr;
  } else {
    done(make_error(result));
  }
}

}  // namespace beck
