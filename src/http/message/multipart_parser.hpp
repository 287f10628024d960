// SPDX-License-Identifier: BSL-1.0
// The parser of forms with files (RFC 7578, RFC 2046), without I/O and without copying of data. It
// takes the body in pieces; where they are split does not matter. It has no lenient mode: filters
// in front of a server have been fooled by bodies that two programs read differently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <beck/http/multipart_limits.hpp>
#include <beck/http/status.hpp>

namespace beck::http::detail {

/// A reason to refuse a form.
enum class form_refusal : std::uint8_t {
  none,
  not_multipart,     ///< the request has another media type
  bad_content_type,  ///< of the request: malformed, or twice
  no_boundary,       ///< none, two, or not one of RFC 2046
  bad_delimiter,     ///< a line begins with the boundary and goes on in another way
  bad_head,          ///< the lines of a part's head
  no_disposition,    ///< no "Content-Disposition: form-data"
  two_dispositions,
  bad_parameter,  ///< of Content-Disposition
  no_name,
  two_names,          ///< or two file names, or two of another parameter
  extended_name,      ///< name*, name*0, filename*0: RFC 7578 has no such names
  both_file_names,    ///< filename and filename*
  bad_file_name,      ///< filename* is not valid UTF-8, or has a control character
  bad_part_type,      ///< Content-Type of a part
  transfer_encoding,  ///< Content-Transfer-Encoding that changes the data
  cut_short,          ///< no last boundary
  head_too_long,
  too_many_parts,
  part_too_long,
  form_too_long,
};

/// Returns the reason in words, without a final period.
std::string_view form_refusal_text(form_refusal why) noexcept;
/// Returns the status of the response: 400, 413 or 415.
status form_refusal_status(form_refusal why) noexcept;

/// Reads the boundary out of the Content-Type of a request. Returns why there is none. Throws
/// std::bad_alloc.
form_refusal read_boundary(std::string_view content_type, std::string& boundary);

/// What the head of a part says. Texts are those of the client: a file name may be a path.
struct part_head {
  std::string name;
  std::string file_name;
  std::string content_type;  ///< as it was sent; empty without the field
  std::string media_type;    ///< "image/png": in lower case, without parameters
  bool is_file = false;      ///< there is a file name, which may be empty
};

/// What a call of multipart_parser::parse() has found.
enum class part_event : std::uint8_t {
  more,     ///< nothing yet: call again, with more behind the rest of the input
  head,     ///< a part begins: see multipart_parser::head()
  data,     ///< data of the part
  end,      ///< the part has ended
  refused,  ///< the form is malformed or too long; so say all further calls
};

/// The result of multipart_parser::parse().
struct part_step {
  part_event event = part_event::more;
  std::size_t consumed = 0;  ///< bytes of the input
  std::string_view data;     ///< in the input
};

/// Parses one form. Thread: one at a time.
class multipart_parser {
 public:
  /// Requires a boundary of read_boundary().
  multipart_parser(std::string_view boundary, const multipart_limits& bounds);

  /// Parses the beginning of `input`, the bytes that follow those consumed before. Returns at most
  /// one event. Call it until nothing is consumed and there is no event: bytes that were not
  /// consumed begin the next input. They are fewer than pending_max().
  /// Throws std::bad_alloc.
  part_step parse(std::string_view input);
  /// Notes that the body has ended behind `rest`, the bytes that were not consumed. Returns whether
  /// the form is whole; otherwise it is refused.
  bool finish(std::string_view rest) noexcept;

  /// Returns the head of the present part.
  const part_head& head() const noexcept { return head_; }
  form_refusal reason() const noexcept { return reason_; }
  /// Returns the greatest number of bytes that the parser may leave in its input.
  std::size_t pending_max() const noexcept { return bounds_.head_bytes + delimiter_.size(); }

 private:
  enum class state : std::uint8_t {
    begin,       ///< of the body: the boundary may stand here
    preamble,    ///< what stands before the first boundary is dropped
    delimiter,   ///< behind a boundary
    padding,     ///< white space between a boundary and the end of its line
    last,        ///< the same behind the last boundary
    head,        ///< of a part
    data_begin,  ///< the boundary may stand here: an empty part
    data,
    epilogue,  ///< what stands behind the last boundary is dropped
    refused,
  };
  /// Where a text begins, of which there may be only a part yet.
  struct place {
    std::size_t at;
    bool is_whole;
  };

  part_step refuse(form_refusal why) noexcept;
  part_step step(std::string_view input);
  part_step take_begin(std::string_view input) noexcept;
  part_step take_preamble(std::string_view input) noexcept;
  part_step take_line_end(std::string_view input) noexcept;
  part_step take_head(std::string_view input);
  part_step take_data(std::string_view input) noexcept;
  part_step begin_part() noexcept;
  static place find(std::string_view text, std::string_view input);
  form_refusal read_head(std::string_view text);
  form_refusal read_disposition(std::string_view value);

  const std::string delimiter_;  // CR LF "--" boundary
  const multipart_limits bounds_;
  part_head head_;
  std::uint64_t bytes_ = 0;       // of the body
  std::uint64_t part_bytes_ = 0;  // of the data of the present part
  std::uint32_t parts_ = 0;
  std::size_t searched_ = 0;  // bytes of the head in which its end was searched
  char before_line_ = '\0';   // the byte before the end of a line of the preamble
  state state_ = state::begin;
  form_refusal reason_ = form_refusal::none;
};

}  // namespace beck::http::detail
