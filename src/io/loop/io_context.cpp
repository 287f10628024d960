// SPDX-License-Identifier: BSL-1.0
// The members of io_context, which call the loop, and the functions that find the loop behind an
// executor: an io_context's executor refers to its loop, any other executor may refer to an
// io_context.
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <string_view>

#include <beck/io/context_services.hpp>
#include <beck/io/io_context.hpp>

#include "io/driver/driver.hpp"
#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"
#include "io/loop/program_end.hpp"

namespace beck {
using namespace detail;
namespace {

std::atomic<bool> objects_outlive_contexts(false);
std::atomic<bool> threads_take_turns(false);
/// The loops of contexts that objects have outlived: a list, so that a leak checker finds them.
std::atomic<io_loop*> kept(nullptr);

constexpr backend backends[] = {backend::automatic, backend::io_uring, backend::epoll,
                                backend::sim};

std::int64_t after(system& sys, duration time) noexcept {
  return (time_point(duration(sys.now())) + time).nanoseconds();
}

/// Returns `how` with its bounds and let_threads_take_turns() applied. Throws std::invalid_argument
/// for too many threads.
io_context::options within_bounds(io_context::options how) {
  if (how.threads < 0 || how.threads > io_context::threads_max) {
    throw std::invalid_argument("beck::io_context: for " + std::to_string(how.threads) +
                                " threads; it can be made for 0 to " +
                                std::to_string(io_context::threads_max));
  }
  if (threads_take_turns && how.backend == backend::automatic && how.threads > 1 &&
      backend_selection::requested(how) == backend::io_uring) {
    how.threads = 1;
  }
  how.lease_count = std::max<std::size_t>(how.lease_count, 1);
  how.lease_bytes = std::max<std::size_t>(how.lease_bytes, 1);
  how.busy_poll = std::max(how.busy_poll, duration());
  return how;
}

}  // namespace

const char* to_string(backend which) noexcept {
  switch (which) {
    case backend::automatic:
      return "automatic";
    case backend::io_uring:
      return "io_uring";
    case backend::epoll:
      return "epoll";
    case backend::sim:
      return "sim";
  }
  return "unknown";
}

backend detail::parse_backend(std::string_view name) {
  const std::string_view text(name.data(), name.size());
  for (const backend b : backends) {
    if (text == to_string(b)) return b;
  }
  throw std::system_error(error::make_error_code(error::invalid_argument),
                          "beck: unknown backend \"" + std::string(text) +
                              "\"; it is one of automatic, io_uring, epoll, sim");
}

io_context::io_context() : io_context(options()) {}
io_context::io_context(int threads) : io_context(options{.threads = threads}) {}
io_context::io_context(const options& how)
    : loop_(new io_loop(*this, within_bounds(how))), table_(&loop_->own_table()) {
  note_thread();
}
io_context::~io_context() {
  if (loop_->in_doubt()) {
    loop_->close_all_handles();
    return;
  }
  if (has_services()) {  // their objects are on this loop, and its handlers may use them
    shutdown();
    loop_->clear();
    destroy();
  }
  if (program_is_ending()) {
    if (!loop_->end_with_program()) return;
  } else if (objects_outlive_contexts && !loop_->end_before_objects()) {
    loop_->next_kept = kept.load(std::memory_order_relaxed);
    while (!kept.compare_exchange_weak(loop_->next_kept, loop_)) {}
    return;
  }
  delete loop_;
}

bool detail::let_objects_outlive_contexts() noexcept {
  objects_outlive_contexts = true;
  return true;
}

bool detail::let_threads_take_turns() noexcept {
  threads_take_turns = true;
  return true;
}

std::size_t io_context::run() { return loop_->run(SIZE_MAX, io_loop::no_deadline, true); }
std::size_t io_context::run_one() { return loop_->run(1, io_loop::no_deadline, true); }
std::size_t io_context::run_for(duration time) {
  return loop_->run(SIZE_MAX, after(loop_->sys(), time), true);
}
std::size_t io_context::run_until(time_point deadline) {
  return loop_->run(SIZE_MAX, deadline.nanoseconds(), true);
}
std::size_t io_context::run_one_for(duration time) {
  return loop_->run(1, after(loop_->sys(), time), true);
}
std::size_t io_context::run_one_until(time_point deadline) {
  return loop_->run(1, deadline.nanoseconds(), true);
}
std::size_t io_context::poll() { return loop_->run(SIZE_MAX, io_loop::no_deadline, false); }
std::size_t io_context::poll_one() { return loop_->run(1, io_loop::no_deadline, false); }

void io_context::stop() noexcept { loop_->stop(); }
bool io_context::stopped() const noexcept { return loop_->stopped(); }
void io_context::restart() noexcept { loop_->restart(); }

void io_context::on_unhandled(void (*handler)(std::exception_ptr, void*), void* data) noexcept {
  loop_->unhandled_handler = handler;
  loop_->unhandled_data = data;
}

void io_context::on_log(void (*sink)(const char*, void*), void* data) noexcept {
  loop_->log_sink = sink;
  loop_->log_data = data;
}

backend io_context::backend_in_use() const noexcept { return loop_->drv().kind(); }
const char* io_context::backend_report() const noexcept { return loop_->drv().report(); }
context_stats io_context::stats() const noexcept {
  context_stats result;
  if (loop_->core().is_shared) {
    loop_->as_runner([&result](io_loop& loop) { result = loop.stats(); });
  } else {
    result = loop_->stats();
  }
  return result;
}
void io_context::dump(text_sink out, std::size_t groups_max) const {
  loop_->dump_from_anywhere(out, groups_max);
}

}  // namespace beck

namespace beck::detail {

io_loop* own_loop_of(const any_io_executor& executor) noexcept {
  const executor_table* const table = executor.table();
  const bool own = table == &io_loop::executor_table_of_loops() ||
                   table == &io_loop::executor_table_of_shared_loops();
  return own ? static_cast<io_loop*>(executor.target()) : nullptr;
}

io_loop& loop_of(const any_io_executor& executor) {
  if (io_loop* const own = own_loop_of(executor); own != nullptr) return *own;
  auto* context = executor ? dynamic_cast<io_context*>(executor.context_or_null()) : nullptr;
  if (context == nullptr) {
    throw io_error(error::make_error_code(error::invalid_argument),
                   "I/O objects need an executor whose context is a beck::io_context");
  }
  return *static_cast<io_loop*>(context->get_executor().target());
}

}  // namespace beck::detail

namespace beck::functions {

time_point now(const any_io_executor& executor) noexcept {
  return time_point(duration(detail::loop_of(executor).turn_time()));
}

void random_bytes(const any_io_executor& executor, mutable_buffer to) noexcept {
  detail::loop_of(executor).sys().random_bytes(to.data(), to.size());
}

void log_line(const any_io_executor& executor, const char* line) noexcept {
  detail::loop_of(executor).log(line);
}

}  // namespace beck::functions
