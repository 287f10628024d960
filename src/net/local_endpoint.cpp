// SPDX-License-Identifier: BSL-1.0
//
// A path inside a sockaddr_un, and its size, which distinguishes unnamed sockets, paths and
// abstract names.
#include <sys/socket.h>
#include <sys/un.h>

#include <beck/net/local_endpoint.hpp>
#include <cstring>
#include <string>

namespace beck::local {
using namespace detail;
namespace {

constexpr std::size_t family_bytes = offsetof(sockaddr_un, sun_path);
static_assert(socket_path::path_max == sizeof(sockaddr_un::sun_path) - 1);
static_assert(socket_path::capacity() == sizeof(sockaddr_un) + 1);
static_assert(alignof(socket_path) >= alignof(sockaddr_un));

}  // namespace

socket_path::socket_path() noexcept : size_(family_bytes) {
  const sa_family_t family = AF_UNIX;
  std::memcpy(bytes_, &family, sizeof family);
}

socket_path::socket_path(std::string_view path) : socket_path() { this->path(path); }

void socket_path::path(std::string_view path, error_code& ec) noexcept {
  if (path.size() > path_max) {
    ec = error::name_too_long;
    return;
  }
  const bool abstract = !path.empty() && path[0] == '\0';
  if (!abstract && !path.empty() && std::memchr(path.data(), 0, path.size()) != nullptr) {
    ec = error::invalid_argument;
    return;
  }
  ec.clear();
  *this = socket_path();
  if (path.empty()) return;
  std::memcpy(bytes_ + family_bytes, path.data(), path.size());
  // A path is counted with its NUL, an abstract name has none (unix(7), Address format).
  size_ = static_cast<unsigned char>(family_bytes + path.size() + (abstract ? 0 : 1));
}

void socket_path::path(std::string_view path) {
  error_code ec;
  this->path(path, ec);
  if (ec == error::name_too_long) {
    const std::string subject = std::to_string(path.size()) + " bytes, the limit is " +
                                std::to_string(path_max) + ": " + std::string(path);
    throw_error(ec, "local endpoint", subject);
  }
  if (ec) throw_error(ec, "local endpoint", path);
}

std::string_view socket_path::view() const noexcept {
  if (size_ <= family_bytes) return {};
  const char* const text = reinterpret_cast<const char*>(bytes_) + family_bytes;
  const std::size_t room = size_ - family_bytes;
  return {text, text[0] == '\0' ? room : ::strnlen(text, room)};
}

std::string socket_path::path() const { return std::string(view()); }

bool socket_path::is_abstract() const noexcept { return !view().empty() && view()[0] == '\0'; }

bool socket_path::is_unnamed() const noexcept { return view().empty(); }

path_text socket_path::to_text() const noexcept {
  if (!is_abstract()) return path_text(view());
  path_text text;
  for (const char c : view()) text.append(std::string_view(c == '\0' ? "@" : &c, 1));
  return text;
}

void socket_path::resize(std::size_t size) {
  if (size > capacity()) throw_error(error::invalid_argument, "local::basic_endpoint::resize");
  size_ = static_cast<unsigned char>(size);
}

}  // namespace beck::local
