// SPDX-License-Identifier: BSL-1.0
// The system interface over Linux, for the drivers that use a real kernel.
#pragma once

#include "io/system.hpp"

namespace beck {

class posix_system : public system {
 public:
  std::int64_t now() noexcept override;
  std::int64_t wall_now() noexcept override;

  int open_socket(int family, int type, int protocol) noexcept override;
  int open_pair(int family, int type, int protocol, int (&pair)[2]) noexcept override;
  int close(int fd) noexcept override;
  int adopt(int fd) noexcept override;

  int bind(int fd, const void* address, std::size_t bytes) noexcept override;
  int listen(int fd, int backlog) noexcept override;
  int shutdown(int fd, int how) noexcept override;
  int local_name(int fd, void* address, std::size_t& bytes) noexcept override;
  int remote_name(int fd, void* address, std::size_t& bytes) noexcept override;
  int set_option(int fd, int level, int name, const void* value,
                 std::size_t bytes) noexcept override;
  int get_option(int fd, int level, int name, void* value, std::size_t& bytes) noexcept override;
  int available(int fd) noexcept override;

  std::ptrdiff_t receive(int fd, void* data, std::size_t bytes) noexcept override;
  std::ptrdiff_t receive_vector(int fd, io_vector* parts, std::size_t count) noexcept override;
  std::ptrdiff_t send(int fd, const void* data, std::size_t bytes) noexcept override;
  std::ptrdiff_t send_vector(int fd, const io_vector* parts, std::size_t count) noexcept override;
  int accept(int fd) noexcept override;
  int connect(int fd, const void* address, std::size_t bytes) noexcept override;
  int pending_error(int fd) noexcept override;
  int watch_signal(int number, signal_sink& sink) noexcept override;
  void unwatch_signal(int number, signal_sink& sink) noexcept override;
  int look_up(const name_question& question, name_sink& sink) noexcept override;
  int name_of(const void* address, std::size_t bytes, bool datagrams,
              name_texts& names) noexcept override;
  int poll(int fd, unsigned events, std::int64_t deadline) noexcept override;
};

}  // namespace beck
