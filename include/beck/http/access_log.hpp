// SPDX-License-Identifier: BSL-1.0
//
// A log of exchanges in a file, in the forms that Apache, nginx and programs that read JSON have. A
// thread of its own writes it: a slow or full disk stops no server.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/base/error.hpp>
#include <beck/http/exchange_record.hpp>
#include <cstddef>
#include <cstdint>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <string_view>
#include <type_traits>

namespace beck::http {

/// The form of a line.
enum class log_format : std::uint8_t {
  common,    ///< client, time, request line, status, bytes; NCSA's Common Log Format
  combined,  ///< as common, with Referer and User-Agent behind it, as Apache and nginx write it
  json,      ///< an object a line
};

/// The settings of an access_log.
struct access_log_options {
  log_format format = log_format::combined;
  /// The most bytes that wait to be written; further lines are dropped, and counted.
  std::size_t waiting_bytes = 1 << 20;
  /// How long close() waits for a pipe or a terminal that takes nothing.
  duration end_timeout = duration::seconds(2);
};
static_assert(std::is_trivially_destructible_v<access_log_options>);

/// A log. A copy shares its file; the last one calls close().
///   http::access_log log("/var/log/site.log");
///   server.on_finish(log);
///   server.on_handshake_failed(log);  // lines of JSON only
/// Lines are appended within 10 ms, or sooner if many wait; each is one line of printable ASCII,
/// whatever the client has sent. Make it after fork(2). Thread: any.
class access_log {
 public:
  /// Opens `path` to append to it, and makes it with mode 0640 if there is no such file; "-" is
  /// standard output. Throws io_error, also for a named pipe without a reader; std::system_error
  /// without a thread; std::bad_alloc.
  explicit access_log(std::string_view path, const access_log_options& how = access_log_options());
  access_log(const access_log& other) noexcept;
  access_log& operator=(const access_log& other) noexcept;
  ~access_log();

  /// Adds a line, or drops it. Never waits for the file.
  void operator()(const exchange_record& ended) const noexcept;
  /// As above. Adds nothing in a form other than JSON, which has no place for handshakes.
  void operator()(const handshake_record& failed) const noexcept;
  /// Opens the file again, which may have been renamed (logrotate), when what waits was written to
  /// the old one. If that fails the old one stays, and last_error() says why. Does nothing for
  /// standard output. Call it after SIGHUP, from a task that waits for a signal_set.
  void reopen() const noexcept;
  /// Writes what waits, for end_timeout at most, and closes the file. Blocks. Later lines are
  /// dropped. Idempotent.
  void close() const noexcept;
  /// Returns how many lines were dropped, or not written because of an error.
  std::uint64_t lost() const noexcept;
  /// Returns the last error of a write, or of reopen(); no error if there was none.
  error_code last_error() const noexcept;

 private:
  struct state;
  state* state_;
};

namespace functions {

/// Appends a line with its end to `to`: for logs that go elsewhere. `at`: the time of the end of
/// the exchange, in UTC. Throws std::bad_alloc.
void append_log_line(std::string& to, log_format format, const exchange_record& ended,
                     system_time_point at);
/// As above; appends nothing in a form other than JSON.
void append_log_line(std::string& to, log_format format, const handshake_record& failed,
                     system_time_point at);

}  // namespace functions
using namespace functions;

}  // namespace beck::http
