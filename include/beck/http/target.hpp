// SPDX-License-Identifier: BSL-1.0
//
// The target of a request, as servers use it: path and query, the path decoded so that it can name
// a file, and the parameters of a query.
#pragma once

#include <beck/base/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::http {

/// The parts of a request target: views of it, not decoded.
struct target_parts {
  std::string_view path;   ///< begins with "/"; empty if the target has no path
  std::string_view query;  ///< without the "?"
  bool has_query = false;  ///< whether there is a "?"
};

/// The reason why a path is refused. Each of these paths could mean something else to a file
/// system, to another decoder or to a proxy than it does here.
enum class path_error : std::uint8_t {
  none,
  no_room,            ///< the memory is too small
  not_absolute,       ///< does not begin with "/"
  bad_escape,         ///< a "%" without two hexadecimal digits
  control_character,  ///< NUL, another byte below 0x20, or 0x7F
  escaped_slash,      ///< "%2F": a "/" that is not between two segments
  backslash,          ///< also "%5C"
  dot_segment,        ///< "." or "..", also escaped
  empty_segment,      ///< "//"; only the last segment may be empty
};

/// The result of decode_path().
struct decoded_path {
  path_error error = path_error::none;
  std::string_view path;  ///< in the caller's memory; empty after an error
};

/// The room after a path, in bytes, with which decode_path() is fastest.
inline constexpr std::size_t path_room = 32;

/// A parameter of a query: views of it, not decoded.
struct query_parameter {
  std::string_view name;
  std::string_view value;  ///< after the first "="; empty without one
};

/// The parameters of a query, "name=value&name=value", in their order. Empty ones ("a&&b") are
/// skipped. Refers to the text of the query. A value; any thread.
class query_parameters {
 public:
  /// Iterates over the parameters.
  class iterator {
   public:
    /// Begins at the first parameter of `rest`.
    explicit iterator(std::string_view rest) noexcept : rest_(rest) { ++*this; }
    /// Returns the parameter.
    query_parameter operator*() const noexcept;
    iterator& operator++() noexcept;
    friend bool operator==(const iterator& a, const iterator& b) noexcept {
      return a.at_.data() == b.at_.data() && a.at_.size() == b.at_.size();
    }

   private:
    std::string_view at_;  // the parameter; empty after the last one
    std::string_view rest_;
  };

  explicit query_parameters(std::string_view query) noexcept : query_(query) {}

  iterator begin() const noexcept { return iterator(query_); }
  iterator end() const noexcept { return iterator(query_.substr(query_.size())); }

  /// Returns whether there is a parameter with this name. `name` is decoded, the query is not.
  bool has(std::string_view name) const noexcept;
  /// Returns the value, not decoded, of the first parameter with this name; an empty text if there
  /// is none. `name` is decoded.
  std::string_view get(std::string_view name) const noexcept;

 private:
  std::string_view query_;
};

namespace functions {

/// Splits the target of a parsed request into path and query. The path of an absolute target is the
/// one after its host, at least "/". The targets "*" and "host:port" (CONNECT) have no path.
target_parts split_target(std::string_view target) noexcept;

/// Returns a sentence with the reason; an empty text for path_error::none.
std::string_view text_of(path_error e) noexcept;

/// Decodes the path of a target once into `room`. Each "%XX" becomes a byte; any byte that is not
/// refused is possible, also "%" and invalid UTF-8. A room of raw.size() bytes is always enough;
/// with path_room bytes more, a path without "%" is only checked and copied. Requires that `raw` is
/// not in `room`, of which all bytes may be overwritten. The result begins with "/". Used below a
/// folder, the text after that "/" never leads out of it, except through symbolic links. The result
/// ends in "/" if `raw` does.
decoded_path decode_path(std::string_view raw, mutable_buffer room) noexcept;

/// Decodes a name or a value of a parameter into `room`: "+" becomes a space, "%XX" any byte, also
/// NUL. A room of raw.size() bytes is always enough. Returns false, and does not change `to`, if a
/// "%" is without two hexadecimal digits or the room is too small.
bool decode_parameter(std::string_view raw, mutable_buffer room, std::string_view& to) noexcept;

/// As above, into a std::string or a similar type, which must not contain `raw`. `to` is empty
/// after an error. Allocates as `to` does.
template <class String>
bool decode_parameter(std::string_view raw, String& to) {
  to.resize(raw.size());
  std::string_view decoded;
  const bool is_valid = functions::decode_parameter(raw, {to.data(), to.size()}, decoded);
  to.resize(decoded.size());
  return is_valid;
}

}  // namespace functions
using namespace functions;

}  // namespace beck::http
