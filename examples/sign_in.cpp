// SPDX-License-Identifier: BSL-1.0
//
// A login that a sealed cookie keeps: no table of sessions, on as many machines as have the keys.
//   openssl rand -hex 32 > session.keys
//   sign_in PORT session.keys              port 0: any free one; it is printed
//   http://localhost:PORT/                 the password of everybody is "sesame"
#include <beck/http/cookie.hpp>
#include <beck/http/credentials.hpp>
#include <beck/http/failure.hpp>
#include <beck/http/form.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/http/slot.hpp>
#include <beck/tls/sealer.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

#include "announced.hpp"
#include "number.hpp"

namespace http = beck::http;
using namespace std::chrono_literals;

namespace {

constinit const http::slot<std::string> user;

constexpr const char* form =
    "<form method=post action=/login><input name=name autofocus>"
    "<input name=password type=password><button>Sign in</button></form>\n";

/// Returns whether a name may be shown in a page as it is.
bool is_plain(std::string_view name) {
  return !name.empty() && name.find_first_of("<>&\"'") == std::string_view::npos;
}

/// Puts the user of the cookie into the request.
http::pending recognise(const beck::tls::sealer& seal, http::request& q, http::response& r,
                        http::next next) {
  std::string name;
  if (seal.open(http::cookie_of(q, "session"), name)) user.put(q, std::move(name));
  return next(q, r);
}

beck::task<> login(const beck::tls::sealer& seal, http::request& q, http::response& r) {
  const std::string text = co_await http::read_text(q, 4096);
  const http::form_fields given(text);
  const std::string_view name = given.get("name");
  if (!is_plain(name) || !http::is_equal(given.get("password"), "sesame"))
    throw http::failure(403, "wrong name or password");
  r.set_cookie(http::cookie("session", seal.seal(name, 12h)).path("/").max_age(12h));
  r.redirect("/");
}

http::router make_site(const beck::tls::sealer& seal) {
  http::router site;
  site.use([&seal](http::request& q, http::response& r, http::next next) {
    return recognise(seal, q, r, next);
  });
  site.get("/", [](http::request& q, http::response& r) {
    const std::string* const name = user.get(q);
    r.set(http::field::content_type, "text/html; charset=utf-8");
    r.send(name == nullptr ? form
                           : "hello, " + *name +
                                 "<form method=post action=/logout><button>Sign out</button>\n");
  });
  site.post("/login", [&seal](http::request& q, http::response& r) { return login(seal, q, r); });
  site.post("/logout", [](http::request&, http::response& r) {
    r.set_cookie(http::cookie::removed("session").path("/")).redirect("/");
  });
  return site;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: sign_in PORT FILE\n");
    return 2;
  }
  try {
    const beck::tls::sealer seal(argv[2], "login");
    http::server server(make_site(seal));
    server.listen(beck::ip::make_port(example::number(argv[1])));
    return example::run_announced(server);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "sign_in: %s\n", e.what());
    return 1;
  }
}
