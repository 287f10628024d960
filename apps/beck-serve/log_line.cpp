// SPDX-License-Identifier: BSL-1.0
//
// Bytes that are not printable ASCII, quotes and backslashes are written as \xHH, or in JSON as
// \u00HH.
#include "log_line.hpp"

#include <fmt/format.h>

#include <ctime>
#include <iterator>

namespace beck_serve {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

void append_escaped(std::string& to, std::string_view text, log_format format) {
  constexpr char digits[] = "0123456789abcdef";
  const std::string_view escape = format == log_format::json ? "\\u00" : "\\x";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
      to += c;
    } else {
      to.append(escape) += {digits[byte >> 4U], digits[byte & 15U]};
    }
  }
}

/// Appends a text in quotes; combined logs write "-" for an empty one.
void append_quoted(std::string& to, std::string_view text, log_format format) {
  to += '"';
  if (text.empty() && format == log_format::combined) to += '-';
  append_escaped(to, text, format);
  to += '"';
}

std::tm parts_of(std::int64_t time_ns) {
  const std::time_t seconds = time_ns / second_ns;
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  return parts;
}

void append_combined(std::string& to, const log_entry& e) {
  constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::tm at = parts_of(e.time_ns);
  append_escaped(to, e.client.empty() ? "-" : e.client, log_format::combined);
  fmt::format_to(std::back_inserter(to), " - - [{:02}/{}/{}:{:02}:{:02}:{:02} +0000] \"",
                 at.tm_mday, months[at.tm_mon], at.tm_year + 1900, at.tm_hour, at.tm_min,
                 at.tm_sec);
  if (e.method.empty()) {
    to += '-';
  } else {
    append_escaped(to, e.method, log_format::combined);
    to += ' ';
    append_escaped(to, e.target, log_format::combined);
    fmt::format_to(std::back_inserter(to), " HTTP/1.{}", e.minor_version);
  }
  fmt::format_to(std::back_inserter(to), "\" {} {} ", e.status, e.sent_bytes);
  append_quoted(to, e.referer, log_format::combined);
  to += ' ';
  append_quoted(to, e.user_agent, log_format::combined);
  to += '\n';
}

void append_member(std::string& to, std::string_view name, std::string_view text) {
  to.append(",\"").append(name).append("\":");
  append_quoted(to, text, log_format::json);
}

void append_json(std::string& to, const log_entry& e) {
  const std::tm at = parts_of(e.time_ns);
  fmt::format_to(std::back_inserter(to),
                 "{{\"time\":\"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z\"", at.tm_year + 1900,
                 at.tm_mon + 1, at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec,
                 e.time_ns % second_ns / 1'000'000);
  append_member(to, "client", e.client);
  append_member(to, "peer", e.peer);
  append_member(to, "method", e.method);
  append_member(to, "target", e.target);
  fmt::format_to(std::back_inserter(to),
                 ",\"status\":{},\"sent_bytes\":{},\"received_bytes\":{},\"seconds\":{:.6f}",
                 e.status, e.sent_bytes, e.received_bytes,
                 static_cast<double>(e.duration_ns) / 1e9);
  append_member(to, "referer", e.referer);
  append_member(to, "user_agent", e.user_agent);
  if (!e.refusal.empty()) append_member(to, "refusal", e.refusal);
  if (e.cut) to += ",\"cut\":true";
  if (!e.handshake.empty()) append_member(to, "handshake", e.handshake);
  to += "}\n";
}

}  // namespace

void append_line(std::string& to, log_format format, const log_entry& entry) {
  if (format == log_format::combined && !entry.handshake.empty()) return;  // has no place for it
  if (format == log_format::json) {
    append_json(to, entry);
  } else {
    append_combined(to, entry);
  }
}

}  // namespace beck_serve
