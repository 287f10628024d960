// SPDX-License-Identifier: BSL-1.0
// async_connect by name, and with several attempts at once: Happy Eyeballs, version 2 (RFC 8305). A
// host with an address that does not answer costs a quarter of a second then, not two minutes.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/net/connect.hpp>
#include <beck/net/tcp.hpp>

namespace beck {

/// How to try several endpoints at once.
struct happy_eyeballs {
  /// How long an attempt is alone before the next one begins (RFC 8305 5: 250 ms). One that fails
  /// is followed at once.
  duration attempt_delay = duration(250'000'000);
};

namespace detail {
class connect_race;

/// A race of attempts; starts when awaited or given a token. Gives (error_code, ip::tcp::endpoint).
class [[nodiscard]] connect_race_operation
    : public op<connect_race_operation, void(error_code, ip::tcp::endpoint)> {
 public:
  static constexpr const char* waits_for = "connect";

  /// By name. Names are copied. Throws std::bad_alloc.
  connect_race_operation(ip::tcp::socket& socket, text_view host, text_view service,
                         const happy_eyeballs& how);
  template <endpoint_range<ip::tcp::endpoint> Range>
  connect_race_operation(ip::tcp::socket& socket, const Range& endpoints, const happy_eyeballs& how)
      : connect_race_operation(socket, how) {
    for (auto at = endpoints.begin(); at != endpoints.end(); ++at) {
      add(static_cast<ip::tcp::endpoint>(*at));
    }
  }
  connect_race_operation(connect_race_operation&& other) noexcept
      : race_(std::exchange(other.race_, nullptr)) {}
  ~connect_race_operation();

  any_io_executor get_executor() const noexcept;
  void initiate(handler done);
  void cancel() noexcept;

 private:
  connect_race_operation(ip::tcp::socket& socket, const happy_eyeballs& how);
  void add(const ip::tcp::endpoint& endpoint);

  connect_race* race_;
};

}  // namespace detail

/// Connects `socket` to the endpoint that answers first. Attempts begin one after the other, v6 and
/// v4 by turns and v6 first, each `attempt_delay` after the one before it, or as soon as that has
/// failed. The first that succeeds wins; the others are over, and their descriptors closed, when
/// the operation completes. Each attempt has a socket of its own, and the winner becomes `socket`
/// at the end: whatever that was before is closed then, and options that were set on it are gone.
/// Errors: that of the attempt that failed last, and `socket` is as it was; not_found if there is
/// no endpoint.
/// Thread: as the socket, which stays where it is until completion. Cancellation: at once.
template <detail::endpoint_range<ip::tcp::endpoint> Range>
detail::connect_race_operation async_connect(ip::tcp::socket& socket, const Range& endpoints,
                                             const happy_eyeballs& how) {
  return {socket, endpoints, how};
}
/// `token` takes (error_code, ip::tcp::endpoint).
template <detail::endpoint_range<ip::tcp::endpoint> Range, class Token>
auto async_connect(ip::tcp::socket& socket, const Range& endpoints, const happy_eyeballs& how,
                   Token&& token) {
  return detail::launch(beck::async_connect(socket, endpoints, how), static_cast<Token&&>(token));
}

/// Looks up `host` and `service` and does the same with what that gives. Errors: as
/// ip::basic_resolver, and of the attempts.
inline detail::connect_race_operation async_connect(ip::tcp::socket& socket, detail::text_view host,
                                                    detail::text_view service,
                                                    const happy_eyeballs& how = {}) {
  return {socket, host, service, how};
}
template <class Token>
auto async_connect(ip::tcp::socket& socket, detail::text_view host, detail::text_view service,
                   const happy_eyeballs& how, Token&& token) {
  return detail::launch(async_connect(socket, host, service, how), static_cast<Token&&>(token));
}
template <completion_token_for<void(error_code, ip::tcp::endpoint)> Token>
auto async_connect(ip::tcp::socket& socket, detail::text_view host, detail::text_view service,
                   Token&& token) {
  return detail::launch(async_connect(socket, host, service), static_cast<Token&&>(token));
}

}  // namespace beck
