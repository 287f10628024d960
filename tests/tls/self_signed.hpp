// SPDX-License-Identifier: BSL-1.0
// An identity for tests whose topic is not certificates: a self-signed certificate of P-256 for
// example.com, localhost and 127.0.0.1, valid from 2020 to 2049, and a client that trusts it alone.
#pragma once

#include <beck/tls/client_context.hpp>
#include <beck/tls/server_context.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace beck::tls::test {

inline constexpr const char* self_signed_chain =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBcDCCARWgAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAliZWNrIHRl\n"
    "c3QwHhcNMjAwMTAxMDAwMDAwWhcNNDkxMjMxMjM1OTU5WjAUMRIwEAYDVQQDDAli\n"
    "ZWNrIHRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASoorgySU/TJZpxv47P\n"
    "kqoOljP1esSW1e0I1p3DxTNdYIFBBy+nEeJQuqpFCP5xmvjod55HpaAgFQqlHzN5\n"
    "0WAoo1gwVjAnBgNVHREEIDAeggtleGFtcGxlLmNvbYIJbG9jYWxob3N0hwR/AAAB\n"
    "MAwGA1UdEwEB/wQCMAAwHQYDVR0OBBYEFJdIUqf9TAjzRaBfzzUVTeiwCtfAMAoG\n"
    "CCqGSM49BAMCA0kAMEYCIQD8NtHn3btZMa1XAzl92rmIyUJ0GySHewTS1gg/++WN\n"
    "4gIhALa3MnprOo6qYtkc5idL53Q6mvsAt8Z14JbdDv58G2wL\n"
    "-----END CERTIFICATE-----\n";
inline constexpr const char* self_signed_key =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgOlKgaOzn4oD49BGm\n"
    "MwW87VB4ClGNDjAdHirQUqNA4xWhRANCAASoorgySU/TJZpxv47PkqoOljP1esSW\n"
    "1e0I1p3DxTNdYIFBBy+nEeJQuqpFCP5xmvjod55HpaAgFQqlHzN50WAo\n"
    "-----END PRIVATE KEY-----\n";

/// The two files in a folder of their own.
class self_signed_files {
 public:
  self_signed_files() {
    std::string pattern = (std::filesystem::temp_directory_path() / "beck-tls-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    folder_ = pattern;
    std::ofstream(chain()) << self_signed_chain;
    std::ofstream(key()) << self_signed_key;
  }
  ~self_signed_files() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  self_signed_files(const self_signed_files&) = delete;
  self_signed_files& operator=(const self_signed_files&) = delete;

  std::string chain() const { return folder_ + "/chain.pem"; }
  std::string key() const { return folder_ + "/key.pem"; }

 private:
  std::string folder_;
};

/// Both sides, made once for the program.
struct both_contexts {
  self_signed_files files;
  // Without tickets: a client that closes before it has read its ticket resets the connection.
  server_context identity{files.chain(), files.key(), server_options().resumption(false)};
  client_context trust{files.chain()};

  static both_contexts& get() {
    static both_contexts made;
    return made;
  }
};

}  // namespace beck::tls::test
