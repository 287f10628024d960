// SPDX-License-Identifier: BSL-1.0
//
// The head of a message as its parser found it: views into a text that the head does not own.
#pragma once

#include <beck/http/field.hpp>
#include <beck/http/method.hpp>
#include <beck/http/status.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::http {

namespace detail {
class head_parser;
}

/// Bounds of a head. Larger ones are refused (docs/http.md has the status of each).
struct head_limits {
  std::uint32_t target_bytes = 8192;  ///< of the request target
  std::uint32_t head_bytes = 32768;   ///< first line, fields and empty line; at most 65535
  std::uint16_t fields = 100;         ///< at most head::fields_max
  std::uint8_t name_bytes = 255;      ///< of a field name
};

/// How the end of a message's body is found (RFC 9112, section 6.3).
enum class body_framing : std::uint8_t {
  none,         ///< there is no body
  length,       ///< Content-Length bytes follow
  chunked,      ///< chunks follow, the last of them empty
  until_close,  ///< everything until the connection ends; only responses
};

/// A field of a head: name, as it was sent, and value, without the white space around it.
struct field_view {
  std::string_view name;
  std::string_view value;
  field id;  ///< field::other if the name is not a known one
};

/// The common part of the heads of requests and responses: fields, version, framing. Refers to the
/// parsed text, which must outlive it. When that text moves, a parser or rebase() updates the
/// reference. A value of about 1 KiB; it allocates nothing. Thread: any, one at a time.
class head {
 public:
  /// The number of fields that a head has room for; head_limits::fields bounds it further.
  static constexpr unsigned fields_max = 128;

  /// Iterates over the fields, in the order of the text.
  class iterator {
   public:
    iterator(const head& of, unsigned at) noexcept : head_(&of), at_(at) {}
    /// Returns the field.
    field_view operator*() const noexcept { return (*head_)[at_]; }
    iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    friend bool operator==(iterator, iterator) noexcept = default;

   private:
    const head* head_;
    unsigned at_;
  };

  /// Returns the number of fields.
  unsigned size() const noexcept { return count_; }
  /// Returns field `i`. Requires i < size(); not checked.
  field_view operator[](unsigned i) const noexcept {
    const entry& e = entries_[i];
    return {{text_ + e.name_at, e.name_bytes}, {text_ + e.value_at, e.value_bytes}, e.id};
  }
  iterator begin() const noexcept { return {*this, 0}; }
  iterator end() const noexcept { return {*this, count_}; }

  /// Returns whether there is a field `f`. Costs a bit test. Requires f != field::other; not
  /// checked.
  bool has(field f) const noexcept { return (known_ & bit_of(f)) != 0; }
  /// Returns whether there are several fields `f`.
  bool repeats(field f) const noexcept { return (repeated_ & bit_of(f)) != 0; }
  /// Returns the value of the first field `f`; an empty text if there is none. Requires f !=
  /// field::other; not checked.
  std::string_view get(field f) const noexcept;
  /// Returns the value of the first field with this name in any case; an empty text if there is
  /// none.
  std::string_view get(std::string_view name) const noexcept;
  /// Returns whether the comma-separated list of tokens in the fields `f` contains `token`, in any
  /// case.
  bool lists(field f, std::string_view token) const noexcept;

  /// Returns the number after "HTTP/1.": 0 or 1.
  unsigned minor_version() const noexcept { return minor_version_; }
  /// Returns the number of bytes of the head, including its empty line and the bytes that were
  /// skipped before it.
  std::size_t bytes() const noexcept { return bytes_; }
  /// Returns how the end of the body is found.
  body_framing framing() const noexcept { return framing_; }
  /// Returns the number of bytes of the body; 0 unless framing() is body_framing::length.
  std::uint64_t content_length() const noexcept { return content_length_; }
  /// Returns whether the connection may carry another message after this one: HTTP/1.1 without
  /// "close", HTTP/1.0 with "keep-alive".
  bool keeps_alive() const noexcept { return keeps_alive_; }

  /// Makes the head refer to the same text at another address.
  void rebase(const char* text) noexcept { text_ = text; }
  /// Removes everything.
  void clear() noexcept;

 protected:
  head() noexcept = default;

 private:
  friend class detail::head_parser;

  struct entry {
    std::uint16_t name_at;
    std::uint16_t value_at;
    std::uint16_t value_bytes;
    std::uint8_t name_bytes;
    field id;
  };
  static constexpr std::uint64_t bit_of(field f) noexcept {
    return std::uint64_t{1} << static_cast<unsigned>(f);
  }

  const char* text_ = nullptr;
  std::uint64_t known_ = 0;
  std::uint64_t repeated_ = 0;
  std::uint64_t content_length_ = 0;
  std::uint16_t count_ = 0;
  std::uint16_t bytes_ = 0;
  std::uint8_t minor_version_ = 1;
  body_framing framing_ = body_framing::none;
  bool keeps_alive_ = true;
  bool expects_continue_ = false;
  http::method method_ = http::method::other;
  std::uint8_t method_bytes_ = 0;
  std::uint16_t line_at_ = 0;    // of the method, or of the version
  std::uint16_t target_at_ = 0;  // or of the reason
  std::uint16_t target_bytes_ = 0;
  http::status status_ = http::status::ok;
  entry entries_[fields_max];

  friend class request_head;
  friend class response_head;
};

/// The head of a request.
class request_head : public head {
 public:
  /// Returns the method; method::other if http::method has no value for it.
  http::method method() const noexcept { return method_; }
  /// Returns the method as it was sent.
  std::string_view method_text() const noexcept { return {text_ + line_at_, method_bytes_}; }
  /// Returns the target as it was sent: a path with its query, a whole URL, an authority (CONNECT)
  /// or "*" (OPTIONS).
  std::string_view target() const noexcept { return {text_ + target_at_, target_bytes_}; }
  /// Returns whether the client waits for "100 Continue" before it sends the body.
  bool expects_continue() const noexcept { return expects_continue_; }
};

/// The head of a response.
class response_head : public head {
 public:
  /// Returns the status.
  http::status status() const noexcept { return status_; }
  /// Returns the reason phrase, which may be empty.
  std::string_view reason() const noexcept { return {text_ + target_at_, target_bytes_}; }
};

}  // namespace beck::http
