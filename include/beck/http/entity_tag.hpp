// SPDX-License-Identifier: BSL-1.0
//
// Entity tags (RFC 9110, section 8.8.3): texts that name a version of a representation, as in the
// fields ETag, If-Match and If-None-Match.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::http {

/// An entity tag in a text that must outlive it; empty if there is none. A weak tag names versions
/// that have the same meaning, but perhaps not the same bytes.
struct entity_tag {
  std::string_view text;  ///< with its quotes, without "W/"
  bool is_weak = false;   ///< whether "W/" precedes it
};

/// How entity tags are compared (RFC 9110, section 8.8.3.2).
enum class tag_comparison : std::uint8_t {
  strong,  ///< equal texts, and neither tag is weak: for ranges and for changes
  weak,    ///< equal texts: for caches
};

/// The result of match_tags().
enum class tag_match : std::uint8_t {
  none,       ///< the tag is not in the list
  found,      ///< the tag is in the list
  any,        ///< the list is "*"
  malformed,  ///< the list is neither "*" nor entity tags with commas between them, or is empty
};

namespace functions {

/// Reads one entity tag, "\"abc\"" or "W/\"abc\"", with nothing around it. Returns whether `text`
/// is one; `to` is set only then.
bool parse_entity_tag(std::string_view text, entity_tag& to) noexcept;

/// Returns whether both tags name the same version. An empty tag is equal to no tag, not even to an
/// empty one.
bool is_equal(const entity_tag& a, const entity_tag& b, tag_comparison how) noexcept;

/// Looks for `tag` in `list`, the value of an If-Match or If-None-Match field. Checks the whole
/// list, also after a match.
tag_match match_tags(std::string_view list, const entity_tag& tag, tag_comparison how) noexcept;

}  // namespace functions
using namespace functions;

/// The entity tag of a file, as the value of an ETag field: its size, the time of its last change
/// and its number, in hexadecimal digits that clients can read.
class file_tag {
 public:
  /// Writes the tag. `changed_ns`: nanoseconds since 1970 (st_mtim). `is_weak` must be true for a
  /// file that was changed within the last step of the system's coarse clock (some milliseconds):
  /// it may change again with the same time stamp, and a strong tag would then name two versions.
  file_tag(std::uint64_t size, std::int64_t changed_ns, std::uint64_t inode,
           bool is_weak = false) noexcept;

  /// Returns the text.
  std::string_view view() const noexcept { return {text_, bytes_}; }
  /// Converts to the text.
  operator std::string_view() const noexcept { return view(); }

 private:
  char text_[54];
  std::uint8_t bytes_ = 0;
};

}  // namespace beck::http
