// SPDX-License-Identifier: BSL-1.0
// The table of refusals: name, status and text of each.
#include <beck/http/refusal.hpp>

#include <iterator>

namespace beck::http {
namespace {

struct refusal_row {
  refusal reason;
  std::string_view name;
  status answer;
  std::string_view text;
};

constexpr refusal_row refusal_rows[] = {
    {refusal::none, "none", status::ok, ""},
    {refusal::bad_line_end, "bad_line_end", status::bad_request, "a line does not end in CR LF"},
    {refusal::bad_character, "bad_character", status::bad_request, "a control character in a line"},
    {refusal::leading_space, "leading_space", status::bad_request,
     "a line begins with a space or a tab"},
    {refusal::bad_method, "bad_method", status::bad_request, "the method is not a token"},
    {refusal::method_too_long, "method_too_long", status::not_implemented,
     "the method is too long"},
    {refusal::bad_target, "bad_target", status::bad_request,
     "the target has a form that is not allowed"},
    {refusal::target_too_long, "target_too_long", status::uri_too_long, "the target is too long"},
    {refusal::bad_request_line, "bad_request_line", status::bad_request,
     "the request line is not a method, a target and a version"},
    {refusal::bad_version, "bad_version", status::http_version_not_supported,
     "the version is neither HTTP/1.1 nor HTTP/1.0"},
    {refusal::bad_status_line, "bad_status_line", status::bad_gateway,
     "the status line is not a version, a status and a reason"},
    {refusal::bad_field_name, "bad_field_name", status::bad_request,
     "a field name is not a token before a colon"},
    {refusal::field_name_too_long, "field_name_too_long", status::request_header_fields_too_large,
     "a field name is too long"},
    {refusal::too_many_fields, "too_many_fields", status::request_header_fields_too_large,
     "too many fields"},
    {refusal::head_too_long, "head_too_long", status::request_header_fields_too_large,
     "the head is too long"},
    {refusal::host_missing, "host_missing", status::bad_request, "there is no Host field"},
    {refusal::bad_host, "bad_host", status::bad_request, "the Host field is not one host"},
    {refusal::bad_content_length, "bad_content_length", status::bad_request,
     "Content-Length is not one number"},
    {refusal::bad_transfer_encoding, "bad_transfer_encoding", status::bad_request,
     "Transfer-Encoding is not chunked alone"},
    {refusal::unknown_transfer_coding, "unknown_transfer_coding", status::not_implemented,
     "an unknown transfer coding"},
    {refusal::bad_expectation, "bad_expectation", status::expectation_failed,
     "an expectation but 100-continue"},
    {refusal::trace_refused, "trace_refused", status::method_not_allowed, "TRACE is not answered"},
    {refusal::bad_chunk_size, "bad_chunk_size", status::bad_request,
     "a chunk size is not 1 to 16 hexadecimal digits"},
    {refusal::bad_chunk_extension, "bad_chunk_extension", status::bad_request,
     "a chunk extension is malformed"},
    {refusal::bad_chunk_end, "bad_chunk_end", status::bad_request,
     "the data of a chunk does not end in CR LF"},
    {refusal::chunk_line_too_long, "chunk_line_too_long", status::bad_request,
     "a chunk line is too long"},
    {refusal::chunk_extensions_too_long, "chunk_extensions_too_long", status::bad_request,
     "the chunk extensions are too long in all"},
    {refusal::bad_trailer, "bad_trailer", status::bad_request,
     "a trailer field that must be in the head"},
    {refusal::trailers_too_long, "trailers_too_long", status::request_header_fields_too_large,
     "the trailers are too long"},
    {refusal::body_too_long, "body_too_long", status::content_too_large, "the body is too long"},
    {refusal::head_late, "head_late", status::request_timeout, "the head came too slowly"},
    {refusal::body_late, "body_late", status::request_timeout, "the body came too slowly"},
    {refusal::handler_late, "handler_late", status::service_unavailable,
     "the handler took too long"},
};

constexpr bool is_in_order() {
  for (unsigned i = 0; i < std::size(refusal_rows); ++i)
    if (refusal_rows[i].reason != static_cast<refusal>(i)) return false;
  return true;
}
static_assert(is_in_order(), "a row for each refusal, in the order of the enumeration");
static_assert(std::size(refusal_rows) == static_cast<unsigned>(refusal::handler_late) + 1);

}  // namespace

status functions::status_of(refusal r) noexcept {
  return refusal_rows[static_cast<unsigned>(r)].answer;
}

std::string_view functions::name_of(refusal r) noexcept {
  return refusal_rows[static_cast<unsigned>(r)].name;
}

std::string_view functions::text_of(refusal r) noexcept {
  return refusal_rows[static_cast<unsigned>(r)].text;
}

}  // namespace beck::http
