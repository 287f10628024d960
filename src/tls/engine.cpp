// SPDX-License-Identifier: BSL-1.0
// OpenSSL reads from the input through the BIO below, record by record (its read_ahead is off), and
// appends to the output. A write never waits, so no call has to be repeated with the same bytes.
#include "tls/engine.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/thread_store.hpp"

namespace beck::tls::detail {
namespace {

constexpr std::size_t small_record = 1400;        // fits into a packet: the peer can use it at once
constexpr std::size_t small_bytes = 131'072;      // after so many bytes records are large
constexpr std::int64_t pause_ns = 1'000'000'000;  // after such a pause they are small again
constexpr int control_set_ktls = 72;  // BIO_CTRL_SET_KTLS, if OpenSSL is built without it, too
constexpr std::uint64_t messages_free = 32;  // in each counted_ns
constexpr std::uint64_t bytes_a_message = 65'536;
constexpr std::int64_t counted_ns = 1'000'000'000;

}  // namespace

/// The functions of the BIO.
struct engine_bio {
  static const BIO_METHOD* method();
  static int read(BIO* bio, char* to, std::size_t room, std::size_t* count) noexcept;
  static int write(BIO* bio, const char* bytes, std::size_t count, std::size_t* done) noexcept;
  static long control(BIO* bio, int what, long, void*) noexcept;
  static engine& of(BIO* bio) noexcept { return *static_cast<engine*>(BIO_get_data(bio)); }
};

const BIO_METHOD* engine_bio::method() {
  static const BIO_METHOD* const made = [] {
    BIO_METHOD* const m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "beck");
    if (m == nullptr) throw std::bad_alloc();
    BIO_meth_set_read_ex(m, &read);
    BIO_meth_set_write_ex(m, &write);
    BIO_meth_set_ctrl(m, &control);
    return m;
  }();
  return made;
}

int engine_bio::read(BIO* bio, char* to, std::size_t room, std::size_t* count) noexcept {
  engine& e = of(bio);
  BIO_clear_retry_flags(bio);
  *count = std::min(room, static_cast<std::size_t>(e.input_end_ - e.input_));
  if (*count == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  std::memcpy(to, e.input_, *count);
  e.input_ += *count;
  e.held_ += *count;
  return 1;
}

int engine_bio::write(BIO* bio, const char* bytes, std::size_t count, std::size_t* done) noexcept {
  engine& e = of(bio);
  BIO_clear_retry_flags(bio);
  *done = count;
  e.met_message_ = true;  // an output during a read answers a message
  BECK_ASSERT(e.output_bytes_ <= sizeof(work_space::sealed), "the output of TLS has no room");
  if (e.more_output_.empty() && count <= sizeof(work_space::sealed) - e.output_bytes_) {
    std::memcpy(e.output_ + e.output_bytes_, bytes, count);
    e.output_bytes_ += count;
    return 1;
  }
  try {
    std::memcpy(e.more_output_.prepare(count).data(), bytes, count);
  } catch (...) {
    e.out_of_memory_ = true;
    return 0;
  }
  e.more_output_.commit(count);
  return 1;
}

long engine_bio::control(BIO*, int what, long, void*) noexcept {
  if (what == control_set_ktls) return 0;  // only this keeps records out of the kernel
  return what == BIO_CTRL_FLUSH ? 1 : 0;
}

work_space* work_space::here() noexcept {
  try {
    return &beck::detail::of_this_thread<work_space>::get();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

engine::engine(ssl_ptr prepared) : ssl_(std::move(prepared)) {
  const error_queue queue;
  BIO* const bio = BIO_new(engine_bio::method());
  if (bio == nullptr) throw std::bad_alloc();
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);  // takes over the BIO
  // A call returns after each message without application data, so that these messages are counted.
  SSL_clear_mode(ssl_.get(), SSL_MODE_AUTO_RETRY);
  SSL_set_read_ahead(ssl_.get(), 0);
}

/// Prepares a call of OpenSSL. Returns false if there is no memory.
bool engine::begin() noexcept {
  BECK_ASSERT(output_bytes_ == 0 && more_output_.empty(), "the output of a call was not taken");
  work_space* const space = work_space::here();
  if (space == nullptr) {
    fail(make_error_code(std::errc::not_enough_memory), nullptr);
    return false;
  }
  output_ = space->sealed;
  return true;
}

void engine::shake() noexcept {
  if (state_ != engine_state::shaking || !begin()) return;
  const error_queue queue;
  const int done = SSL_do_handshake(ssl_.get());
  const int why = done == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_.get(), done);
  if (done == 1) {
    held_ = 0;
    state_ = engine_state::open;
    SSL_set_info_callback(ssl_.get(), &note_message);
    if (!has_input()) release();
  } else if (why == SSL_ERROR_ZERO_RETURN) {
    fail(make_error_code(error::truncated), "the peer ended the connection during the handshake");
  } else if (why != SSL_ERROR_WANT_READ) {
    fail();
  }
}

/// Frees OpenSSL's record buffers, which it keeps after handshake messages. They must not be freed
/// inside a record, and SSL_free_buffers() does not detect that if the whole header has arrived.
void engine::release() noexcept {
  const bool begins = std::strcmp(SSL_rstate_string(ssl_.get()), "RH") == 0;
  if (begins && SSL_has_pending(ssl_.get()) == 0) SSL_free_buffers(ssl_.get());
}

std::size_t engine::read(char* to, std::size_t room, std::int64_t now) noexcept {
  if (state_ != engine_state::open || !begin()) return 0;
  const error_queue queue;
  std::size_t bytes = 0;
  while (bytes < room && (has_input() || SSL_pending(ssl_.get()) != 0)) {
    std::size_t part = 0;
    met_message_ = false;
    const int done = SSL_read_ex(ssl_.get(), to + bytes, room - bytes, &part);
    if (done == 1) {
      bytes += part;
      read_bytes_ += part;
      if (SSL_pending(ssl_.get()) == 0) held_ = 0;
      continue;
    }
    if (met_message_) count_message(now);
    const int why = SSL_get_error(ssl_.get(), done);
    if (why == SSL_ERROR_ZERO_RETURN) {
      state_ = engine_state::ended;
    } else if (why != SSL_ERROR_WANT_READ) {
      fail();
    } else if (messages_ > messages_free + read_bytes_ / bytes_a_message) {
      fail(make_error_code(error::too_many_messages),
           "the peer sends key updates, tickets or the like without end");
    }
    if (state_ != engine_state::open) input_ = input_end_;  // the rest is not read
  }
  BECK_ASSERT(!has_input() || room == 0, "a record has more bytes than its room");
  if (met_message_) release();
  return bytes;
}

/// Counts a message without application data. A connection may live for months, so its total number
/// has no meaning: the rate is limited.
void engine::count_message(std::int64_t now) noexcept {
  if (now - counted_from_ >= counted_ns) {
    counted_from_ = now;
    read_bytes_ = messages_ = 0;
  }
  ++messages_;
}

/// Notes that a handshake message has arrived after the handshake.
void engine::note_message(const SSL* of, int where, int) {
  if ((where & SSL_CB_LOOP) != 0) engine_bio::of(SSL_get_rbio(of)).met_message_ = true;
}

/// Returns the number of bytes of the next record.
std::size_t engine::record_bytes(std::int64_t now) noexcept {
  if (now - written_at_ > pause_ns) ramp_bytes_ = 0;
  written_at_ = now;
  return ramp_bytes_ < small_bytes ? small_record : work_space::record_max;
}

std::size_t engine::write(const_buffer_span parts, std::int64_t now) noexcept {
  if (!may_write() || !begin()) return 0;
  const error_queue queue;
  char* const joined = work_space::here()->joined;
  std::size_t bytes = 0;
  std::size_t join = 0;  // bytes in `joined`
  for (const const_buffer& part : parts) {
    const char* at = static_cast<const char*>(part.data());
    BECK_ASSERT(bytes + join <= work_space::plain_max, "more was encrypted than there is room for");
    const char* const end = at + std::min(part.size(), work_space::plain_max - bytes - join);
    while (at != end) {
      const std::size_t record = record_bytes(now);
      const std::size_t left = static_cast<std::size_t>(end - at);
      if (join == 0 && left >= record) {
        if (!seal(at, record)) return bytes;
        at += record;
        bytes += record;
        continue;
      }
      const std::size_t more = std::min(left, record - join);
      std::memcpy(joined + join, at, more);
      at += more;
      join += more;
      if (join < record) continue;
      if (!seal(joined, join)) return bytes;
      bytes += std::exchange(join, 0);
    }
  }
  if (join != 0 && seal(joined, join)) bytes += join;
  return bytes;
}

/// Encrypts one record. Returns false if that fails.
bool engine::seal(const char* bytes, std::size_t count) noexcept {
  std::size_t done = 0;
  const int result = SSL_write_ex(ssl_.get(), bytes, count, &done);
  if (result != 1) {
    if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ) {
      fail(make_error_code(error::internal), "a message of the peer has arrived only in part");
    } else {
      fail();
    }
    return false;
  }
  BECK_ASSERT(done == count, "OpenSSL has encrypted a part of a record");
  ramp_bytes_ = std::min(ramp_bytes_ + count, small_bytes);
  return true;
}

std::size_t engine::write_last(const_buffer_span parts, std::int64_t now) noexcept {
  std::size_t all = 0;
  for (const const_buffer& part : parts) all += part.size();
  const std::size_t bytes = write(parts, now);
  if (bytes == all && may_write()) say_end();
  return bytes;
}

void engine::end() noexcept {
  if (may_write() && begin()) say_end();
}

void engine::say_end() noexcept {
  const error_queue queue;
  ended_ = true;
  if (SSL_in_init(ssl_.get()) != 0) return;  // inside a message no alert can be sent
  if (SSL_shutdown(ssl_.get()) < 0) fail();
}

/// Notes the failure of the last call.
void engine::fail() noexcept {
  if (out_of_memory_) return fail(make_error_code(std::errc::not_enough_memory), nullptr);
  try {
    failure why = explain(ssl_.get());
    text_ = std::make_unique<std::string>(std::move(why.text));
    fail(why.code, nullptr);
  } catch (...) {
    fail(make_error_code(std::errc::not_enough_memory), nullptr);
  }
}

void engine::fail(error_code why, const char* text) noexcept {
  BECK_ASSERT(why, "an engine failed without an error");  // the handshake would count as good
  state_ = engine_state::failed;
  error_ = why;
  if (text == nullptr) return;
  try {
    text_ = std::make_unique<std::string>(text);
  } catch (...) {
    text_.reset();  // no memory: the code is enough
  }
}

}  // namespace beck::tls::detail
