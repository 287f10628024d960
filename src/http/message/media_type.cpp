// SPDX-License-Identifier: BSL-1.0
// The table of media types by extension, in alphabetical order for a binary search.
#include <beck/http/media_type.hpp>

#include <algorithm>
#include <iterator>

#include "http/message/characters.hpp"

namespace beck::http {
namespace {

struct media_row {
  std::string_view extension;
  std::string_view type;
};

constexpr media_row media_rows[] = {
    {"7z", "application/x-7z-compressed"},
    {"aac", "audio/aac"},
    {"apng", "image/apng"},
    {"avif", "image/avif"},
    {"bmp", "image/bmp"},
    {"bz2", "application/x-bzip2"},
    {"css", "text/css; charset=utf-8"},
    {"csv", "text/csv; charset=utf-8"},
    {"epub", "application/epub+zip"},
    {"flac", "audio/flac"},
    {"gif", "image/gif"},
    {"gz", "application/gzip"},
    {"htm", "text/html; charset=utf-8"},
    {"html", "text/html; charset=utf-8"},
    {"ico", "image/vnd.microsoft.icon"},
    {"ics", "text/calendar; charset=utf-8"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript; charset=utf-8"},
    {"json", "application/json"},
    {"jsonld", "application/ld+json"},
    {"log", "text/plain; charset=utf-8"},
    {"m3u8", "application/vnd.apple.mpegurl"},
    {"m4a", "audio/mp4"},
    {"map", "application/json"},
    {"md", "text/markdown; charset=utf-8"},
    {"mjs", "text/javascript; charset=utf-8"},
    {"mov", "video/quicktime"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"mpeg", "video/mpeg"},
    {"oga", "audio/ogg"},
    {"ogg", "audio/ogg"},
    {"ogv", "video/ogg"},
    {"opus", "audio/ogg"},
    {"otf", "font/otf"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"rtf", "application/rtf"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"ts", "video/mp2t"},
    {"ttf", "font/ttf"},
    {"txt", "text/plain; charset=utf-8"},
    {"vtt", "text/vtt; charset=utf-8"},
    {"wasm", "application/wasm"},
    {"wav", "audio/wav"},
    {"webm", "video/webm"},
    {"webmanifest", "application/manifest+json"},
    {"webp", "image/webp"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"xhtml", "application/xhtml+xml"},
    {"xml", "application/xml"},
    {"xz", "application/x-xz"},
    {"zip", "application/zip"},
    {"zst", "application/zstd"},
};

constexpr std::size_t extension_bytes_max = 11;

constexpr bool media_rows_are_sorted() {
  for (std::size_t i = 0; i < std::size(media_rows); ++i) {
    if (media_rows[i].extension.size() > extension_bytes_max) return false;
    if (i > 0 && media_rows[i - 1].extension >= media_rows[i].extension) return false;
  }
  return true;
}
static_assert(media_rows_are_sorted());

}  // namespace

std::string_view functions::media_type_of(std::string_view file_name) noexcept {
  constexpr std::string_view unknown = "application/octet-stream";
  const std::string_view name = file_name.substr(file_name.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || name.size() - dot - 1 > extension_bytes_max)
    return unknown;
  char lower_case[extension_bytes_max];
  std::size_t bytes = 0;
  for (const char c : name.substr(dot + 1)) lower_case[bytes++] = detail::lower(c);
  const std::string_view extension(lower_case, bytes);
  const media_row* const row = std::lower_bound(
      std::begin(media_rows), std::end(media_rows), extension,
      [](const media_row& each, std::string_view wanted) { return each.extension < wanted; });
  return row != std::end(media_rows) && row->extension == extension ? row->type : unknown;
}

}  // namespace beck::http
