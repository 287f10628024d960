// SPDX-License-Identifier: BSL-1.0
// async_splice: moves bytes between a pipe and another stream inside the kernel, without copying
// them through the program.
#pragma once

#include <beck/detail/functions.hpp>
#include <beck/detail/stream_object.hpp>

namespace beck {

namespace detail {

/// A splice; starts when awaited or given a token.
class [[nodiscard]] splice_operation : public begun_by<splice_operation, operation> {
 public:
  using signature = void(error_code, std::size_t);
  /// The program's knowledge of the other end of the pipe.
  enum class ends : unsigned char {
    any,        ///< unknown: writing may raise SIGPIPE, which is suppressed
    own_reader  ///< the program has the reading end of the pipe it writes to
  };

  splice_operation(stream_object& from, stream_object& to, std::size_t bytes, bool all,
                   ends known = ends::any) noexcept
      : begun_by(op_kind::wait_read, from.slot(), nullptr, 0),
        from_(from.slot()),
        to_(to.slot()),
        bytes_(bytes),
        all_(all),
        known_(known) {}
  splice_operation(splice_operation&& other) noexcept
      : begun_by(static_cast<begun_by&&>(other)),
        from_(other.from_),
        to_(other.to_),
        bytes_(other.bytes_),
        all_(other.all_),
        known_(other.known_) {}

  bool await_ready() noexcept;
  void begin() noexcept;
  bool begin_immediate() noexcept;
  io_result<std::size_t> await_resume() const noexcept {
    return {result_error(error(), "splice"), total_};
  }

  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<splice_operation&&>(*this), static_cast<Token&&>(token));
  }

 private:
  static void step(queue_entry* entry, runner* where);
  int try_now() noexcept;
  int move() noexcept;
  void wait_for(descriptor* stream, op_kind wait) noexcept;
  bool choose_side() noexcept;

  descriptor* from_;
  descriptor* to_;
  std::size_t bytes_;
  std::size_t total_ = 0;
  bool all_;
  ends known_;
  bool tried_ = false;           // await_ready() has tried in vain, and has to wait
  std::uint32_t from_life_ = 0;  // the generations of the slots at the start
  std::uint32_t to_life_ = 0;
  run_function outer_ = nullptr;
};

}  // namespace detail

namespace functions {

/// Moves `bytes` bytes from one stream to the other inside the kernel; one of the two is a pipe.
/// Completes with (error_code, std::size_t): the number of bytes moved, also with an error. Errors:
/// eof if `from` ended before; broken_pipe if there is no reader of `to` (never SIGPIPE);
/// invalid_argument if neither is a pipe, the streams belong to two contexts, a stream cannot be
/// spliced, or urgent data is next in a TCP stream, which only a read can pass: then copy the rest
/// instead.
/// Requires: no other read of `from` and no other write to `to` is under way. Cancellation:
/// cancel() of the stream that the operation waits for, or the token; bytes that were moved stay
/// moved. Source: splice(2).
inline detail::splice_operation async_splice(detail::stream_object& from, detail::stream_object& to,
                                             std::size_t bytes) noexcept {
  return {from, to, bytes, true};
}
/// As above. `token` takes (error_code, std::size_t).
template <class Token>
auto async_splice(detail::stream_object& from, detail::stream_object& to, std::size_t bytes,
                  Token&& token) {
  return detail::launch(async_splice(from, to, bytes), static_cast<Token&&>(token));
}

/// As async_splice(), but completes when at least one byte has moved, at most `bytes_max`.
inline detail::splice_operation async_splice_some(detail::stream_object& from,
                                                  detail::stream_object& to,
                                                  std::size_t bytes_max) noexcept {
  return {from, to, bytes_max, false};
}
/// As above. `token` takes (error_code, std::size_t).
template <class Token>
auto async_splice_some(detail::stream_object& from, detail::stream_object& to,
                       std::size_t bytes_max, Token&& token) {
  return detail::launch(async_splice_some(from, to, bytes_max), static_cast<Token&&>(token));
}

}  // namespace functions

}  // namespace beck
