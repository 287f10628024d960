// SPDX-License-Identifier: BSL-1.0
// Error pages that say what they know, for cases about them.
#pragma once

#include <beck/http/error_page.hpp>

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "http/served.hpp"

namespace beck::http::test {

inline std::string ask_for(std::string_view method, std::string_view path,
                           std::string_view more = {}) {
  return std::string(method) + ' ' + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" +
         std::string(more) + "\r\n";
}

inline std::string what_of(const std::exception_ptr& thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "unknown";
  }
  return "-";
}

inline std::string value_of(const std::string& head, std::string_view name) {
  const std::size_t at = head.find(std::string(name) + ": ");
  if (at == head.npos) return "-";
  const std::size_t begin = at + name.size() + 2;
  return head.substr(begin, head.find('\r', begin) - begin);
}

/// Says all that a page knows.
inline void say_all(http::error_page& page) {
  const http::request* const q = page.request();
  page.set("X-Page", "yes");
  page.body("text/test", std::to_string(beck::http::number_of(page.status())) + '|' +
                             std::string(beck::http::name_of(page.why())) + '|' +
                             what_of(page.thrown()) + '|' + std::string(page.text()) + '|' +
                             (q != nullptr ? std::string(q->target()) : std::string("?")));
}

}  // namespace beck::http::test
