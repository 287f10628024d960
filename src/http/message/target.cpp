// SPDX-License-Identifier: BSL-1.0
// Paths and queries are decoded once, byte by byte, into the caller's memory.
#include <beck/http/target.hpp>

#include <cstdint>
#include <cstring>
#include <iterator>

#include "base/byte_block.hpp"
#include "http/message/characters.hpp"

namespace beck::http {
namespace {

constexpr std::string_view path_error_texts[] = {
    "",
    "the path is too long",
    "the path does not begin with a slash",
    "a percent sign in the path is not followed by two hexadecimal digits",
    "a control character in the path",
    "an escaped slash in the path",
    "a backslash in the path",
    "a segment of the path is . or ..",
    "a segment of the path is empty",
};
static_assert(std::size(path_error_texts) == static_cast<unsigned>(path_error::empty_segment) + 1);

bool is_dots(std::string_view segment) noexcept { return segment == "." || segment == ".."; }

path_error check_byte(char c, bool was_escaped) noexcept {
  if (detail::is_control(c)) return path_error::control_character;
  if (c == '\\') return path_error::backslash;
  return was_escaped && c == '/' ? path_error::escaped_slash : path_error::none;
}

/// Returns whether a path needs no decoding and contains nothing that could be refused. Requires
/// that a block after `path` is readable, and that it ends the path.
bool is_plain(std::string_view path) noexcept {
  std::uint32_t begins = 0;  // the bytes of a block that follow a slash
  for (std::size_t i = 0; i < path.size(); i += beck::detail::byte_block::bytes) {
    const beck::detail::byte_block block(path.data() + i);
    const std::uint32_t slashes = block.equal('/');
    begins |= slashes << 1;
    const std::uint32_t refused = begins & (slashes | block.equal('.'));
    if ((refused | block.equal('%') | block.equal('\\') | block.controls()) != 0) return false;
    begins = slashes >> (beck::detail::byte_block::bytes - 1);
  }
  return true;
}

/// Decodes the byte of a parameter at `at`, and moves `at` to the next one. Returns false if it is
/// malformed.
bool take_byte(std::string_view raw, std::size_t& at, char& c) noexcept {
  c = raw[at] == '+' ? ' ' : raw[at];
  if (raw[at] == '%') {
    if (!detail::is_escape(raw, at)) return false;
    c = detail::escaped_byte(raw, at);
    at += 2;
  }
  ++at;
  return true;
}

bool is_decoded_to(std::string_view raw, std::string_view text) noexcept {
  std::size_t at = 0;
  for (const char wanted : text) {
    char c = 0;
    if (at == raw.size() || !take_byte(raw, at, c) || c != wanted) return false;
  }
  return at == raw.size();
}

}  // namespace

std::string_view functions::text_of(path_error e) noexcept {
  return path_error_texts[static_cast<unsigned>(e)];
}

target_parts functions::split_target(std::string_view target) noexcept {
  if (target.substr(0, 1) != "/") {
    const std::size_t scheme = target.find("://");
    if (scheme == std::string_view::npos) return {};
    const std::size_t host_end = target.find_first_of("/?", scheme + 3);
    target.remove_prefix(host_end == std::string_view::npos ? target.size() : host_end);
  }
  const std::size_t mark = target.find('?');
  const std::string_view path = target.substr(0, mark);
  const bool has_query = mark != std::string_view::npos;
  return {path.empty() ? "/" : path, has_query ? target.substr(mark + 1) : std::string_view(),
          has_query};
}

decoded_path functions::decode_path(std::string_view raw, mutable_buffer room) noexcept {
  if (raw.substr(0, 1) != "/") return {path_error::not_absolute, {}};
  char* const out = static_cast<char*>(room.data());
  static_assert(path_room == beck::detail::byte_block::bytes);
  if (raw.size() + path_room <= room.size()) {
    std::memcpy(out, raw.data(), raw.size());
    std::memset(out + raw.size(), 'a', path_room);
    if (is_plain({out, raw.size()})) return {path_error::none, {out, raw.size()}};
  }
  std::size_t bytes = 0;
  std::size_t segment = 1;  // the beginning of the present segment in `out`
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const bool is_escaped = raw[i] == '%';
    if (is_escaped && !detail::is_escape(raw, i)) return {path_error::bad_escape, {}};
    const char c = is_escaped ? detail::escaped_byte(raw, i) : raw[i];
    if (is_escaped) i += 2;
    if (const path_error e = check_byte(c, is_escaped); e != path_error::none) return {e, {}};
    if (bytes == room.size()) return {path_error::no_room, {}};
    out[bytes++] = c;
    if (c != '/' || bytes == 1) continue;
    const std::string_view ended(out + segment, bytes - 1 - segment);
    if (ended.empty()) return {path_error::empty_segment, {}};
    if (is_dots(ended)) return {path_error::dot_segment, {}};
    segment = bytes;
  }
  if (is_dots({out + segment, bytes - segment})) return {path_error::dot_segment, {}};
  return {path_error::none, {out, bytes}};
}

query_parameter query_parameters::iterator::operator*() const noexcept {
  const std::size_t equals = at_.find('=');
  if (equals == std::string_view::npos) return {at_, {}};
  return {at_.substr(0, equals), at_.substr(equals + 1)};
}

query_parameters::iterator& query_parameters::iterator::operator++() noexcept {
  at_ = {};
  while (at_.empty() && !rest_.empty()) {
    const std::size_t end = rest_.find('&');
    at_ = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  }
  if (at_.empty()) at_ = {};
  return *this;
}

bool query_parameters::has(std::string_view name) const noexcept {
  for (const query_parameter p : *this)
    if (is_decoded_to(p.name, name)) return true;
  return false;
}

std::string_view query_parameters::get(std::string_view name) const noexcept {
  for (const query_parameter p : *this)
    if (is_decoded_to(p.name, name)) return p.value;
  return {};
}

bool functions::decode_parameter(std::string_view raw, mutable_buffer room,
                                 std::string_view& to) noexcept {
  char* const out = static_cast<char*>(room.data());
  std::size_t bytes = 0;
  for (std::size_t at = 0; at < raw.size();) {
    char c = 0;
    if (!take_byte(raw, at, c) || bytes == room.size()) return false;
    out[bytes++] = c;
  }
  to = {out, bytes};
  return true;
}

}  // namespace beck::http
