// SPDX-License-Identifier: BSL-1.0
// async_read_until: receives into a growing buffer until it contains a delimiter or meets a
// condition of the user. A match that is buffered already is found without suspension, at the cost
// of a search.
#pragma once

#include <beck/base/dynamic_buffer.hpp>
#include <beck/detail/functions.hpp>
#include <beck/detail/stream_object.hpp>
#include <string_view>

namespace beck {

namespace detail {

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
match_outcome find_delimiter(std::string_view data, std::size_t from,
                             std::string_view delimiter) noexcept;

/// Grows `buffer` by the bytes that one receive may fill, at most `bytes_max`, and sets `space` to
/// them. Returns 0, delimiter_not_found_result if the buffer may not grow, or -ENOMEM.
int make_receive_room(const dynamic_buffer_ref& buffer, mutable_buffer& space,
                      std::size_t bytes_max = static_cast<std::size_t>(-1)) noexcept;

/// Receives until a match; completes with the bytes up to and including it (there may be more
/// behind it). delimiter_not_found if the buffer reaches its max_size() without a match; other
/// errors and eof leave the received bytes in place.
class [[nodiscard]] read_until_operation
    : public begun_by<read_until_operation, transfer_operation> {
 public:
  /// Longer delimiters are refused by async_read_until with std::length_error.
  static constexpr std::size_t delimiter_bytes_max = 80;

  read_until_operation(descriptor* d, const dynamic_buffer_ref& buffer, std::string_view delimiter)
      : begun_by(op_kind::receive, d, nullptr, 0),
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
  void begin() noexcept;
  bool begin_immediate() noexcept;
  io_result<std::size_t> await_resume() const noexcept {
    return {result_error(error(), "read_until"), result < 0 ? 0 : late_.found};
  }

  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<read_until_operation&&>(*this), static_cast<Token&&>(token));
  }

 protected:
  using match_function = match_outcome (*)(read_until_operation& self, std::string_view data,
                                           std::size_t from);

  read_until_operation(descriptor* d, const dynamic_buffer_ref& buffer,
                       match_function match) noexcept
      : begun_by(op_kind::receive, d, nullptr, 0),
        buffer_(buffer),
        delimiter_(nullptr),
        delimiter_bytes_(0),
        match_(match) {}

 private:
  // Set when it is needed: an operation that is ready at once never touches it, and one that has
  // not begun moves without it.
  struct late_state {
    late_state() noexcept {}
    late_state(const late_state&) noexcept {}
    late_state& operator=(const late_state&) = delete;

    std::size_t found;
    run_function outer;
    char kept[delimiter_bytes_max];  // the delimiter, once the caller may have gone on
  };

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
  late_state late_;
};

namespace functions {

/// Applies a user's condition: called as condition(begin, end), it returns a pair of an iterator
/// and a bool, as in Asio: (one past the match, true) or (where to go on, false).
template <class Condition>
match_outcome apply_match_condition(Condition& condition, std::string_view data, std::size_t from) {
  const char* const begin = data.data();
  const auto answer = condition(begin + from, begin + data.size());
  const auto position = static_cast<std::size_t>(answer.first - begin);
  return answer.second ? match_outcome::found(position) : match_outcome::more(position);
}

}  // namespace functions

template <class Condition>
class [[nodiscard]] match_operation : public read_until_operation {
 public:
  match_operation(descriptor* d, const dynamic_buffer_ref& buffer, Condition condition)
      : read_until_operation(d, buffer, &match), condition_(static_cast<Condition&&>(condition)) {}

  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<match_operation&&>(*this), static_cast<Token&&>(token));
  }

 private:
  static match_outcome match(read_until_operation& base, std::string_view data, std::size_t from) {
    return detail::apply_match_condition(static_cast<match_operation&>(base).condition_, data,
                                         from);
  }

  Condition condition_;
};

template <class C>
concept match_condition = requires(C& c, const char* p) {
  { c(p, p).first } -> std::convertible_to<const char*>;
  { c(p, p).second } -> std::convertible_to<bool>;
};

}  // namespace detail

/// Receives into `buffer` until it contains `delimiter`. Completes with (error_code, std::size_t):
/// the number of bytes up to and including the delimiter; more bytes may be behind it. The
/// delimiter is copied before the call returns or the coroutine suspends; an empty one matches at
/// once with 0 bytes. Throws std::length_error if it has more than 80 bytes.
/// Errors: delimiter_not_found if the buffer reaches its max_size() without a match; no_memory;
/// those of async_read_some(), such as eof. With an error the number is 0, and the bytes received
/// are in `buffer`. Cancellation: as async_read_some(); the bytes received are in `buffer`.
/// Requires that the container lives until completion; the runner's thread uses it until then.
inline detail::read_until_operation async_read_until(detail::stream_object& stream,
                                                     const dynamic_buffer_ref& buffer,
                                                     std::string_view delimiter) {
  return {stream.slot(), buffer, delimiter};
}

namespace detail {

/// A single character.
class [[nodiscard]] read_until_char_operation : public read_until_operation {
 public:
  read_until_char_operation(descriptor* d, const dynamic_buffer_ref& buffer,
                            char delimiter) noexcept
      : read_until_operation(d, buffer, &match), character_(delimiter) {}
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<read_until_char_operation&&>(*this),
                          static_cast<Token&&>(token));
  }

 private:
  static match_outcome match(read_until_operation& base, std::string_view data, std::size_t from);
  char character_;
};

}  // namespace detail

/// As above, until a single character.
inline detail::read_until_char_operation async_read_until(detail::stream_object& stream,
                                                          const dynamic_buffer_ref& buffer,
                                                          char delimiter) noexcept {
  return {stream.slot(), buffer, delimiter};
}
/// As above, until a match condition is met: `condition(begin, end)`, with const char*, returns a
/// pair of a position and a bool, as in Asio: (one past the match, true) or (where to continue,
/// false).
template <detail::match_condition C>
detail::match_operation<C> async_read_until(detail::stream_object& stream,
                                            const dynamic_buffer_ref& buffer, C condition) {
  return {stream.slot(), buffer, static_cast<C&&>(condition)};
}
/// As above, for each kind of delimiter. `token` takes (error_code, std::size_t).
template <class D, class Token>
auto async_read_until(detail::stream_object& stream, const dynamic_buffer_ref& buffer,
                      D&& delimiter, Token&& token) {
  return detail::launch(beck::async_read_until(stream, buffer, static_cast<D&&>(delimiter)),
                        static_cast<Token&&>(token));
}

namespace detail {

/// The delimiter of a search, copied, for functions without an operation of the library.
class delimiter_match {
 public:
  explicit delimiter_match(std::string_view delimiter) : bytes_(delimiter.size()) {
    read_until_operation::check_delimiter(bytes_);
    if (bytes_ != 0) __builtin_memcpy(text_, delimiter.data(), bytes_);
  }
  explicit delimiter_match(char delimiter) noexcept : bytes_(1) { text_[0] = delimiter; }

  match_outcome operator()(std::string_view data, std::size_t from) const noexcept {
    return find_delimiter(data, from, std::string_view(text_, bytes_));
  }

 private:
  std::size_t bytes_;
  char text_[read_until_operation::delimiter_bytes_max];
};
template <class Condition>
class condition_match {
 public:
  explicit condition_match(Condition condition) : condition_(static_cast<Condition&&>(condition)) {}

  match_outcome operator()(std::string_view data, std::size_t from) {
    return detail::apply_match_condition(condition_, data, from);
  }

 private:
  Condition condition_;
};

namespace functions {

inline delimiter_match as_match(std::string_view delimiter) { return delimiter_match(delimiter); }
inline delimiter_match as_match(char delimiter) noexcept { return delimiter_match(delimiter); }
template <match_condition C>
condition_match<C> as_match(C condition) {
  return condition_match<C>(static_cast<C&&>(condition));
}

}  // namespace functions

/// A stream with synchronous reads: `read_some(mutable_buffer, error_code&)`.
template <class S>
concept sync_read_stream = requires(S& stream, const mutable_buffer& buffer, error_code& ec) {
  { stream.read_some(buffer, ec) } -> std::convertible_to<std::size_t>;
};

}  // namespace detail

/// Reads from any stream with read_some() into `buffer` until it contains a delimiter (text or a
/// char) or a match condition is met. Blocks. Returns the number of bytes up to and including the
/// match, 0 with an error. Errors as async_read_until(); eof also if a step moves nothing.
template <detail::sync_read_stream S, class Delimiter>
std::size_t read_until(S& stream, const dynamic_buffer_ref& buffer, const Delimiter& delimiter,
                       error_code& ec) {
  auto match = detail::as_match(delimiter);
  ec = error_code();
  std::size_t from = 0;
  for (;;) {
    const detail::match_outcome outcome = match(buffer.view(), from);
    if (outcome.matched()) return outcome.position();
    from = outcome.position();
    mutable_buffer space;
    ec = detail::make_error(detail::make_receive_room(buffer, space));
    if (ec) return 0;
    const std::size_t received = stream.read_some(space, ec);
    buffer.shrink(space.size() - received);
    if (!ec && received == 0) ec = error::eof;
    if (ec) return 0;
  }
}
/// As above, and throws io_error on failure.
template <detail::sync_read_stream S, class Delimiter>
std::size_t read_until(S& stream, const dynamic_buffer_ref& buffer, const Delimiter& delimiter) {
  error_code ec;
  const std::size_t bytes = beck::read_until(stream, buffer, delimiter, ec);
  if (ec) detail::throw_error(ec, "read_until");
  return bytes;
}

}  // namespace beck
