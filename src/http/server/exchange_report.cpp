// SPDX-License-Identifier: BSL-1.0
// Reports of exchanges: failures of handlers to the log of the context, all exchanges to an
// observer.
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include <beck/http/target.hpp>
#include <beck/io/context_services.hpp>
#include <beck/io/steady_timer.hpp>

#include "http/server/connection.hpp"
#include "http/server/worker.hpp"

namespace beck::http::detail {
namespace {

/// Copies `from`, a text of the program, so that it stays on one line of a log.
void append_printable(std::string& to, std::string_view from) {
  constexpr std::size_t bytes_max = 500;
  for (const char c : from.substr(0, bytes_max)) to += c >= ' ' && c != 0x7F ? c : '?';
}

/// Returns the message of an exception; without one, a text that says that there was no response.
std::string what_of(const std::exception_ptr& thrown) {
  if (thrown == nullptr) return no_response_text;
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

/// Returns the pattern of a route for a log; without memory an empty text.
std::string_view pattern_of(exchange_state& x) noexcept {
  try {
    return route_view(x).pattern();
  } catch (const std::bad_alloc&) {
    return {};
  }
}

}  // namespace

/// Clients do not report failures to the programmer, so the log does. The client is the cause if it
/// has gone, or if its body was refused.
void handler_run::log_failure(const std::exception_ptr& thrown) noexcept {
  const connection_exchange& x = connection_.active();
  if (thrown == nullptr && !x.response.is_silent()) return;
  if (connection_.is_lost() || is_excused() || x.request.body_refusal != refusal::none) return;
  if (!x.response.has_begun() && as_failure(thrown) != nullptr) return;
  x.log(thrown);
}

void exchange_state::log(const std::exception_ptr& thrown) const noexcept {
  try {
    std::string line("http: ");
    if (head.bytes() != 0) line.append(head.method_text()).append(" ");
    append_printable(line, split_target(head.target()).path);  // a query may have secrets
    append_printable(line.append(": "), what_of(thrown));
    log_line(port->executor(), line.c_str());
  } catch (...) {
    return;  // no memory for the line
  }
}

void handler_run::report(refusal why, const std::exception_ptr& thrown) {
  connection_exchange& x = connection_.active();
  const server_state& server = connection_.server_worker().server();
  exchange_record record;
  record.protocol = "HTTP/1.1";
  if (!connection_.stream().is_plain()) record.security = connection_.stream().security();
  record.number = connection_.requests().begun();
  record.peer = connection_.peer;
  record.client = connection_.peer.address();
  if (x.request.head.bytes() != 0) {
    record.request = &x.request.head;
    record.id = id_of(x);
    record.client = server.client_address(x.request.head, record.client, connection_.is_local);
    record.request_bytes = x.request.decoder.bytes();
    record.route = pattern_of(x);
    record.time = steady_now() - time_point(duration(x.handler.began));
    if (x.response.began != 0) record.first_byte = duration(x.response.began - x.handler.began);
  } else {
    ++record.number;  // of the request that was refused
  }
  if (x.response.has_begun()) {
    record.status = number_of(x.response.status);
  } else if (client_left_ && !connection_.requests().body_is_whole()) {
    record.status = number_of(status::bad_request);
  }
  if (connection_.responses().body_allowed()) record.response_bytes = x.response.sent;
  record.why = why;
  record.cut = x.response.cut;
  record.thrown = thrown;
  server.report(record);
}

}  // namespace beck::http::detail
