// SPDX-License-Identifier: BSL-1.0
//
// Errors of Redis: reasons to refuse the bytes of a server, the errors that servers answer with,
// and errors of requests and replies on this side.
#pragma once

#include <beck/base/error.hpp>
#include <string_view>
#include <type_traits>

namespace beck::redis {

/// Why a reply_parser refuses its input. Nothing behind the refused byte may be interpreted, so the
/// connection has to be closed.
enum class protocol_error : int {
  // malformed
  unknown_type = 1,    ///< an element begins with a byte that names no type of this protocol
  bad_digit,           ///< a number has another byte than digits, or no digit, or a leading zero
  number_too_large,    ///< a number or a length is outside the 64-bit integers, or a double's range
  bad_length,          ///< a length is negative, and not the -1 of a null
  bad_line_end,        ///< a line has CR without LF, or LF without CR
  bad_text_end,        ///< a text is not followed by CR LF at the place that its length names
  bad_null,            ///< a null is not exactly "_" and CR LF
  bad_boolean,         ///< a boolean is neither "#t" nor "#f"
  bad_double,          ///< the text of a double is no number
  bad_verbatim,        ///< a verbatim text does not begin with three bytes and a colon
  unexpected_part,     ///< a part of a streamed string outside one, or another element inside one
  unexpected_end,      ///< "." outside a streamed aggregate
  odd_map,             ///< a streamed map ends behind a key
  dangling_attribute,  ///< a streamed aggregate ends behind an attribute
  unexpected_push,     ///< a push inside a reply for which none is expected
  unexpected_reply,    ///< a reply, and no command waits for one
  failed_guard,        ///< the ECHO of client_options::guard_commands has another reply
  // limits
  line_too_long,      ///< parse_limits::line_bytes
  too_deep,           ///< parse_limits::depth
  too_many_elements,  ///< parse_limits::elements
  reply_too_large,    ///< parse_limits::reply_bytes
  push_too_large,     ///< parse_limits::push_bytes
};

/// Returns the category of protocol_error. Limits compare equal to errc::message_size, all others
/// to errc::protocol_error. Any thread; valid until the process ends.
const std::error_category& protocol_category() noexcept;

/// Returns the error_code of `e`.
inline error_code make_error_code(protocol_error e) noexcept {
  return {static_cast<int>(e), protocol_category()};
}

namespace functions {

/// Returns the name of the value, such as "bad_length".
std::string_view name_of(protocol_error e) noexcept;

}  // namespace functions
using namespace functions;

/// Why a command has no result. Those of the server are called as the first word of its text; the
/// whole text is in reply::error_text().
enum class error : int {
  // answers of the server: the command has run, or was refused
  server = 1,   ///< the server has answered with another error
  err,          ///< ERR: a general error, such as a wrong number of arguments
  wrongtype,    ///< WRONGTYPE: the key holds another type of value
  noauth,       ///< NOAUTH: the connection has not logged in
  wrongpass,    ///< WRONGPASS: a wrong user or password
  noperm,       ///< NOPERM: the user may not do that
  noscript,     ///< NOSCRIPT: no script has this digest
  busy,         ///< BUSY: a script keeps the server busy
  busykey,      ///< BUSYKEY: the key exists already
  busygroup,    ///< BUSYGROUP: the group exists already
  nogroup,      ///< NOGROUP: there is no such group
  loading,      ///< LOADING: the server still loads its data
  masterdown,   ///< MASTERDOWN: a replica has lost its primary
  readonly,     ///< READONLY: a replica takes no writes
  misconf,      ///< MISCONF: the server takes no writes, as it cannot save
  oom,          ///< OOM: the server is at its limit of memory
  noreplicas,   ///< NOREPLICAS: too few replicas for a write
  exec_abort,   ///< EXECABORT: a command of the transaction was refused, so none has run
  moved,        ///< MOVED: the slot is on another node
  ask,          ///< ASK: the slot is on its way to another node
  tryagain,     ///< TRYAGAIN: keys of the command are on two nodes for now
  cross_slot,   ///< CROSSSLOT: the keys of the command have several slots
  clusterdown,  ///< CLUSTERDOWN: the cluster does not serve the slot
  unblocked,    ///< UNBLOCKED: the server has ended a blocking command
  unkillable,   ///< UNKILLABLE: the script has written and is not ended
  notbusy,      ///< NOTBUSY: no script is running
  noproto,      ///< NOPROTO: the server does not speak this version
  inprog,       ///< INPROG: that is under way already
  ioerr,        ///< IOERR: the server could not reach another one
  nogoodslave,  ///< NOGOODSLAVE: a sentinel knows no replica to promote
  // errors on this side
  wrong_reply,        ///< the reply has another shape than its type, or a number is out of range
  null_reply,         ///< the reply is null, and its type holds no null; an optional does
  reply_too_large,    ///< the reply is larger than the request allows, or than its buffer
  request_too_large,  ///< a command is over a limit of request_limits
  watch_failed,       ///< a key that was watched has changed, so the transaction has not run
  needs_lane,         ///< the command would change or block a connection that others share
  queue_full,         ///< client_options::waiting commands wait already, or the queue of a
                      ///< subscription is full, which ends it then
  server_silent,      ///< nothing came from the server, for client_options::silence_timeout
  not_on_lane,        ///< the command would take a lane's connection away from the client
  not_cacheable,      ///< the command does not only read keys, so a cache does not take it
  not_primary,        ///< the server is no primary, or sentinels name another one
  unknown_primary,    ///< no sentinel knows a primary with the name of the URL
};

/// Returns the category of error. Limits compare equal to errc::message_size, noauth, wrongpass and
/// noperm to errc::permission_denied, loading, busy, masterdown, tryagain and clusterdown to
/// errc::resource_unavailable_try_again, oom to errc::not_enough_memory. Any thread; valid until
/// the process ends.
const std::error_category& error_category() noexcept;

/// Returns the error_code of `e`.
inline error_code make_error_code(error e) noexcept {
  return {static_cast<int>(e), error_category()};
}

namespace functions {

/// Returns the name of the value, such as "wrongtype".
std::string_view name_of(error e) noexcept;
/// Returns the error that a server's text, such as "WRONGTYPE Operation against ...", begins with;
/// error::server if its first word has no name here.
error error_of(std::string_view text) noexcept;

}  // namespace functions
using namespace functions;

}  // namespace beck::redis

/// Makes the enumerators convert to error_code.
template <>
struct std::is_error_code_enum<beck::redis::protocol_error> : std::true_type {};
/// Makes the enumerators convert to error_code.
template <>
struct std::is_error_code_enum<beck::redis::error> : std::true_type {};
