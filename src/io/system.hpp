// SPDX-License-Identifier: BSL-1.0
// What the library asks of an operating system without waiting: sockets, names, options, bytes,
// clocks. Two implementations: posix_system (the real drivers) and the simulator's. No other file
// makes these calls, so every program runs on the simulator unchanged.
#pragma once

#include <cstddef>
#include <cstdint>

namespace beck {

class name_sink;
class signal_sink;
struct name_question;
struct name_texts;
struct io_vector;  // io/vector_operation.hpp: laid out as struct iovec

/// Readiness as poll(2) names it, without its header.
enum poll_events : unsigned {
  poll_in = 0x001,
  poll_priority = 0x002,
  poll_out = 0x004,
  poll_error = 0x008,
  poll_hang_up = 0x010,
  poll_read_hang_up = 0x2000,
};

/// Synchronous and non-blocking; every call gives its value or -errno, and retries EINTR itself
/// (never for close). Interfaces hold no data. Thread: any, on distinct descriptors.
class system {
 public:
  virtual ~system() = default;

  /// Nanoseconds of the steady clock.
  virtual std::int64_t now() noexcept = 0;
  /// The date: nanoseconds since 1970-01-01 00:00 UTC. It may be set, forward and back.
  virtual std::int64_t wall_now() noexcept = 0;

  virtual int open_socket(int family, int type, int protocol) noexcept = 0;
  virtual int open_pair(int family, int type, int protocol, int (&pair)[2]) noexcept = 0;
  virtual int close(int fd) noexcept = 0;
  /// Prepares a descriptor that was made elsewhere: non-blocking, close-on-exec.
  virtual int adopt(int fd) noexcept = 0;

  virtual int bind(int fd, const void* address, std::size_t bytes) noexcept = 0;
  virtual int listen(int fd, int backlog) noexcept = 0;
  virtual int shutdown(int fd, int how) noexcept = 0;
  virtual int local_name(int fd, void* address, std::size_t& bytes) noexcept = 0;
  virtual int remote_name(int fd, void* address, std::size_t& bytes) noexcept = 0;
  virtual int set_option(int fd, int level, int name, const void* value,
                         std::size_t bytes) noexcept = 0;
  virtual int get_option(int fd, int level, int name, void* value, std::size_t& bytes) noexcept = 0;
  /// Bytes that can be read without waiting.
  virtual int available(int fd) noexcept = 0;

  virtual std::ptrdiff_t receive(int fd, void* data, std::size_t bytes) noexcept = 0;
  virtual std::ptrdiff_t receive_vector(int fd, io_vector* parts, std::size_t count) noexcept = 0;
  virtual std::ptrdiff_t send(int fd, const void* data, std::size_t bytes) noexcept = 0;
  virtual std::ptrdiff_t send_vector(int fd, const io_vector* parts,
                                     std::size_t count) noexcept = 0;
  /// The new descriptor, non-blocking and close-on-exec.
  virtual int accept(int fd) noexcept = 0;
  /// 0, -EINPROGRESS, or an error.
  virtual int connect(int fd, const void* address, std::size_t bytes) noexcept = 0;
  /// The pending error of a socket (SO_ERROR): 0 or -errno.
  virtual int pending_error(int fd) noexcept = 0;

  /// From now on every signal `number` (1 to 64) goes to `sink` too, whichever thread it arrives
  /// in.
  virtual int watch_signal(int number, signal_sink& sink) noexcept = 0;
  /// Ends it; when this returns the sink gets no further one. Requires that it is watched.
  virtual void unwatch_signal(int number, signal_sink& sink) noexcept = 0;

  // Names: these two wait for servers, so they are called in jobs and synchronous functions only.
  // 0, -errno, or the number of an EAI_ error, positive.
  /// getaddrinfo(3).
  virtual int look_up(const name_question& question, name_sink& sink) noexcept = 0;
  /// getnameinfo(3).
  virtual int name_of(const void* address, std::size_t bytes, bool datagrams,
                      name_texts& names) noexcept = 0;

  /// Which of `events` (and error, hang-up) hold now; waits until `deadline` on the steady clock
  /// for one (INT64_MIN: not at all). The simulator asserts where it would have to wait.
  virtual int poll(int fd, unsigned events, std::int64_t deadline) noexcept = 0;
};

}  // namespace beck
