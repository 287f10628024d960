// SPDX-License-Identifier: BSL-1.0
// Public headers spell out some numbers and sizes of Linux, so that they need not include its
// headers; this file checks them. Also the bounds of a sockaddr of any family.
#include <beck/net/socket_option.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <cstring>

#include <beck/base/error.hpp>
#include <beck/detail/datagram_option.hpp>
#include <beck/detail/endpoint_data.hpp>
#include <beck/net/multicast.hpp>

namespace beck::detail {

static_assert(SOL_SOCKET == 1 && IPPROTO_TCP == 6 && IPPROTO_IPV6 == 41);
static_assert(socket_base::reuse_address::name() == SO_REUSEADDR);
static_assert(socket_base::error_option::name() == SO_ERROR);
static_assert(socket_base::broadcast::name() == SO_BROADCAST);
static_assert(socket_base::send_buffer_size::name() == SO_SNDBUF);
static_assert(socket_base::receive_buffer_size::name() == SO_RCVBUF);
static_assert(socket_base::keep_alive::name() == SO_KEEPALIVE);
static_assert(socket_base::linger::name() == SO_LINGER &&
              sizeof(linger_option) == sizeof(struct linger));
static_assert(socket_base::reuse_port::name() == SO_REUSEPORT);
static_assert(socket_base::receive_low_watermark::name() == SO_RCVLOWAT);
static_assert(int{socket_base::shutdown_receive} == int{SHUT_RD} &&
              int{socket_base::shutdown_send} == int{SHUT_WR} &&
              int{socket_base::shutdown_both} == int{SHUT_RDWR});
static_assert(tcp_options::no_delay::name() == TCP_NODELAY);
static_assert(tcp_options::keep_alive_idle::name() == TCP_KEEPIDLE);
static_assert(tcp_options::keep_alive_interval::name() == TCP_KEEPINTVL);
static_assert(tcp_options::keep_alive_count::name() == TCP_KEEPCNT);
static_assert(tcp_options::user_timeout::name() == TCP_USER_TIMEOUT);
static_assert(tcp_options::quick_ack::name() == TCP_QUICKACK);
static_assert(ip::v6_only::name() == IPV6_V6ONLY);
static_assert(IPPROTO_UDP == 17 && IPPROTO_IP == 0 && AF_INET == 2 && AF_INET6 == 10);
static_assert(udp_options::send_segment_size::name() == UDP_SEGMENT);
static_assert(udp_options::receive_coalesced::name() == UDP_GRO);
static_assert(ip::receive_packet_info::name(AF_INET) == IP_PKTINFO);
static_assert(ip::receive_packet_info::name(AF_INET6) == IPV6_RECVPKTINFO);
static_assert(ip::unicast::hops::name(AF_INET) == IP_TTL);
static_assert(ip::unicast::hops::name(AF_INET6) == IPV6_UNICAST_HOPS);
static_assert(ip::multicast::hops::name(AF_INET) == IP_MULTICAST_TTL);
static_assert(ip::multicast::hops::name(AF_INET6) == IPV6_MULTICAST_HOPS);
static_assert(ip::multicast::enable_loopback::name(AF_INET) == IP_MULTICAST_LOOP);
static_assert(ip::multicast::enable_loopback::name(AF_INET6) == IPV6_MULTICAST_LOOP);
static_assert(IP_ADD_MEMBERSHIP == 35 && IP_DROP_MEMBERSHIP == 36 && IPV6_JOIN_GROUP == 20 &&
              IPV6_LEAVE_GROUP == 21 && IP_MULTICAST_IF == 32 && IPV6_MULTICAST_IF == 17);
static_assert(sizeof(ip_mreq) == 8 && sizeof(ipv6_mreq) == 20);

// The bounds of a sockaddr of any family.

static_assert(endpoint_data::capacity() == sizeof(sockaddr_storage));
static_assert(alignof(endpoint_data) >= alignof(sockaddr_storage));

endpoint_data::endpoint_data(const void* data, std::size_t size) {
  resize(size);
  if (size != 0) std::memcpy(bytes_, data, size);
}

void endpoint_data::resize(std::size_t size) {
  if (size > capacity()) throw_error(error::invalid_argument, "endpoint_data::resize");
  size_ = size;
}

int endpoint_data::family() const noexcept {
  sa_family_t family = AF_UNSPEC;
  if (size_ >= sizeof family) std::memcpy(&family, bytes_, sizeof family);
  return family;
}

}  // namespace beck::detail
