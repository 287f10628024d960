// SPDX-License-Identifier: BSL-1.0
// The values behind the public options: files, names and switches, before anything was loaded.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tls/identity.hpp"
#include "tls/trust.hpp"

namespace beck::tls::detail {

class ticket_store;

/// What both sides have. A value.
struct common_settings {
  int version_min = TLS1_2_VERSION;
  int version_max = TLS1_3_VERSION;
  std::string protocols;  ///< as ALPN has them: a byte of length before each
  bool resumes = true;
};

struct client_settings : common_settings {
  trust_settings trust;
  std::vector<key_hash> pins;
  bool demands_ocsp = false;
  identity_source identity;  ///< without a chain: none
};

struct server_settings : common_settings {
  std::vector<identity_source> identities;  ///< the first one is for names that no other has
  trust_settings clients;
  bool asks_clients = false;
  bool demands_clients = false;
  std::shared_ptr<ticket_store> tickets;  ///< none: those of one server alone
};

}  // namespace beck::tls::detail
