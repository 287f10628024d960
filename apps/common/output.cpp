// SPDX-License-Identifier: BSL-1.0
//
// By write(2): a stream of the C library keeps an error for later, and {fmt} throws it.
#include "common/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "common/errno_text.hpp"
#include "common/failure.hpp"

namespace beck_apps {
namespace {

/// Returns 0, or the errno of a text that could not be written.
int write_text(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd one = {fd, POLLOUT, 0};
      ::poll(&one, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

/// Writes a message, and ignores errors. Keeps errno.
void write_line(int fd, std::string_view message) {
  const int before = errno;
  static_cast<void>(write_text(fd, printable(message) + "\n"));
  errno = before;
}

/// Returns the second byte of U+0080 to U+009F, which are control characters too, or 0.
unsigned second_of_c1(std::string_view text) {
  if (text.size() < 2 || text[0] != '\xc2') return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  return second >= 0x80 && second <= 0x9f ? second : 0;
}

}  // namespace

void fill_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is `fd`. The wrong direction makes every use fail.
    const int direction = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", direction) < 0) static_cast<void>(::open("/", O_PATH));
  }
}

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const unsigned c1 = second_of_c1(text.substr(i));
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", unsigned{c});
    } else if (c1 != 0) {
      out += fmt::format("\\u{:04x}", c1);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

void say(std::string_view message) { write_line(STDERR_FILENO, message); }

void announce(std::string_view message) { write_line(STDOUT_FILENO, message); }

void write_result(int fd, std::string_view text, const char* name) {
  const int error = write_text(fd, text);
  if (error != 0) throw failure(errno_text(name, error));
}

}  // namespace beck_apps
