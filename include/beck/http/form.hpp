// SPDX-License-Identifier: BSL-1.0
//
// Bodies as texts, and the fields of queries and of forms (application/x-www-form-urlencoded).
#pragma once

#include <beck/coro/task.hpp>
#include <beck/http/number.hpp>
#include <beck/http/request.hpp>
#include <cstddef>
#include <cstdint>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <string_view>

namespace beck::http {

/// The names and values of a query or of a form, decoded: "+" is a space, "%2B" a "+". A value,
/// which does not refer to the encoded text. Texts have any bytes, also invalid UTF-8.
///   const http::form_fields args(q.query());
///   const auto most = args.number<unsigned>("limit", 20);
class form_fields {
 public:
  /// The most fields, unless the program sets another number.
  static constexpr std::size_t fields_max = 256;
  /// A field; its texts live as long as the form_fields.
  struct field {
    std::string_view name, value;
  };

  /// Decodes a text: fields are between "&", the value is behind the first "=". Empty fields are
  /// skipped. Throws failure(400) for a "%" without two hexadecimal digits, and above `most`
  /// fields; std::bad_alloc.
  explicit form_fields(std::string_view encoded, std::size_t most = fields_max);

  /// Returns the number of fields.
  std::size_t size() const noexcept { return size_; }
  /// Returns field `i`, in the order of the text. Requires i < size(), asserted.
  field operator[](std::size_t i) const noexcept;

  /// Returns whether there is a field with this name.
  bool has(std::string_view name) const noexcept { return find(name) < size(); }
  /// Returns the value of the first field with this name; an empty text if there is none.
  std::string_view get(std::string_view name) const noexcept;
  /// Returns the value of the first field with this name, a decimal number. Throws failure(400) if
  /// there is none, or it is no number that T has.
  template <detail::text_number T>
  T number(std::string_view name) const {
    T value{};
    if (!has(name) || !detail::number_text::read(get(name), value)) refuse(name);
    return value;
  }
  /// As above, but returns `otherwise` if there is no such field.
  template <detail::text_number T>
  T number(std::string_view name, T otherwise) const {
    return has(name) ? number<T>(name) : otherwise;
  }

 private:
  /// Returns the index of the first field with this name; size() if there is none.
  std::size_t find(std::string_view name) const noexcept;
  [[noreturn]] static void refuse(std::string_view name);

  std::string text_;
  std::string places_;  // the bytes of a record for each field
  std::size_t size_ = 0;
};

namespace functions {

/// Reads the whole body. Throws failure(413) if it has more than `limit` bytes, before anything is
/// read if its length is announced; io_error if it cannot be read, as request_body says: a handler
/// that lets it pass is answered for. Thread: that of the handler. Lifetime: `q` outlives the task.
/// Memory: at most `limit` bytes and one, and twice that while a text without announced length
/// grows.
task<std::string> read_text(request& q, std::size_t limit);

}  // namespace functions
using namespace functions;

}  // namespace beck::http
