// SPDX-License-Identifier: BSL-1.0
// Receivers that note what they were told, and senders of no library.
#pragma once

#include <atomic>
#include <beck/interop/execution.hpp>
#include <exception>
#include <string>
#include <utility>

namespace beck::test {

namespace ex = beck::execution;

/// What a receiver was told.
struct completion_notes {
  int values = 0, errors = 0, stops = 0;
  std::size_t bytes = 0;
  beck::error_code error;
  std::string exception;
  int all() const { return values + errors + stops; }
};

struct token_env {
  ex::inplace_stop_token token;
  auto query(ex::get_stop_token_t) const noexcept { return token; }
};

class noting_receiver {
 public:
  using receiver_concept = ex::receiver_tag;
  explicit noting_receiver(completion_notes& told, ex::inplace_stop_token token = {})
      : told_(&told), env_{token} {}
  void set_value() noexcept { ++told_->values; }
  void set_value(std::size_t n) noexcept {
    ++told_->values;
    told_->bytes = n;
  }
  void set_value(int n) noexcept { set_value(static_cast<std::size_t>(n)); }
  void set_value(beck::io_result<std::size_t> whole) noexcept {
    set_value(*whole);
    told_->error = whole.error();
  }
  void set_error(beck::error_code ec) noexcept {
    ++told_->errors;
    told_->error = ec;
  }
  void set_error(std::exception_ptr e) noexcept {
    ++told_->errors;
    try {
      std::rethrow_exception(std::move(e));
    } catch (const std::exception& thrown) {
      told_->exception = thrown.what();
    }
  }
  void set_stopped() noexcept { ++told_->stops; }
  token_env get_env() const noexcept { return env_; }

 private:
  completion_notes* told_;
  token_env env_;
};
/// A receiver that can request no stop.
struct steadfast {
  using receiver_concept = ex::receiver_tag;
  completion_notes* told;
  void set_value(auto&&...) noexcept { ++told->values; }
  void set_error(auto&&) noexcept { ++told->errors; }
  void set_stopped() noexcept { ++told->stops; }
};

/// Counts completions of any thread.
struct counts {
  std::atomic<int> values{0}, errors{0}, stops{0};
  int all() const { return values + errors + stops; }
};
struct counting {
  using receiver_concept = ex::receiver_tag;
  counts* told;
  token_env env;
  void set_value(auto&&...) noexcept { ++told->values; }
  void set_error(auto&&) noexcept { ++told->errors; }
  void set_stopped() noexcept { ++told->stops; }
  token_env get_env() const noexcept { return env; }
};

/// A sender of another library: completes inside start().
struct ready_sender {
  using sender_concept = ex::sender_tag;
  template <class Self, class... Env>
  static consteval auto get_completion_signatures() {
    return ex::completion_signatures<ex::set_value_t(bool)>();
  }
  template <class Receiver>
  struct state {
    using operation_state_concept = ex::operation_state_tag;
    const ready_sender* sender;
    Receiver receiver;
    void start() & noexcept { std::move(receiver).set_value(--*sender->left == 0); }
  };
  template <class Receiver>
  auto connect(Receiver r) const& {
    return state<Receiver>{this, std::move(r)};
  }
  int* left;
};

template <class Sender, class Receiver>
using state_of = ex::connect_result_t<Sender, Receiver>;

}  // namespace beck::test
