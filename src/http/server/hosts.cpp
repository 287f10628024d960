// SPDX-License-Identifier: BSL-1.0
// A map from names of hosts to routers. A wildcard is kept as its suffix with the dot. No name
// begins with one, so one map has both.
#include <beck/http/hosts.hpp>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include <beck/detail/ref_count.hpp>
#include <beck/http/target.hpp>

#include "http/message/characters.hpp"

namespace beck::http {
namespace detail {
namespace {

/// The longest name of a host in bytes (RFC 1035).
constexpr std::size_t name_bytes_max = 255;
constexpr std::size_t names_max = 65'536;

[[noreturn]] void refuse(std::string_view name, const char* reason) {
  throw std::invalid_argument("http: host \"" + std::string(name.substr(0, 100)) + "\": " + reason);
}

/// Throws std::invalid_argument unless `name`, without "*.", is a host as on() takes it.
void check(std::string_view name, std::string_view host) {
  if (host.empty()) refuse(name, "no name");
  if (host.size() > name_bytes_max) refuse(name, "longer than 255 bytes");
  const std::size_t bracket = host.front() == '[' ? host.find(']') : 0;
  if (bracket == host.size() - 1 && name.size() == host.size() && host.size() > 2 &&
      all_in(host.substr(1, host.size() - 2), in_ipv6))
    return;
  if (bracket != std::string_view::npos && host.find(':', bracket) != std::string_view::npos)
    refuse(name, "a port; a host has the same handler on all of them");
  if (host.front() == '.' || host.back() == '.' || host.find("..") != std::string_view::npos)
    refuse(name, "an empty part");
  if (!all_in(host, in_host) || host.find('*') != std::string_view::npos)
    refuse(name, "a character that no name has; a wildcard is \"*.\" at its begin");
}

/// Returns the host of an authority such as "a.example.:80", without its port and the dot.
std::string_view host_of(std::string_view authority) noexcept {
  const std::size_t colon = authority.rfind(':');
  if (colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos)
    authority = authority.substr(0, colon);
  if (authority.ends_with('.')) authority.remove_suffix(1);
  return authority;
}

}  // namespace

class host_table {
 public:
  host_table() {
    unknown_.otherwise([](request&, response& r) {
      r.fail(status::misdirected_request, "this server has no such host");
    });
  }

  void add(std::string_view name, const router& made) {
    require_unserved();
    std::string_view host = name;
    if (host.starts_with("*.")) host.remove_prefix(2);
    check(name, host);
    if (routers_.size() == names_max) throw std::length_error("http: more than 65,536 hosts");
    std::string key(host.size() == name.size() ? "" : ".");
    for (const char c : host) key += lower(c);
    if (!routers_.emplace(std::move(key), made).second) refuse(name, "was added already");
  }
  void add_others(const router& made) {
    require_unserved();
    if (has_others_) throw std::invalid_argument("http: hosts have an otherwise() already");
    unknown_ = made;
    has_others_ = true;
  }

  /// Returns the router of a host. Never allocates.
  const router& find(std::string_view authority) const noexcept {
    if (!is_served_.load(std::memory_order_relaxed))
      is_served_.store(true, std::memory_order_relaxed);
    const std::string_view host = host_of(authority);
    if (host.empty() || host.size() > name_bytes_max) return unknown_;
    char room[name_bytes_max];
    for (std::size_t i = 0; i < host.size(); ++i) room[i] = lower(host[i]);
    std::string_view name(room, host.size());
    auto found = name.front() == '.' ? routers_.end() : routers_.find(name);
    for (std::size_t dot = 0; found == routers_.end(); name.remove_prefix(dot)) {
      dot = name.find('.', 1);
      if (dot == std::string_view::npos) return unknown_;
      found = routers_.find(name.substr(dot));
    }
    return found->second;
  }

  beck::detail::ref_count holders;

 private:
  struct hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  void require_unserved() const {
    if (is_served_.load(std::memory_order_relaxed))
      throw std::logic_error("http: a host is added while a server serves");
  }

  std::unordered_map<std::string, router, hash, std::equal_to<>> routers_;
  router unknown_;
  bool has_others_ = false;
  mutable std::atomic<bool> is_served_ = false;
};

}  // namespace detail

hosts::hosts() : table_(new detail::host_table) {}

hosts::hosts(const hosts& other) noexcept : table_(other.table_) { table_->holders.add(); }

hosts& hosts::operator=(const hosts& other) noexcept {
  hosts copy(other);
  std::swap(table_, copy.table_);
  return *this;
}

hosts::~hosts() {
  if (table_->holders.drop()) delete table_;
}

void hosts::add(std::string_view name, const router& made) { table_->add(name, made); }

void hosts::add_others(const router& made) { table_->add_others(made); }

detail::route_choice hosts::choose(request& q) const {
  return table_->find(q.get(field::host)).choose(q);
}

task<> hosts::operator()(request& q, response& r) const {
  return table_->find(q.get(field::host))(q, r);
}

void redirect_to_https::operator()(request& q, response& r) const {
  const std::string_view host = detail::host_of(q.get(field::host));
  if (host.empty()) {
    r.fail(status::bad_request, "the request has no host to redirect to");
    return;
  }
  const target_parts target = split_target(q.target());
  std::string url = "https://" + std::string(host);
  if (port_ != 443) url += ':' + std::to_string(port_);
  url.append(target.path.empty() ? "/" : target.path);
  if (target.has_query) url.append("?").append(target.query);
  r.redirect(url, 308);
}

}  // namespace beck::http
