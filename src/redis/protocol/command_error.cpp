// SPDX-License-Identifier: BSL-1.0
// The table of the errors of commands: name, first word of the server's text, message.
#include <beck/redis/error.hpp>

#include <iterator>
#include <string>

namespace beck::redis {
namespace {

struct row {
  error reason;
  std::string_view name;
  std::string_view word;  // empty: no server says it
  const char* text;
};

constexpr row rows[] = {
    {error::server, "server", "",
     "The Redis server answered: the server has answered with another error"},
    {error::err, "err", "ERR",
     "The Redis server answered: a general error, such as a wrong number of arguments"},
    {error::wrongtype, "wrongtype", "WRONGTYPE",
     "The Redis server answered: the key holds another type of value"},
    {error::noauth, "noauth", "NOAUTH",
     "The Redis server answered: the connection has not logged in"},
    {error::wrongpass, "wrongpass", "WRONGPASS",
     "The Redis server answered: a wrong user or password"},
    {error::noperm, "noperm", "NOPERM", "The Redis server answered: the user may not do that"},
    {error::noscript, "noscript", "NOSCRIPT",
     "The Redis server answered: no script has this digest"},
    {error::busy, "busy", "BUSY", "The Redis server answered: a script keeps the server busy"},
    {error::busykey, "busykey", "BUSYKEY", "The Redis server answered: the key exists already"},
    {error::busygroup, "busygroup", "BUSYGROUP",
     "The Redis server answered: the group exists already"},
    {error::nogroup, "nogroup", "NOGROUP", "The Redis server answered: there is no such group"},
    {error::loading, "loading", "LOADING",
     "The Redis server answered: the server still loads its data"},
    {error::masterdown, "masterdown", "MASTERDOWN",
     "The Redis server answered: a replica has lost its primary"},
    {error::readonly, "readonly", "READONLY",
     "The Redis server answered: a replica takes no writes"},
    {error::misconf, "misconf", "MISCONF",
     "The Redis server answered: the server takes no writes, as it cannot save"},
    {error::oom, "oom", "OOM", "The Redis server answered: the server is at its limit of memory"},
    {error::noreplicas, "noreplicas", "NOREPLICAS",
     "The Redis server answered: too few replicas for a write"},
    {error::exec_abort, "exec_abort", "EXECABORT",
     "The Redis server answered: a command of the transaction was refused, so none has run"},
    {error::moved, "moved", "MOVED", "The Redis server answered: the slot is on another node"},
    {error::ask, "ask", "ASK", "The Redis server answered: the slot is on its way to another node"},
    {error::tryagain, "tryagain", "TRYAGAIN",
     "The Redis server answered: keys of the command are on two nodes for now"},
    {error::cross_slot, "cross_slot", "CROSSSLOT",
     "The Redis server answered: the keys of the command have several slots"},
    {error::clusterdown, "clusterdown", "CLUSTERDOWN",
     "The Redis server answered: the cluster does not serve the slot"},
    {error::unblocked, "unblocked", "UNBLOCKED",
     "The Redis server answered: the server has ended a blocking command"},
    {error::unkillable, "unkillable", "UNKILLABLE",
     "The Redis server answered: the script has written and is not ended"},
    {error::notbusy, "notbusy", "NOTBUSY", "The Redis server answered: no script is running"},
    {error::noproto, "noproto", "NOPROTO",
     "The Redis server answered: the server does not speak this version"},
    {error::inprog, "inprog", "INPROG", "The Redis server answered: that is under way already"},
    {error::ioerr, "ioerr", "IOERR",
     "The Redis server answered: the server could not reach another one"},
    {error::nogoodslave, "nogoodslave", "NOGOODSLAVE",
     "The Redis server answered: a sentinel knows no replica to promote"},
    {error::wrong_reply, "wrong_reply", "", "The reply of the Redis server does not fit its type"},
    {error::null_reply, "null_reply", "",
     "The reply of the Redis server is null, and its type holds no null"},
    {error::reply_too_large, "reply_too_large", "",
     "The reply of the Redis server is larger than allowed"},
    {error::request_too_large, "request_too_large", "",
     "A request for a Redis server is over a limit"},
    {error::watch_failed, "watch_failed", "",
     "A key that was watched has changed, so the transaction has not run"},
    {error::needs_lane, "needs_lane", "",
     "The command would change or block a connection to a Redis server that others share"},
    {error::queue_full, "queue_full", "", "Too many commands wait for a Redis server"},
    {error::server_silent, "server_silent", "", "The Redis server has been silent for too long"},
    {error::not_on_lane, "not_on_lane", "",
     "The command would take the connection of a lane away from its client"},
    {error::not_cacheable, "not_cacheable", "",
     "The command does not only read keys, so a cache does not take it"},
    {error::not_primary, "not_primary", "",
     "The Redis server is no primary, or sentinels name another one"},
    {error::unknown_primary, "unknown_primary", "",
     "No sentinel knows a Redis primary with this name"},
};

constexpr bool is_in_order() {
  for (unsigned i = 0; i < std::size(rows); ++i)
    if (rows[i].reason != static_cast<error>(i + 1)) return false;
  return true;
}
static_assert(is_in_order(), "a row for each error, in the order of the enumeration");
static_assert(std::size(rows) == static_cast<unsigned>(error::unknown_primary));

const row& row_of(error e) noexcept { return rows[static_cast<unsigned>(e) - 1]; }

class category_type final : public std::error_category {
 public:
  constexpr category_type() noexcept = default;
  const char* name() const noexcept override { return "beck.redis"; }
  std::string message(int value) const override {
    if (value < 1 || value > static_cast<int>(std::size(rows)))
      return "Unknown error " + std::to_string(value);
    return row_of(static_cast<error>(value)).text;
  }
  std::error_condition default_error_condition(int value) const noexcept override {
    const auto e = static_cast<error>(value);
    if (e == error::reply_too_large || e == error::request_too_large)
      return std::errc::message_size;
    if (e == error::noauth || e == error::wrongpass || e == error::noperm)
      return std::errc::permission_denied;
    if (e == error::loading || e == error::busy || e == error::masterdown || e == error::tryagain ||
        e == error::clusterdown)
      return std::errc::resource_unavailable_try_again;
    if (e == error::oom) return std::errc::not_enough_memory;
    return {value, *this};
  }
};

// Constant-initialised and never destroyed: codes are also compared in static destructors.
union storage {
  category_type value;
  constexpr storage() noexcept : value() {}
  ~storage() {}
};
constinit storage category_object;

}  // namespace

const std::error_category& error_category() noexcept { return category_object.value; }

std::string_view functions::name_of(error e) noexcept { return row_of(e).name; }

error functions::error_of(std::string_view text) noexcept {
  const std::string_view word = text.substr(0, text.find(' '));
  if (word.empty()) return error::server;
  for (const row& one : rows)
    if (one.word == word) return one.reason;
  return error::server;
}

}  // namespace beck::redis
