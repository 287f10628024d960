// SPDX-License-Identifier: BSL-1.0
// I/O objects and their slots in the descriptor table. Only this file decides which thread may
// change a slot, and when.
#include <beck/detail/io_object.hpp>

#include <cerrno>

#include "io/driver/listed_sends.hpp"
#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"
#include "io/op/perform.hpp"

namespace beck::detail {
namespace {

/// Closes a slot whose object was destroyed or has taken another slot. Runs on the thread that runs
/// the context.
void close_slot(void* slot) noexcept {
  auto* d = static_cast<descriptor*>(slot);
  d->loop->descriptors().close_for_good(*d);
}

/// Gives up a slot for good: closes it at once if the caller may run the loop, else sends a command
/// to the thread that runs it. In a forked child whose loop is in doubt, only the descriptor is
/// closed.
void drop(descriptor& d) noexcept {
  io_loop& loop = *d.loop;
  if (&d == &loop.no_descriptor()) return;
  if (loop.as_runner([&d](io_loop& l) { l.descriptors().close_for_good(d); })) return;
  if (loop.in_doubt()) return loop.close_in_doubt(d);
  d.close_order = loop_command(&close_slot, &d);
  loop.send_order(&d.close_order);
}

/// Asserts that no other thread is inside a function of the object. This is checked once and not
/// held, because the slot may soon have a new owner.
void expect_alone(descriptor& d, const char* function) noexcept {
  const object_use inside = use_of(d, function);
}

/// Returns whether an operation is in flight on the slot, or has its completion still in the run
/// queue.
bool has_operations(io_loop& loop, descriptor& d) noexcept {
  const descriptor_lock held(loop.core(), d);
  for (const direction& q : d.queue) {
    if (q.current != nullptr || q.undelivered != nullptr) return true;
  }
  return d.files != nullptr;
}

/// Command that cancels the operations of a slot. It frees itself. It compares the generation
/// because the slot may have a new owner by the time that it runs.
struct cancel_order : loop_command {
  explicit cancel_order(descriptor& slot) noexcept
      : loop_command(&cancel_slot, this), d(&slot), generation(slot.generation) {}

  static void cancel_slot(void* self) noexcept {
    const cancel_order what = *static_cast<cancel_order*>(self);
    free_block(self);
    if (what.d->generation == what.generation) what.d->loop->cancels().cancel_all(*what.d);
  }

  descriptor* d;
  std::uint32_t generation;
};

}  // namespace

io_object::io_object(const any_io_executor& executor)
    : descriptor_(loop_of(executor).core().descriptors.allocate(executor)) {}

io_object::io_object(io_context& context, const any_io_executor& executor)
    : descriptor_(loop_of(context.get_executor()).core().descriptors.allocate(executor)) {}

io_object::io_object(io_object&& other) noexcept
    // NOLINTNEXTLINE(performance-move-constructor-init): both keep the executor
    : descriptor_(other.descriptor_), vacated_(other.vacated_) {
  expect_alone(*descriptor_, "a move");
  other.become_vacant();
}

io_object& io_object::operator=(io_object&& other) noexcept {
  expect_alone(*descriptor_, "a move");
  expect_alone(*other.descriptor_, "a move");
  if (&other == this) return *this;
  drop(*descriptor_);
  descriptor_ = other.descriptor_;
  vacated_ = other.vacated_;
  other.become_vacant();
  return *this;
}

/// Keeps the executor, and refers to the loop's shared empty slot from now on.
void io_object::become_vacant() noexcept {
  if (!vacated_) vacated_ = descriptor_->executor;
  descriptor_ = &descriptor_->loop->no_descriptor();
}

/// Returns the slot in which to open; first allocates one if the object is vacant.
descriptor* io_object::slot_to_open() noexcept {
  if (!vacated_) return descriptor_;
  try {
    descriptor_ = descriptor_->loop->core().descriptors.allocate(vacated_);
    vacated_ = any_io_executor();
  } catch (const std::exception&) {  // there is no free slot; openable() reports that
  }
  return descriptor_;
}

io_object::~io_object() {
  expect_alone(*descriptor_, "its destructor");
  drop(*descriptor_);
}

bool io_object::is_open() const noexcept { return descriptor_->fd >= 0; }
int io_object::native_handle() const noexcept {
  flush_sends();  // the caller may use it
  return descriptor_->fd;
}
const any_io_executor& io_object::object_executor() const noexcept {
  return vacated_ ? vacated_ : descriptor_->executor;
}

void io_object::close() {
  error_code ec;
  close(ec);
  throw_if(ec, "close");
}

error_code io_object::close(error_code& ec) noexcept {
  ec = error_code();
  descriptor& d = *descriptor_;
  expect_alone(d, "close");
  if (!d.may_be_opening && d.fd < 0) return ec;
  bool closed = false;
  d.loop->as_runner([&](io_loop& l) {
    l.descriptors().close(d);
    closed = d.fd < 0 && !is_closing(d);
  });
  if (closed) return ec;
  if (d.loop->in_doubt()) {
    d.loop->close_in_doubt(d);
    return ec;
  }
  try {  // the slot is still closing, so this object continues with a fresh one
    descriptor_ = d.loop->core().descriptors.allocate(d.executor);
  } catch (const std::exception&) {
    become_vacant();
  }
  drop(d);
  return ec;
}

void io_object::cancel() {
  error_code ec;
  cancel(ec);
  throw_if(ec, "cancel");
}

error_code io_object::cancel(error_code& ec) noexcept {
  ec = error_code();
  descriptor& d = *descriptor_;
  const object_use inside = use_of(d, "cancel");
  if (!d.may_be_opening && d.fd < 0) {
    ec = error::bad_descriptor;
    return ec;
  }
  const auto cancel_here = [&](io_loop& l) {
    if (d.fd < 0 && d.files == nullptr) ec = error::bad_descriptor;
    l.cancels().cancel_all(d);
  };
  if (d.loop->as_runner(cancel_here)) return ec;
  try {
    d.loop->send_order(::new (allocate_block(sizeof(cancel_order))) cancel_order(d));
  } catch (const std::bad_alloc&) {
    ec = error::no_memory;
  }
  return ec;
}

int io_object::release() {
  error_code ec;
  const int fd = release(ec);
  throw_if(ec, "release");
  return fd;
}

int io_object::release(error_code& ec) {
  const object_use inside = use_of(*descriptor_, "release");
  // Stays EBUSY if another thread runs the context: this thread cannot take back operations in
  // flight.
  int result = -EBUSY;
  io_loop& loop = *descriptor_->loop;
  loop.as_runner([&](io_loop& l) { result = l.descriptors().release(*descriptor_); });
  if (loop.in_doubt()) result = descriptor_->fd >= 0 ? std::exchange(descriptor_->fd, -1) : -EBADF;
  ec = make_error(result);
  return result < 0 ? -1 : result;
}

void io_object::move_to_executor(const any_io_executor& executor, error_code& ec) {
  descriptor& from = *descriptor_;
  const object_use inside = use_of(from, "move_to");
  io_loop& loop = loop_of(executor);
  if (loop.drv().kind() == backend::sim || from.loop->drv().kind() == backend::sim) {
    ec = error::make_error_code(error::operation_not_supported);
    return;
  }
  descriptor* const to = loop.core().descriptors.allocate(executor);
  to->user_non_blocking = from.user_non_blocking;
  int fd = -EBUSY;  // also if another thread runs the context
  const auto take_out = [&](io_loop& l) {
    if (from.fd < 0) {
      fd = -EBADF;
    } else if (!has_operations(l, from)) {
      fd = l.descriptors().release(from);
    }
  };
  if (!from.loop->as_runner(take_out) || fd < 0) {
    to->orphaned = true;
    loop.core().descriptors.free(*to);
    ec = make_error(fd);
    return;
  }
  ec = error_code();
  loop.descriptors().open(*to, fd, from.nature);
  descriptor_ = to;
  drop(from);
}

bool io_object::non_blocking() const noexcept { return descriptor_->user_non_blocking; }

void io_object::non_blocking(bool mode) {
  error_code ec;
  non_blocking(mode, ec);
  throw_if(ec, "non_blocking");
}

error_code io_object::non_blocking(bool mode, error_code& ec) noexcept {
  const object_use inside = use_of(*descriptor_, "non_blocking");
  ec = error_code();
  if (!is_open()) {
    ec = error::bad_descriptor;
    return ec;
  }
  descriptor_->user_non_blocking = mode;
  return ec;
}

void io_object::native_non_blocking(bool mode) {
  error_code ec;
  native_non_blocking(mode, ec);
  throw_if(ec, "native_non_blocking");
}

error_code io_object::native_non_blocking(bool mode, error_code& ec) noexcept {
  const object_use inside = use_of(*descriptor_, "native_non_blocking");
  ec = error_code();
  if (!is_open()) {
    ec = error::bad_descriptor;
  } else if (!mode) {
    ec = error::operation_not_supported;
  }
  return ec;
}

void io_object::assign_handle(int fd, error_code& ec) noexcept {
  descriptor& d = *slot_to_open();
  const object_use inside = use_of(d, "assign");
  ec = make_error(openable(d));
  if (!ec) d.loop->descriptors().open(d, fd);
}

std::size_t io_object::readable_bytes(error_code& ec) const noexcept {
  flush_sends();
  const descriptor& d = *descriptor_;
  const int bytes = d.fd < 0 ? -EBADF : d.loop->sys().available(d.fd);
  ec = make_error(bytes);
  return bytes < 0 ? 0 : static_cast<std::size_t>(bytes);
}

void io_object::control(unsigned long request, void* argument, error_code& ec) const noexcept {
  flush_sends();
  const descriptor& d = *descriptor_;
  ec = make_error(d.fd < 0 ? -EBADF : d.loop->sys().control(d.fd, request, argument));
}

// --- synchronous operations: the system calls of the attempts, on the caller's thread ------------

/// Makes the system call of `op`, again until a composed transfer is complete. Waits with poll(2)
/// where the descriptor is not ready, unless the user has asked for non-blocking calls.
int io_object::perform_now(io_op& op) const noexcept {
  descriptor& d = *descriptor_;
  const object_use inside = use_of(d, name_of(op.kind), object_use::kind::beside_others);
  if (d.fd < 0) return -EBADF;
  flush_sends();
  system& sys = d.loop->sys();
  const std::size_t wanted = wanted_bytes(op);
  if (is_transfer(op.kind) && wanted == 0) return 0;
  for (;;) {
    const std::ptrdiff_t r = perform(sys, op);
    if (r == -EAGAIN) {
      if (d.user_non_blocking) return -EAGAIN;
      const int seen = sys.poll(d.fd, awaited_events(op.kind), INT64_MAX);
      if (seen < 0) return seen;
      continue;
    }
    if (r < 0 || !is_transfer(op.kind)) return static_cast<int>(r);
    if (r == 0 && is_receive(op.kind)) return eof_result;
    op.transferred += static_cast<std::size_t>(r);
    if (op.transferred == wanted || (op.flags & io_op::flag_all) == 0) return 0;
  }
}

}  // namespace beck::detail
