// SPDX-License-Identifier: BSL-1.0
// The beginning and the end of a call: the functions of the program before and behind it, and the
// limit of its time.
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <beck/coro/timeout.hpp>
#include <beck/http/client_error.hpp>
#include <beck/io/steady_timer.hpp>

#include "http/client/client_exchange.hpp"

namespace beck::http::detail {

using beck::detail::loop_time;

void client_exchange::begin_clock() noexcept {
  is_begun_ = true;
  if (pool_->has_observer() || request_.time_limit > duration::zero()) began_at_ = loop_time();
  set_due();
}

void client_exchange::set_due() noexcept {
  due_ = time_point::max();
  if (request_.time_limit > duration::zero())
    due_ = time_point(duration(began_at_)) + request_.time_limit;
}

/// Lets the functions of client::before_call() prepare the call.
task<error_code> client_exchange::prepare() {
  add_share();
  call shown{exchange_ref(this)};
  error_code ec;
  const std::int64_t began = loop_time();
  is_preparing_ = true;
  try {
    for (std::size_t i = 0; i < pool_->before_calls().size(); ++i) {
      beck::detail::deferred_init<task<>> left;
      call_preparation preparation{shown, left};
      pool_->before_calls()[i].call(preparation);
      if (!left) continue;
      auto done = co_await beck::detail::within(caller_, std::move(*left));
      if (done.error()) ec = done.error();
      if (ec) break;
    }
  } catch (const std::bad_alloc&) {
    ec = make_error_code(std::errc::not_enough_memory);
  } catch (const std::exception& failed) {
    ec = beck::detail::caught_code();
    if (!ec) ec = client_error::before_call_failed;
    failure_text_ = failed.what();
  } catch (...) {
    ec = client_error::before_call_failed;
  }
  shown.of_ = exchange_ref();  // its end is not that of the call
  is_preparing_ = false;
  if (began_at_ == 0) began_at_ = began;
  set_due();  // one of them may have set another limit
  co_return ec;
}

bool client_exchange::is_late() const noexcept {
  return is_limited() && time_point(duration(loop_time())) >= due_;
}

/// Does work of the call within the limit of its time. What ends behind it is late.
task<error_code> client_exchange::in_time(task<error_code> work) {
  if (!is_limited()) {
    const error_code ec = co_await std::move(work);
    co_return ec;
  }
  auto done = co_await with_deadline(due_, std::move(work));
  error_code ec = done.error();
  if (!ec) ec = done.value_;
  if (ec && is_late()) ec = client_error::call_late;
  co_return ec;
}

void client_exchange::note_head() noexcept {
  if (pool_->has_observer()) head_at_ = loop_time();
}

/// Reports the call to the program once, when nothing more can come of it.
void client_exchange::report_end() noexcept {
  if (!pool_->has_observer() || is_reported_ || !is_begun_) return;
  const bool is_over = failed_ || response().is_whole() || is_dropped_;
  if (!is_over) return;
  is_reported_ = true;
  call_record record;
  record.method = request_.method_name();
  record.url = request_.url_text.view();
  if (response().has_head()) record.status = number_of(response().head().status());
  record.error = failed_;
  record.time = duration(loop_time() - began_at_);
  if (head_at_ != 0) record.first_byte = duration(head_at_ - began_at_);
  record.response_bytes = response().body().bytes();
  record.attempts = attempts_;
  record.cut = !failed_ && !response().is_whole();
  pool_->report(record);
}

}  // namespace beck::http::detail
