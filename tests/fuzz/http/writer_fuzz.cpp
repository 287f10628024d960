// SPDX-License-Identifier: BSL-1.0
// Heads written from hostile texts: what the writer accepts has as many lines as it was told, and
// is read as these fields. Texts end at bytes 0xFF; two bytes choose the kind and the room.
#include "fuzz/http/heads.hpp"

namespace {

using namespace beck::http;
using namespace beck::http::fuzz;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

struct pair {
  std::string_view name, value;
};

/// Why a head may be refused that is made of well-formed lines.
bool is_about_meaning(refusal r) {
  switch (r) {
    case refusal::none:
    case refusal::bad_line_end:
    case refusal::bad_character:
    case refusal::leading_space:
    case refusal::bad_method:
    case refusal::bad_request_line:
    case refusal::bad_version:
    case refusal::bad_field_name:
    case refusal::bad_status_line:
      return false;
    case refusal::method_too_long:
    case refusal::bad_target:
    case refusal::target_too_long:
    case refusal::field_name_too_long:
    case refusal::too_many_fields:
    case refusal::head_too_long:
    case refusal::host_missing:
    case refusal::bad_host:
    case refusal::bad_content_length:
    case refusal::bad_transfer_encoding:
    case refusal::unknown_transfer_coding:
    case refusal::bad_expectation:
    case refusal::trace_refused:
    case refusal::head_late:
    case refusal::body_late:
    case refusal::handler_late:
    case refusal::bad_chunk_size:
    case refusal::bad_chunk_extension:
    case refusal::bad_chunk_end:
    case refusal::chunk_line_too_long:
    case refusal::chunk_extensions_too_long:
    case refusal::bad_trailer:
    case refusal::trailers_too_long:
    case refusal::body_too_long:
      break;
  }
  return true;
}

void require_lines(std::string_view text, std::size_t lines) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    require((text[i] == '\r') == (i + 1 < text.size() && text[i + 1] == '\n'), "half a line end");
    found += text[i] == '\n' ? 1 : 0;
    require(text[i] != '\0', "a NUL");
  }
  require(found == lines, "another number of lines");
}

void require_fields(const head& h, const std::vector<pair>& wanted) {
  require(h.size() == wanted.size(), "another number of fields");
  for (unsigned i = 0; i < h.size(); ++i) {
    require_equal(h[i].name, wanted[i].name, "another name");
    require_equal(h[i].value, trimmed(wanted[i].value), "another value");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  choices input(beck::http::fuzz::text_of(data, size));
  const unsigned kind = input.byte();
  const std::size_t room_bytes = 16 * input.byte();
  std::string room(room_bytes, '\0');
  const exact_copy target(room);  // its end is the end of the room
  head_writer writer(
      beck::mutable_buffer(const_cast<char*>(target.view().data()), target.view().size()));
  const bool is_response = kind % 2 == 0;
  if (is_response) {
    writer.start(static_cast<status>(100 + 2 * input.byte()), input.text());
  } else {
    const std::string_view method = input.text();
    writer.start(method, input.text());
  }
  std::vector<pair> fields;
  while (!input.rest().empty()) {
    const std::string_view name = input.text();
    fields.push_back({name, input.text()});
    writer.add(fields.back().name, fields.back().value);
  }
  const std::string_view text = writer.finish();
  require(text.empty() == (writer.error() != head_error::none), "an error with a text");
  if (text.empty()) return 0;
  require(text.size() <= room_bytes && target.holds(text), "written outside the room");
  require_lines(text, fields.size() + 2);

  const exact_copy copy(text);
  head_limits limits;
  limits.fields = head::fields_max;
  limits.head_bytes = 65535;
  parse_status status = parse_status::more;
  refusal reason = refusal::none;
  if (is_response) {
    response_parser parser(limits);
    response_head head;
    status = parser.parse(copy.view(), method::get, head);
    reason = parser.reason();
    if (status == parse_status::done) require_fields(head, fields);
  } else {
    request_parser parser(limits);
    request_head head;
    status = parser.parse(copy.view(), head);
    reason = parser.reason();
    if (status == parse_status::done) require_fields(head, fields);
  }
  require(
      status == parse_status::done || (status == parse_status::refused && is_about_meaning(reason)),
      "a written head is malformed");
  return 0;
}
