// SPDX-License-Identifier: BSL-1.0
//
// getrlimit(2) and the addresses of beck::ip.
#include "common/listening.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include "common/failure.hpp"

namespace beck_apps {

using beck::ip::tcp;

std::size_t raise_descriptor_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

tcp::endpoint endpoint_of(std::string_view option, const std::string& host, std::uint16_t port) {
  if (host == "*") return tcp::endpoint(tcp::v6(), port);
  beck::error_code ec;
  const beck::ip::address address =
      beck::ip::make_address(host == "localhost" ? "127.0.0.1" : host, ec);
  if (ec)
    throw wrong_usage(fmt::format("{} {}: not an address of IPv4 or IPv6, nor *", option, host));
  return tcp::endpoint(address, port);
}

std::string text_of(const tcp::endpoint& at) {
  const std::string address = at.address().to_string();
  return at.address().is_v6() ? fmt::format("[{}]:{}", address, at.port())
                              : fmt::format("{}:{}", address, at.port());
}

}  // namespace beck_apps
