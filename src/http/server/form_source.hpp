// SPDX-License-Identifier: BSL-1.0
// A form with files that is being received: the parser, the bytes that it has not taken, and the
// data of the present part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <beck/coro/task.hpp>
#include <beck/http/multipart_form.hpp>
#include <beck/http/request.hpp>

#include "http/message/multipart_parser.hpp"

namespace beck::http::detail {

/// The source of the parts of one form. Thread: that of the handler.
class form_source {
 public:
  form_source(request& q, std::string_view boundary, const multipart_limits& bounds);

  /// Moves to the next part. Returns false behind the last one. Throws as multipart_form::next().
  task<bool> next();
  /// Returns the number of the present part.
  std::uint32_t number() const noexcept { return number_; }
  const part_head& head() const noexcept { return parser_.head(); }
  any_io_executor get_executor() const noexcept { return body_.get_executor(); }

  // See form_part.
  task<std::size_t> read_some(mutable_buffer to);
  task<std::string> text(std::size_t limit);
  task<std::uint64_t> save(std::string path);

 private:
  /// Parses up to the next event. Returns nothing if more has to be received first.
  std::optional<part_event> parse();
  task<> receive();
  [[noreturn]] void refuse() const;
  void take_data(mutable_buffer to, std::size_t& bytes) noexcept;

  request_body body_;
  const multipart_limits bounds_;
  multipart_parser parser_;
  const std::size_t room_bytes_;
  const std::unique_ptr<char[]> room_;
  std::size_t begin_ = 0, end_ = 0;  // of the bytes that the parser has not taken
  std::string_view data_;            // of the part, in room_
  std::uint32_t number_ = 0;
  bool in_part_ = false;   // the end of the part was not read
  bool has_body_ = false;  // the whole body was received
};

}  // namespace beck::http::detail
