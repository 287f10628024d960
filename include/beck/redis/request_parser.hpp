// SPDX-License-Identifier: BSL-1.0
//
// Commands of clients, for servers and proxies, without I/O. Nothing is copied: a command is a view
// of the bytes that have arrived.
#pragma once

#include <beck/detail/fixed_text.hpp>
#include <beck/redis/arguments.hpp>
#include <beck/redis/byte_store.hpp>
#include <beck/redis/request.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::redis {

/// The outcome of request_parser::parse().
enum class request_event : std::uint8_t {
  more,     ///< the command is not whole
  command,  ///< a whole command
  refused,  ///< request_parser::error_text() says why
};

/// The result of request_parser::parse().
struct parsed_request {
  request_event event = request_event::more;
  std::size_t consumed = 0;  ///< bytes of the input that are not to be passed again
  arguments command;         ///< of command: a view of the input, or of the parser if it was inline
};

/// Parses commands strictly: "*" and a count from 1 on, then for each argument "$", its length and
/// its bytes; numbers without signs, zeros in front and spaces; line ends of CR LF. A number is
/// compared with its limit as soon as it is read. Each byte is looked at once, however the input is
/// split. Thread: one at a time.
class request_parser {
 public:
  /// Whether a command may also be a line of words, as people type them into telnet.
  enum class inline_commands : std::uint8_t {
    refused,  ///< a line that some other protocol has sent, such as HTTP, is never run
    allowed,  ///< as redis-server does it; then also those of `skipped`
    skipped,  ///< only empty lines, and commands without arguments: both say nothing
  };

  /// Makes a parser at the front of a connection.
  explicit request_parser(const request_limits& most = request_limits(),
                          inline_commands lines = inline_commands::refused) noexcept
      : limits_(most), lines_(lines) {}

  /// Parses the first command in `input`, which begins with the first byte that was not consumed.
  /// It has all bytes of the call before, at the same place or another. After more: call it again
  /// with more bytes behind; after a command, with the rest behind it, as soon as the command is no
  /// longer used; after refused it returns refused again. Throws std::bad_alloc for inline commands
  /// only.
  parsed_request parse(std::string_view input);

  /// Returns how many bytes behind the input of the last call are missing at least; 1 if that is
  /// not known. Requires, asserted, that parse() has returned more.
  std::size_t missing() const noexcept;
  /// Returns the reason for the refusal in the words of redis-server, to send as an error, such as
  /// "Protocol error: invalid bulk length"; empty before. Valid until the parser is destroyed.
  std::string_view error_text() const noexcept { return {message_.data(), message_.size()}; }
  /// Sets other limits for the bytes that are not parsed yet, the rest of a command too: clients
  /// that have not logged in may send less.
  void set_limits(const request_limits& most) noexcept { limits_ = most; }

 private:
  enum class stage : std::uint8_t {
    start,
    count,
    count_end,
    head,
    length,
    length_end,
    body,
    body_cr,
    body_lf,
    line,
    line_end,
    refused,
  };

  void step(std::string_view input);
  void take_start(char first) noexcept;
  void take_count(char next) noexcept;
  void take_length(char next) noexcept;
  bool take_digit(char next, std::size_t most, std::string_view error) noexcept;
  void end_count() noexcept;
  void end_length() noexcept;
  void end_argument() noexcept;
  void take_line(std::string_view input);
  void skip() noexcept;
  void split_line(std::string_view line);
  void refuse(std::string_view why) noexcept;
  void refuse_byte(char wanted, char got) noexcept;

  request_limits limits_;
  std::size_t begin_ = 0;  // of the command, in the input
  std::size_t at_ = 0;     // the next byte to look at
  std::size_t number_ = 0;
  std::size_t arguments_left_ = 0;
  std::size_t body_left_ = 0;
  inline_commands lines_;
  stage stage_ = stage::start;
  bool has_digits_ = false;
  bool is_negative_ = false;
  bool is_whole_ = false;   // the command
  bool is_inline_ = false;  // inline_ has it
  detail::small_store<0> inline_;
  beck::detail::fixed_text<127> message_;
};

}  // namespace beck::redis
