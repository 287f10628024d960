// SPDX-License-Identifier: BSL-1.0
// A call under way: its request, and the attempts to get a response to it. A lost idle connection
// leads to a second attempt, a redirect to a further one; the call ends with the last one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <beck/detail/deferred_init.hpp>
#include <beck/detail/ref_count.hpp>

#include "coro/seen_locals.hpp"
#include "http/client/client_attempt.hpp"
#include "http/client/client_pool.hpp"
#include "http/client/client_request.hpp"

namespace beck::http::detail {

/// The operation of a call's user that is under way: there is one at a time.
enum class call_operation : std::uint8_t { none, write, finish, read };

/// A call under way. Shared by its response, or its call, and the coroutines that work for it.
/// Thread: that of its client's context.
class client_exchange {
 public:
  client_exchange(std::shared_ptr<client_pool> of, std::string_view url);
  ~client_exchange();
  client_exchange(const client_exchange&) = delete;
  client_exchange& operator=(const client_exchange&) = delete;
  static void* operator new(std::size_t bytes) { return beck::detail::allocate_block(bytes); }
  static void operator delete(void* block) noexcept { beck::detail::free_block(block); }
  void add_share() noexcept { shares_.add(); }
  void drop_share() noexcept {
    if (shares_.drop()) delete this;
  }

  const any_io_executor& executor() const noexcept { return pool_->executor(); }
  const client_request& request() const noexcept { return request_; }
  /// Returns the request, to be changed. Throws std::logic_error if its head was sent.
  client_request& open_request();
  /// Returns the response to the present attempt.
  const received_response& response() const noexcept { return attempt_->response(); }
  /// Marks the request as finished by its call. Throws std::logic_error if it was.
  void take_for_finish();
  bool is_finishing() const noexcept { return is_finishing_; }
  /// Keeps what the waiting coroutine sees, for these functions.
  void note_caller(const beck::detail::scope& environment) noexcept {
    caller_ = beck::detail::seen_locals(environment);
  }

  /// The whole call, up to the head of the response; of a streamed request, what is left of it.
  static task<error_code> run(exchange_ref self);
  /// Returns whether an operation is under way: another one has to end with already_started.
  bool is_busy() const noexcept { return operation_ != call_operation::none; }
  /// Writes a part of a stream. Returns false if that has to wait.
  bool write_ready(const_buffer data, std::size_t& bytes, error_code& ec);
  static task<io_result<std::size_t>> write(exchange_ref self, const_buffer data);
  /// Reads the body of the response. Returns false if that has to wait.
  bool read_ready(mutable_buffer to, std::size_t& bytes, error_code& ec);
  static task<io_result<std::size_t>> read(exchange_ref self, mutable_buffer to);
  static task<io_result<std::string>> read_all(exchange_ref self, std::size_t limit);

  /// Returns a sentence about a call that has failed; an empty text if it has not.
  std::string error_text() const;
  /// Throws std::logic_error for a response that is not of status 101.
  taken_stream take_over();
  /// Notes the error of the call, and closes its connection.
  void fail(error_code ec) noexcept;
  /// Gives the connection back if nothing more is to come, else closes it.
  void abandon() noexcept;

 private:
  class operation_turn;

  // The beginning and the end of the call (call_course.cpp).
  void begin_clock() noexcept;
  void set_due() noexcept;
  bool has_to_prepare() const noexcept { return !pool_->before_calls().empty(); }
  task<error_code> prepare();
  task<error_code> in_time(task<error_code> work);
  bool is_limited() const noexcept { return due_ != time_point::max(); }
  bool is_late() const noexcept;
  void note_head() noexcept;
  void report_end() noexcept;

  task<error_code> make_attempts();
  task<error_code> make_attempt();
  task<error_code> get_connection();
  task<error_code> make_connection(place at);
  error_code begin_error() const noexcept;
  void begin(std::shared_ptr<client_connection> with);
  error_code check_proxy();
  bool redirect(error_code& ec);
  void decode() noexcept;
  void fail_body(error_code ec) noexcept;

  beck::detail::ref_count shares_;
  std::shared_ptr<client_pool> pool_;
  client_request request_;
  // always one; a retry and a redirect replace it
  beck::detail::deferred_init<client_attempt> attempt_;
  error_code failed_;          // the call, or its body
  std::string failure_text_;   // of the stream
  bool is_finishing_ = false;  // the call has ended the request
  bool is_begun_ = false;      // its first operation has begun
  bool is_preparing_ = false;  // a function of client::before_call() runs
  bool is_reported_ = false;
  bool is_dropped_ = false;           // the program has dropped the response
  beck::detail::seen_locals caller_;  // valid while the call is prepared
  std::int64_t began_at_ = 0, head_at_ = 0;
  time_point due_ = time_point::max();  // the end of call::time()
  unsigned attempts_ = 0;
  call_operation operation_ = call_operation::none;
};

/// The turn of an operation: another one that begins meanwhile does not get it, and has to end.
class client_exchange::operation_turn {
 public:
  operation_turn(client_exchange& of, call_operation what) noexcept
      : exchange_(of.operation_ == call_operation::none ? &of : nullptr) {
    if (exchange_ != nullptr) of.operation_ = what;
  }
  operation_turn(const operation_turn&) = delete;
  operation_turn& operator=(const operation_turn&) = delete;
  ~operation_turn() {
    if (exchange_ != nullptr) exchange_->operation_ = call_operation::none;
  }
  bool is_taken() const noexcept { return exchange_ != nullptr; }

 private:
  client_exchange* exchange_;
};

}  // namespace beck::http::detail
