// SPDX-License-Identifier: BSL-1.0
//
// The parser of a server's replies, without I/O: RESP3, and RESP2 alone. It cuts the bytes that
// have arrived into tokens, which are views of them, resumes at any byte, and never allocates.
// Source: the RESP3 specification; redis.io, "Redis serialization protocol specification".
#pragma once

#include <beck/redis/error.hpp>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::redis {

/// The type of an element of a reply.
enum class data_type : std::uint8_t {
  null,           ///< "_", and the "$-1" and "*-1" of RESP2
  simple_string,  ///< "+"
  simple_error,   ///< "-"
  integer,        ///< ":"
  bulk_string,    ///< "$", whole or streamed
  boolean,        ///< "#"
  double_number,  ///< ","
  big_number,     ///< "(", an integer of any size, as text
  bulk_error,     ///< "!"
  verbatim,       ///< "=", a text with a format of three bytes
  array,          ///< "*"
  set,            ///< "~"
  map,            ///< "%": keys and values take turns
  attribute,      ///< "|": as a map; it describes the element behind it and is itself none
  push,           ///< ">": a message of the server's own, beside the replies
  end,            ///< ".": a streamed aggregate ends; only tokens have this type
};

namespace functions {

/// Returns the name of the type, such as "bulk_string".
std::string_view name_of(data_type type) noexcept;

/// Returns whether elements of this type contain others: array, set, map, attribute and push.
constexpr bool is_aggregate(data_type type) noexcept {
  return type >= data_type::array && type <= data_type::push;
}

/// Returns whether elements of this type are errors of the server: simple_error and bulk_error.
constexpr bool is_error(data_type type) noexcept {
  return type == data_type::simple_error || type == data_type::bulk_error;
}

}  // namespace functions
using namespace functions;

/// The version of the protocol that a server speaks on a connection.
enum class protocol : std::uint8_t {
  resp2,  ///< only "+", "-", ":", "$" and "*", without streamed forms
  resp3,  ///< all types, and the nulls of RESP2
};

/// Which part of a text a token holds.
enum class text_part : std::uint8_t {
  whole,   ///< all of it; also the tokens of types without text
  first,   ///< the beginning, maybe empty
  middle,  ///< the bytes behind the part before
  last,    ///< the rest, maybe empty
};

/// The value of token::number for a text or an aggregate that is streamed: its size is not known.
inline constexpr std::int64_t unknown_size = -1;

/// One step through a reply: a scalar element, the head of an aggregate, or a part of a long text.
/// The tokens of a reply are in the order of its bytes: the head of an aggregate with n elements is
/// followed by the tokens of the n elements.
///
///   bytes                     tokens: type, number or text, depth, * if is_last
///   *2\r\n:7\r\n$1\r\na\r\n   array 2 at 0;  integer 7 at 1;  bulk_string "a" at 1 *
///   *?\r\n_\r\n.\r\n          array unknown_size at 0;  null at 1;  end at 0 *
///   |1\r\n+k\r\n#t\r\n:5\r\n  attribute 2 at 0;  simple_string "k" at 1;  boolean 1 at 1;
///                             integer 5 at 0 *
///
/// A reply with an empty aggregate has no token for the end of it: elements are counted. An
/// attribute has the depth of the element that it describes, and is counted in no aggregate.
struct token {
  /// The text of simple_string, simple_error, double_number, big_number, bulk_string, bulk_error
  /// and verbatim (without its format); else empty. A view of the parser's input.
  std::string_view text;
  /// The value of an integer; 1 or 0 of a boolean; the elements of an aggregate, where each pair of
  /// a map or an attribute is two; the bytes of a bulk_string, bulk_error or verbatim, of all parts
  /// together in the first one and 0 in the others. unknown_size if streamed. Of a double_number:
  /// see real().
  std::int64_t number = 0;
  data_type type = data_type::null;
  text_part part = text_part::whole;
  /// How many aggregates of the reply or push the element is in: 0 for the outermost. Of `end`:
  /// that of the aggregate that ends.
  std::uint8_t depth = 0;
  bool is_last = false;  ///< with this token the reply or the push is complete
  bool in_push = false;  ///< the token belongs to a push, as its head does
  /// Of verbatim its format, such as "txt"; of a null in a form of RESP2 the first byte of that,
  /// "$" or "*", and zeros.
  char format[3] = {};

  /// Returns the value of a double_number: finite, infinite or NaN.
  double real() const noexcept { return std::bit_cast<double>(number); }
  /// Returns whether `text` is the end of its text, or all of it.
  bool ends_text() const noexcept { return part == text_part::whole || part == text_part::last; }
};

/// The greatest value of parse_limits::depth.
inline constexpr std::size_t parse_depth_max = 128;

namespace detail {
enum class head_kind : std::uint8_t;
struct number_fault;
}  // namespace detail

/// Bounds of the bytes of a server. An announced size is compared with them as soon as it is read.
struct parse_limits {
  /// Aggregates inside each other, attributes and empty ones included. At most parse_depth_max.
  std::uint32_t depth = parse_depth_max;
  /// Bytes of a simple string, simple error, double or big number, without its type and CR LF. Such
  /// tokens have whole lines, so the caller's buffer must hold three bytes more than that.
  std::uint32_t line_bytes = 65'536;
  /// Bytes of a reply with all its heads, and with the attributes before it.
  std::uint32_t reply_bytes = 67'108'864;
  /// Elements of a reply or push on all levels: itself, keys and values, attributes and their
  /// elements. Elements are counted when the head of their aggregate is read.
  std::uint32_t elements = 4'194'304;
  /// Bytes of a push, as reply_bytes.
  std::uint32_t push_bytes = 1'048'576;
  /// A shorter text is one token, so the caller's buffer must hold two bytes more than that. A
  /// longer one that has not arrived whole is several tokens, its parts. At least 4.
  std::uint32_t whole_bytes = 16'384;
};

/// Where reply_parser::parse() stops although it has input and room for tokens.
enum class parse_stop : std::uint8_t {
  nowhere,       ///< only behind a push inside a reply
  behind_reply,  ///< also behind each reply and push
};

/// Why reply_parser::parse() has returned.
enum class parse_outcome : std::uint8_t {
  more,     ///< the input has no further token: call again with more bytes
  full,     ///< there is no room for a further token
  stopped,  ///< behind a push inside a reply, or where parse_stop asks for it
  refused,  ///< reply_parser::reason() says why; the tokens before it are good
};

/// The result of reply_parser::parse().
struct parsed {
  parse_outcome outcome = parse_outcome::more;
  std::size_t tokens = 0;    ///< the number of tokens that were written
  std::size_t consumed = 0;  ///< bytes of the input that parse() will not need again
};

/// Cuts the replies and pushes of a server into tokens. Strict: numbers are digits, with at most a
/// minus before them, in their shortest form and within 64 bits; lines end with CR LF; every limit
/// is checked before anything is stored. The work is proportional to the bytes, however they are
/// split; texts of bulks are skipped, not searched. A value of about 1,200 bytes without
/// allocations. Thread: one at a time.
///
///   token tokens[64];
///   parsed p = parser.parse(arrived, tokens, 64);
///   for (size_t i = 0; i < p.tokens; ++i) take(tokens[i]);
///   arrived.remove_prefix(p.consumed);  // keep the rest, append new bytes, call again
class reply_parser {
 public:
  /// Makes a parser at the beginning of a stream. Requires, asserted, limits within their bounds.
  explicit reply_parser(const parse_limits& limits = {},
                        protocol version = protocol::resp3) noexcept;

  /// Parses `input`, which begins with the first byte that was not consumed before, wherever it
  /// lies now, and writes at most `room` tokens to `to`. Small elements that are not whole are not
  /// consumed. Requires room > 0. After refused it returns refused again, and consumes nothing.
  /// Texts are views of `input`.
  parsed parse(std::string_view input, token* to, std::size_t room,
               parse_stop stop = parse_stop::nowhere) noexcept;

  /// Returns how many bytes of a long text are still to come. They may be received into their
  /// destination, instead of through parse(). 0 unless tokens have delivered the text's first part.
  /// Requires that parse() has returned more and that its whole input was consumed.
  std::size_t text_left() const noexcept;
  /// Skips `bytes` bytes, which were received into their destination. Requires, asserted, bytes <=
  /// text_left(). parse() still writes the token with text_part::last, maybe with no text.
  void skip_text(std::size_t bytes) noexcept;

  /// Returns how many bytes must follow the input that was not consumed before parse() can return a
  /// further token; at least 1. A lower bound. Requires that parse() has returned more.
  std::size_t bytes_needed() const noexcept { return needed_; }

  /// Sets the version of the protocol. Requires is_between_replies().
  void use(protocol version) noexcept { version_ = version; }
  /// Sets the limits. Requires is_between_replies(), and limits as for the constructor. A caller
  /// that prefers to read and drop a reply that is too large sets greater ones and counts itself.
  void use(const parse_limits& limits) noexcept;

  /// Sets whether pushes may be inside the arrays, sets and maps of a reply. Servers put them there
  /// while they run EXEC, and between the elements of any reply during whose making a key expires:
  /// the bytes alone do not show whether such a push is meant as an element, so the caller, which
  /// knows the commands, has to. By default they are refused. A push inside has tokens like a reply
  /// of its own: depth from 0, in_push, is_last at its end; then parse() stops. It counts as no
  /// element of the reply, unless count_push() says so.
  void expect_pushes_inside(bool expected) noexcept { pushes_inside_ = expected; }
  /// Counts the push that has just ended as an element of the reply that it is in, as the last
  /// confirmation of a SUBSCRIBE inside EXEC is. Requires is_behind_push_inside(), and a push
  /// directly inside the outermost aggregate. Returns whether the reply is complete with it, which
  /// no token shows.
  bool count_push() noexcept;
  /// Returns whether parse() has stopped behind a push inside a reply.
  bool is_behind_push_inside() const noexcept { return behind_push_inside_; }

  /// Returns whether no reply has begun: parse() has seen not even an attribute or a part of a
  /// line.
  bool is_between_replies() const noexcept;
  /// Returns the place in the stream of the first byte that is not consumed, from 0.
  std::uint64_t offset() const noexcept { return offset_; }

  /// Returns why the input is refused. Requires that parse() has returned refused.
  protocol_error reason() const noexcept { return reason_; }
  /// Returns the place in the stream of the byte that is refused: of a limit, that of the first
  /// byte of the element that breaks it. Requires that parse() has returned refused.
  std::uint64_t error_offset() const noexcept { return error_offset_; }

  /// Returns how many bytes were looked at so far: less than 3 for each byte of the stream.
  std::uint64_t bytes_examined() const noexcept { return examined_; }

 private:
  struct frame {
    std::uint32_t left;  // elements to come; of a streamed aggregate: those that came
    data_type type;
    bool is_streamed;
  };
  enum class stage : std::uint8_t { element, text, long_text, text_end, part, refused };
  enum class verdict : std::uint8_t { again, more, refused };  // of a step
  struct cursor;

  // the quick way: small elements that are whole and plainly good
  void parse_plain(cursor& c) noexcept;
  // the careful way: one step
  verdict step(cursor& c) noexcept;
  verdict read_element(cursor& c) noexcept;
  verdict find_line(const cursor& c, detail::head_kind kind, std::string_view& line) noexcept;
  verdict refuse_long_line(const cursor& c, detail::head_kind kind, std::string_view line) noexcept;
  verdict take_scalar(cursor& c, data_type type, std::string_view line) noexcept;
  verdict take_length(cursor& c, data_type type, std::string_view line) noexcept;
  verdict read_size(const cursor& c, std::string_view line, std::uint64_t& to) noexcept;
  verdict refuse_number(const cursor& c, const detail::number_fault& fault,
                        std::string_view line) noexcept;
  verdict take_end(cursor& c, const char* behind) noexcept;
  verdict begin_push(const cursor& c, const char* behind) noexcept;
  verdict begin_aggregate(cursor& c, data_type type, std::uint64_t size, bool is_streamed,
                          const char* behind) noexcept;
  verdict begin_text(cursor& c, data_type type, std::uint64_t bytes, const char* behind) noexcept;
  verdict begin_streamed_text(cursor& c, const char* behind) noexcept;
  verdict read_part(cursor& c) noexcept;
  verdict read_text(cursor& c) noexcept;
  verdict read_long_text(cursor& c) noexcept;
  verdict read_text_end(cursor& c) noexcept;
  verdict read_format(cursor& c) noexcept;
  verdict end_text(cursor& c, text_part part) noexcept;
  verdict check_text_end(const cursor& c, const char* at) noexcept;
  token& make_part(cursor& c, text_part part, std::size_t bytes) noexcept;
  verdict want(std::size_t bytes) noexcept;
  verdict refuse(const cursor& c, protocol_error why, const char* at) noexcept;

  token& make(cursor& c, data_type type) noexcept;
  void end_scalar(cursor& c, token& made, const char* behind) noexcept;
  void end_element(cursor& c, token& made) noexcept;
  bool pop(cursor& c, token& made) noexcept;
  void end_reply(cursor& c) noexcept;
  std::uint64_t place_of(const cursor& c, const char* at) const noexcept;
  protocol_error size_error() const noexcept;

  parse_limits limits_;
  std::uint64_t offset_ = 0;
  std::uint64_t limit_end_ = 0;  // the reply or push must end at this place, or before
  std::uint64_t outer_end_ = 0;  // that of the reply around a push
  std::uint64_t examined_ = 0;
  std::uint64_t error_offset_ = 0;
  std::size_t needed_ = 1;
  std::uint32_t elements_ = 1;    // of this reply so far
  std::uint32_t left_ = 0;        // bytes of the text to come
  std::uint32_t searched_ = 0;    // bytes of the line that were searched for its end
  std::uint16_t depth_ = 0;       // the frame of the element to come; 0: outside
  std::uint16_t push_depth_ = 0;  // the frame around a push inside a reply; 0: none
  stage stage_ = stage::element;
  protocol version_;
  protocol_error reason_{};
  data_type type_ = data_type::null;  // of the text that is being read
  bool is_streamed_ = false;          // that text is
  bool in_push_ = false;
  bool is_attributed_ = false;  // an attribute was read; it describes the element to come
  bool pushes_inside_ = false;
  bool behind_push_inside_ = false;
  char format_[3] = {};
  frame stack_[parse_depth_max + 1] = {};
};

}  // namespace beck::redis
