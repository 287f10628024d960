// SPDX-License-Identifier: BSL-1.0
// Both ends of the opening handshake over HTTP.
#include <beck/websocket/accept.hpp>

#include <memory>
#include <stdexcept>
#include <utility>

#include "http/message/characters.hpp"
#include "http/server/connection.hpp"
#include "websocket/handshake.hpp"
#include "websocket/session.hpp"

namespace beck::websocket {
namespace {

using http::field;

/// Answers a request that is refused.
void refuse(http::response& reply, const detail::upgrade_check& why) {
  reply.status(why.answer);
  if (why.answer == http::status::upgrade_required)
    reply.set(field::upgrade, "websocket").set(field::sec_websocket_version, "13");
  if (why.answer == http::status::method_not_allowed) reply.set(field::allow, "GET");
  reply.set(field::content_type, "text/plain; charset=utf-8");
  reply.send(why.error.message() + ".\n");
}

/// Returns whether a field belongs to the handshake: only the library writes those.
bool is_of_handshake(std::string_view name) noexcept {
  constexpr std::string_view front = "sec-websocket-";
  return http::detail::equal_in_any_case(name.substr(0, front.size()), front);
}

/// Sets the fields of the request for a connection.
void set_fields(http::call& ask, std::string_view key, const connect_options& how) {
  ask.upgrade("websocket").set(field::sec_websocket_key, key);
  ask.set(field::sec_websocket_version, "13");
  if (!how.protocols().empty()) ask.set(field::sec_websocket_protocol, how.protocols());
  std::string_view more = how.fields();
  while (!more.empty()) {
    const std::string_view line = more.substr(0, more.find('\n'));
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (is_of_handshake(name))
      throw std::invalid_argument("websocket: the client writes the field " + std::string(name));
    ask.add(name, line.substr(colon + 1));
    more.remove_prefix(line.size() + 1);
  }
}

task<io_result<stream>> connect_to(http::client& by, std::string url, connect_options how) {
  using result = io_result<stream>;
  if (url.empty()) co_return result(stream_error::bad_url, stream());
  char bytes[16];
  detail::fill_random(by.get_executor(), bytes, sizeof bytes);
  const std::string key = detail::base64(bytes, sizeof bytes);
  http::call ask(by, http::method::get, url);
  set_fields(ask, key, how);
  auto got = co_await ask.async_finish();
  if (got.error()) co_return result(got.error(), stream());
  http::reply answer = std::move(got).value();
  if (answer.status() != http::status::switching_protocols) {
    const error_code ec(static_cast<int>(http::number_of(answer.status())), rejection_category());
    co_return result(ec, stream());
  }
  std::string_view protocol;
  if (!detail::check_reply(answer.head(), key, how.protocols(), protocol))
    co_return result(stream_error::bad_reply, stream());
  auto made =
      std::make_shared<detail::session>(by.get_executor(), how.limits(), answer.take_over());
  made->protocol = protocol;
  co_return result(error_code(), detail::make_stream(std::move(made)));
}

}  // namespace

connect_options& connect_options::add(std::string_view name, std::string_view value) {
  constexpr auto npos = std::string_view::npos;
  if (name.find_first_of(":\n") != npos || value.find('\n') != npos)
    throw std::invalid_argument("websocket: a field of a request must be one line");
  fields_.append(name).append(":").append(value).append("\n");
  return *this;
}

task<io_result<stream>> functions::accept(http::request& q, http::response& reply,
                                          accept_options how) {
  using result = io_result<stream>;
  const bool is_secure = !http::detail::connection_of(q).stream().is_plain();
  const detail::upgrade_check checked = detail::check_request(q.head(), how, is_secure);
  if (checked.error) {
    refuse(reply, checked);
    co_return result(checked.error, stream());
  }
  const any_io_executor executor = reply.get_executor();
  reply.set(field::upgrade, "websocket");
  reply.set(field::sec_websocket_accept, detail::accept_value(checked.key));
  if (!checked.protocol.empty()) reply.set(field::sec_websocket_protocol, checked.protocol);
  auto taken = co_await reply.take_over();
  if (taken.error()) co_return result(taken.error(), stream());
  auto made = std::make_shared<detail::session>(executor, how.limits(), std::move(taken).value());
  made->protocol = checked.protocol;
  co_return result(error_code(), detail::make_stream(std::move(made)));
}

task<io_result<stream>> functions::connect(http::client& by, std::string_view url,
                                           connect_options how) {
  return connect_to(by, detail::http_url(url), std::move(how));
}

}  // namespace beck::websocket
