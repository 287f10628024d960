// SPDX-License-Identifier: BSL-1.0
//
// Reads replies into the program's types: one reader in the library walks through the tables that
// the types have become (reader_type.hpp), token by token, with a stack of its own.
#pragma once

#include <beck/redis/byte_store.hpp>
#include <beck/redis/reader_type.hpp>
#include <beck/redis/reply.hpp>
#include <beck/redis/resp3.hpp>
#include <beck/redis/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::redis {

namespace detail {

/// A reply<T> of the program's, without its type.
struct reply_place {
  const reader_type* type;  // of the reply<T>
  void* to;

  /// Returns where its error is.
  reply_status& status() const noexcept { return *type->status(to); }
};

namespace functions {

/// Returns the place of a reply<T>.
template <class T>
reply_place place_of(reply<T>& to) noexcept {
  return {&reader_type_of<reply<T>>, &to};
}

}  // namespace functions
using namespace functions;

}  // namespace detail

/// Bounds of one command's reply. A larger reply is read and dropped, and the connection goes on. A
/// value.
struct reply_limits {
  std::size_t text_bytes = 67'108'864;  ///< of all texts
  std::size_t elements = 4'194'304;     ///< on all levels, and those of attributes
};

/// Reads the tokens of one reply into a redis::reply<T>. It goes on at any token, also in the
/// middle of a text, and never calls itself. After an error it drops the rest of the reply, so that
/// the next one is read from its beginning. About 1,000 bytes; replies nested deeper than five
/// levels allocate. Thread: one at a time.
///
/// - numbers: integers, or texts of digits; within the range of the type. bool: true, false, 1, 0
/// - texts: every string, and the digits of numbers; containers of bytes too
/// - optional: null, or its type; everything else refuses a null with error::null_reply
/// - sequences and sets: arrays, sets, and maps as keys and values by turns. Sequences of pairs: an
///   array of pairs, a map, or an array in which keys and values take turns, as RESP2 has it
/// - maps, and types with redis_fields(f, object): the same three
/// - tuples, pairs, arrays: an array with the same number of elements
/// - variants: the first alternative whose type fits exactly, or else one that converts
/// - reply<T>: an error, which is an element here, or T
/// - value: everything, with the attributes before it; raw_reply: the bytes of all that; all other
///   types drop attributes
class reply_reader {
 public:
  /// Reads into `to`, which must outlive the reader. Begins with clear().
  template <class T>
  explicit reply_reader(reply<T>& to, const reply_limits& most = {}) : reply_reader() {
    begin(detail::place_of(to), most);
  }
  /// Reads nothing until begin() is called.
  reply_reader() noexcept;
  reply_reader(const reply_reader&) = delete;
  reply_reader& operator=(const reply_reader&) = delete;
  ~reply_reader();

  /// Takes the next token of the reply, attributes included and pushes not. Returns whether the
  /// reply is complete. Exceptions of the types become errc::not_enough_memory. Requires that the
  /// reply is not complete.
  bool feed(const token& next) noexcept;
  /// Begins again: makes the value a new one and removes the error; redis::into keeps its memory.
  /// Call it before a command is sent again. If a constructor throws, has_failed() is true.
  void clear() noexcept;

  /// Goes on to another reply, which must outlive its reading. Begins with clear().
  void begin(detail::reply_place to, const reply_limits& most) noexcept;
  /// Forgets the reply, which may be gone already. Requires begin() before the next feed().
  void leave() noexcept;

  /// Returns whether an error has occurred; the rest of the reply is dropped.
  bool has_failed() const noexcept { return has_failed_; }

 private:
  /// How the elements of an aggregate are taken.
  enum class frame_mode : std::uint8_t {
    undecided,  ///< the first element decides
    plain,      ///< one by one; of a map: keys and values by turns
    flat,       ///< a sequence of pairs, from keys and values by turns
    entries,    ///< a map, from arrays of a key and a value
  };
  /// An aggregate that the reader is in.
  struct frame {
    const detail::reader_type* type = nullptr;
    void* target = nullptr;
    void* made = nullptr;     // a key or an element that is inserted when it is whole
    void* current = nullptr;  // of flat: the pair; of a map or fields: the value's place
    const detail::reader_type* field_type = nullptr;
    const char* name = nullptr;  // of fields: the present one; nullptr: unknown
    std::int64_t left = 0;       // elements to come; unknown_size
    std::size_t index = 0;
    frame_mode mode = frame_mode::undecided;
    bool is_attribute = false;
    bool is_entry = false;
  };
  struct slot {
    const detail::reader_type* type = nullptr;
    void* target = nullptr;
    bool is_entry = false;  // an array of a key and a value, for the map at target
  };
  static constexpr std::size_t frames_inside = 5;

  // The way of a token.
  bool count(const token& next);
  void take(const token& next);
  void take_end();
  void take_attribute(const token& next);
  void begin(const token& next, slot to);
  bool resolve(const token& next, slot& to);
  void begin_aggregate(const token& next, const slot& to);
  void begin_text(const token& next, const slot& to);
  void take_text(const token& next);
  void end_text();
  void end_element();
  bool end_aggregate(const frame& ended);
  void end_child(frame& parent);
  // Where the next element goes.
  slot next_slot(const token& next);
  slot next_of_sequence(frame& parent, const token& next);
  slot next_of_pairs(frame& parent, const token& next);
  slot next_of_tuple(const frame& parent);
  bool decide(frame& parent, const token& next);
  // Values.
  void set(const slot& to, data_type kind, std::string_view text, std::int64_t number);
  void set_text(const slot& to, data_type kind, std::string_view text, std::int64_t number);
  static bool set_integer(const detail::reader_type& type, void* to, std::int64_t number) noexcept;
  static bool set_integer(const detail::reader_type& type, void* to,
                          std::string_view text) noexcept;
  static bool set_real(const detail::reader_type& type, void* to, std::string_view text) noexcept;
  static int fit(const detail::reader_type& type, const token& next) noexcept;
  // Errors.
  void fail(error why, std::string_view what);
  void fail_room(const into& room);
  void fail_type(const slot& wanted, data_type got, std::string_view text = {});
  void fail_size(const slot& wanted, const token& got);
  void fail_wanted(const slot& wanted, data_type got, std::string_view more);
  void fail_constructor() noexcept;
  void drop_frames() noexcept;
  // The stack.
  void push(const frame& added);
  void pop() noexcept;
  frame* frames() noexcept;
  frame& top() noexcept;

  const detail::reader_type* type_;
  void* to_ = nullptr;
  detail::reply_status* status_ = nullptr;
  reply_limits limits_;
  std::size_t text_bytes_ = 0;
  std::size_t elements_ = 0;
  std::size_t depth_ = 0;  // frames in use
  const token* present_ = nullptr;
  value* tree_ = nullptr;     // the value that takes the tokens
  raw_reply* raw_ = nullptr;  // the reply is read into it, whatever it is
  value attributes_;          // those before the element to come, in case that is read into a value
  std::size_t tree_frames_ = 0;
  std::size_t tree_depth_ = 0;
  slot text_to_;                                // of the text that is being read
  detail::reply_status* text_error_ = nullptr;  // that text is an error of this reply
  data_type text_kind_ = data_type::null;
  bool in_text_ = false;
  bool is_failure_ = false;  // the error stands where a value should be
  bool has_failed_ = false;
  detail::small_store<64> scratch_;  // a number, or a text that cannot grow
  detail::small_store<64> key_;      // of a field
  frame* more_frames_ = nullptr;     // instead of those inside, if they were too few
  std::size_t frames_max_ = frames_inside;
  alignas(frame) char frames_inside_[frames_inside * sizeof(frame)];
};

}  // namespace beck::redis
