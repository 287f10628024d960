// SPDX-License-Identifier: BSL-1.0
// Error pages: the library's text, and the program's function that may replace it. Also failures,
// the exceptions that are such pages.
#include <beck/http/error_page.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "http/message/characters.hpp"
#include "http/server/exchange_state.hpp"
#include "http/server/page_draft.hpp"
#include "http/server/response_fields.hpp"

namespace beck::http {
namespace detail {
namespace {

constexpr std::string_view plain_text = "text/plain; charset=utf-8";

/// Returns the status with a number, which has to be that of an error.
http::status error_status(unsigned number) {
  if (number >= 400 && number <= 599) return static_cast<http::status>(number);
  throw std::invalid_argument("http: an error has a status from 400 to 599, not " +
                              std::to_string(number));
}

/// Returns `text`, or the reason of a status instead of an empty text.
std::string text_or_reason(http::status s, std::string_view text) {
  if (text.empty()) text = reason_of(s);
  return text.empty() ? "status " + std::to_string(number_of(s)) : std::string(text);
}

/// Returns the page with the library's text, in a response that has these fields.
page_contents library_page(const page_cause& cause, const field_lines& fields) {
  page_contents made{cause.status, fields, std::string(cause.text) + '\n'};
  set_field(made.fields, field::content_type, plain_text);
  return made;
}

/// Adds a text in quotes to a JSON document.
void append_json(std::string& to, std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  to += '"';
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (bytes == 0) {
      to += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\') {
      (to += '\\') += text[0];
    } else if (c < 0x20) {
      ((to += "\\u00") += digits[c >> 4U]) += digits[c & 15U];
    } else {
      to += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  to += '"';
}

}  // namespace

const failure* as_failure(const std::exception_ptr& thrown) noexcept {
  if (thrown == nullptr) return nullptr;
  try {
    std::rethrow_exception(thrown);
  } catch (const failure& of_program) {
    return &of_program;  // the object that `thrown` owns: rethrowing does not copy it
  } catch (...) {
    return nullptr;
  }
}

page_cause cause_of(const std::exception_ptr& thrown) noexcept {
  if (const failure* const known = as_failure(thrown))
    return {known->status(), known->what(), refusal::none, thrown};
  return {status::internal_server_error, "the handler failed", refusal::none, thrown};
}

page_draft::page_draft(exchange_state& of, const page_cause& about, page_contents& contents,
                       bool is_late)
    : cause(about),
      page(contents),
      asked(of.make_request()),
      has_request(of.head.bytes() != 0),
      has_begun(is_late) {}

std::string exchange_state::put_page(const page_cause& cause) {
  page_contents page = library_page(cause, response.fields);
  try {
    page_contents changed = page;
    page_draft draft(*this, cause, changed, false);
    error_page shown(draft);
    port->change_page(shown);
    std::swap(page, changed);
  } catch (...) {
    log(std::current_exception());
  }
  response.status = page.status;
  response.fields = std::move(page.fields);
  response.touched = true;
  return std::move(page.body);
}

void exchange_state::fail(const page_cause& cause) {
  response.require_no_head();
  response.framing = body_framing::until_close;
  const std::string body = put_page(cause);
  port->send(body);
}

void exchange_state::show_late(const std::exception_ptr& thrown) noexcept {
  try {
    const page_cause cause = cause_of(thrown);
    page_contents unused = library_page(cause, field_lines());
    page_draft draft(*this, cause, unused, true);
    error_page shown(draft);
    port->change_page(shown);
  } catch (...) {
    log(std::current_exception());
  }
}

}  // namespace detail

using namespace detail;

failure::failure(unsigned status, std::string_view text)
    : runtime_error(text_or_reason(error_status(status), text)), status_(error_status(status)) {}

failure::~failure() = default;

void response::fail(unsigned status, std::string_view text) {
  const http::status s = error_status(status);
  const std::string said = text_or_reason(s, text);
  to_->fail({s, said});
}

http::status error_page::status() const noexcept { return draft_.page.status; }

error_page& error_page::status(unsigned number) {
  draft_.page.status = error_status(number);
  return *this;
}

refusal error_page::why() const noexcept { return draft_.cause.why; }

const std::exception_ptr& error_page::thrown() const noexcept { return draft_.cause.thrown; }

std::string_view error_page::text() const noexcept { return draft_.cause.text; }

const http::request* error_page::request() const noexcept {
  return draft_.has_request ? &draft_.asked : nullptr;
}

std::string_view error_page::request_id() const noexcept {
  return draft_.has_request ? draft_.asked.id() : std::string_view();
}

bool error_page::has_begun() const noexcept { return draft_.has_begun; }

error_page& error_page::set(field f, std::string_view value) {
  set_field(draft_.page.fields, f, value);
  return *this;
}

error_page& error_page::set(std::string_view name, std::string_view value) {
  set_field(draft_.page.fields, to_field(name), name, value);
  return *this;
}

void error_page::body(std::string_view media_type, std::string_view text) {
  set_field(draft_.page.fields, field::content_type, media_type);
  draft_.page.body = text;
}

void functions::problem_page(error_page& page) {
  std::string text("{\"title\":");
  append_json(text, text_or_reason(page.status(), {}));
  text += ",\"status\":" + std::to_string(number_of(page.status())) + ",\"detail\":";
  append_json(text, page.text());
  if (const std::string_view id = page.request_id(); !id.empty())
    append_json(text += ",\"request_id\":", id);
  page.body("application/problem+json", text += "}\n");
}

}  // namespace beck::http
