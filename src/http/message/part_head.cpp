// SPDX-License-Identifier: BSL-1.0
// The heads of parts of a form, the boundary of a request, and the texts of refusals. RFC 7578,
// section 4; file names with a character set: RFC 8187.
#include <algorithm>
#include <utility>

#include <beck/http/head.hpp>

#include "http/message/characters.hpp"
#include "http/message/head_parser.hpp"
#include "http/message/multipart_parser.hpp"
#include "http/message/parameters.hpp"

namespace beck::http::detail {
namespace {

constexpr std::size_t boundary_bytes_max = 70;
constexpr std::uint16_t part_fields_max = 32;
constexpr std::string_view boundary_characters =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'()+_,-./:=? ";

struct part_fields : http::head {
  part_fields() noexcept = default;
};

/// Returns the value of a field up to its parameters, and removes it from `value`.
std::string_view take_main(std::string_view& value) noexcept {
  const std::size_t end = std::min(value.find(';'), value.size());
  const std::string_view found = trimmed(value.substr(0, end));
  value.remove_prefix(end);
  return found;
}

std::string to_lower_case(std::string_view text) {
  std::string made(text);
  for (char& c : made) c = lower(c);
  return made;
}

bool is_media_type(std::string_view text) noexcept {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && is_token(text.substr(0, slash)) &&
         is_token(text.substr(slash + 1));
}

bool are_parameters(std::string_view text) {
  parameter_reader all(text);
  parameter one;
  while (all.read(one)) {}
  return !all.is_bad();
}

/// Reads "UTF-8''a%20b". Returns false for another character set, invalid UTF-8 and control
/// characters.
bool read_extended(std::string_view text, std::string& to) {
  const std::size_t set = text.find('\'');
  const std::size_t language = set == std::string_view::npos ? set : text.find('\'', set + 1);
  if (language == std::string_view::npos || !equal_in_any_case(text.substr(0, set), "utf-8"))
    return false;
  text.remove_prefix(language + 1);
  to.clear();
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool escaped = text[at] == '%';
    if (escaped && !is_escape(text, at)) return false;
    to += escaped ? escaped_byte(text, at) : text[at];
    if (escaped) at += 2;
  }
  for (std::string_view left = to; !left.empty();) {
    const std::size_t bytes = character_bytes(left);
    if (bytes == 0 || is_control(left.front())) return false;
    left.remove_prefix(bytes);
  }
  return true;
}

/// Returns whether a name is that of a text in pieces or with a character set: "name*", "name*0*".
bool is_extension_of(std::string_view name, std::string_view plain) noexcept {
  return name.size() > plain.size() && name[plain.size()] == '*' &&
         equal_in_any_case(name.substr(0, plain.size()), plain);
}

/// The parameters of Content-Disposition that were read.
struct disposition {
  bool has_name = false, has_file_name = false, has_extended = false;
  std::string others;  // names of other parameters, in lower case, with ";" before and behind each

  form_refusal take(parameter& one, part_head& to) {
    if (equal_in_any_case(one.name, "name")) {
      if (std::exchange(has_name, true)) return form_refusal::two_names;
      to.name = std::move(one.value);
    } else if (equal_in_any_case(one.name, "filename")) {
      if (std::exchange(has_file_name, true)) return form_refusal::two_names;
      if (has_extended) return form_refusal::both_file_names;
      to.file_name = std::move(one.value);
    } else if (equal_in_any_case(one.name, "filename*")) {
      if (std::exchange(has_extended, true)) return form_refusal::two_names;
      if (has_file_name) return form_refusal::both_file_names;
      if (!read_extended(one.value, to.file_name)) return form_refusal::bad_file_name;
    } else if (is_extension_of(one.name, "name") || is_extension_of(one.name, "filename")) {
      return form_refusal::extended_name;
    } else {
      const std::string entry = ';' + to_lower_case(one.name) + ';';
      if (others.find(entry) != std::string::npos) return form_refusal::two_names;
      others += entry;
    }
    return form_refusal::none;
  }
};

}  // namespace

form_refusal read_boundary(std::string_view content_type, std::string& boundary) {
  const std::string_view type = take_main(content_type);
  if (!equal_in_any_case(type, "multipart/form-data")) return form_refusal::not_multipart;
  parameter_reader all(content_type);
  parameter one;
  bool found = false;
  while (all.read(one)) {
    if (!equal_in_any_case(one.name, "boundary")) continue;
    if (std::exchange(found, true)) return form_refusal::no_boundary;
    boundary = one.value;
  }
  if (all.is_bad()) return form_refusal::bad_content_type;
  const bool is_one = found && !boundary.empty() && boundary.size() <= boundary_bytes_max &&
                      boundary.back() != ' ' &&
                      boundary.find_first_not_of(boundary_characters) == std::string::npos;
  return is_one ? form_refusal::none : form_refusal::no_boundary;
}

form_refusal multipart_parser::read_head(std::string_view text) {
  part_fields fields;
  head_progress progress;
  head_limits limits;
  limits.head_bytes = bounds_.head_bytes;
  limits.fields = part_fields_max;
  const parse_status status = parse_trailers(text, fields, progress, limits);
  if (status == parse_status::refused) {
    const bool too_many = progress.reason == refusal::too_many_fields;
    return too_many ? form_refusal::head_too_long : form_refusal::bad_head;
  }
  if (status != parse_status::done || fields.bytes() != text.size()) return form_refusal::bad_head;
  head_ = part_head();
  if (!fields.has(field::content_disposition)) return form_refusal::no_disposition;
  if (fields.repeats(field::content_disposition)) return form_refusal::two_dispositions;
  if (fields.repeats(field::content_type)) return form_refusal::bad_part_type;
  for (const field_view each : fields) {
    if (!equal_in_any_case(each.name, "Content-Transfer-Encoding")) continue;
    const std::string coding = to_lower_case(each.value);
    if (coding != "7bit" && coding != "8bit" && coding != "binary")
      return form_refusal::transfer_encoding;
  }
  const bool has_type = fields.has(field::content_type);
  head_.content_type = fields.get(field::content_type);
  std::string_view parameters = has_type ? std::string_view(head_.content_type) : "text/plain";
  head_.media_type = to_lower_case(take_main(parameters));
  if (!is_media_type(head_.media_type) || !are_parameters(parameters))
    return form_refusal::bad_part_type;
  return read_disposition(fields.get(field::content_disposition));
}

form_refusal multipart_parser::read_disposition(std::string_view value) {
  if (!equal_in_any_case(take_main(value), "form-data")) return form_refusal::no_disposition;
  parameter_reader all(value);
  parameter one;
  disposition read;
  while (all.read(one)) {
    const form_refusal bad = read.take(one, head_);
    if (bad != form_refusal::none) return bad;
  }
  if (all.is_bad()) return form_refusal::bad_parameter;
  head_.is_file = read.has_file_name || read.has_extended;
  return read.has_name ? form_refusal::none : form_refusal::no_name;
}

std::string_view form_refusal_text(form_refusal why) noexcept {
  switch (why) {
    case form_refusal::none:
      break;
    case form_refusal::not_multipart:
      return "the media type is not multipart/form-data";
    case form_refusal::bad_content_type:
      return "Content-Type is malformed, or is there twice";
    case form_refusal::no_boundary:
      return "Content-Type has no boundary, or one that is not of RFC 2046";
    case form_refusal::bad_delimiter:
      return "a line of the form begins with the boundary, but has no end of a boundary line";
    case form_refusal::bad_head:
      return "the head of a part is malformed";
    case form_refusal::no_disposition:
      return "a part has no Content-Disposition: form-data";
    case form_refusal::two_dispositions:
      return "a part has two Content-Disposition fields";
    case form_refusal::bad_parameter:
      return "the parameters of a Content-Disposition are malformed";
    case form_refusal::no_name:
      return "a part has no name";
    case form_refusal::two_names:
      return "a Content-Disposition has a parameter twice";
    case form_refusal::extended_name:
      return "a Content-Disposition has a name in pieces or with a character set";
    case form_refusal::both_file_names:
      return "a part has filename and filename*";
    case form_refusal::bad_file_name:
      return "filename* is not valid UTF-8 without control characters";
    case form_refusal::bad_part_type:
      return "the Content-Type of a part is malformed, or is there twice";
    case form_refusal::transfer_encoding:
      return "a part has a Content-Transfer-Encoding that changes its data";
    case form_refusal::cut_short:
      return "the form ends before its last boundary";
    case form_refusal::head_too_long:
      return "the head of a part is too long";
    case form_refusal::too_many_parts:
      return "the form has too many parts";
    case form_refusal::part_too_long:
      return "a part is too long";
    case form_refusal::form_too_long:
      return "the form is too long";
  }
  return {};
}

status form_refusal_status(form_refusal why) noexcept {
  if (why == form_refusal::not_multipart) return status::unsupported_media_type;
  return why >= form_refusal::head_too_long ? status::content_too_large : status::bad_request;
}

}  // namespace beck::http::detail
