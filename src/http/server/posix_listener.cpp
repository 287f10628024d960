// SPDX-License-Identifier: BSL-1.0
// The files of UNIX sockets, and inherited sockets. Checks use the descriptor or, where only a path
// names the file, the file's identity: another process may replace the file at any time.
#include "http/server/listener.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/descriptor_number.hpp"

namespace beck::http::detail {
namespace {

using local_endpoint = local::stream_protocol::endpoint;

constexpr std::size_t inherited_max = 1024;
constexpr int lock_tries_max = 8;

std::string path_of(const local_endpoint& at) {
  const auto path = at.path();
  return std::string(path.data(), path.size());
}

bool has_file(const local_endpoint& at) noexcept { return !at.is_abstract() && !at.is_unnamed(); }

/// Returns the value of an option of level SOL_SOCKET; -1 if `fd` is not a socket.
int socket_option_of(int fd, int name) noexcept {
  int value = -1;
  socklen_t bytes = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, name, &value, &bytes) == 0 ? value : -1;
}

/// Takes the lock of the file `name`. Returns 0, or the error. The last owner may have removed the
/// file between open(2) and flock(2): then it is no longer the lock.
int take_lock(const char* name, unique_fd& fd) noexcept {
  for (int i = 0; i < lock_tries_max; ++i) {
    const int opened = ::open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (opened < 0) return errno;
    fd.reset(beck::detail::behind_standard(opened));
    struct stat mine, named;
    if (!fd || ::fstat(fd.get(), &mine) != 0) return errno;
    if (!S_ISREG(mine.st_mode) || mine.st_size != 0) return EEXIST;  // belongs to another program
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK ? EADDRINUSE : errno;
    if (::lstat(name, &named) == 0 && mine.st_dev == named.st_dev && mine.st_ino == named.st_ino)
      return 0;
  }
  return EADDRINUSE;
}

}  // namespace

path_lock::path_lock(const local_endpoint& at) noexcept {
  if (!has_file(at)) return;
  const auto path = at.path();
  std::memcpy(name_, path.data(), path.size());
  std::memcpy(name_ + path.size(), ".lock", 5);
  const int error = take_lock(name_, fd_);
  if (error == 0) return;
  fd_.reset();
  error_.assign(error, std::system_category());
}

path_lock::~path_lock() {
  if (fd_) ::unlink(name_);
}

socket_file::socket_file(int fd, const local_endpoint& at) : fd_(duplicate_socket(fd)), at_(at) {
  struct stat facts;
  if (!has_file(at) || ::lstat(path_of(at).c_str(), &facts) != 0) return;
  device_ = facts.st_dev;
  number_ = facts.st_ino;
}

socket_file::~socket_file() {
  if (number_ == 0) return;
  struct stat facts;  // the socket still listens: no other server replaces its file
  const std::string path = path_of(at_);
  if (::lstat(path.c_str(), &facts) != 0 || facts.st_dev != device_ || facts.st_ino != number_)
    return;
  ::unlink(path.c_str());
}

bool socket_file::remove_stale(const local_endpoint& at) noexcept {
  struct stat facts;
  const auto path = at.path();
  char name[local_endpoint::path_max + 1] = {};
  if (!has_file(at) || path.size() >= sizeof name) return false;
  for (std::size_t i = 0; i < path.size(); ++i) name[i] = path.data()[i];
  if (::lstat(name, &facts) != 0 || !S_ISSOCK(facts.st_mode)) return false;
  const unique_fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return false;
  const auto* const to = static_cast<const sockaddr*>(at.data());
  if (::connect(probe.get(), to, static_cast<socklen_t>(at.size())) == 0) return false;
  return errno == ECONNREFUSED && ::unlink(name) == 0;
}

unique_fd duplicate_socket(int fd) {
  unique_fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, beck::detail::first_own_number));
  if (!copy) throw io_error(error_code(errno, std::system_category()), "listen");
  return copy;
}

bool is_local_listener(int fd) {
  const int family = socket_option_of(fd, SO_DOMAIN);
  if (socket_option_of(fd, SO_ACCEPTCONN) != 1 || socket_option_of(fd, SO_TYPE) != SOCK_STREAM ||
      (family != AF_INET && family != AF_INET6 && family != AF_UNIX))
    throw std::invalid_argument("http: the descriptor " + std::to_string(fd) +
                                " is no listening stream socket of TCP or UNIX");
  return family == AF_UNIX;
}

bool refuse_new_connections(int fd) noexcept {
  // The filter gets a segment from its TCP header on; the flags are in byte 13. The kernel runs it
  // for segments that begin a connection, and for those that end its handshake.
  constexpr std::uint32_t flags_at = 13, syn = 2, all = UINT32_MAX;
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, flags_at),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, syn, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, all),
  };
  const sock_fprog program{sizeof steps / sizeof *steps, steps};
  return ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

void claim_inherited() {
  static std::atomic<bool> claimed(false);
  // Relaxed: only the value matters; the descriptors are as old as the process.
  if (claimed.exchange(true, std::memory_order_relaxed))
    throw std::logic_error("http: the inherited sockets were taken before; they have one server");
}

unique_fd take_inherited(int fd) noexcept {
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return unique_fd(fd);
}

std::size_t count_inherited() {
  const char* const owner = std::getenv("LISTEN_PID");
  const char* const text = std::getenv("LISTEN_FDS");
  if (owner == nullptr || text == nullptr || std::to_string(::getpid()) != owner) return 0;
  const std::string_view digits(text);
  std::size_t count = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || count > inherited_max)
    throw std::invalid_argument("http: LISTEN_FDS is not a number from 0 to 1024: \"" +
                                std::string(digits) + '"');
  return count;
}

std::size_t descriptors_max() noexcept {
  rlimit limit{};
  const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return known ? static_cast<std::size_t>(limit.rlim_cur) : SIZE_MAX;
}

}  // namespace beck::http::detail
