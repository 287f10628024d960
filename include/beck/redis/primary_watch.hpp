// SPDX-License-Identifier: BSL-1.0
//
// Finds the primary that sentinels name, and says when it is another server: for programs that
// connect to it themselves, such as proxies.
#pragma once

#include <beck/base/io_result.hpp>
#include <beck/coro/task.hpp>
#include <beck/redis/client_options.hpp>
#include <beck/run/any_io_executor.hpp>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace beck {
class stream_layer;
}

namespace beck::redis {

namespace detail {
class watched_primary;
}

/// Watches which server is the primary of a group that sentinels look after. A client with such a
/// URL does that by itself; this is for a program that makes its own connections to the primary.
///
///   redis::primary_watch group(ctx, "redis+sentinel://s1,s2,s3/main");
///   auto found = co_await group.find();
///   if (!found) report(group.error_text());
///   const std::uint64_t seen = group.changes();
///   auto socket = co_await connect_to(group.host(), group.port());
///   auto left = co_await group.wait_for_change(seen);  // this connection has to end
///
/// The sentinels are asked, and believed, as by a client: see docs/redis.md. A server that they
/// name may say in its ROLE that it is a replica; a client would not use it.
/// Thread: that of the context. Requires: an exclusive context. Lifetime: the context outlives it,
/// and it outlives its tasks. From the first find() to close() it is work of the context.
class primary_watch {
 public:
  /// Makes a watch with the URL of a client: redis+sentinel://... or rediss+sentinel://... A login
  /// and a database of the primary are not used. Throws std::invalid_argument for any other URL,
  /// std::logic_error on a shared context.
  template <class Context>
    requires(!std::is_convertible_v<Context&, any_io_executor>)
  primary_watch(Context& context, std::string_view url,
                const client_options& how = client_options())
      : primary_watch(any_io_executor(context.get_executor()), url, how) {}
  /// As above, on the context of `executor`.
  primary_watch(const any_io_executor& executor, std::string_view url,
                const client_options& how = client_options());
  ~primary_watch();
  primary_watch(const primary_watch&) = delete;
  primary_watch& operator=(const primary_watch&) = delete;

  /// Makes rediss+sentinel work: `with` encrypts later connections to the sentinels. It must
  /// outlive the watch.
  primary_watch& secure(stream_layer& with) noexcept;
  /// Finds the primary, which is at host() and port() then. Lets all sentinels be asked again, but
  /// waits for their answers only if the primary is not known. From here on they are watched.
  /// Errors: as those of a client whose sentinels name no primary, such as unknown_primary;
  /// operation_aborted behind close(). Cancellation: the sentinels are watched nevertheless.
  task<io_result<>> find();
  /// Returns the host of the primary that was found last, as the sentinels name it; empty before.
  /// Valid until the next change.
  std::string_view host() const noexcept;
  /// Returns the port; 0 before.
  std::uint16_t port() const noexcept;
  /// Returns how often another server than before was found to be the primary; the first one
  /// counts.
  std::uint64_t changes() const noexcept;
  /// Waits until changes() is another number than `seen`. Errors: operation_aborted behind close(),
  /// or by cancellation.
  task<io_result<>> wait_for_change(std::uint64_t seen);
  /// Returns why the last find() has found none, with the words of each sentinel; empty before, and
  /// behind one that has succeeded. Valid until the next find() ends.
  std::string_view error_text() const noexcept;
  /// Ends its tasks, and the watch. Later calls end in the same way.
  void close() noexcept;

 private:
  detail::watched_primary* self_;
};

}  // namespace beck::redis
