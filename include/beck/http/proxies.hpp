// SPDX-License-Identifier: BSL-1.0
//
// The proxies through which a client connects: HTTP proxies and SOCKS5.
#pragma once

#include <string_view>

namespace beck::http {

namespace detail {
class proxy_rules;
}

/// Which calls of a client go through which proxy:
///   web.through(http::proxies().all("http://proxy.example:3128").except(".corp.example"));
/// A proxy is a URL: "http://proxy:3128" or "socks5://user:password@proxy:1080"; without a scheme
/// it is an HTTP proxy; the default ports are 80 and 1080. User and password are percent-encoded.
/// An HTTP proxy is asked for a tunnel (CONNECT) to https origins, and gets requests to http
/// origins with their whole URL as the target. A SOCKS5 proxy (also "socks5h") gets the name of the
/// host: names are never looked up here. The proxy itself is connected to without TLS. What a proxy
/// refuses is client_error::proxy_refused, and client_response::error_text() has its status: never
/// a response of the origin. A status other than 407 that an HTTP proxy answers for an http origin
/// cannot be told from one of the origin, so it is a response.
/// A value: copies are independent. Thread: one at a time.
/// Source: RFC 9110, section 9.3.6; RFC 9112, section 3.2.2; RFC 1928; RFC 1929.
class proxies {
 public:
  /// Makes one without proxies: all calls connect directly. Throws std::bad_alloc.
  proxies();
  proxies(const proxies& other);
  proxies(proxies&& other) noexcept;
  proxies& operator=(proxies other) noexcept;
  ~proxies();

  /// Sets the proxy of http origins; an empty text: none. Throws std::invalid_argument, without the
  /// password in its text, for what is no proxy; std::bad_alloc.
  proxies& http(std::string_view proxy);
  /// Sets the proxy of https origins; else as http().
  proxies& https(std::string_view proxy);
  /// Sets the proxy of all origins; else as http().
  proxies& all(std::string_view proxy);
  /// Connects directly to these hosts, separated by commas and spaces: a name, with all names below
  /// it; ".name", the same; an address; a network such as "10.0.0.0/8", for hosts that are given as
  /// addresses; each with ":port" if only that port is meant; "*" for all. Several calls add up.
  /// Throws std::invalid_argument for a network that is none; std::bad_alloc.
  proxies& except(std::string_view hosts);

  /// Returns the proxies that the environment names, as other clients take them: http_proxy,
  /// https_proxy, HTTPS_PROXY, all_proxy, ALL_PROXY, no_proxy, NO_PROXY. Not HTTP_PROXY: a CGI
  /// program has there what its client has sent. Throws as http(), with the name of the variable.
  static proxies from_environment();

 private:
  friend class client;

  detail::proxy_rules* rules_;
};

}  // namespace beck::http
