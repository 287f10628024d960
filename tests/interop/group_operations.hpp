// SPDX-License-Identifier: BSL-1.0
// Operations for the cases of parallel groups: ended by hand, at once, never; and a condition whose
// move throws.
#pragma once

#include <beck/io/io_context.hpp>
#include <beck/run/op.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace beck::test {

// An operation that the test ends by hand, and that counts the requests to cancel it.
struct manual_state {
  std::optional<beck::detail::result_handler<error_code, std::string>> done;
  int requests = 0;
  bool throws = false;
  bool drops = false;  // a request destroys the handler
};
class manual : public beck::op<manual, void(error_code, std::string)> {
 public:
  manual(beck::io_context& context, manual_state& state) : context_(&context), state_(&state) {}
  beck::any_io_executor get_executor() const { return context_->get_executor(); }
  void initiate(handler done) {
    if (state_->throws) throw std::runtime_error("no start");
    state_->done.emplace(std::move(done));
  }
  void cancel() noexcept {
    ++state_->requests;
    if (state_->drops) return state_->done.reset();
    if (state_->done) end(*state_, beck::error::operation_aborted, "");
  }
  static void end(manual_state& state, error_code ec, std::string text) {
    auto done = std::move(*state.done);
    state.done.reset();
    done(ec, std::move(text));
  }

 private:
  beck::io_context* context_;
  manual_state* state_;
};

// An operation that ends as it starts.
class at_once : public beck::op<at_once, void(int)> {
 public:
  explicit at_once(int value) : value_(value) {}
  void initiate(handler done) { done(value_); }

 private:
  int value_;
};

// An operation whose result can only be moved.
class move_only : public beck::op<move_only, void(error_code, std::unique_ptr<int>)> {
 public:
  explicit move_only(int value) : value_(value) {}
  void initiate(handler done) { done({}, std::make_unique<int>(value_)); }

 private:
  int value_;
};

// A condition whose n-th move throws.
class fragile_condition {
 public:
  explicit fragile_condition(int n) : left_(n) {}
  fragile_condition(fragile_condition&& other) : left_(other.left_ - 1) {
    if (left_ == 0) throw std::runtime_error("no move");
  }
  cancellation_type operator()(int) const { return cancellation_type::none; }

 private:
  int left_;
};

// An operation whose handler is destroyed without a call.
class never : public beck::op<never, void(error_code)> {
 public:
  void initiate(handler) {}
};

}  // namespace beck::test
