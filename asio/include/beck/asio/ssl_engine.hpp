// SPDX-License-Identifier: BSL-1.0
// The part of a connection that does not depend on the type of its transport: OpenSSL's state, the
// encrypted bytes from and for the transport, and which operation uses the transport. OpenSSL reads
// from memory and appends to memory, so its calls never wait for room and are repeated only for
// more input. Its read_ahead is off: it reads record by record.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include <beck/asio/buffer.hpp>
#include <beck/asio/ssl_verify.hpp>
#include <beck/io/steady_timer.hpp>

BECK_ASIO_BEGIN

namespace ssl {

/// The constants of a stream.
class stream_base {
 public:
  /// The side of a handshake.
  enum handshake_type { client, server };

 protected:
  ~stream_base() = default;
};

namespace detail {

using ssl_ptr = std::unique_ptr<SSL, openssl_free<&SSL_free>>;

/// The result of a call of OpenSSL.
struct outcome {
  bool wants_input = false;  ///< the call must be repeated when there is more input
  beck::error_code ec;
  std::size_t bytes = 0;
};

/// One direction of the transport. One operation uses it at a time.
class direction {
 public:
  bool is_used() const noexcept { return used_; }
  bool is_awaited() const noexcept { return waiting_ != 0; }
  void use() noexcept { used_ = true; }
  /// Ends the use and wakes all operations that wait; one of them uses the direction next.
  void leave() {
    used_ = false;
    if (is_awaited() && line_) line_->cancel();  // without it the stream is closed
  }
  /// Waits for the end of a use. `token` takes (error_code), which has no meaning: the end of a use
  /// and of the stream are operation_aborted, too.
  template <class Token>
  void async_wait(const beck::any_io_executor& executor, Token&& token) {
    if (!line_) line_.emplace(executor, beck::duration(std::numeric_limits<std::int64_t>::max()));
    ++waiting_;
    line_->async_wait(static_cast<Token&&>(token));
  }
  void end_wait() noexcept { --waiting_; }
  /// Ends all waits. Requires that none starts later.
  void close() noexcept { line_.reset(); }

 private:
  std::optional<beck::steady_timer> line_;  // never expires; made by the first wait
  std::size_t waiting_ = 0;
  bool used_ = false;
};

/// A connection, shared by a stream and its operations: those in flight when the stream is
/// destroyed find it closed. Not movable: OpenSSL points to it. Thread: one at a time.
class engine {
 public:
  /// Takes over `handle`, also if it throws. Throws io_error if it is nullptr.
  engine(SSL* handle, std::size_t input_bytes, std::size_t output_bytes);
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  SSL* native_handle() noexcept { return ssl_.get(); }

  template <class Function>
  void set_verify_callback(Function&& function) {
    verify_ = std::make_unique<verify_function<Function>>(static_cast<Function&&>(function));
    SSL_set_app_data(ssl_.get(), verify_.get());
    SSL_set_verify(ssl_.get(), SSL_get_verify_mode(ssl_.get()), &verify);
  }

  // --- calls of OpenSSL
  outcome handshake(stream_base::handshake_type type) noexcept {
    ERR_clear_error();
    return judge(type == stream_base::client ? SSL_connect(ssl_.get()) : SSL_accept(ssl_.get()));
  }
  outcome read(beck::mutable_buffer to) noexcept {
    outcome result;
    if (to.size() == 0) return result;
    ERR_clear_error();
    std::size_t bytes = 0;
    result = judge(SSL_read_ex(ssl_.get(), to.data(), to.size(), &bytes));
    result.bytes = bytes;
    return result;
  }
  /// Encrypts at most `write_max_` of the bytes.
  outcome write(beck::const_buffer from) noexcept {
    outcome result;
    if (from.size() == 0) return result;
    ERR_clear_error();
    std::size_t bytes = 0;
    result =
        judge(SSL_write_ex(ssl_.get(), from.data(), std::min(from.size(), write_max_), &bytes));
    result.bytes = bytes;
    return result;
  }
  /// Sends close_notify, and looks for that of the peer.
  outcome shutdown() noexcept {
    ERR_clear_error();
    int done = SSL_shutdown(ssl_.get());
    if (done == 0) done = SSL_shutdown(ssl_.get());
    outcome result = judge(done);
    if (result.ec == beck::error::eof) result.ec = beck::error_code();
    return result;
  }

  // --- the transport
  direction sends;
  direction receives;

  /// Returns the room for a receive. Requires that OpenSSL wants input, so that none is left.
  beck::mutable_buffer room() noexcept { return {input_.get(), input_max_}; }
  void received(std::size_t bytes) noexcept {
    input_at_ = input_.get();
    input_end_ = input_at_ + bytes;
  }
  bool has_output() const noexcept { return !sent_.empty() || !output_.empty(); }
  /// Returns the bytes to send next, until sent() is called.
  beck::const_buffer to_send() noexcept {
    if (sent_.empty()) sent_.swap(output_);
    return {sent_.data(), sent_.size()};
  }
  /// Removes the first `bytes` of to_send(), which were sent. The next send begins with the rest.
  void sent(std::size_t bytes) noexcept {
    sent_.erase(sent_.begin(), sent_.begin() + static_cast<std::ptrdiff_t>(bytes));
  }
  /// Returns the error of an operation whose transport has failed with `ec`: the end of the
  /// transport is eof only after the peer's close_notify, else the stream is truncated.
  beck::error_code explain(const beck::error_code& ec) const noexcept {
    if (ec != beck::error::eof) return ec;
    const bool ended = (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
    if (ended && input_at_ == input_end_) return ec;
    return make_error_code(error::stream_truncated);
  }

  bool is_closed() const noexcept { return closed_; }
  /// Notes that the stream is destroyed, and its transport with it.
  void close() noexcept {
    closed_ = true;
    sends.close();
    receives.close();
  }

 private:
  outcome judge(int done) noexcept;
  static int verify(int preverified, X509_STORE_CTX* handle) noexcept {
    SSL* const connection = verify_callback::connection_of(handle);
    return verify_callback::answer(SSL_get_app_data(connection), preverified, handle);
  }

  // --- the functions of the BIO
  static const BIO_METHOD* bio_method();
  static engine& of(BIO* bio) noexcept { return *static_cast<engine*>(BIO_get_data(bio)); }
  static int bio_read(BIO* bio, char* to, std::size_t room, std::size_t* count) noexcept;
  static int bio_write(BIO* bio, const char* bytes, std::size_t size, std::size_t* count) noexcept;
  static long bio_control(BIO* bio, int what, long, void*) noexcept;

  static constexpr std::size_t record_max = 17 * 1024;  // with all that encryption adds
  static constexpr std::size_t plain_max = 16 * 1024;

  std::unique_ptr<verify_callback> verify_;
  std::unique_ptr<char[]> input_;
  std::size_t input_max_;
  std::size_t write_max_;
  const char* input_at_ = nullptr;
  const char* input_end_ = nullptr;
  std::vector<char> output_;  // behind those in sent_
  std::vector<char> sent_;
  ssl_ptr ssl_;
  bool closed_ = false;
};

inline engine::engine(SSL* handle, std::size_t input_bytes, std::size_t output_bytes)
    : input_max_(std::max(input_bytes, record_max)),
      write_max_(std::max(output_bytes, plain_max)),
      ssl_(handle) {
  if (handle == nullptr) beck::detail::throw_error(take_error(error::unexpected_result), "stream");
  input_.reset(new char[input_max_]);
  BIO* const bio = BIO_new(bio_method());
  if (bio == nullptr) throw std::bad_alloc();
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(handle, bio, bio);  // takes over the BIO
  SSL_set_mode(handle, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_set_read_ahead(handle, 0);
}

inline outcome engine::judge(int done) noexcept {
  outcome result;
  switch (SSL_get_error(ssl_.get(), done)) {
    case SSL_ERROR_NONE:
      break;
    case SSL_ERROR_WANT_READ:
      result.wants_input = true;
      break;
    case SSL_ERROR_ZERO_RETURN:
      result.ec = beck::error::eof;
      break;
    case SSL_ERROR_SYSCALL:
      result.ec = take_error(error::unspecified_system_error);
      break;
    case SSL_ERROR_SSL:
      result.ec = take_error(error::unexpected_result);
      break;
    default:
      result.ec = make_error_code(error::unexpected_result);
      break;
  }
  return result;
}

inline const BIO_METHOD* engine::bio_method() {
  static const BIO_METHOD* const made = [] {
    BIO_METHOD* const m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "beck");
    if (m == nullptr) throw std::bad_alloc();
    BIO_meth_set_read_ex(m, &bio_read);
    BIO_meth_set_write_ex(m, &bio_write);
    BIO_meth_set_ctrl(m, &bio_control);
    return m;
  }();
  return made;
}

inline int engine::bio_read(BIO* bio, char* to, std::size_t room, std::size_t* count) noexcept {
  engine& self = of(bio);
  BIO_clear_retry_flags(bio);
  *count = std::min(room, static_cast<std::size_t>(self.input_end_ - self.input_at_));
  if (*count == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  std::memcpy(to, self.input_at_, *count);
  self.input_at_ += *count;
  return 1;
}

inline int engine::bio_write(BIO* bio, const char* bytes, std::size_t size,
                             std::size_t* count) noexcept {
  BIO_clear_retry_flags(bio);
  std::vector<char>& output = of(bio).output_;
  try {
    output.insert(output.end(), bytes, bytes + size);
  } catch (...) {
    return 0;  // no memory: OpenSSL reports an error of the system
  }
  *count = size;
  return 1;
}

inline long engine::bio_control(BIO* bio, int what, long, void*) noexcept {
  const engine& self = of(bio);
  switch (what) {
    case BIO_CTRL_FLUSH:
      return 1;
    case BIO_CTRL_PENDING:
      return self.input_end_ - self.input_at_;
    case BIO_CTRL_WPENDING:
      return static_cast<long>(self.sent_.size() + self.output_.size());
    default:
      return 0;
  }
}

}  // namespace detail

}  // namespace ssl

BECK_ASIO_END
