// SPDX-License-Identifier: BSL-1.0
// Notes as "external data" of OpenSSL, which frees them with the SSL.
#include "tls/connection_notes.hpp"

#include <new>

namespace beck::tls::detail {
namespace {

void free_notes(void*, void* notes, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<connection_notes*>(notes);
}

int notes_index() noexcept {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, &free_notes);
  return index;
}

}  // namespace

connection_notes& attach_notes(SSL* ssl, std::shared_ptr<const void> settings) {
  auto made = std::make_unique<connection_notes>();
  made->settings = std::move(settings);
  if (SSL_set_ex_data(ssl, notes_index(), made.get()) != 1) throw std::bad_alloc();
  return *made.release();
}

connection_notes* notes_of(const SSL* ssl) noexcept {
  return static_cast<connection_notes*>(SSL_get_ex_data(ssl, notes_index()));
}

void set_status_callback(SSL_CTX* context, int (*callback)(SSL*, void*), void* argument) noexcept {
  using any_function = void (*)();
  SSL_CTX_callback_ctrl(context, SSL_CTRL_SET_TLSEXT_STATUS_REQ_CB,
                        reinterpret_cast<any_function>(callback));
  SSL_CTX_ctrl(context, SSL_CTRL_SET_TLSEXT_STATUS_REQ_CB_ARG, 0, argument);
}

}  // namespace beck::tls::detail
