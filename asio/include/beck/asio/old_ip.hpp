// SPDX-License-Identifier: BSL-1.0
// Names of ip that Asio removed: address::from_string, resolvers with queries and iterators. For
// programs that define BECK_ASIO_OLD_NAMES.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <beck/asio/config.hpp>
#include <beck/asio/connect.hpp>
#include <beck/base/error.hpp>
#include <beck/net/address.hpp>
#include <beck/net/resolver.hpp>
#include <beck/net/tcp.hpp>

BECK_ASIO_BEGIN

namespace ip {

/// As beck::ip::address_v4, with the functions of old.
class address_v4 : public beck::ip::address_v4 {
 public:
  using beck::ip::address_v4::address_v4;
  address_v4() noexcept = default;
  /// Converts from beck's.
  address_v4(const beck::ip::address_v4& a) noexcept : beck::ip::address_v4(a) {}
  /// As make_address_v4(text).
  static address_v4 from_string(std::string_view text) { return beck::ip::make_address_v4(text); }
  static address_v4 from_string(std::string_view text, beck::error_code& ec) {
    return beck::ip::make_address_v4(text, ec);
  }
  using beck::ip::address_v4::to_string;
  /// As to_string(). `ec` is never set.
  std::string to_string(beck::error_code& ec) const {
    ec = beck::error_code();
    return to_string();
  }
  /// As to_uint().
  unsigned long to_ulong() const noexcept { return to_uint(); }
};
/// As beck::ip::address_v6, with the functions of old.
class address_v6 : public beck::ip::address_v6 {
 public:
  using beck::ip::address_v6::address_v6;
  address_v6() noexcept = default;
  /// Converts from beck's.
  address_v6(const beck::ip::address_v6& a) noexcept : beck::ip::address_v6(a) {}
  /// As make_address_v6(text).
  static address_v6 from_string(std::string_view text) { return beck::ip::make_address_v6(text); }
  static address_v6 from_string(std::string_view text, beck::error_code& ec) {
    return beck::ip::make_address_v6(text, ec);
  }
  using beck::ip::address_v6::to_string;
  /// As to_string(). `ec` is never set.
  std::string to_string(beck::error_code& ec) const {
    ec = beck::error_code();
    return to_string();
  }
};
/// As beck::ip::address, with the functions of old.
class address : public beck::ip::address {
 public:
  using beck::ip::address::address;
  address() noexcept = default;
  /// Converts from beck's.
  address(const beck::ip::address& a) noexcept : beck::ip::address(a) {}
  /// As make_address(text).
  static address from_string(std::string_view text) { return beck::ip::make_address(text); }
  static address from_string(std::string_view text, beck::error_code& ec) {
    return beck::ip::make_address(text, ec);
  }
  using beck::ip::address::to_string;
  /// As to_string(). `ec` is never set.
  std::string to_string(beck::error_code& ec) const {
    ec = beck::error_code();
    return to_string();
  }
  /// As beck's functions, with the functions of old.
  address_v4 to_v4() const { return beck::ip::address::to_v4(); }
  address_v6 to_v6() const { return beck::ip::address::to_v6(); }
};

/// The host, service and flags of a lookup.
template <class Protocol>
class basic_resolver_query : public beck::ip::resolver_base {
 public:
  /// Makes a query of addresses to listen on.
  explicit basic_resolver_query(std::string service, flags how = passive | address_configured)
      : basic_resolver_query(std::string(), std::move(service), how) {}
  /// As above, of the version of `protocol`.
  basic_resolver_query(const Protocol& protocol, std::string service,
                       flags how = passive | address_configured)
      : basic_resolver_query(protocol, std::string(), std::move(service), how) {}
  /// Makes a query of the addresses of a host.
  basic_resolver_query(std::string host, std::string service, flags how = address_configured)
      : host_(std::move(host)), service_(std::move(service)), how_(how) {}
  /// As above, of the version of `protocol`.
  basic_resolver_query(const Protocol& protocol, std::string host, std::string service,
                       flags how = address_configured)
      : protocol_(protocol),
        has_protocol_(true),
        host_(std::move(host)),
        service_(std::move(service)),
        how_(how) {}

  /// Returns the parts.
  const std::string& host_name() const noexcept { return host_; }
  const std::string& service_name() const noexcept { return service_; }

  /// Calls `function` with the arguments of the resolver's functions.
  template <class Function>
  auto apply(Function&& function) const {
    return has_protocol_ ? function(protocol_, host_, service_, how_)
                         : function(host_, service_, how_);
  }

 private:
  Protocol protocol_ = Protocol::v4();
  bool has_protocol_ = false;
  std::string host_;
  std::string service_;
  flags how_;
};

/// The results of a lookup, which also dereference to the first.
template <class Protocol>
class basic_query_results : public beck::ip::basic_resolver_results<Protocol> {
  using base = beck::ip::basic_resolver_results<Protocol>;

 public:
  basic_query_results() = default;
  /// Converts from beck's.
  basic_query_results(base all) : base(std::move(all)) {}
  /// Returns the first entry. Requires that there is one.
  const typename base::value_type& operator*() const { return *this->begin(); }
  const typename base::value_type* operator->() const { return &*this->begin(); }
};

/// A position in the results of a lookup, which it keeps. A default-constructed one is the end.
template <class Protocol>
class basic_resolver_iterator {
  using results = beck::ip::basic_resolver_results<Protocol>;

 public:
  using value_type = beck::ip::basic_resolver_entry<Protocol>;
  using difference_type = std::ptrdiff_t;
  using reference = const value_type&;
  using pointer = const value_type*;
  using iterator_category = std::forward_iterator_tag;

  basic_resolver_iterator() = default;
  /// Converts to the first of the results.
  basic_resolver_iterator(const results& all) : all_(all), at_(all_.begin()) {}

  reference operator*() const { return *at_; }
  pointer operator->() const { return &*at_; }
  basic_resolver_iterator& operator++() {
    ++at_;
    return *this;
  }
  basic_resolver_iterator operator++(int) {
    basic_resolver_iterator before(*this);
    ++at_;
    return before;
  }
  friend bool operator==(const basic_resolver_iterator& a, const basic_resolver_iterator& b) {
    return a.left() == b.left();
  }

 private:
  std::ptrdiff_t left() const { return std::distance(at_, all_.end()); }

  results all_;
  typename results::iterator at_ = all_.end();
};

/// As beck's resolver, with lookups of queries.
template <class Protocol>
class query_resolver : public beck::ip::basic_resolver<Protocol> {
  using base = beck::ip::basic_resolver<Protocol>;

 public:
  using query = basic_resolver_query<Protocol>;
  using iterator = basic_resolver_iterator<Protocol>;
  using results_type = basic_query_results<Protocol>;
  using base::async_resolve;
  using base::base;

  /// As beck's functions, with results that dereference to the first.
  template <class... Args>
    requires requires(base& of, Args&&... args) { of.resolve(static_cast<Args&&>(args)...); }
  results_type resolve(Args&&... args) {
    return base::resolve(static_cast<Args&&>(args)...);
  }
  /// Looks up in this call. Throws io_error.
  results_type resolve(const query& of) {
    return of.apply([this](const auto&... parts) { return base::resolve(parts...); });
  }
  /// Looks up in this call.
  results_type resolve(const query& of, beck::error_code& ec) {
    return of.apply([&](const auto&... parts) { return this->resolve(parts..., ec); });
  }
  /// Looks up. `token` takes (error_code, results_type or iterator).
  template <class Token>
  auto async_resolve(const query& of, Token&& token) {
    return beck::detail::launch(
        of.apply([this](const auto&... parts) { return this->async_resolve(parts...); }),
        static_cast<Token&&>(token));
  }
};

/// As beck::ip::tcp, with a resolver of queries.
class tcp : public beck::ip::tcp {
 public:
  using resolver = query_resolver<beck::ip::tcp>;
  /// Converts from beck's.
  tcp(const beck::ip::tcp& protocol) noexcept : beck::ip::tcp(protocol) {}
};

}  // namespace ip

/// Connects to the first endpoint from `begin` on that accepts. Blocks. Returns its position, the
/// end after an error.
template <class Socket, class Protocol>
ip::basic_resolver_iterator<Protocol> connect(Socket& socket,
                                              ip::basic_resolver_iterator<Protocol> begin,
                                              beck::error_code& ec) {
  return BECK_ASIO::connect(socket, begin, ip::basic_resolver_iterator<Protocol>(), ec);
}
/// As above. Throws a system_error.
template <class Socket, class Protocol>
ip::basic_resolver_iterator<Protocol> connect(Socket& socket,
                                              ip::basic_resolver_iterator<Protocol> begin) {
  return BECK_ASIO::connect(socket, begin, ip::basic_resolver_iterator<Protocol>());
}

BECK_ASIO_END

template <>
struct std::hash<BECK_ASIO::ip::address> : std::hash<beck::ip::address> {};
template <>
struct std::hash<BECK_ASIO::ip::address_v4> : std::hash<beck::ip::address_v4> {};
template <>
struct std::hash<BECK_ASIO::ip::address_v6> : std::hash<beck::ip::address_v6> {};
