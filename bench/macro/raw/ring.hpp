// SPDX-License-Identifier: BSL-1.0
//
// The smallest ring over the raw system calls that the raw peers need: one thread, no probing, no
// library. It is a lower bound to compare with, so it uses the fastest flags, and checks only for
// errors that would make a result wrong. Source: io_uring_setup(2), io_uring_enter(2),
// linux/io_uring.h.
#pragma once

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "../common/measure.hpp"

namespace raw {

class ring {
 public:
  // Makes a ring. Throws std::system_error if the kernel refuses.
  explicit ring(unsigned entries) {
    io_uring_params p{};
    p.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL |
              IORING_SETUP_CLAMP | IORING_SETUP_CQSIZE;
    p.cq_entries = 4 * entries;
    fd_ = static_cast<int>(syscall(__NR_io_uring_setup, entries, &p));
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "io_uring_setup");
    // One mapping holds both queues (IORING_FEAT_SINGLE_MMAP, Linux 5.4).
    char* const queues = map(std::max(p.cq_off.cqes + p.cq_entries * sizeof(io_uring_cqe),
                                      p.sq_off.array + p.sq_entries * sizeof(unsigned)),
                             IORING_OFF_SQ_RING);
    sqes_ =
        reinterpret_cast<io_uring_sqe*>(map(p.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
    sq_head_ = word(queues, p.sq_off.head);
    sq_tail_ = word(queues, p.sq_off.tail);
    sq_entries_ = p.sq_entries;
    cq_head_ = word(queues, p.cq_off.head);
    cq_tail_ = word(queues, p.cq_off.tail);
    cq_mask_ = *word(queues, p.cq_off.ring_mask);
    cqes_ = reinterpret_cast<io_uring_cqe*>(queues + p.cq_off.cqes);
    // Entries are used in order, so the indirection is the identity for good.
    unsigned* const indirection = word(queues, p.sq_off.array);
    for (unsigned i = 0; i < sq_entries_; ++i) indirection[i] = i;
    tail_ = submitted_ = *sq_tail_;
  }
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;
  ~ring() { close(fd_); }

  io_uring_sqe& entry(std::uint8_t opcode, int fd, std::uint64_t user_data) {
    if (tail_ - std::atomic_ref(*sq_head_).load(std::memory_order_acquire) == sq_entries_) enter(0);
    io_uring_sqe& e = sqes_[tail_++ & (sq_entries_ - 1)];
    std::memset(&e, 0, sizeof e);
    e.opcode = opcode;
    e.fd = fd;
    e.user_data = user_data;
    return e;
  }

  void receive(int fd, void* data, std::size_t size, std::uint64_t user_data) {
    io_uring_sqe& e = entry(IORING_OP_RECV, fd, user_data);
    e.addr = reinterpret_cast<std::uintptr_t>(data);
    e.len = static_cast<std::uint32_t>(size);
  }

  io_uring_sqe& send(int fd, const void* data, std::size_t size, std::uint64_t user_data) {
    io_uring_sqe& e = entry(IORING_OP_SEND, fd, user_data);
    e.addr = reinterpret_cast<std::uintptr_t>(data);
    e.len = static_cast<std::uint32_t>(size);
    e.msg_flags = MSG_NOSIGNAL | MSG_WAITALL;
    return e;
  }

  // Submits the prepared entries, runs the kernel's deferred work, and waits for `wait`
  // completions.
  void enter(unsigned wait) {
    std::atomic_ref(*sq_tail_).store(tail_, std::memory_order_release);
    const long n = syscall(__NR_io_uring_enter, fd_, tail_ - submitted_, wait,
                           IORING_ENTER_GETEVENTS, nullptr, 0);
    if (n >= 0)
      submitted_ += static_cast<unsigned>(n);
    else if (errno != EINTR)
      bench::fail_errno("io_uring_enter");
    else
      submitted_ = std::atomic_ref(*sq_head_).load(std::memory_order_acquire);
  }

  [[nodiscard]] bool has_completions() const { return *cq_head_ != completed_tail(); }

  // Calls f(cqe) for each completion in the queue.
  template <class Function>
  void for_each_completion(Function f) {
    unsigned head = *cq_head_;
    const unsigned tail = completed_tail();
    while (head != tail) f(cqes_[head++ & cq_mask_]);
    std::atomic_ref(*cq_head_).store(head, std::memory_order_release);
  }

 private:
  char* map(std::size_t size, off_t what) const {
    void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, what);
    if (p == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap of a ring");
    return static_cast<char*>(p);
  }
  static unsigned* word(char* base, std::uint32_t offset) {
    return reinterpret_cast<unsigned*>(base + offset);
  }
  [[nodiscard]] unsigned completed_tail() const {
    return std::atomic_ref(*cq_tail_).load(std::memory_order_acquire);
  }

  int fd_ = -1;
  io_uring_sqe* sqes_ = nullptr;
  io_uring_cqe* cqes_ = nullptr;
  unsigned* sq_head_ = nullptr;
  unsigned* sq_tail_ = nullptr;
  unsigned* cq_head_ = nullptr;
  unsigned* cq_tail_ = nullptr;
  unsigned sq_entries_ = 0;
  unsigned cq_mask_ = 0;
  unsigned tail_ = 0;
  unsigned submitted_ = 0;
};

}  // namespace raw
