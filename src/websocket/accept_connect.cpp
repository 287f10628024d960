// SPDX-License-Identifier: BSL-1.0
// Both ends of the opening handshake over HTTP.
#include <beck/websocket/accept.hpp>

#include <memory>
#include <stdexcept>
#include <utility>

#include <beck/base/base64.hpp>

#include "http/message/characters.hpp"
#include "websocket/handshake.hpp"
#include "websocket/session.hpp"

namespace beck::websocket {
namespace {

using http::field;

/// Answers a request that is refused.
void refuse(http::response& response, const detail::upgrade_check& why) {
  if (why.answer == http::status::upgrade_required)
    response.set(field::upgrade, "websocket").set(field::sec_websocket_version, "13");
  if (why.answer == http::status::method_not_allowed) response.set(field::allow, "GET");
  response.fail(why.answer, why.error.message() + ".");
}

/// Returns whether a field belongs to the handshake: only the library writes those.
bool is_of_handshake(std::string_view name) noexcept {
  constexpr std::string_view front = "sec-websocket-";
  return http::detail::equal_in_any_case(name.substr(0, front.size()), front);
}

/// The texts of connect_options, for the task that outlives them.
struct connect_texts {
  explicit connect_texts(const connect_options& how) : protocols(how.protocols) {
    for (const request_field& one : how.fields) {
      constexpr auto npos = std::string_view::npos;
      if (one.name.find_first_of(":\n") != npos || one.value.find('\n') != npos)
        throw std::invalid_argument("websocket: a field of a request must be one line");
      if (is_of_handshake(one.name)) {
        throw std::invalid_argument("websocket: the client writes the field " +
                                    std::string(one.name));
      }
      fields.append(one.name).append(":").append(one.value).append("\n");
    }
  }

  std::string protocols;
  std::string fields;  ///< "name:value\n" each
};

/// Sets the fields of the request for a connection.
void set_fields(http::call& ask, std::string_view key, const connect_texts& texts) {
  ask.upgrade("websocket").set(field::sec_websocket_key, key);
  ask.set(field::sec_websocket_version, "13");
  if (!texts.protocols.empty()) ask.set(field::sec_websocket_protocol, texts.protocols);
  std::string_view more = texts.fields;
  while (!more.empty()) {
    const std::string_view line = more.substr(0, more.find('\n'));
    const std::size_t colon = line.find(':');
    ask.add(line.substr(0, colon), line.substr(colon + 1));
    more.remove_prefix(line.size() + 1);
  }
}

task<io_result<stream>> connect_to(http::client& by, std::string url, limits most,
                                   connect_texts texts) {
  using result = io_result<stream>;
  if (url.empty()) co_return result(stream_error::bad_url, stream());
  char bytes[16];
  detail::fill_random(by.get_executor(), bytes, sizeof bytes);
  const std::string key = to_base64({bytes, sizeof bytes});
  http::call ask(by, http::method::get, url);
  set_fields(ask, key, texts);
  auto got = co_await ask.async_finish();
  if (got.error()) co_return result(got.error(), stream());
  http::client_response answer = std::move(got).value();
  if (answer.status() != http::status::switching_protocols) {
    const error_code ec(static_cast<int>(http::number_of(answer.status())), rejection_category());
    co_return result(ec, stream());
  }
  std::string_view protocol;
  if (!detail::check_response(answer.head(), key, texts.protocols, protocol))
    co_return result(stream_error::bad_response, stream());
  auto made = std::make_shared<detail::session>(by.get_executor(), most, answer.take_over());
  made->protocol = protocol;
  co_return result(error_code(), detail::make_stream(std::move(made)));
}

task<io_result<stream>> accept_request(http::request& q, http::response& response, limits most,
                                       std::string protocols, std::string origins) {
  using result = io_result<stream>;
  const bool is_secure = http::detail::state_of(q).port->is_layered();
  const detail::upgrade_check checked =
      detail::check_request(q.head(), {.protocols = protocols, .origins = origins}, is_secure);
  if (checked.error) {
    refuse(response, checked);
    co_return result(checked.error, stream());
  }
  response.set(field::upgrade, "websocket");
  response.set(field::sec_websocket_accept, detail::accept_value(checked.key));
  if (!checked.protocol.empty()) response.set(field::sec_websocket_protocol, checked.protocol);
  auto taken = co_await response.take_over();
  if (taken.error()) co_return result(taken.error(), stream());
  auto made = std::make_shared<detail::session>(q.get_executor(), most, std::move(taken).value());
  made->protocol = checked.protocol;
  co_return result(error_code(), detail::make_stream(std::move(made)));
}

}  // namespace

task<io_result<stream>> functions::accept(http::request& q, http::response& response,
                                          const accept_options& how) {
  return accept_request(q, response, how.limits, std::string(how.protocols),
                        std::string(how.origins));
}

task<io_result<stream>> functions::connect(http::client& by, std::string_view url,
                                           const connect_options& how) {
  return connect_to(by, detail::http_url(url), how.limits, connect_texts(how));
}

}  // namespace beck::websocket
