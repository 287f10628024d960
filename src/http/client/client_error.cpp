// SPDX-License-Identifier: BSL-1.0
// The two error categories. A message names the limit that was passed.
#include <beck/http/client_error.hpp>

#include <string>

namespace beck::http {
namespace {

class client_category_type final : public std::error_category {
 public:
  constexpr client_category_type() noexcept = default;
  const char* name() const noexcept override { return "beck.http.client"; }
  std::string message(int value) const override {
    switch (static_cast<client_error>(value)) {
      case client_error::bad_url:
        return "The URL is refused";
      case client_error::no_tls:
        return "https needs a connector with TLS, and this client has none";
      case client_error::too_many_waiting:
        return "As many calls wait for a connection as client_options::waiting allows";
      case client_error::connect_late:
        return "No connection within client_options::connect_timeout";
      case client_error::send_late:
        return "The server took no byte of the request for client_options::send_timeout";
      case client_error::head_late:
        return "No head of a response within client_options::head_timeout";
      case client_error::body_late:
        return "The body came more slowly than client_options::body_rate or body_timeout allow";
      case client_error::no_response:
        return "The server ended the connection without a response";
      case client_error::cut_short:
        return "The connection ended before the response was whole";
      case client_error::too_many_interim:
        return "More 1xx responses before the response than client_options::interim_bytes allows";
      case client_error::too_many_redirects:
        return "More redirects than client_options::redirects allows";
      case client_error::unexpected_upgrade:
        return "The server switched protocols without having been asked";
      case client_error::wrong_length:
        return "Less was written than call::content_length() has promised";
      case client_error::connector_failed:
        return "The connector threw an exception";
      case client_error::call_late:
        return "The call took longer than call::time() allows";
      case client_error::proxy_refused:
        return "The proxy refused the call";
      case client_error::before_call_failed:
        return "A function of client::before_call() threw an exception";
    }
    return "Unknown error " + std::to_string(value);
  }
  std::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<client_error>(value)) {
      case client_error::connect_late:
      case client_error::send_late:
      case client_error::head_late:
      case client_error::body_late:
      case client_error::call_late:
        return std::errc::timed_out;
      case client_error::no_response:
      case client_error::cut_short:
        return std::errc::connection_reset;
      case client_error::bad_url:
      case client_error::no_tls:
      case client_error::too_many_waiting:
      case client_error::too_many_interim:
      case client_error::too_many_redirects:
      case client_error::unexpected_upgrade:
      case client_error::wrong_length:
      case client_error::connector_failed:
      case client_error::proxy_refused:
      case client_error::before_call_failed:
        break;
    }
    return {value, *this};
  }
};

class refusal_category_type final : public std::error_category {
 public:
  constexpr refusal_category_type() noexcept = default;
  const char* name() const noexcept override { return "beck.http.refusal"; }
  std::string message(int value) const override {
    if (value < 0 || value > static_cast<int>(refusal::handler_late))
      return "Unknown error " + std::to_string(value);
    return "The response is refused: " + std::string(text_of(static_cast<refusal>(value)));
  }
  std::error_condition default_error_condition(int value) const noexcept override {
    if (value == static_cast<int>(refusal::body_too_long)) return std::errc::message_size;
    return std::errc::bad_message;
  }
};

// Constant-initialised and never destroyed, because static destructors may compare codes, too.
template <class Category>
union storage {
  Category value;
  constexpr storage() noexcept : value() {}
  ~storage() {}
};
constinit storage<client_category_type> client_category_object;
constinit storage<refusal_category_type> refusal_category_object;

}  // namespace

const std::error_category& client_category() noexcept { return client_category_object.value; }

const std::error_category& refusal_category() noexcept { return refusal_category_object.value; }

}  // namespace beck::http
