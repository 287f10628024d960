// SPDX-License-Identifier: BSL-1.0
//
// The certificate that the server shows, if it is one of https.
#pragma once

#include <beck/io/stream_layer.hpp>
#include <memory>
#include <string>

namespace beck_serve {

/// The layer between the server and its sockets. Thread: any.
class identity {
 public:
  identity() = default;
  identity(const identity&) = delete;
  identity& operator=(const identity&) = delete;
  virtual ~identity() = default;

  virtual beck::stream_layer& layer() = 0;
  /// Reads the files again. Throws std::exception; then nothing has changed.
  virtual void reload() = 0;
};

/// Reads a chain and its key. Throws std::exception, which names the file; failure if the program
/// was built without TLS.
std::unique_ptr<identity> load_identity(const std::string& chain_file, const std::string& key_file);

}  // namespace beck_serve
