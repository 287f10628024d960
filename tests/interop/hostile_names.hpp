// SPDX-License-Identifier: BSL-1.0
// A namespace of a user's (or of another library) that has functions of the same names as this
// library's: whoever calls one of them unqualified, with an argument of a type from here, finds the
// deleted one.
#pragma once

#include <beck/beck.hpp>

namespace hostile {

#define BECK_TEST_NAME(name) \
  template <class... A>      \
  void name(A&&...) = delete
BECK_TEST_NAME(adapt_handler);
BECK_TEST_NAME(apply_match_condition);
BECK_TEST_NAME(as_match);
BECK_TEST_NAME(as_task);
BECK_TEST_NAME(async_accept);
BECK_TEST_NAME(async_compose);
BECK_TEST_NAME(async_connect);
BECK_TEST_NAME(async_initiate);
BECK_TEST_NAME(async_read);
BECK_TEST_NAME(async_read_at);
BECK_TEST_NAME(async_read_until);
BECK_TEST_NAME(async_submit);
BECK_TEST_NAME(async_write);
BECK_TEST_NAME(async_write_at);
BECK_TEST_NAME(begin_immediate_anywhere);
BECK_TEST_NAME(buffer);
BECK_TEST_NAME(buffer_sequence_begin);
BECK_TEST_NAME(buffer_sequence_end);
BECK_TEST_NAME(buffer_size);
BECK_TEST_NAME(bytes_wanted);
BECK_TEST_NAME(call_or_post);
BECK_TEST_NAME(call_with_result);
BECK_TEST_NAME(co_spawn);
BECK_TEST_NAME(configure);
BECK_TEST_NAME(connect);
BECK_TEST_NAME(default_executor);
BECK_TEST_NAME(default_executor_of);
BECK_TEST_NAME(defer);
BECK_TEST_NAME(dispatch);
BECK_TEST_NAME(executor_at);
BECK_TEST_NAME(executor_of);
BECK_TEST_NAME(free_block);
BECK_TEST_NAME(gather_parts);
BECK_TEST_NAME(get_associated_allocator);
BECK_TEST_NAME(get_associated_cancellation_slot);
BECK_TEST_NAME(get_associated_executor);
BECK_TEST_NAME(get_associated_immediate_executor);
BECK_TEST_NAME(keep_value);
BECK_TEST_NAME(launch);
BECK_TEST_NAME(make_deferred);
BECK_TEST_NAME(make_error);
BECK_TEST_NAME(make_for_handler);
BECK_TEST_NAME(make_receive_room);
BECK_TEST_NAME(make_strand);
BECK_TEST_NAME(native_executor_at);
BECK_TEST_NAME(own_executor);
BECK_TEST_NAME(part_of);
BECK_TEST_NAME(post);
BECK_TEST_NAME(post_function);
BECK_TEST_NAME(plain_executor);
BECK_TEST_NAME(prefer);
BECK_TEST_NAME(query);
BECK_TEST_NAME(read);
BECK_TEST_NAME(read_at);
BECK_TEST_NAME(read_until);
BECK_TEST_NAME(release_for_handler);
BECK_TEST_NAME(report_unhandled);
BECK_TEST_NAME(require);
BECK_TEST_NAME(runs_operations_of);
BECK_TEST_NAME(scope_of);
BECK_TEST_NAME(spawn);
BECK_TEST_NAME(spawn_root);
BECK_TEST_NAME(start_callback);
BECK_TEST_NAME(start_operation);
BECK_TEST_NAME(suspend_inside);
BECK_TEST_NAME(throw_error);
BECK_TEST_NAME(throw_if);
BECK_TEST_NAME(timeout);
BECK_TEST_NAME(transfer_steps_now);
BECK_TEST_NAME(opaque_value);
BECK_TEST_NAME(value_at);
BECK_TEST_NAME(when_all);
BECK_TEST_NAME(when_any);
BECK_TEST_NAME(with_property);
BECK_TEST_NAME(within);
BECK_TEST_NAME(write);
BECK_TEST_NAME(write_at);
#undef BECK_TEST_NAME

struct mark {};

/// A handler for every signature; a type of another namespace that mentions this one is found
/// alike.
struct handler {
  int* calls;
  template <class... A>
  void operator()(A&&...) const {
    ++*calls;
  }
};

struct condition {
  std::size_t operator()(const beck::error_code& ec, std::size_t) const { return ec ? 0 : 4096; }
};

struct match {
  std::pair<const char*, bool> operator()(const char* begin, const char* end) const {
    return {end, begin != end};
  }
};

struct const_buffers {
  beck::const_buffer parts[2];
  const beck::const_buffer* begin() const { return parts; }
  const beck::const_buffer* end() const { return parts + 2; }
};
struct mutable_buffers {
  beck::mutable_buffer parts[2];
  const beck::mutable_buffer* begin() const { return parts; }
  const beck::mutable_buffer* end() const { return parts + 2; }
};

/// A stream over a socket.
template <class Next>
struct layer {
  Next* next;
  auto get_executor() { return next->get_executor(); }
  template <class B, class Token>
  auto async_read_some(const B& to, Token&& token) {
    return next->async_read_some(to, static_cast<Token&&>(token));
  }
  template <class B, class Token>
  auto async_write_some(const B& from, Token&& token) {
    return next->async_write_some(from, static_cast<Token&&>(token));
  }
  template <class B>
  std::size_t read_some(const B& to, beck::error_code& ec) {
    return next->read_some(to, ec);
  }
  template <class B>
  std::size_t write_some(const B& from, beck::error_code& ec) {
    return next->write_some(from, ec);
  }
};

/// An executor that passes on.
struct executor {
  beck::io_context* target;
  template <class F>
  void execute(F&& f) const {
    target->get_executor().execute(static_cast<F&&>(f));
  }
  bool operator==(const executor&) const = default;
};

template <class T>
struct allocator {
  using value_type = T;
  allocator() = default;
  template <class U>
  allocator(const allocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) { ::operator delete(p); }
  bool operator==(const allocator&) const = default;
};

struct operation : beck::op<operation, void(beck::error_code, mark)> {
  explicit operation(beck::io_context& context) : context_(&context) {}
  auto get_executor() const { return context_->get_executor(); }
  void initiate(operation::handler done) { done(beck::error_code(), mark()); }
  beck::io_context* context_;
};

}  // namespace hostile
