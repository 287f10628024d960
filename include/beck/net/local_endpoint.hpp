// SPDX-License-Identifier: BSL-1.0
//
// The endpoint of a Unix-domain socket: a path in the file system, or an abstract name.
#pragma once

#include <beck/base/error.hpp>
#include <beck/detail/fixed_text.hpp>
#include <compare>
#include <concepts>
#include <cstddef>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <string_view>

namespace beck::local {

/// A path or an abstract name, as text.
using path_text = detail::fixed_text<108>;

/// A sockaddr_un of no particular protocol (unix(7)). The base of basic_endpoint, so that its code
/// exists once. A value; any thread.
class socket_path {
 public:
  /// The longest path or abstract name, the leading NUL of an abstract name included.
  static constexpr std::size_t path_max = 107;

  /// Makes an unnamed endpoint: an empty path.
  socket_path() noexcept;
  /// Makes the endpoint of this path. Throws io_error, whose text shows the path; see
  /// path(std::string_view, error_code&).
  explicit socket_path(std::string_view path);

  /// Returns the path; for an abstract name a NUL and the name; empty if unnamed. A path that the
  /// kernel filled in may be one byte longer than path_max. Throws std::bad_alloc.
  std::string path() const;
  /// Sets the path; bind(2) and connect(2) interpret it later. A leading NUL makes it an abstract
  /// name, which may contain any bytes. Errors: error::name_too_long over path_max;
  /// error::invalid_argument if a path contains a NUL (the kernel would use the part before it).
  /// The endpoint is unchanged then.
  void path(std::string_view path, error_code& ec) noexcept;
  /// As above, and throws io_error on failure, whose text shows the path, its size and the limit.
  void path(std::string_view path);

  /// Returns whether this is an abstract name.
  bool is_abstract() const noexcept;
  /// Returns whether the path is empty.
  bool is_unnamed() const noexcept;

  /// Returns the text as ss(8) writes it: the path, with "@" for each NUL of an abstract name, ""
  /// if unnamed.
  path_text to_text() const noexcept;

  /// Returns the sockaddr, to be passed to the kernel or filled by it.
  void* data() noexcept { return bytes_; }
  /// As above.
  const void* data() const noexcept { return bytes_; }
  /// Returns the size of the sockaddr in bytes.
  std::size_t size() const noexcept { return size_; }
  /// Returns the most bytes that the kernel may write into data().
  static constexpr std::size_t capacity() noexcept { return sizeof bytes_; }
  /// Sets the size that the kernel has written. Throws io_error (error::invalid_argument) if it is
  /// more than capacity().
  void resize(std::size_t size);

  /// Compares the paths.
  friend bool operator==(const socket_path& a, const socket_path& b) noexcept {
    return (a <=> b) == 0;
  }
  /// Compares by path.
  friend std::strong_ordering operator<=>(const socket_path& a, const socket_path& b) noexcept {
    return a.view() <=> b.view();
  }

  /// Writes the text to a stream, such as a std::ostream.
  template <class Stream>
    requires requires(Stream& s, const path_text& t) { s << t; }
  friend Stream& operator<<(Stream& stream, const socket_path& e) {
    stream << e.to_text();
    return stream;
  }

 private:
  std::string_view view() const noexcept;

  // The family, 108 characters of path, and the NUL that the kernel adds to a path of 108 (unix(7),
  // BUGS).
  alignas(8) unsigned char bytes_[111] = {};
  unsigned char size_ = 0;
};

/// An endpoint of Protocol, which is stream_protocol or datagram_protocol.
template <class Protocol>
class basic_endpoint : public socket_path {
 public:
  /// The protocol.
  using protocol_type = Protocol;

  /// Makes an unnamed endpoint.
  basic_endpoint() noexcept = default;
  /// Makes the endpoint of this path. Implicit, as in Asio: a literal or a string is a path. An
  /// abstract name needs its size, as a literal ends at the first NUL:
  /// std::string_view("\\0name", 5). Throws as socket_path.
  template <std::convertible_to<std::string_view> Path>
  basic_endpoint(const Path& path) : socket_path(std::string_view(path)) {}
  /// Converts from an endpoint of no particular protocol.
  explicit basic_endpoint(const socket_path& e) noexcept : socket_path(e) {}

  /// Returns the protocol.
  Protocol protocol() const noexcept { return Protocol(); }
};

}  // namespace beck::local
