// SPDX-License-Identifier: BSL-1.0
//
// The identity of a build without TLS.
#include "failure.hpp"
#include "identity.hpp"

namespace beck_serve {

std::unique_ptr<identity> load_identity(const std::string&, const std::string&) {
  throw failure("--cert: this program was built without OpenSSL 3");
}

}  // namespace beck_serve
