// SPDX-License-Identifier: BSL-1.0
//
// The names of the file that the peers of http_client ask for.
#include "http_calls.hpp"

namespace bench {

http_calls::http_calls(meter& m, std::size_t body_bytes) : meter_(m), body_bytes_(body_bytes) {
  require(options().port != 0, "--port is missing: that of a server with the files");
}

std::string http_calls::authority() const {
  return std::string("127.0.0.1:").append(std::to_string(options().port));
}

std::string http_calls::path() const {
  return std::string("/").append(std::to_string(body_bytes_)).append(".txt");
}

}  // namespace bench
