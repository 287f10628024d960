// SPDX-License-Identifier: BSL-1.0
// Which servers a client believes, and how it says why not: code, alert and sentence.
#include <cstdlib>
#include <string>

#include "support/conformance.hpp"
#include "tls/contexts.hpp"
#include "tls/handshake_pair.hpp"

using namespace beck::tls::test;
using beck::error_code;
namespace tls = beck::tls;
using tls::error;

namespace {

/// Makes a server with this certificate, also if it has expired.
tls::server_options any_date() {
  tls::server_options options;
  options.settings().identities.front().any_date = true;
  return options;
}

both_sides shake(made which, const tls::client_options& trust, std::string_view name,
                 const tls::server_options& options = any_date()) {
  handshakes pair;
  tls::server_context identity(files().chain(which), files().key(which), options);
  tls::client_context client(trust);
  return pair.shake(identity, client, name);
}

both_sides shake(made which, std::string_view name = "example.com") {
  return shake(which, trusting(), name);
}

}  // namespace

CONFORMANCE("tls trust: a chain that leads to a trusted root is believed, for each of its names") {
  for (const char* name : {"example.com", "www.example.com", "WWW.Example.COM", "example.com."}) {
    const both_sides got = shake(made::good, name);
    CAPTURE(name);
    CAPTURE(got.client.text);
    CHECK(got.good());
    CHECK(got.client.peer == "example.com");
    CHECK(got.client.version == "TLSv1.3");
    CHECK(got.server.peer.empty());
  }
  CHECK(shake(made::rsa).good());
}

CONFORMANCE("tls trust: a certificate for other names is wrong_name, and the sentence has them") {
  const both_sides got = shake(made::other_name);
  CHECK(got.client.ec == error::wrong_name);
  CHECK(has(got.client.text, "not valid for \"example.com\""));
  CHECK(has(got.client.text, "certificate for other.example"));
  CHECK(has(got.client.text, "issued by \"Test Intermediate\""));
  CHECK(has(got.client.text, "valid from 2000-01-01 00:00:00 UTC to 2049-12-31 23:59:59 UTC"));
  CHECK(got.server.ec == error::alert_bad_certificate);
  CHECK(shake(made::good, "a.example.com").client.ec == error::wrong_name);
  CHECK(shake(made::good, "example.com.evil").client.ec == error::wrong_name);
}

CONFORMANCE("tls trust: a wildcard stands for one whole label") {
  CHECK(shake(made::wildcard, "www.example.com").good());
  CHECK(shake(made::wildcard, "example.com").client.ec == error::wrong_name);
  CHECK(shake(made::wildcard, "a.b.example.com").client.ec == error::wrong_name);
  CHECK(shake(made::partial_wildcard, "www.example.com").client.ec == error::wrong_name);
}

CONFORMANCE("tls trust: a common name does not count") {
  const both_sides got = shake(made::only_common_name);
  CHECK(got.client.ec == error::wrong_name);
  CHECK(has(got.client.text, "certificate for \"example.com\""));
}

CONFORMANCE("tls trust: an address is compared with the addresses of a certificate alone") {
  for (const char* name : {"127.0.0.1", "::1", "[::1]", "::1%lo"}) {
    const both_sides got = shake(made::address, name);
    CAPTURE(name);
    CAPTURE(got.client.text);
    CHECK(got.good());
  }
  const both_sides got = shake(made::address, "127.0.0.2");
  CHECK(got.client.ec == error::wrong_name);
  CHECK(has(got.client.text, "127.0.0.1, 0:0:0:0:0:0:0:1"));
  CHECK(shake(made::good, "127.0.0.1").client.ec == error::wrong_name);
}

CONFORMANCE("tls trust: names that are no names are invalid_argument, before a byte is sent") {
  tls::client_context client(trusting());
  const std::string with_nul("example.com\0.evil", 17);
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("a..b"), with_nul, std::string(".a"),
        std::string(300, 'a'), std::string(64, 'a') + ".b", std::string("\xc3\xa4.de"),
        std::string("[example.com]"), std::string("example.com%a:b"), std::string("a:b%c"),
        std::string("example.com.."), std::string("[::1"), std::string("::1]")}) {
    beck::io_context ctx(context_options());
    error_code ec;
    co_spawn(
        ctx,
        [](tls::client_context& c, const std::string& text, error_code& to) -> beck::task<> {
          auto made = co_await c.connect(beck::owned_stream(), text);
          to = made.error();
        }(client, name, ec),
        beck::detached);
    ctx.run();
    CAPTURE(name);
    CHECK(ec == std::errc::invalid_argument);
  }
}

CONFORMANCE("tls trust: expired and not_yet_valid name the dates and the date here") {
  const both_sides late = shake(made::expired);
  CHECK(late.client.ec == error::expired);
  CHECK(has(late.client.text, "to 2010-01-31 23:59:59 UTC, has expired: the date here is 20"));
  CHECK(late.server.ec == error::alert_certificate_expired);
  const both_sides early = shake(made::not_yet_valid);
  CHECK(early.client.ec == error::not_yet_valid);
  CHECK(has(early.client.text, "valid from 2040-01-01 00:00:00 UTC"));
  CHECK(has(early.client.text, "is not valid yet"));
  CHECK(early.server.ec != error_code());
}

CONFORMANCE("tls trust: issuers that are not trusted are told apart") {
  const both_sides self = shake(made::self_signed);
  CHECK(self.client.ec == error::self_signed);
  CHECK(has(self.client.text, "is self-signed"));
  CHECK(self.server.ec == error::alert_unknown_ca);
  const both_sides missing = shake(made::no_intermediate);
  CHECK(missing.client.ec == error::unknown_issuer);
  CHECK(has(missing.client.text, "issued by \"Test Intermediate\""));
  CHECK(has(missing.client.text, "was not sent along"));
  CHECK(missing.server.ec == error::alert_unknown_ca);
  const both_sides foreign = shake(made::other_root);
  CHECK(foreign.client.ec == error::unknown_issuer);
  CHECK(has(foreign.client.text, "issued by \"Foreign Root\""));
}

CONFORMANCE("tls trust: without other roots those of the system are trusted, and with them not") {
  CHECK(shake(made::good, tls::client_options(), "example.com").client.ec == error::unknown_issuer);
  ::setenv("SSL_CERT_FILE", files().path("root.pem").c_str(), 1);  // is the system's, then
  auto other = tls::authorities().file(files().chain(made::self_signed));
  CHECK(shake(made::good, tls::client_options(), "example.com").good());
  CHECK(shake(made::good, tls::client_options().trust(other), "example.com").client.ec ==
        error::unknown_issuer);
  CHECK(shake(made::good, tls::client_options().trust(other.system()), "example.com").good());
  ::unsetenv("SSL_CERT_FILE");
}

CONFORMANCE("tls trust: roots come from texts and folders, too; a server may be its own root") {
  const auto pem = tls::authorities().pem(root());
  CHECK(shake(made::good, tls::client_options().trust(pem), "example.com").good());
  const auto folder = tls::authorities().folder(files().folder());
  CHECK(shake(made::good, tls::client_options().trust(folder), "example.com").good());
  for (const made which : {made::self_signed, made::other_root, made::no_intermediate}) {
    const auto itself = tls::authorities().file(files().chain(which));
    const both_sides got = shake(which, tls::client_options().trust(itself), "example.com");
    CAPTURE(got.client.text);
    CHECK(got.good());
  }
  const auto more = tls::authorities().file(files().path("root.pem")).system();
  CHECK(shake(made::good, tls::client_options().trust(more), "example.com").good());
}

CONFORMANCE("tls trust: certificates for another use, or with weak keys, are refused") {
  const both_sides use = shake(made::for_clients);
  CHECK(use.client.ec == error::wrong_usage);
  CHECK(has(use.client.text, "unsuitable certificate purpose"));
  handshakes pair;
  CHECK_THROWS_AS(tls::server_context(files().chain(made::weak), files().key(made::weak)),
                  beck::io_error);
}

CONFORMANCE("tls trust: a revoked certificate is refused, and a list that is missing is told") {
  const auto lists = files().path("lists.crl");
  const auto roots = tls::authorities().file(files().path("root.pem"));
  const auto checked = tls::client_options().trust(tls::authorities(roots).revocation_list(lists));
  CHECK(shake(made::good, checked, "example.com").good());
  const both_sides got = shake(made::revoked, checked, "example.com");
  CHECK(got.client.ec == error::revoked);
  CHECK(has(got.client.text, "was revoked by its issuer"));
  CHECK(got.server.ec == error::alert_certificate_revoked);
  CHECK(shake(made::revoked, trusting(), "example.com").good());
  const identity_files own;
  const std::string all = revocation_lists();  // that of the root comes first
  const std::size_t second = all.find("-----BEGIN", 10);
  const std::string of_root = all.substr(0, second), of_issuer = all.substr(second);
  for (const std::string& half : {of_root, of_issuer}) {  // one certificate of the chain each
    const auto list = tls::authorities(roots).revocation_list(own.write("half.pem", half));
    const both_sides unknown = shake(made::good, tls::client_options().trust(list), "example.com");
    CHECK(unknown.client.ec == error::revocation_unknown);
  }
}

CONFORMANCE("tls trust: a pin is the key of the server or of an issuer, beside all other checks") {
  const std::string right = pin_of(made::good);
  const std::string other = pin_of(made::rsa);
  CHECK(shake(made::good, trusting().pin(other).pin(right), "example.com").good());
  CHECK(shake(made::good, trusting().pin(right.substr(7)), "example.com").good());
  CHECK(shake(made::good, trusting().pin("sha256//" + right.substr(7)), "example.com").good());
  CHECK(shake(made::good, trusting().pin(pin_of_intermediate()), "example.com").good());
  const both_sides got = shake(made::good, trusting().pin(other), "example.com");
  CHECK(got.client.ec == error::bad_pin);
  CHECK(has(got.client.text, right));
  CHECK(got.server.ec == error::alert_bad_certificate);
  CHECK(shake(made::good, trusting().pin(right), "other.example").client.ec == error::wrong_name);
  for (const std::string& text : {std::string("sha256/"), std::string(43, 'A'), right + "=",
                                  "sha1/" + right.substr(7), std::string(44, '=')}) {
    CAPTURE(text);
    CHECK_THROWS_AS(tls::client_options().pin(text), std::invalid_argument);
  }
}

CONFORMANCE("tls trust: a client that demands OCSP gets a good response, or refuses") {
  const identity_files own;
  const auto with = [&](ocsp_says what, tls::version which) {
    auto options = any_date().versions(which, which);
    options.settings().identities.front().ocsp_unchecked = ocsp_response(made::good, what);
    return shake(made::good, trusting().demand_ocsp(), "example.com", options);
  };
  for (const tls::version which : {tls::version::tls_1_2, tls::version::tls_1_3}) {
    const both_sides good = with(ocsp_says::good, which);
    CAPTURE(good.client.text);
    CHECK(good.good());
    const both_sides revoked = with(ocsp_says::revoked, which);
    CHECK(revoked.client.ec == error::revoked);
    CHECK(has(revoked.client.text, "was revoked on 2001-01-01"));
    CHECK(revoked.server.ec == error::alert_bad_status_response);
    for (const ocsp_says what : {ocsp_says::unknown, ocsp_says::too_old, ocsp_says::not_yet,
                                 ocsp_says::foreign_signature, ocsp_says::foreign_issuer}) {
      const both_sides got = with(what, which);
      CAPTURE(got.client.text);
      CHECK(got.client.ec == error::revocation_unknown);
    }
    auto other = any_date().versions(which, which);
    other.settings().identities.front().ocsp_unchecked = ocsp_response(made::rsa, ocsp_says::good);
    const both_sides foreign = shake(made::good, trusting().demand_ocsp(), "example.com", other);
    CHECK(foreign.client.ec == error::revocation_unknown);
    CHECK(has(foreign.client.text, "it is of another certificate"));
    const both_sides none = shake(made::good, trusting().demand_ocsp(), "example.com");
    CHECK(none.client.ec == error::revocation_unknown);
    CHECK(has(none.client.text, "the server sent none"));
  }
}

CONFORMANCE("tls trust: an intermediate that is trusted may sign the OCSP response, too") {
  const identity_files own;
  const auto middle = tls::authorities().file(own.write("middle.pem", intermediate()));
  const auto options = tls::server_options().ocsp(files().path("good.ocsp"));
  const auto trust = tls::client_options().trust(middle);
  CHECK(shake(made::good, trust, "example.com", options).good());
  const both_sides got =
      shake(made::good, tls::client_options(trust).demand_ocsp(), "example.com", options);
  CAPTURE(got.client.text);
  CHECK(got.good());
}
