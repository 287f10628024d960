// SPDX-License-Identifier: BSL-1.0
// docs/tls.md and the code say the same of errors.
#include <beck/tls/error.hpp>

#include <doctest/doctest.h>

#include <iterator>
#include <set>
#include <string>

#include "support/page_table.hpp"

namespace tls = beck::tls;
using tls::error;

namespace {

constexpr struct {
  const char* name;
  error code;
} commonest[] = {
    {"wrong_name", error::wrong_name},
    {"expired", error::expired},
    {"not_yet_valid", error::not_yet_valid},
    {"self_signed", error::self_signed},
    {"unknown_issuer", error::unknown_issuer},
    {"revoked", error::revoked},
    {"revocation_unknown", error::revocation_unknown},
    {"bad_pin", error::bad_pin},
    {"weak_certificate", error::weak_certificate},
    {"wrong_usage", error::wrong_usage},
    {"no_certificate", error::no_certificate},
    {"no_shared_version", error::no_shared_version},
    {"no_shared_cipher", error::no_shared_cipher},
    {"no_shared_protocol", error::no_shared_protocol},
    {"not_tls", error::not_tls},
    {"truncated", error::truncated},
    {"alert_unknown_ca", error::alert_unknown_ca},
    {"alert_bad_certificate", error::alert_bad_certificate},
    {"alert_certificate_required", error::alert_certificate_required},
    {"alert_handshake_failure", error::alert_handshake_failure},
    {"key_mismatch", error::key_mismatch},
    {"bad_pem", error::bad_pem},
};

/// Returns the number of an alert that an error stands for, as the protocol has it.
int alert_of(error e) { return static_cast<int>(e) - 256; }

}  // namespace

TEST_CASE("docs/tls.md has a row for each of the commonest errors, and the code each of its rows") {
  const auto rows = beck::test::rows_of(BECK_TLS_PAGE, "| error | on |");
  REQUIRE(rows.size() == std::size(commonest));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(rows[i]);
    CHECK(rows[i].starts_with("| `" + std::string(commonest[i].name) + "` |"));
  }
}

TEST_CASE("each error of tls has a text of its own, and a condition") {
  std::set<std::string> texts;
  int errors = 0;
  for (int value = 1; value < 256; ++value) {
    const beck::error_code ec(value, tls::error_category());
    if (ec.message().starts_with("Unknown error")) continue;
    ++errors;
    CHECK(texts.insert(ec.message()).second);
    const auto condition = value >= static_cast<int>(error::bad_pem) ? beck::errc::invalid_argument
                           : value == static_cast<int>(error::truncated)
                               ? beck::errc::connection_reset
                               : beck::errc::protocol_error;
    CHECK(ec == condition);
  }
  CHECK(errors == 25);
  for (int alert = 0; alert < 256; ++alert) {
    const beck::error_code ec(256 + alert, tls::error_category());
    CHECK(ec.message().ends_with("(alert " + std::to_string(alert) + ")"));
    CHECK(texts.insert(ec.message()).second);
    CHECK(ec == beck::errc::protocol_error);
  }
  CHECK(beck::error_code(0, tls::error_category()).message() == "Unknown error 0");
  CHECK(beck::error_code(512, tls::error_category()).message() == "Unknown error 512");
  CHECK(alert_of(error::alert_unexpected_message) == 10);
  CHECK(alert_of(error::alert_bad_record_mac) == 20);
  CHECK(alert_of(error::alert_handshake_failure) == 40);
  CHECK(alert_of(error::alert_insufficient_security) == 71);
  CHECK(alert_of(error::alert_internal_error) == 80);
  CHECK(alert_of(error::alert_unrecognized_name) == 112);
  CHECK(alert_of(error::alert_certificate_required) == 116);
  CHECK(alert_of(error::alert_no_application_protocol) == 120);
}
