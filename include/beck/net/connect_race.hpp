// SPDX-License-Identifier: BSL-1.0
// async_connect by name, and with several attempts at once: Happy Eyeballs, version 2 (RFC 8305). A
// host with an address that does not answer then costs a quarter of a second, not two minutes.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/net/connect.hpp>
#include <beck/net/tcp.hpp>
#include <string_view>

namespace beck {

/// The options of a race of connection attempts.
struct happy_eyeballs {
  /// The time from the start of an attempt to the start of the next one (RFC 8305 5: 250 ms). After
  /// an attempt that fails the next one starts at once.
  duration attempt_delay = duration(250'000'000);
};

namespace detail {
class connect_race;

/// A race of attempts; starts when awaited or given a token. Completes with (error_code,
/// ip::tcp::endpoint).
class [[nodiscard]] connect_race_operation
    : public op<connect_race_operation, void(error_code, ip::tcp::endpoint)> {
 public:
  static constexpr const char* waits_for = "connect";

  /// By name. Names are copied. Throws std::bad_alloc.
  connect_race_operation(ip::tcp::socket& socket, std::string_view host, std::string_view service,
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

/// Connects `socket` to the endpoint that answers first. Attempts start one after the other, v6 and
/// v4 alternately and v6 first, each `attempt_delay` after the one before it, or as soon as that
/// has failed. The first success wins; when the operation completes the other attempts are over and
/// their descriptors closed. Completes with (error_code, ip::tcp::endpoint).
/// Each attempt has a socket of its own, and the winner is moved into `socket` at the end: that
/// closes its earlier descriptor, and options that were set on it are gone.
/// Errors: that of the attempt that failed last; not_found if there is no endpoint; no_memory.
/// `socket` is unchanged then.
/// Thread: as the socket, which lives and is not moved until completion. Cancellation: at once,
/// with operation_aborted.
template <detail::endpoint_range<ip::tcp::endpoint> Range>
detail::connect_race_operation async_connect(ip::tcp::socket& socket, const Range& endpoints,
                                             const happy_eyeballs& how) {
  return {socket, endpoints, how};
}
/// As above. `token` takes (error_code, ip::tcp::endpoint).
template <detail::endpoint_range<ip::tcp::endpoint> Range, class Token>
auto async_connect(ip::tcp::socket& socket, const Range& endpoints, const happy_eyeballs& how,
                   Token&& token) {
  return detail::launch(beck::async_connect(socket, endpoints, how), static_cast<Token&&>(token));
}

/// Looks up `host` and `service` and connects `socket` to the result that answers first. Errors:
/// those of ip::basic_resolver, and of the attempts. Throws std::bad_alloc.
inline detail::connect_race_operation async_connect(ip::tcp::socket& socket, std::string_view host,
                                                    std::string_view service,
                                                    const happy_eyeballs& how = {}) {
  return {socket, host, service, how};
}
/// As above. `token` takes (error_code, ip::tcp::endpoint).
template <class Token>
auto async_connect(ip::tcp::socket& socket, std::string_view host, std::string_view service,
                   const happy_eyeballs& how, Token&& token) {
  return detail::launch(async_connect(socket, host, service, how), static_cast<Token&&>(token));
}
/// As above, with the default options.
template <completion_token_for<void(error_code, ip::tcp::endpoint)> Token>
auto async_connect(ip::tcp::socket& socket, std::string_view host, std::string_view service,
                   Token&& token) {
  return detail::launch(async_connect(socket, host, service), static_cast<Token&&>(token));
}

}  // namespace beck
