// SPDX-License-Identifier: BSL-1.0
// async_read_until: receives into a growing buffer until a delimiter (or a condition of the user's)
// is in it. What is buffered already is found without suspension, at the cost of a search.
#pragma once

#include <beck/base/dynamic_buffer.hpp>
#include <beck/base/text_view.hpp>
#include <beck/io/stream_object.hpp>

namespace beck {

/// The outcome of a search: the bytes up to and including the match, or 0 and where to go on
/// searching.
class match_outcome {
 public:
  static match_outcome found(std::size_t bytes) noexcept { return match_outcome(true, bytes); }
  static match_outcome more(std::size_t resume_at) noexcept {
    return match_outcome(false, resume_at);
  }
  bool matched() const noexcept { return matched_; }
  std::size_t position() const noexcept { return position_; }

 private:
  match_outcome(bool matched, std::size_t position) noexcept
      : matched_(matched), position_(position) {}
  bool matched_;
  std::size_t position_;
};

/// Searches `data` from position `from` on for `delimiter`; an empty one is found at 0.
match_outcome find_delimiter(text_view data, std::size_t from, text_view delimiter) noexcept;

/// Grows `buffer` by what one receive may fill, and gives that space. The result is 0,
/// not_found_result if the buffer may not grow, or -ENOMEM.
int make_receive_room(const dynamic_buffer_ref& buffer, mutable_buffer& space) noexcept;

/// Reading until a match; gives the bytes up to and including it (there may be more behind it).
/// not_found if the buffer reaches its max_size() without a match; other errors and eof leave what
/// was read in place.
class [[nodiscard]] read_until_operation : public transfer_operation {
 public:
  /// Longer delimiters are refused by async_read_until with std::length_error.
  static constexpr std::size_t delimiter_bytes_max = 80;

  read_until_operation(descriptor* d, const dynamic_buffer_ref& buffer, text_view delimiter)
      : transfer_operation(op_kind::receive, d, nullptr, 0),
        buffer_(buffer),
        delimiter_(delimiter.data()),
        delimiter_bytes_(delimiter.size()),
        match_(nullptr) {
    check_delimiter(delimiter.size());
  }

  /// Throws std::length_error for a delimiter that is too long.
  static void check_delimiter(std::size_t bytes) {
    if (bytes > delimiter_bytes_max) [[unlikely]]
      refuse_delimiter(bytes);
  }

  bool await_ready() noexcept;
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> coroutine,
                     std::source_location at = std::source_location::current()) {
    suspend_in(coroutine, scope_of(coroutine, at));
  }
  void suspend_in(std::coroutine_handle<> coroutine, scope& environment) {
    if (!wait_in(coroutine, environment)) return;
    begin();
    environment.started();
  }
  void begin() noexcept;
  bool begin_immediate() noexcept;
  io_result<std::size_t> await_resume() const noexcept {
    return {result_error(error(), "read_until"), result < 0 ? 0 : found_};
  }

  template <class Token>
  auto operator()(Token&& token) && {
    return launch(static_cast<read_until_operation&&>(*this), static_cast<Token&&>(token));
  }

 protected:
  using match_function = match_outcome (*)(read_until_operation& self, text_view data,
                                           std::size_t from);

  read_until_operation(descriptor* d, const dynamic_buffer_ref& buffer,
                       match_function match) noexcept
      : transfer_operation(op_kind::receive, d, nullptr, 0),
        buffer_(buffer),
        delimiter_(nullptr),
        delimiter_bytes_(0),
        match_(match) {}

 private:
  [[noreturn]] static void refuse_delimiter(std::size_t bytes);
  static void step(queue_entry* entry, runner* where);
  bool search() noexcept;
  bool await_ready_far() noexcept;
  int grow() noexcept;
  void keep_delimiter() noexcept;

  dynamic_buffer_ref buffer_;
  const char* delimiter_;
  std::size_t delimiter_bytes_;
  match_function match_;
  std::size_t from_ = 0;  // where to go on searching
  // What follows is set when it is needed: an operation that is ready at once never touches it.
  std::size_t found_;
  run_function outer_;
  char kept_[delimiter_bytes_max];  // the delimiter, once the caller may have gone on
};

/// With a user's condition: called as condition(begin, end), gives a pair of an iterator and a
/// bool, as in Asio: (one past the match, true) or (where to go on, false).
template <class Condition>
match_outcome apply_match_condition(Condition& condition, text_view data, std::size_t from) {
  const char* const begin = data.data();
  const auto answer = condition(begin + from, begin + data.size());
  const auto position = static_cast<std::size_t>(answer.first - begin);
  return answer.second ? match_outcome::found(position) : match_outcome::more(position);
}
template <class Condition>
class [[nodiscard]] match_operation : public read_until_operation {
 public:
  match_operation(descriptor* d, const dynamic_buffer_ref& buffer, Condition condition)
      : read_until_operation(d, buffer, &match), condition_(static_cast<Condition&&>(condition)) {}

  template <class Token>
  auto operator()(Token&& token) && {
    return launch(static_cast<match_operation&&>(*this), static_cast<Token&&>(token));
  }

 private:
  static match_outcome match(read_until_operation& base, text_view data, std::size_t from) {
    return apply_match_condition(static_cast<match_operation&>(base).condition_, data, from);
  }

  Condition condition_;
};

template <class C>
concept match_condition = requires(C& c, const char* p) {
  { c(p, p).first } -> std::convertible_to<const char*>;
  { c(p, p).second } -> std::convertible_to<bool>;
};

/// The delimiter is copied before the call returns or the coroutine suspends; an empty one matches
/// at once with 0 bytes. The container must live until completion and is used by the runner's
/// thread until then.
inline read_until_operation async_read_until(stream_object& stream,
                                             const dynamic_buffer_ref& buffer,
                                             text_view delimiter) {
  return {stream.slot(), buffer, delimiter};
}
/// A single character.
class [[nodiscard]] read_until_char_operation : public read_until_operation {
 public:
  read_until_char_operation(descriptor* d, const dynamic_buffer_ref& buffer,
                            char delimiter) noexcept
      : read_until_operation(d, buffer, &match), character_(delimiter) {}
  template <class Token>
  auto operator()(Token&& token) && {
    return launch(static_cast<read_until_char_operation&&>(*this), static_cast<Token&&>(token));
  }

 private:
  static match_outcome match(read_until_operation& base, text_view data, std::size_t from);
  char character_;
};
inline read_until_char_operation async_read_until(stream_object& stream,
                                                  const dynamic_buffer_ref& buffer,
                                                  char delimiter) noexcept {
  return {stream.slot(), buffer, delimiter};
}
template <match_condition C>
match_operation<C> async_read_until(stream_object& stream, const dynamic_buffer_ref& buffer,
                                    C condition) {
  return {stream.slot(), buffer, static_cast<C&&>(condition)};
}
template <class D, class Token>
auto async_read_until(stream_object& stream, const dynamic_buffer_ref& buffer, D&& delimiter,
                      Token&& token) {
  return launch(async_read_until(stream, buffer, static_cast<D&&>(delimiter)),
                static_cast<Token&&>(token));
}

/// Reads synchronously until `delimiter`; as async_read_until.
std::size_t read_until(stream_object& stream, const dynamic_buffer_ref& buffer, text_view delimiter,
                       error_code& ec);
std::size_t read_until(stream_object& stream, const dynamic_buffer_ref& buffer,
                       text_view delimiter);

}  // namespace beck
