// SPDX-License-Identifier: BSL-1.0
//
// The limits of a client: how many connections, how many waiting calls, how long each step may
// take, how much a server may send. docs/http-client.md has a table of them, with the errors.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/http/body_decoder.hpp>
#include <beck/http/head.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace beck::http {

/// The limits of a client. To limit the time of a whole call, use beck::timeout().
///   http::client web(ctx, {.connections = 20, .head_timeout = 5s, .redirects = 3});
struct client_options {
  /// The greatest number of connections to an origin (scheme, host and port). 0 counts as 1.
  std::size_t per_origin = 8;
  /// The greatest number of connections to all origins. At the limit the connection that has been
  /// idle longest is closed; if none is idle, calls wait. 0 counts as 1.
  std::size_t connections = 256;
  /// The greatest number of calls that wait for a connection. Error beyond it: too_many_waiting. 0:
  /// no call waits.
  std::size_t waiting = 1'024;

  /// How long an idle connection is kept for further calls, or less if the server says so in
  /// Keep-Alive: 15 s.
  duration idle_timeout = duration::seconds(15);
  /// How long the lookup of a name and the connection may take: 3 s. Error beyond it: connect_late.
  duration connect_timeout = duration::seconds(3);
  /// How long the server may take no byte of a request: 30 s. Error beyond it: send_late.
  duration send_timeout = duration::seconds(30);
  /// How long the head of the response may take after the end of the request, with all 1xx
  /// responses before it: 60 s. Error beyond it: head_late.
  duration head_timeout = duration::seconds(60);
  /// The slowest average rate of a body, in bytes a second, enforced once reads have waited for it
  /// for `body_grace`. Error below it: body_late. 0: no limit, as for streams of rare events.
  std::uint32_t body_rate = 240;
  /// How long reads wait for a body in all before `body_rate` is enforced: 5 s.
  duration body_grace = duration::seconds(5);
  /// How long a read waits for the next byte of a body: 30 s. Error beyond it: body_late.
  duration body_timeout = duration::seconds(30);
  /// How long a request with call::expect_continue() waits for "100 Continue" before it sends its
  /// body without it: 1 s.
  duration continue_timeout = duration::seconds(1);

  /// The bounds of heads. Requires as response_parser.
  head_limits heads = {};
  /// The bounds of bodies. Error beyond `body_bytes`: refusal::body_too_long. The default has no
  /// bound there, as bodies are streams; async_read_all() has a bound of its own. A member that
  /// braces do not name has the default of body_limits, so `body_bytes` becomes 1 MiB with
  /// `.bodies = {.trailer_fields = 5}`.
  body_limits bodies = {.body_bytes = INT64_MAX};
  /// How many bytes of 1xx responses may precede a response, 64 KiB. Error beyond it:
  /// too_many_interim.
  std::size_t interim_bytes = 65'536;
  /// How many redirects a call follows, at most 10. Error beyond it: too_many_redirects. 0: none, a
  /// redirect is the result.
  unsigned redirects = 0;
};
static_assert(std::is_trivially_destructible_v<client_options>);

}  // namespace beck::http
