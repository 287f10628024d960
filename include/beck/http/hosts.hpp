// SPDX-License-Identifier: BSL-1.0
//
// Several sites behind one server, chosen by the host of the request; and the redirect of a site to
// https.
#pragma once

#include <beck/http/router.hpp>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace beck::http {

namespace detail {
class host_table;
}

/// A handler that passes each request to the handler of its host: the value of the field Host, in
/// any case, without its port and a dot at its end. (A target that is a whole URL has the same
/// host, or the request was refused.)
///   http::hosts sites;
///   sites.on("shop.example", shop).on("*.shop.example", branches);
/// An exact name goes before a wildcard, a longer wildcard before a shorter one. A request for
/// another host, or without one, goes to otherwise(), and without that is answered with 421.
/// Handlers are of any kind that a server takes. The name says nothing about who asks: it is what
/// the client has sent.
///
/// A copy shares the table. Bound: 65,536 names.
/// Thread: one at a time while hosts are added, before a server serves; then any. From the first
/// request on, functions that add throw std::logic_error.
class hosts {
 public:
  /// Makes one without hosts.
  hosts();
  hosts(const hosts& other) noexcept;
  hosts& operator=(const hosts& other) noexcept;
  ~hosts();

  /// Adds a host: a name such as "a.example", an IPv4 address, an IPv6 address in brackets, or
  /// "*.a.example" for all names below a.example, at any depth. Throws std::invalid_argument, which
  /// names the host and the reason: it is malformed, has a port, or was added already;
  /// std::length_error beyond the bound.
  template <class H>
    requires any_handler<std::decay_t<H>>
  hosts& on(std::string_view name, H&& h) {
    add(name, as_router(static_cast<H&&>(h)));
    return *this;
  }
  /// Sets the handler of all other hosts. Throws std::invalid_argument if there is one.
  template <class H>
    requires any_handler<std::decay_t<H>>
  hosts& otherwise(H&& h) {
    add_others(as_router(static_cast<H&&>(h)));
    return *this;
  }

  /// Returns the handler of a request. For the server.
  detail::route_choice choose(request& q) const;
  /// Serves a request inside another handler, as router::operator()().
  task<> operator()(request& q, response& r) const;

 private:
  template <class H>
  static router as_router(H&& h) {
    if constexpr (std::is_same_v<std::decay_t<H>, router>) {
      return static_cast<H&&>(h);
    } else {
      router made;
      made.mount("/", static_cast<H&&>(h));
      return made;
    }
  }
  void add(std::string_view name, const router& made);
  void add_others(const router& made);

  detail::host_table* table_;
};

/// A handler that redirects every request with 308 to the same host and target over https, for the
/// listener in the clear beside one with TLS. The status keeps method and body; browsers remember
/// it. Answers a request without a host, which HTTP/1.0 allows, with 400. The host is the one that
/// the client has sent: put it behind hosts to redirect only names of yours.
class redirect_to_https {
 public:
  /// Redirects to this port; 443 is left out of the URL.
  explicit redirect_to_https(std::uint16_t port = 443) noexcept : port_(port) {}
  void operator()(request& q, response& r) const;

 private:
  std::uint16_t port_;
};

}  // namespace beck::http
