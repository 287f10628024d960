// SPDX-License-Identifier: BSL-1.0
//
// The identity of a build with TLS.
#include <beck/tls/server_context.hpp>

#include "identity.hpp"

namespace beck_serve {
namespace {

class tls_identity final : public identity {
 public:
  tls_identity(const std::string& chain_file, const std::string& key_file)
      : context_(chain_file, key_file) {}
  beck::stream_layer& layer() override { return context_; }
  void reload() override { context_.reload(); }

 private:
  beck::tls::server_context context_;
};

}  // namespace

std::unique_ptr<identity> load_identity(const std::string& chain_file,
                                        const std::string& key_file) {
  return std::make_unique<tls_identity>(chain_file, key_file);
}

}  // namespace beck_serve
