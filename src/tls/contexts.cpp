// SPDX-License-Identifier: BSL-1.0
// The settings of all connections.
#include "tls/contexts.hpp"

#include <new>
#include <stdexcept>

#include <beck/base/error.hpp>

#include "tls/failure.hpp"

namespace beck::tls::detail {

ssl_ctx_ptr make_context(const SSL_METHOD* method) {
  const error_queue queue;
  ssl_ctx_ptr made(SSL_CTX_new(method));
  if (!made) throw std::bad_alloc();
  SSL_CTX_set_min_proto_version(made.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(made.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                      SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                      SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_clear_options(made.get(), SSL_OP_ENABLE_KTLS | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_num_tickets(made.get(), 0);
  SSL_CTX_set_session_cache_mode(made.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(made.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                   SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return made;
}

server_state::server_state(std::string chain_file, std::string key_file)
    : chain_file_(std::move(chain_file)),
      key_file_(std::move(key_file)),
      context_(make_context(TLS_server_method())) {
  const error_queue queue;
  SSL_CTX* const c = context_.get();
  if (SSL_CTX_use_certificate_chain_file(c, chain_file_.c_str()) != 1)
    throw_setup_error(error::bad_file, "certificate", chain_file_);
  if (SSL_CTX_use_PrivateKey_file(c, key_file_.c_str(), SSL_FILETYPE_PEM) != 1) {
    const bool mismatch = ERR_GET_REASON(ERR_peek_error()) == X509_R_KEY_VALUES_MISMATCH;
    throw_setup_error(mismatch ? error::wrong_key : error::bad_file, "private key", key_file_);
  }
}

ssl_ptr server_state::make_session() const {
  const error_queue queue;
  ssl_ptr made(SSL_new(context_.get()));
  if (!made) throw std::bad_alloc();
  SSL_set_accept_state(made.get());
  return made;
}

client_state::client_state(const std::string& roots_file)
    : context_(make_context(TLS_client_method())) {
  const error_queue queue;
  SSL_CTX* const c = context_.get();
  const bool read = roots_file.empty() ? SSL_CTX_set_default_verify_paths(c) == 1
                                       : SSL_CTX_load_verify_file(c, roots_file.c_str()) == 1;
  if (!read) throw_setup_error(error::bad_file, "roots", roots_file);
  SSL_CTX_set_verify(c, SSL_VERIFY_PEER, nullptr);
}

ssl_ptr client_state::make_session(beck::detail::text_view name) const {
  const std::string text(name);
  if (text.empty() || text.find('\0') != text.npos)
    throw std::invalid_argument("tls: a name that is empty or has a NUL");
  const error_queue queue;
  ssl_ptr made(SSL_new(context_.get()));
  if (!made) throw std::bad_alloc();
  SSL_set_connect_state(made.get());
  X509_VERIFY_PARAM* const expected = SSL_get0_param(made.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(expected, text.c_str()) != 1) {
    X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    // SSL_set_tlsext_host_name() is a macro with a cast of C.
    std::string copy = text;
    if (SSL_set1_host(made.get(), text.c_str()) != 1 ||
        SSL_ctrl(made.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                 copy.data()) != 1) {
      throw std::bad_alloc();
    }
  }
  return made;
}

}  // namespace beck::tls::detail
