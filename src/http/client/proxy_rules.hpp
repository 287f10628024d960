// SPDX-License-Identifier: BSL-1.0
// The rules of <beck/http/proxies.hpp>, and the handshakes with proxies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beck/http/connector.hpp>
#include <beck/net/address.hpp>

namespace beck::http::detail {

enum class proxy_kind : std::uint8_t { http, socks5 };

/// A proxy. A value.
struct proxy_place {
  /// Reads a proxy. Throws std::invalid_argument.
  static proxy_place read(std::string_view text);

  proxy_kind kind = proxy_kind::http;
  std::string host;
  std::uint16_t port = 0;
  std::string user, password;  ///< decoded; without a user the proxy asks for none
  std::string authorization;   ///< the value of Proxy-Authorization; empty: none
  std::string name;            ///< for messages, without the password
};

/// A host, a network, or names below a name. A value.
struct direct_hosts {
  /// Reads an element of a list. Throws std::invalid_argument.
  static direct_hosts read(std::string_view text);
  bool has(const origin& to) const;

  std::string name;  ///< in lower case; empty: an address, or all
  std::optional<ip::address> base;
  unsigned bits = 0;       ///< of the base that an address has to share
  std::uint16_t port = 0;  ///< 0: all
};

/// Which origin has which proxy. Thread: one at a time.
class proxy_rules {
 public:
  void set_http(std::string_view text) { http_ = read(text); }
  void set_https(std::string_view text) { https_ = read(text); }
  void add_exceptions(std::string_view list);
  /// Returns the proxy of an origin; nullptr if there is none.
  const proxy_place* find(const origin& to) const;

 private:
  static std::optional<proxy_place> read(std::string_view text) {
    if (text.empty()) return std::nullopt;
    return proxy_place::read(text);
  }

  std::optional<proxy_place> http_, https_;
  std::vector<direct_hosts> direct_;
};

/// Returns the variable of the environment; nullptr if there is none (posix_environment.cpp).
const char* environment_text(const char* name) noexcept;

/// Connects to a proxy and, unless it takes whole URLs, lets it connect to `to`. With an error of
/// the proxy the result owns a stream that explains it. Both arguments outlive the task.
/// Errors: proxy_refused; those of ip::connect_stream().
task<io_result<owned_stream>> connect_through(any_io_executor on, const proxy_place& proxy,
                                              const origin& to);

/// Returns whether requests to an origin are sent to its proxy with whole URLs.
inline bool takes_whole_urls(const proxy_place& proxy, const origin& to) noexcept {
  return proxy.kind == proxy_kind::http && !to.is_https;
}

}  // namespace beck::http::detail
