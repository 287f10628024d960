// SPDX-License-Identifier: BSL-1.0
// The cluster of the program: a thin handle, and the URLs of the first nodes.
#include <beck/redis/cluster.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/cluster/cluster_core.hpp"

namespace beck::redis {
namespace detail {
namespace {

/// Returns the text in front of the first host: the scheme and the login.
std::string_view front_of(std::string_view urls) noexcept {
  const std::size_t colon = urls.find("://");
  if (colon == urls.npos) return {};
  const std::size_t hosts = colon + 3;
  const std::size_t at = urls.substr(0, urls.find('/', hosts)).rfind('@');
  return urls.substr(0, at != urls.npos && at >= hosts ? at + 1 : hosts);
}

/// Returns the URL of each node. Throws std::invalid_argument.
std::vector<server_url> parse_cluster_urls(std::string_view urls) {
  const std::string front(front_of(urls));
  std::vector<server_url> seeds;
  for (std::string_view rest = urls.substr(front.size());;) {
    const std::size_t comma = rest.find(',');
    server_url one = parse_server_url(front + std::string(rest.substr(0, comma)));
    if (!one.path.empty() || one.database != 0)
      throw std::invalid_argument("redis: a cluster has no UNIX sockets, and only database 0");
    seeds.push_back(std::move(one));
    if (comma == rest.npos) return seeds;
    rest.remove_prefix(comma + 1);
  }
}

sender* make_cluster(const any_io_executor& executor, std::string_view urls,
                     const cluster_options& how) {
  if (executor.table()->concurrent)
    throw std::logic_error("redis: a cluster needs a context for one thread; use one for each");
  return new cluster_core(executor, parse_cluster_urls(urls), how);
}

cluster_core& core_of(const sender_ref& of) noexcept { return static_cast<cluster_core&>(*of); }

}  // namespace
}  // namespace detail

cluster::cluster(const any_io_executor& executor, std::string_view urls, const cluster_options& how)
    : exec_functions(detail::sender_ref(detail::make_cluster(executor, urls, how))) {}

cluster::~cluster() { close(); }

cluster& cluster::secure(stream_layer& with) noexcept {
  detail::core_of(sender_).secure(with);
  return *this;
}

cluster& cluster::login_with(credentials& from) noexcept {
  detail::core_of(sender_).login_with(from);
  return *this;
}

void cluster::close() noexcept { detail::core_of(sender_).close(); }

cluster_stats cluster::stats() const noexcept { return detail::core_of(sender_).stats(); }

}  // namespace beck::redis
