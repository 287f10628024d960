// SPDX-License-Identifier: BSL-1.0
// File names come from strangers: they are escaped as text, and again as parts of URLs. The page
// has no script and loads nothing.
#include "http/files/listing_page.hpp"

#include <algorithm>
#include <cstdio>

#include <beck/base/assert.hpp>
#include <beck/http/date.hpp>

#include "http/message/characters.hpp"

namespace beck::http::detail {
namespace {

constexpr std::string_view style =
    ":root{color-scheme:light dark;--line:#8883;--dim:#6b7280;--link:#0b57d0;--folder:#e0a72e}"
    "@media(prefers-color-scheme:dark){:root{--dim:#9ca3af;--link:#8ab4f8}}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1.5rem 1rem "
    "3rem}"
    "h1{font-size:1.25rem;font-weight:600;margin:0 0 1rem;overflow-wrap:anywhere}"
    "a{color:var(--link);text-decoration:none}a:hover,a:focus{text-decoration:underline}"
    "table{width:100%;border-collapse:collapse}"
    "th{text-align:left;font-weight:500;color:var(--dim);font-size:.875rem}"
    "th,td{padding:.4rem .5rem;border-bottom:1px solid var(--line);vertical-align:top}"
    "th:first-child{width:100%}td:first-child{overflow-wrap:anywhere;padding-left:1.9rem}"
    "td+td,th+th{white-space:nowrap;text-align:right;color:var(--dim);"
    "font-variant-numeric:tabular-nums}"
    "tr:hover td{background:#8881}"
    "td:first-child::before{content:\"\";display:inline-block;box-sizing:border-box;width:.7rem;"
    "height:.9rem;margin:0 .55rem 0 -1.25rem;border:1.5px solid var(--dim);border-radius:2px;"
    "vertical-align:-.1rem}"
    "td.d:first-child::before{width:1rem;height:.75rem;"
    "margin:0 .4rem 0 -1.4rem;border:0;"
    "border-top:.18rem solid var(--folder);border-radius:2px;background:var(--folder);"
    "opacity:.9;vertical-align:-.05rem}"
    "p{color:var(--dim)}"
    "@media(max-width:36rem){th:last-child,td:last-child{display:none}th,td{padding:.6rem .5rem}}";

std::string_view escape_of(char c) noexcept {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

/// Returns the path with a link to each folder above: "/ a / b /".
std::string linked_path(std::string_view path) {
  const auto folders = static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')) - 1;
  std::string made;
  for (std::size_t up = folders; !path.empty(); --up) {
    const std::size_t end = path.find('/');
    const std::string name = end == 0 ? "/" : html_text(path.substr(0, end)) + '/';
    path.remove_prefix(end + 1);
    if (up == 0) return made + name;
    made += "<a href=\"";
    for (std::size_t i = 0; i < up; ++i) made += "../";
    made.append("\">").append(name).append("</a>&#8203;");
  }
  return made;
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string made;
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    if (bytes == 0 || is_control(text[0])) {
      made += "\xEF\xBF\xBD";
    } else if (const std::string_view escape = escape_of(text[0]); !escape.empty()) {
      made += escape;
    } else {
      made += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return made;
}

std::string url_segment(std::string_view name) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string made;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_unreserved(c)) {
      made += c;
    } else {
      made += {'%', digits[byte >> 4U], digits[byte & 15U]};
    }
  }
  return made;
}

std::string size_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  auto value = static_cast<double>(bytes);
  unsigned unit = 0;
  for (; value >= 1023.95; ++unit) value /= 1024;
  char text[32];
  const int length = std::snprintf(text, sizeof text, "%.1f %s", value, units[unit]);
  return {text, static_cast<std::size_t>(length)};
}

std::string minute_text(std::int64_t seconds) {
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const date_text date(seconds);  // Sun, 06 Nov 1994 08:49:37 GMT
  const std::string_view text = date;
  const std::size_t month = months.find(text.substr(8, 3)) / 3 + 1;
  std::string made(text.substr(12, 4));
  made += month < 10 ? "-0" : "-";
  made += std::to_string(month);
  return made.append("-").append(text.substr(5, 2)).append(" ").append(text.substr(17, 5));
}

bool listing_page::can_list(std::string_view name) noexcept {
  return !name.empty() && name[0] != '.' &&
         std::none_of(name.begin(), name.end(), [](char c) { return is_control(c) || c == '\\'; });
}

void listing_page::add(std::string_view name, bool is_folder, std::uint64_t bytes,
                       std::int64_t seconds) {
  entries_.push_back({names_.size(), name.size(), bytes, seconds, is_folder});
  names_ += name;
}

void listing_page::sort() {
  std::sort(entries_.begin(), entries_.end(), [this](const entry& a, const entry& b) {
    if (a.is_folder != b.is_folder) return a.is_folder;
    const std::string_view left = name_of(a), right = name_of(b);
    const auto differ = std::mismatch(left.begin(), left.end(), right.begin(), right.end(),
                                      [](char x, char y) { return lower(x) == lower(y); });
    if (differ.first == left.end() && differ.second == right.end()) return left < right;
    if (differ.first == left.end() || differ.second == right.end())
      return left.size() < right.size();
    return static_cast<unsigned char>(lower(*differ.first)) <
           static_cast<unsigned char>(lower(*differ.second));
  });
}

std::string listing_page::begin(std::string_view path) const {
  std::string made("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
  made += "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n";
  made.append("<title>Files in ").append(html_text(path)).append("</title>\n<style>").append(style);
  made.append("</style>\n</head>\n<body>\n<h1>Files in ")
      .append(linked_path(path))
      .append("</h1>\n");
  made += "<table>\n<tr><th>Name</th><th>Size</th><th>Changed (UTC)</th></tr>\n";
  if (path != "/")
    made += "<tr><td class=\"d\"><a href=\"../\">..</a></td><td></td><td></td></tr>\n";
  return made;
}

std::string listing_page::line(std::size_t i) const {
  BECK_ASSERT(i < entries_.size(), "a line of an entry that is not there");
  const entry& e = entries_[i];
  const std::string_view slash = e.is_folder ? "/" : "";
  std::string made(e.is_folder ? "<tr><td class=\"d\"><a href=\"" : "<tr><td><a href=\"");
  made.append(url_segment(name_of(e))).append(slash).append("\">");
  made.append(html_text(name_of(e))).append(slash).append("</a></td><td>");
  if (!e.is_folder) made += size_text(e.bytes);
  return made.append("</td><td>").append(minute_text(e.seconds)).append("</td></tr>\n");
}

std::string listing_page::end(bool is_cut) const {
  std::string made("</table>\n");
  if (entries_.empty()) made += "<p>This folder is empty.</p>\n";
  if (is_cut) {
    made.append("<p>There are more entries than the ").append(std::to_string(entries_.size()));
    made += " that are shown.</p>\n";
  }
  return made += "</body>\n</html>\n";
}

}  // namespace beck::http::detail
