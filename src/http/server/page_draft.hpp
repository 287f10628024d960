// SPDX-License-Identifier: BSL-1.0
// An error page while it is made: what it is about, and the response that it becomes.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include <beck/http/error_page.hpp>
#include <beck/http/refusal.hpp>
#include <beck/http/status.hpp>

#include "http/message/field_lines.hpp"

namespace beck::http::detail {

struct exchange_state;

/// What an error page is about.
struct page_cause {
  http::status status;
  std::string_view text;  ///< without a line end
  refusal why = refusal::none;
  std::exception_ptr thrown = nullptr;
};

/// Returns an exception as a failure; nullptr if it is another one, or none. Valid as long as the
/// exception.
const failure* as_failure(const std::exception_ptr& thrown) noexcept;
/// Returns what a page about an exception of a handler says: of a failure its status and its text,
/// of others 500.
page_cause cause_of(const std::exception_ptr& thrown) noexcept;

/// What the program may change of a response.
struct page_contents {
  http::status status;
  field_lines fields;
  std::string body;
};

/// The state behind an error_page.
struct page_draft {
  page_draft(exchange_state& of, const page_cause& about, page_contents& contents, bool is_late);

  const page_cause& cause;
  page_contents& page;
  http::request asked;
  bool has_request;
  bool has_begun;
};

}  // namespace beck::http::detail
