// SPDX-License-Identifier: BSL-1.0
// The meaning of a head's fields: host, framing, persistence. A head that two programs could read
// differently is refused.
#include "http/message/characters.hpp"
#include "http/message/head_parser.hpp"

namespace beck::http::detail {
namespace {

/// Returns whether `text` is a host with an optional port; `needs_port`: the port is required, as
/// in the target of CONNECT.
bool is_authority(std::string_view text, bool needs_port) noexcept {
  std::size_t end = 0;
  if (!text.empty() && text[0] == '[') {
    end = text.find(']');
    if (end == std::string_view::npos || end == 1 || !all_in(text.substr(1, end - 1), in_ipv6))
      return false;
    ++end;
  } else {
    while (end < text.size() && is_in(text[end], in_host)) ++end;
  }
  if (end == 0) return false;
  if (end == text.size()) return !needs_port;
  const std::string_view port = text.substr(end + 1);
  if (text[end] != ':' || port.size() > 5 || !all_in(port, is_digit)) return false;
  unsigned number = 0;
  for (const char c : port) number = number * 10 + static_cast<unsigned>(c - '0');
  return number <= 65535 && !(needs_port && port.empty());
}

}  // namespace

/// Refuses a head at its first field `f`, or at its last line without one.
parse_status head_parser::refuse_field(refusal reason, field f) noexcept {
  for (unsigned i = 0; i < head_.count_; ++i)
    if (head_.entries_[i].id == f) return refuse(reason, head_.entries_[i].value_at);
  return refuse(reason, head_.bytes_ - 2U);
}

parse_status head_parser::finish_request(bool has_plain_host) noexcept {
  if (head_.method_ == method::trace) return refuse(refusal::trace_refused, head_.line_at_);
  if (head_.method_ == method::connect) return finish_connect();
  if (!has_plain_host)
    if (const parse_status found = find_host(); found != parse_status::done) return found;
  head_.keeps_alive_ = head_.minor_version_ == 1;
  constexpr std::uint64_t telling = head::bit_of(field::content_length) |
                                    head::bit_of(field::transfer_encoding) |
                                    head::bit_of(field::expect) | head::bit_of(field::connection);
  if ((head_.known_ & telling) == 0) return parse_status::done;
  constexpr std::uint64_t framing =
      head::bit_of(field::content_length) | head::bit_of(field::transfer_encoding);
  if ((head_.known_ & framing) != 0)
    if (const parse_status found = find_framing(); found != parse_status::done) return found;
  if (head_.has(field::expect) && head_.minor_version_ == 1) {
    if (head_.repeats(field::expect) || !is_name(head_.get(field::expect), "100-continue"))
      return refuse_field(refusal::bad_expectation, field::expect);
    head_.expects_continue_ = true;
  }
  find_persistence();
  return parse_status::done;
}

/// Finishes the head of a CONNECT, which has no content (RFC 9110, section 9.3.6): the bytes after
/// it belong to the tunnel, and are never another request.
parse_status head_parser::finish_connect() noexcept {
  if (head_.has(field::content_length))
    return refuse_field(refusal::bad_content_length, field::content_length);
  if (head_.has(field::transfer_encoding))
    return refuse_field(refusal::bad_transfer_encoding, field::transfer_encoding);
  head_.keeps_alive_ = false;
  return find_host();
}

/// Checks the target's form, and the Host field against it.
parse_status head_parser::find_host() noexcept {
  const std::string_view target(head_.text_ + head_.target_at_, head_.target_bytes_);
  std::string_view authority;
  if (head_.method_ == method::connect) {
    if (!is_authority(target, true)) return refuse(refusal::bad_target, head_.target_at_);
    authority = target;
  } else if (target[0] != '/') {
    const bool star = head_.method_ == method::options && target == "*";
    if (!star) {
      const std::size_t scheme = target.find("://");
      if (scheme == std::string_view::npos ||
          !(equal_in_any_case(target.substr(0, scheme), "http") ||
            equal_in_any_case(target.substr(0, scheme), "https")))
        return refuse(refusal::bad_target, head_.target_at_);
      authority = target.substr(scheme + 3);
      authority = authority.substr(0, authority.find_first_of("/?"));
      if (!is_authority(authority, false)) return refuse(refusal::bad_target, head_.target_at_);
    }
  }
  if (!head_.has(field::host)) {
    if (head_.minor_version_ == 0) return parse_status::done;
    return refuse(refusal::host_missing, head_.bytes_ - 2U);
  }
  const std::string_view host = head_.get(field::host);
  if (head_.repeats(field::host) || !is_authority(host, false) ||
      (!authority.empty() && !equal_in_any_case(host, authority)))
    return refuse_field(refusal::bad_host, field::host);
  return parse_status::done;
}

/// Returns whether there are tabs in the white space around the value of the first field `f`. Some
/// programs remove only spaces, and then read another value.
bool head_parser::has_tab_around(field f) const noexcept {
  unsigned i = 0;
  while (head_.entries_[i].id != f) ++i;
  const head::entry& e = head_.entries_[i];
  std::size_t at = std::size_t{e.name_at} + e.name_bytes + 1;
  while (at < e.value_at && head_.text_[at] != '\t') ++at;
  if (at < e.value_at) return true;
  for (at = std::size_t{e.value_at} + e.value_bytes; head_.text_[at] != '\r'; ++at)
    if (head_.text_[at] == '\t') return true;
  return false;
}

/// Determines how the end of the body is found (RFC 9112, section 6). Refuses a head with more than
/// one possible answer.
parse_status head_parser::find_framing() noexcept {
  const bool has_length = head_.has(field::content_length);
  if (has_length) {
    const std::string_view digits = head_.get(field::content_length);
    constexpr std::uint64_t bytes_max = ~std::uint64_t{0} >> 1;
    if (head_.repeats(field::content_length) || digits.empty() || digits.size() > 19 ||
        !all_in(digits, is_digit) || has_tab_around(field::content_length))
      return refuse_field(refusal::bad_content_length, field::content_length);
    std::uint64_t bytes = 0;  // 19 digits fit
    for (const char c : digits) bytes = bytes * 10 + static_cast<std::uint64_t>(c - '0');
    if (bytes > bytes_max) return refuse_field(refusal::bad_content_length, field::content_length);
    head_.content_length_ = bytes;
    head_.framing_ = body_framing::length;
  }
  if (!head_.has(field::transfer_encoding)) return parse_status::done;
  const std::string_view codings = head_.get(field::transfer_encoding);
  if (has_length || head_.minor_version_ == 0 || head_.repeats(field::transfer_encoding) ||
      has_tab_around(field::transfer_encoding))
    return refuse_field(refusal::bad_transfer_encoding, field::transfer_encoding);
  head_.framing_ = body_framing::chunked;
  if (is_name(codings, "chunked")) return parse_status::done;
  std::string_view rest = codings;
  bool ends_in_chunked = false;
  bool malformed = codings.empty();
  unsigned chunked = 0;
  while (!rest.empty()) {
    const bool more = rest.find(',') != std::string_view::npos;
    const std::string_view coding = take_element(rest);
    malformed = malformed || !is_token(coding) || (more && rest.empty());
    ends_in_chunked = equal_in_any_case(coding, "chunked");
    chunked += ends_in_chunked ? 1 : 0;
  }
  const bool unknown = !malformed && ends_in_chunked && chunked == 1;
  return refuse_field(unknown ? refusal::unknown_transfer_coding : refusal::bad_transfer_encoding,
                      field::transfer_encoding);
}

void head_parser::find_persistence() noexcept {
  head_.keeps_alive_ = head_.minor_version_ == 1;
  if (!head_.has(field::connection)) return;
  if (!head_.repeats(field::connection)) {  // nearly always there is only one of these two
    const std::string_view value = head_.get(field::connection);
    const bool closes = is_name(value, "close");
    if (closes || is_name(value, "keep-alive")) {
      head_.keeps_alive_ = !closes;
      return;
    }
  }
  if (head_.minor_version_ == 0) head_.keeps_alive_ = head_.lists(field::connection, "keep-alive");
  if (head_.lists(field::connection, "close")) head_.keeps_alive_ = false;
}

parse_status head_parser::finish_response(method asked) noexcept {
  if (const parse_status found = find_framing(); found != parse_status::done) return found;
  find_persistence();
  const bool tunnels = asked == method::connect && number_of(head_.status_) / 100 == 2;
  if (asked == method::head || is_bodiless(head_.status_) || tunnels) {
    head_.framing_ = body_framing::none;
    head_.content_length_ = 0;
  } else if (head_.framing_ == body_framing::none) {
    head_.framing_ = body_framing::until_close;
    head_.keeps_alive_ = false;
  }
  return parse_status::done;
}

}  // namespace beck::http::detail
