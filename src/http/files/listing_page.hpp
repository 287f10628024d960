// SPDX-License-Identifier: BSL-1.0
// The page that lists a folder, as HTML. Without I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace beck::http::detail {

/// Returns `text` as text of HTML: escapes characters with a meaning in HTML; replaces invalid
/// UTF-8 and control characters with U+FFFD.
std::string html_text(std::string_view text);
/// Returns a name as a segment of a URL that browsers cannot take for a scheme or another part.
std::string url_segment(std::string_view name);
/// Returns a size in a readable form: "812 B", "1.4 KiB".
std::string size_text(std::uint64_t bytes);
/// Returns a date in a readable form, in UTC: "2026-03-05 14:02".
std::string minute_text(std::int64_t seconds);

/// Collects the entries of a folder and writes them. Thread: one at a time.
class listing_page {
 public:
  /// Returns whether the page may list an entry: it is not hidden, and a path can name it.
  static bool can_list(std::string_view name) noexcept;

  /// Adds a file or a folder.
  void add(std::string_view name, bool is_folder, std::uint64_t bytes, std::int64_t seconds);
  /// Sorts: folders first, then by name, without regard to the case of ASCII letters.
  void sort();
  std::size_t size() const noexcept { return entries_.size(); }

  /// Returns the beginning of the page, up to the entries. `path`: decoded; begins and ends with
  /// "/".
  std::string begin(std::string_view path) const;
  /// Returns the line of an entry. Requires i < size().
  std::string line(std::size_t i) const;
  /// Returns the end of the page, after the entries. `is_cut`: there are more than were added.
  std::string end(bool is_cut) const;

 private:
  struct entry {
    std::size_t name_at;
    std::size_t name_bytes;
    std::uint64_t bytes;
    std::int64_t seconds;
    bool is_folder;
  };

  std::string_view name_of(const entry& e) const noexcept {
    return std::string_view(names_).substr(e.name_at, e.name_bytes);
  }

  std::string names_;
  std::vector<entry> entries_;
};

}  // namespace beck::http::detail
