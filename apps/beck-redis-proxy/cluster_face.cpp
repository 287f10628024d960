// SPDX-License-Identifier: BSL-1.0
//
// The replies of a node of redis-server 7 whose cluster has no other nodes.
#include "cluster_face.hpp"

#include <fmt/format.h>

#include <beck/redis/key_slot.hpp>
#include <string_view>

#include "words.hpp"

namespace beck_redis_proxy {
namespace {

using beck::redis::key_slots;
using beck::redis::reply_writer;

constexpr int last_slot = key_slots - 1;
constexpr std::string_view mapped_front = "::ffff:";  // of an IPv4 address on an IPv6 socket

/// Returns a name for the node: 40 digits that are those of its address, so that they stay.
std::string id_of(const cluster_face& of) {
  constexpr std::uint64_t fnv_basis = 0xcbf29ce484222325;
  constexpr std::uint64_t fnv_prime = 0x100000001b3;
  std::uint64_t hash = fnv_basis;
  for (const char c : of.host) hash = (hash ^ static_cast<unsigned char>(c)) * fnv_prime;
  return fmt::format("{:020x}{:020x}", of.port, hash);
}

void write_slots(const cluster_face& of, reply_writer& to) {
  to.array(1).array(3).integer(0).integer(last_slot);
  to.array(4).bulk(of.host).integer(of.port).bulk(id_of(of)).map(0);
}

void write_shards(const cluster_face& of, reply_writer& to) {
  to.array(1).map(2).bulk("slots").array(2).integer(0).integer(last_slot).bulk("nodes").array(1);
  to.map(7).bulk("id").bulk(id_of(of)).bulk("port").integer(of.port).bulk("ip").bulk(of.host);
  to.bulk("endpoint").bulk(of.host).bulk("role").bulk("master");
  to.bulk("replication-offset").integer(0).bulk("health").bulk("online");
}

std::string nodes_text(const cluster_face& of) {
  return fmt::format("{} {}:{}@{} myself,master - 0 0 1 connected 0-{}\n", id_of(of), of.host,
                     of.port, of.port, last_slot);
}

std::string info_text() {
  return fmt::format(
      "cluster_state:ok\r\ncluster_slots_assigned:{0}\r\ncluster_slots_ok:{0}\r\n"
      "cluster_slots_pfail:0\r\ncluster_slots_fail:0\r\ncluster_known_nodes:1\r\n"
      "cluster_size:1\r\ncluster_current_epoch:1\r\ncluster_my_epoch:1\r\n",
      key_slots);
}

}  // namespace

cluster_face face_of(const beck::ip::tcp::socket& client) {
  beck::error_code ec;
  const beck::ip::tcp::endpoint at = client.local_endpoint(ec);
  if (ec) return {};  // it has gone
  std::string host = at.address().to_string();
  if (host.starts_with(mapped_front)) host.erase(0, mapped_front.size());
  return {std::move(host), at.port()};
}

bool is_about_face(const beck::redis::arguments& command) noexcept {
  if (!is_word(command[0], "cluster") || command.size() < 2) return false;
  const std::string_view what = command[1];
  if (is_word(what, "keyslot")) return command.size() == 3;
  if (command.size() != 2) return false;
  return is_word(what, "slots") || is_word(what, "shards") || is_word(what, "nodes") ||
         is_word(what, "info") || is_word(what, "myid") || is_word(what, "myshardid");
}

void answer(const cluster_face& of, const beck::redis::arguments& command, reply_writer& to) {
  const std::string_view what = command[1];
  if (is_word(what, "slots")) {
    write_slots(of, to);
  } else if (is_word(what, "shards")) {
    write_shards(of, to);
  } else if (is_word(what, "nodes")) {
    to.verbatim("txt", nodes_text(of));
  } else if (is_word(what, "info")) {
    to.verbatim("txt", info_text());
  } else if (is_word(what, "keyslot")) {
    to.integer(beck::redis::key_slot(command[2]));
  } else {
    to.bulk(id_of(of));
  }
}

}  // namespace beck_redis_proxy
