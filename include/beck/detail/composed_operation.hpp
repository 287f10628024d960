// SPDX-License-Identifier: BSL-1.0
// Composed operations of the library: several reads or writes behind one completion. The steps run
// in the library on the stream's runner; only the last one reaches the coroutine or the handler.
#pragma once

#include <beck/detail/functions.hpp>
#include <beck/detail/vector_operation.hpp>
#include <beck/io/completion_condition.hpp>

namespace beck::detail {

/// A sequence of transfers that ends when a condition is met. The buffers and the condition are
/// stored in the derived class; this part is not a template.
class [[nodiscard]] composed_transfer : public begun_by<composed_transfer, vector_operation> {
 public:
  /// Attempts the steps. Returns true if all of them have finished without suspending.
  bool await_ready() noexcept;
  /// Starts the first step; `complete` is set, and is called after the last step.
  void begin() noexcept;
  /// Starts the first step. Returns true if all steps finished within the call and nothing was
  /// queued.
  bool begin_immediate() noexcept;

  /// Returns the error and the number of bytes that all steps have moved.
  io_result<std::size_t> await_resume() const noexcept {
    return {result_error(error(), kind == op_kind::receive_vector ? "read" : "write"), total_};
  }

 protected:
  /// Fills the parts for the next step. Returns false if the condition says that the transfer is
  /// complete.
  using prepare_function = bool (*)(composed_transfer& self);

  template <class S>
  composed_transfer(op_kind kind_of_vector, descriptor* d, const S& buffers,
                    prepare_function prepare) noexcept
      : begun_by(kind_of_vector, d, buffers), prepare_(prepare) {}

  std::size_t total_ = 0;

  /// Returns the error of the last step, which is passed to the condition.
  error_code error_so_far() const noexcept { return failed_ ? error() : error_code(); }

 private:
  /// Ends a step on the runner and starts the next one; after the last step, delivers the result.
  static void step(queue_entry* entry, runner* where);
  /// Returns whether no step is left, else prepares the next one.
  bool finished() noexcept;

  prepare_function prepare_;
  run_function outer_ = nullptr;
  bool failed_ = false;
  bool prepared_ = false;  // await_ready() has asked the condition for the step that begin() starts
};

namespace functions {

/// Returns at most `bytes_max` bytes, from byte `skip` of the sequence on, of the buffer that this
/// byte is in; an empty buffer behind the end.
template <class Buffer, const_buffer_sequence B>
Buffer part_of(const B& buffers, std::size_t skip, std::size_t bytes_max) noexcept {
  const auto end = beck::buffer_sequence_end(buffers);
  for (auto at = beck::buffer_sequence_begin(buffers); at != end; ++at) {
    const Buffer part(*at);
    if (skip < part.size()) return beck::buffer(part + skip, bytes_max);
    skip -= part.size();
  }
  return Buffer();
}

/// Performs a composed transfer synchronously: calls `step(buffers, bytes so far)` until the
/// condition is met, the buffers are used up, or a step reports an error or moves nothing. A step
/// receives up to 16 buffers, or one if it takes no sequences. Returns the number of bytes moved.
template <class Buffer, const_buffer_sequence B, completion_condition C, class Step>
std::size_t transfer_steps_now(const B& buffers, C& condition, error_code& ec, Step step) {
  ec = error_code();
  std::size_t total = 0;
  const std::size_t size = beck::buffer_size(buffers);
  for (;;) {
    const std::size_t more = detail::bytes_wanted(condition, ec, total);
    if (ec || more == 0 || total == size) return total;
    std::size_t moved = 0;
    if constexpr (!single_buffer<B> &&
                  std::is_invocable_v<Step&, const buffer_parts<Buffer>&, std::size_t>) {
      moved = step(buffer_parts<Buffer>(buffers, total, more), total);
    } else {
      moved = step(functions::part_of<Buffer>(buffers, total, more), total);
    }
    if (moved == 0 && !ec) return total;
    total += moved;
  }
}

}  // namespace functions

/// A copy of a buffer sequence, which may be a plain array.
template <class Sequence>
class kept_sequence {
 public:
  explicit kept_sequence(const Sequence& buffers) : buffers_(buffers) {}
  const Sequence& get() const noexcept { return buffers_; }

 private:
  Sequence buffers_;
};
template <class Buffer, std::size_t N>
class kept_sequence<Buffer[N]> {
 public:
  explicit kept_sequence(const Buffer (&buffers)[N]) noexcept {
    for (std::size_t i = 0; i < N; ++i) buffers_[i] = buffers[i];
  }
  const Buffer (&get() const noexcept)[N] { return buffers_; }

 private:
  Buffer buffers_[N];
};

/// A composed transfer over a buffer sequence, until `Condition` is met.
template <class Sequence, class Condition>
class [[nodiscard]] sequence_transfer : public composed_transfer {
 public:
  sequence_transfer(op_kind kind_of_vector, descriptor* d, const Sequence& buffers,
                    Condition condition)
      : composed_transfer(kind_of_vector, d, buffers, &prepare),
        buffers_(buffers),
        condition_(static_cast<Condition&&>(condition)),
        size_(beck::buffer_size(buffers)) {}

  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<sequence_transfer&&>(*this), static_cast<Token&&>(token));
  }

 private:
  static bool prepare(composed_transfer& base) {
    auto& self = static_cast<sequence_transfer&>(base);
    const std::size_t more =
        detail::bytes_wanted(self.condition_, self.error_so_far(), self.total_);
    if (more == 0 || self.total_ == self.size_) return false;
    self.gather(self.buffers_.get(), self.total_, more);
    return true;
  }

  kept_sequence<Sequence> buffers_;
  Condition condition_;
  std::size_t size_;
};

}  // namespace beck::detail
