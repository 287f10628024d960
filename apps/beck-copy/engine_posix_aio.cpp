// SPDX-License-Identifier: BSL-1.0
//
// The engine posix-aio: aio(7) as the literature uses it. Each control block has a buffer; its
// completion is a real-time signal, which is queued and is taken from a signalfd. glibc does the
// transfers in threads of its own.
#include <aio.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <vector>

#include <fmt/format.h>

#include "block_memory.hpp"
#include "blocking_io.hpp"
#include "engine.hpp"
#include "failure.hpp"

namespace beck_copy {
namespace {

/// A signal that the kernel had no memory for is lost; then the control blocks are looked at.
constexpr int lost_signal_ms = 1000;
constexpr std::size_t signals_at_once = 16;

/// A control block, its buffer, and the piece that it copies.
struct slot {
  piece part;
  std::size_t have = 0;     // bytes in the buffer
  std::size_t written = 0;  // of those
  bool writing = false;
  bool busy = false;
  std::byte* buffer = nullptr;
  aiocb* control = nullptr;
};

class aio_copy {
 public:
  explicit aio_copy(transfer& work)
      : work_(work),
        slots_(work.is_stream() ? 1 : work.depth),
        controls_(slots_.size()),
        memory_(work.block, slots_.size()) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slots_[i].buffer = memory_.at(i);
      slots_[i].control = &controls_[i];
    }
    check_limit();
    take_signal();
  }
  aio_copy(const aio_copy&) = delete;
  aio_copy& operator=(const aio_copy&) = delete;

  void run() {
    for (slot& one : slots_) begin(one);
    while (busy_ > 0) wait();
    if (problem_) std::rethrow_exception(problem_);
  }

 private:
  void check_limit() const {
    rlimit limit = {};
    if (::getrlimit(RLIMIT_SIGPENDING, &limit) == 0 && limit.rlim_cur < slots_.size())
      throw failure(
          fmt::format("--depth {}: posix-aio needs as many queued signals, and the limit "
                      "of pending signals (ulimit -i) is {}",
                      slots_.size(), limit.rlim_cur));
  }

  /// Before the first request, so that glibc's threads block it too.
  void take_signal() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGRTMIN);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_) throw failure(errno_text("signalfd", errno));
  }

  void begin(slot& one) {
    if (problem_ || !work_.pieces.next(work_.block, one.part)) return;
    one.have = one.written = 0;
    read(one);
  }

  void read(slot& one) {
    one.writing = false;
    *one.control = {};
    one.control->aio_fildes = work_.from.fd();
    one.control->aio_buf = one.buffer + one.have;
    one.control->aio_nbytes = work_.padded(one.part.length - one.have);
    one.control->aio_offset = static_cast<off_t>(work_.from.base() + one.part.offset + one.have);
    start(one, ::aio_read);
  }

  void write(slot& one) {
    one.writing = true;
    *one.control = {};
    one.control->aio_fildes = work_.to.fd();
    one.control->aio_buf = one.buffer + one.written;
    one.control->aio_nbytes = work_.padded(one.have - one.written);
    one.control->aio_offset = static_cast<off_t>(work_.to.base() + one.part.offset + one.written);
    start(one, ::aio_write);
  }

  void start(slot& one, int (*call)(aiocb*)) {
    one.control->aio_sigevent.sigev_notify = SIGEV_SIGNAL;
    one.control->aio_sigevent.sigev_signo = SIGRTMIN;
    one.control->aio_sigevent.sigev_value.sival_ptr = &one;
    if (call(one.control) != 0) return fail(one.writing ? "aio_write" : "aio_read", errno);
    one.busy = true;
    ++busy_;
  }

  void wait() {
    pollfd ready = {signals_.get(), POLLIN, 0};
    if (::poll(&ready, 1, lost_signal_ms) <= 0) {
      for (slot& one : slots_) complete(one);
      return;
    }
    signalfd_siginfo infos[signals_at_once];
    const ssize_t got = ::read(signals_.get(), infos, sizeof infos);
    for (std::size_t i = 0; got > 0 && i < static_cast<std::size_t>(got) / sizeof infos[0]; ++i)
      complete(*reinterpret_cast<slot*>(infos[i].ssi_ptr));
  }

  /// What a signal says may be known already, after a lost one.
  void complete(slot& one) {
    if (!one.busy) return;
    const int error = ::aio_error(one.control);
    if (error == EINPROGRESS) return;
    const ssize_t result = ::aio_return(one.control);
    one.busy = false;
    --busy_;
    if (error == EAGAIN && work_.is_stream()) {
      wait_ready(one.control->aio_fildes, one.writing ? POLLOUT : POLLIN);
      return one.writing ? write(one) : read(one);
    }
    const auto& name = one.writing ? work_.to.name() : work_.from.name();
    if (error != 0) return fail((one.writing ? "writing " : "reading ") + name, error);
    one.writing ? was_written(one, static_cast<std::size_t>(result))
                : was_read(one, static_cast<std::size_t>(result));
  }

  void was_read(slot& one, std::size_t bytes) {
    one.have = std::min(one.have + bytes, one.part.length);
    const bool ended = bytes == 0 || one.have % work_.alignment != 0;
    if (one.have < one.part.length && work_.is_stream() && bytes > 0) {
      work_.pieces.give_back(one.part.length - one.have);
    } else if (one.have < one.part.length) {
      if (!ended) return read(one);
      work_.pieces.end_at(one.part.offset + one.have);
    }
    if (one.have == 0) return begin(one);
    std::memset(one.buffer + one.have, 0, work_.padded(one.have) - one.have);
    write(one);
  }

  void was_written(slot& one, std::size_t bytes) {
    if (bytes == 0) return fail("writing " + work_.to.name(), EIO);
    const std::size_t counted = std::min(bytes, one.have - one.written);
    one.written += counted;
    work_.done.add(counted);
    one.written < one.have ? write(one) : begin(one);
  }

  /// Keeps the first problem, which is thrown after the transfers in flight have ended, since they
  /// use the buffers.
  void fail(const std::string& what, int error) {
    if (!problem_) problem_ = std::make_exception_ptr(failure(errno_text(what, error)));
  }

  transfer& work_;
  std::vector<slot> slots_;
  std::vector<aiocb> controls_;
  block_memory memory_;
  beck::unique_fd signals_;
  std::size_t busy_ = 0;
  std::exception_ptr problem_;
};

}  // namespace

void copy_posix_aio(transfer& work) {
  aio_copy copy(work);
  copy.run();
}

}  // namespace beck_copy
