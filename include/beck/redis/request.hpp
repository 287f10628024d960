// SPDX-License-Identifier: BSL-1.0
//
// Commands as bytes for a server: each argument is written once, behind its length, so that any
// byte is safe in it. There are no format strings and no inline commands: no argument can become
// another command.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/base/error.hpp>
#include <beck/detail/fixed_text.hpp>
#include <beck/redis/arguments.hpp>
#include <beck/redis/byte_store.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace beck::redis {

/// Bounds of commands, for the program that sends and for a server that receives. The defaults are
/// the limits of redis-server. A request with a command beyond them has error::request_too_large.
struct request_limits {
  /// The greatest number of arguments of a command, its name included.
  std::size_t arguments = 1'048'576;
  /// The greatest number of bytes of an argument, 512 MiB.
  std::size_t argument_bytes = 536'870'912;
  /// The greatest number of bytes on the wire, 1 GiB: of a request, or of a command received.
  std::size_t request_bytes = 1'073'741'824;
  /// The greatest number of bytes of an inline command, 64 KiB, which only a server knows.
  std::size_t inline_bytes = 65'536;
};
static_assert(std::is_trivially_destructible_v<request_limits>);

namespace detail {

/// The limit that a command was over.
enum class request_limit : std::uint8_t { none, arguments, argument_bytes, bytes };

/// Writes commands into a store: begin(), the texts, end(). A command that is not ended, because
/// copying an argument has thrown, is gone with the next begin(). After a limit was passed nothing
/// is written until clear(). Thread: one at a time.
class command_writer {
 public:
  command_writer() noexcept = default;
  command_writer(const command_writer&) noexcept = default;
  command_writer& operator=(const command_writer&) noexcept = default;
  // A request that was moved from has no commands, as its stores have no bytes.
  command_writer(command_writer&& other) noexcept { *this = std::move(other); }
  command_writer& operator=(command_writer&& other) noexcept {
    const command_writer taken = other;
    other.clear();
    return *this = taken;
  }
  ~command_writer() = default;

  /// Begins a command of `texts` texts, its name included.
  void begin(byte_store& to, byte_store& marks, const request_limits& most, std::size_t texts);
  /// Adds a text.
  void add(byte_store& to, const request_limits& most, std::string_view text);
  /// Adds a number in decimal digits.
  void add(byte_store& to, const request_limits& most, long long number);
  /// As above.
  void add(byte_store& to, const request_limits& most, unsigned long long number);
  /// Adds a number with the fewest digits that are read as the same number.
  void add(byte_store& to, const request_limits& most, double number);
  /// As above.
  void add(byte_store& to, const request_limits& most, float number);
  /// Marks the next text as a key.
  void mark(byte_store& marks);
  /// Ends the command. Requires, asserted, that add() was called once for each text of begin().
  void end(const byte_store& to, const byte_store& marks) noexcept;
  /// Adds all commands of another writer.
  void append(byte_store& to, byte_store& marks, const request_limits& most,
              const command_writer& other, const byte_store& from, const byte_store& from_marks);
  /// Forgets the commands and the error.
  void clear() noexcept {
    const command_writer none;
    *this = none;
  }

  /// Returns the number of whole commands.
  std::size_t commands() const noexcept { return commands_; }
  /// Returns the number of bytes of whole commands.
  std::size_t bytes() const noexcept { return bytes_; }
  /// Returns the number of bytes of the marks of whole commands.
  std::size_t mark_bytes() const noexcept { return mark_bytes_; }
  /// Returns the limit that was passed.
  request_limit reason() const noexcept { return failure_; }
  /// Returns the value that was over the limit.
  std::size_t failed_value() const noexcept { return failed_value_; }
  /// Returns the error of reason(), none if there is none.
  error_code error() const noexcept;
  /// Returns reason() in words, with the value and the limit.
  beck::detail::fixed_text<120> error_text(const request_limits& most) const noexcept;

 private:
  bool check(std::size_t value, std::size_t most, request_limit limit) noexcept;

  std::size_t bytes_ = 0;
  std::size_t mark_bytes_ = 0;
  std::size_t commands_ = 0;
  std::size_t texts_ = 0;  // of the command that has begun
  std::size_t texts_left_ = 0;
  std::size_t failed_value_ = 0;
  request_limit failure_ = request_limit::none;
};

/// A text: it converts to std::string_view.
template <class T>
concept text_argument = std::convertible_to<const T&, std::string_view>;

/// Bytes: a buffer, or a container of bytes that is not a text.
template <class T>
concept byte_argument =
    !text_argument<T> && (beck::detail::single_buffer<T> || requires(const T& bytes) {
      requires beck::detail::buffer_container<const T>;
      requires sizeof(*bytes.data()) == 1;
    });

/// The shape of std::pair: two arguments.
template <class T>
concept pair_argument = requires(const T& pair) {
  typename T::first_type;
  typename T::second_type;
  pair.first;
  pair.second;
};

}  // namespace detail

/// An argument that is a key; made by key().
template <class T>
struct marked_key {
  const T& value;  ///< the program's, which outlives the call
};

/// The elements of a range as arguments; made by each().
template <class Range>
struct spread_range {
  const Range& range;  ///< the program's, which outlives the call
};

namespace functions {

/// Marks an argument as a key, for commands that the table does not know, such as those of modules:
/// `q.push("JSON.GET", redis::key(name))`. The result refers to `value`.
template <class T>
constexpr marked_key<T> key(const T& value) noexcept {
  return {value};
}

/// Passes each element of a range as an argument, and both parts of a pair:
/// `cmd<void>("MSET", redis::each(map))`. The result refers to `range`, which is walked through
/// twice if it has no size().
template <class Range>
constexpr spread_range<Range> each(const Range& range) noexcept {
  return {range};
}

}  // namespace functions
using namespace functions;

namespace detail {

/// A store, a place for marks and limits, with a writer over them; the base of request and command.
class writing {
 public:
  writing(command_writer& writer, byte_store& to, byte_store& marks, const request_limits& most)
      : writer_(writer), to_(to), marks_(marks), most_(most) {}

  /// Writes one command.
  template <class... Args>
  void command(std::string_view name, const Args&... args) {
    writer_.begin(to_, marks_, most_, (std::size_t{1} + ... + count(args)));
    writer_.add(to_, most_, name);
    (add(args), ...);
    writer_.end(to_, marks_);
  }

 private:
  template <class T>
  static std::size_t count(const T& arg) {
    if constexpr (pair_argument<T>) {
      return count(arg.first) + count(arg.second);
    } else {
      return 1;
    }
  }
  template <class T>
  static std::size_t count(const marked_key<T>&) {
    return 1;
  }
  template <class Range>
  static std::size_t count(const spread_range<Range>& all) {
    std::size_t sum = 0;
    for (const auto& element : all.range) sum += count(element);
    return sum;
  }

  template <class T>
  void add(const T& arg) {
    if constexpr (text_argument<T>) {
      writer_.add(to_, most_, std::string_view(arg));
    } else if constexpr (byte_argument<T>) {
      const const_buffer bytes = bytes_of(arg);
      writer_.add(to_, most_,
                  std::string_view(static_cast<const char*>(bytes.data()), bytes.size()));
    } else if constexpr (std::same_as<T, char>) {
      writer_.add(to_, most_, std::string_view(&arg, 1));
    } else if constexpr (std::signed_integral<T>) {
      writer_.add(to_, most_, static_cast<long long>(arg));
    } else if constexpr (std::unsigned_integral<T>) {
      writer_.add(to_, most_, static_cast<unsigned long long>(arg));
    } else if constexpr (std::same_as<T, float> || std::same_as<T, double>) {
      writer_.add(to_, most_, arg);
    } else if constexpr (pair_argument<T>) {
      add(arg.first);
      add(arg.second);
    } else {
      static_assert(std::same_as<T, void>,
                    "an argument of a command is a text, bytes, an integer, a float or double, "
                    "redis::key() of one of these, a pair, or redis::each() of a range");
    }
  }
  template <class T>
  void add(const marked_key<T>& arg) {
    static_assert(!pair_argument<T>, "a key is one argument");
    writer_.mark(marks_);
    add(arg.value);
  }
  template <class Range>
  void add(const spread_range<Range>& all) {
    for (const auto& element : all.range) add(element);
  }
  template <class T>
  static const_buffer bytes_of(const T& arg) noexcept {
    if constexpr (beck::detail::single_buffer<T>) {
      return arg;
    } else {
      return beck::buffer(arg);
    }
  }

  command_writer& writer_;
  byte_store& to_;
  byte_store& marks_;
  const request_limits& most_;
};

}  // namespace detail

/// Walks through the commands of a request.
class command_iterator {
 public:
  /// For request: begins at the front of `wire`.
  command_iterator(std::string_view wire, const detail::key_mark* marks, std::size_t mark_count)
      : wire_(wire), marks_(marks), mark_count_(mark_count) {}

  /// Returns the present command, a view into the request.
  arguments operator*() const noexcept { return {wire_, marks_, mark_count_, number_}; }
  /// Goes on to the next command; costs a walk through the present one.
  command_iterator& operator++() noexcept;
  /// Returns whether the two are at the same command of one request.
  friend bool operator==(const command_iterator& a, const command_iterator& b) noexcept {
    return a.wire_.size() == b.wire_.size();
  }

 private:
  std::string_view wire_;  // from the present command on
  const detail::key_mark* marks_;
  std::size_t mark_count_;
  std::uint32_t number_ = 0;
};

/// Any number of commands, formatted once: `q.push("SET", "k", 7).push("GET", "k")`. Owns its
/// bytes. An argument is a text, bytes (const_buffer, or a container of bytes), an integer, a bool
/// (1 or 0), a float or double (the shortest digits), a pair (two arguments), key() or each() of
/// such. Thread: one at a time.
///
/// A command over a limit is not added; error() and error_text() describe the first one, nothing is
/// added from there on, and a client refuses the request as a whole.
class request {
 public:
  /// Makes an empty request. Allocates nothing.
  request() noexcept = default;
  /// As above, with other limits.
  explicit request(const request_limits& most) noexcept : limits_(most) {}
  request(const request&) = default;
  request(request&&) noexcept = default;
  /// Copies commands, error and limits. Throws std::bad_alloc; then the request is empty.
  request& operator=(const request& other) {
    if (this == &other) return *this;
    clear();
    bytes_ = other.bytes_;
    marks_ = other.marks_;
    limits_ = other.limits_;
    writer_ = other.writer_;  // last: it counts the bytes of both stores
    return *this;
  }
  request& operator=(request&&) noexcept = default;
  ~request() = default;

  /// Adds a command. Throws std::bad_alloc, and exceptions of iterators; then nothing was added.
  /// Requires arguments that are not views of this request: its bytes move while it grows.
  template <class... Args>
  request& push(std::string_view name, const Args&... args) {
    detail::writing(writer_, bytes_, marks_, limits_).command(name, args...);
    return *this;
  }
  /// Adds a command whose last arguments are the elements of a range.
  template <class Range>
  request& push_range(std::string_view name, const Range& range) {
    return push(name, redis::each(range));
  }
  /// As above, behind a first argument: `q.push_range("HSET", "user:1", fields)`.
  template <class First, class Range>
  request& push_range(std::string_view name, const First& first, const Range& range) {
    return push(name, first, redis::each(range));
  }
  /// Adds the commands of another request. An error of the other one becomes this one's.
  request& append(const request& other);
  /// Removes all commands and the error; keeps the memory, so that filling it again with as many
  /// bytes allocates nothing.
  void clear() noexcept {
    writer_.clear();
    bytes_.clear();
    marks_.clear();
  }

  /// Returns the number of commands, and so of replies.
  std::size_t size() const noexcept { return writer_.commands(); }
  /// Returns whether there is no command.
  bool empty() const noexcept { return size() == 0; }
  /// Returns the bytes of all commands; valid until the next change.
  std::string_view bytes() const noexcept { return bytes_.view().substr(0, writer_.bytes()); }
  /// Returns error::request_too_large if a command was over a limit; else no error.
  error_code error() const noexcept { return writer_.error(); }
  /// Returns the limit that was passed and the value that was over it, in words; empty without an
  /// error.
  beck::detail::fixed_text<120> error_text() const noexcept { return writer_.error_text(limits_); }
  /// Returns the limits.
  const request_limits& limits() const noexcept { return limits_; }

  /// For the client: returns the bytes with the marks of keys; valid until the next change.
  detail::command_bytes part() const noexcept;
  /// Returns the first command; with end() a range of arguments, valid until the next change.
  command_iterator begin() const noexcept;
  /// Returns the place behind the last command.
  command_iterator end() const noexcept { return {{}, nullptr, 0}; }

 private:
  detail::command_writer writer_;
  detail::small_store<0> bytes_;
  detail::small_store<0> marks_;
  request_limits limits_;
};

}  // namespace beck::redis
