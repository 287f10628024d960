// SPDX-License-Identifier: BSL-1.0
//
// A client of Redis Cluster: commands go to the nodes that have their keys, and follow the slots
// when these move.
#pragma once

#include <beck/redis/client_options.hpp>
#include <beck/redis/exec_functions.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace beck {
class stream_layer;
}

namespace beck::redis {

class credentials;

/// Which nodes are read from.
enum class read_preference : std::uint8_t {
  primary_only,    ///< the primary of a slot
  prefer_replica,  ///< a replica of it, whose data may be older; the primary if that fails
};
using enum read_preference;

/// The settings of a cluster.
struct cluster_options {
  /// Decides whether a node may be connected to. Must not throw.
  using permission = bool (*)(std::string_view host, std::uint16_t port);

  /// Where calls go that only read.
  read_preference reads = read_preference::primary_only;
  /// A function that is asked for each node that a server names, in its map or in a redirect. A
  /// node that it refuses gets no connection, and so no password; a redirect there is the reply.
  /// nullptr: all are permitted.
  permission permit = nullptr;
  /// The greatest number of nodes of a map, up to 65,535; a larger one is refused.
  std::size_t nodes = 1'000;
  /// How many redirects a command follows, one behind another; one more is its reply.
  std::uint8_t redirects = 5;
  /// The limits of the connections, and their name. hold_timeout, attempts and waiting are those of
  /// the calls of the cluster.
  client_options connections = {};
};
static_assert(std::is_trivially_destructible_v<cluster_options>);

/// Counters of a cluster since it was made. The first two are those of now.
struct cluster_stats {
  std::size_t calls = 0;          ///< that are under way
  std::size_t nodes = 0;          ///< that have a connection, or one that is being made
  std::uint64_t maps = 0;         ///< that servers have sent and that were accepted
  std::uint64_t moved = 0;        ///< commands that have followed MOVED
  std::uint64_t asked = 0;        ///< commands that have followed ASK
  std::uint64_t refused = 0;      ///< commands that were refused for now, and sent again
  std::uint64_t resent = 0;       ///< commands that were lost with a connection, and sent again
  std::uint64_t divided = 0;      ///< commands whose keys had several slots
  std::uint64_t to_replicas = 0;  ///< commands that were sent to replicas
};

/// A client of all nodes of a cluster, with the functions of redis::client. One connection to each
/// node, made when it is first needed, carries the commands whose keys have slots of that node;
/// with prefer_replica another one carries the reads that it answers as a replica.
///
///   redis::cluster many(ctx, "redis://h1:7000,h2:7000");  // any nodes: they name the others
///   auto set = co_await many.exec<void>("SET", "k", "hello");
///   auto got = co_await many.exec<std::vector<std::optional<long>>>("MGET", "a", "b", "c");
///   auto two = co_await many.transaction(redis::cmd<long>("INCR", "{u1}n"),
///                                        redis::cmd<void>("LPUSH", "{u1}l", 7));  // one slot
///
/// MGET, MSET, DEL, UNLINK, EXISTS and TOUCH may have keys of several slots: they are divided, and
/// are not atomic then. All other commands, and a transaction as a whole, must have keys of one
/// slot, or the call ends with error::cross_slot and nothing is sent. A command that the table does
/// not have needs redis::key(); one without keys goes to any primary.
/// Of a call with several commands those of one node keep their order. There is none between the
/// nodes, and a command that a node refuses or redirects may run behind later ones.
/// MOVED and ASK are followed, TRYAGAIN, CLUSTERDOWN, LOADING, MASTERDOWN and BUSY repeated for
/// at most client_options::hold_timeout. When a connection is lost, commands that were not sent go
/// to the nodes that the map says then. Sent ones do so only if they only read or the call is
/// retryable(), as with a client. A transaction that has not run because of one of these begins
/// again as a whole, unless an earlier attempt was lost and may have run. See docs/redis.md.
/// Errors: as client; cross_slot; moved, ask behind too many redirects; tryagain, clusterdown
/// behind hold_timeout; wrong_reply, with the reason as error_text(), if there is no map because
/// the reply to CLUSTER SLOTS is none. Cancellation: as client. Not there: lanes, subscriptions and
/// caches over a cluster; use a client of a node. Thread: that of the context; stats(), too.
/// Requires: an exclusive context. Lifetime: the context outlives it. The destructor ends the calls
/// under way with operation_aborted. From the first call to close() it is work of the context.
class cluster : public detail::exec_functions {
 public:
  /// Makes a client of the cluster that has the nodes of `urls`, of which one has to answer:
  /// redis://[user:password@]host[:port],host[:port],... or rediss://... The login is that of all
  /// nodes. Connects when the first command comes. Throws std::invalid_argument for a malformed
  /// URL or one with a database, std::logic_error on a shared context.
  template <class Context>
    requires(!std::is_convertible_v<Context&, any_io_executor>)
  cluster(Context& context, std::string_view urls, const cluster_options& how = cluster_options())
      : cluster(any_io_executor(context.get_executor()), urls, how) {}
  /// As above, on the context of `executor`.
  cluster(const any_io_executor& executor, std::string_view urls,
          const cluster_options& how = cluster_options());
  ~cluster();
  cluster(const cluster&) = delete;
  cluster& operator=(const cluster&) = delete;

  /// Makes rediss work: `with` encrypts later connections and verifies the host that the map
  /// names. It must outlive the cluster.
  cluster& secure(stream_layer& with) noexcept;
  /// Asks `from` for the login of each later connection, to any node, instead of the URL's. It must
  /// outlive the cluster.
  cluster& login_with(credentials& from) noexcept;
  /// Ends the calls under way with operation_aborted, and closes all connections. Later calls end
  /// in the same way.
  void close() noexcept;
  /// Returns the counters.
  cluster_stats stats() const noexcept;
};

}  // namespace beck::redis
