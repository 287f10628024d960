// SPDX-License-Identifier: BSL-1.0
// Loads an identity, and makes all checks that need no peer.
#include "tls/identity.hpp"

#include <openssl/err.h>

#include <beck/io/system_timer.hpp>

#include <algorithm>
#include <new>

#include "tls/failure.hpp"
#include "tls/pem_file.hpp"
#include "tls/trust.hpp"

namespace beck::tls::detail {
namespace {

constexpr const char* load_chain = "load certificate";
constexpr const char* load_key = "load key";

/// Returns "chain.pem, certificate 2 (subject)".
std::string place_of(const std::string& file, std::size_t index, const X509& certificate) {
  return file + ", certificate " + std::to_string(index + 1) + " (" + subject_of(certificate) + ")";
}

void check_dates(const std::string& file, std::size_t index, const X509& certificate) {
  const std::int64_t now = system_now().nanoseconds() / 1'000'000'000;
  const std::int64_t first = seconds_of(X509_get0_notBefore(&certificate));
  const std::int64_t last = seconds_of(X509_get0_notAfter(&certificate));
  const std::string place = place_of(file, index, certificate);
  if (last < now) refuse(error::expired, load_chain, place + ": valid to " + date_text(last));
  if (first > now)
    refuse(error::not_yet_valid, load_chain, place + ": valid from " + date_text(first));
}

/// Checks that every certificate is followed by its issuer: few clients search for it.
void check_order(const std::string& file, const std::vector<x509_ptr>& chain) {
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
    if (X509_check_issued(chain[i + 1].get(), chain[i].get()) == X509_V_OK) continue;
    refuse(error::broken_chain, load_chain,
           place_of(file, i + 1, *chain[i + 1]) + " did not issue the one before it, \"" +
               issuer_of(*chain[i]) + "\" did");
  }
}

certificates_ptr stack_of(const std::vector<x509_ptr>& all) {
  certificates_ptr stack(sk_X509_new_null());
  for (const x509_ptr& one : all) {
    if (stack == nullptr || sk_X509_push(stack.get(), one.get()) <= 0) throw std::bad_alloc();
    X509_up_ref(one.get());
  }
  return stack;
}

}  // namespace

identity load_identity(const identity_source& from) {
  const std::string& file = from.chain;
  std::vector<x509_ptr> chain = pem_file(load_chain, file).certificates();
  const pem_file key_file(load_key, from.key);
  identity made;
  made.key = key_file.private_key();
  const bool belongs = X509_check_private_key(chain.front().get(), made.key.get()) == 1;
  ERR_clear_error();
  if (!belongs)
    key_file.fail(error::key_mismatch, 0,
                  "not that of " + subject_of(*chain.front()) + " in " + file);
  check_order(file, chain);
  for (std::size_t i = 0; i < chain.size() && !from.any_date; ++i) check_dates(file, i, *chain[i]);
  made.leaf = std::move(chain.front());
  chain.erase(chain.begin());
  made.issuers = std::move(chain);
  if (!from.ocsp.empty()) {
    const X509* issuer = made.issuers.empty() ? nullptr : made.issuers.front().get();
    stapled loaded = load_response(from.ocsp, *made.leaf, issuer);
    made.ocsp = std::move(loaded.bytes);
    made.ocsp_end = loaded.end;
  }
  if (!from.ocsp_unchecked.empty()) {
    made.ocsp = from.ocsp_unchecked;
    made.ocsp_end = INT64_MAX;
  }
  return made;
}

void present(SSL_CTX* context, const identity& who, const identity_source& from) {
  const certificates_ptr issuers = stack_of(who.issuers);
  const int done =
      SSL_CTX_use_cert_and_key(context, who.leaf.get(), who.key.get(), issuers.get(), 1);
  const int reason = ERR_GET_REASON(ERR_peek_error());
  ERR_clear_error();
  if (done == 1) return;
  const char* what = "a certificate or key that OpenSSL refuses";
  if (reason == SSL_R_EE_KEY_TOO_SMALL) what = "its key has less than 112 bits of security";
  if (reason == SSL_R_CA_KEY_TOO_SMALL)
    what = "the key of an issuer has less than 112 bits of security";
  if (reason == SSL_R_CA_MD_TOO_WEAK)
    what = "the digest of a signature has less than 112 bits of security";
  refuse(error::weak_certificate, load_chain, place_of(from.chain, 0, *who.leaf) + ": " + what);
}

std::int64_t end_of(const identity& who) noexcept {
  std::int64_t end = seconds_of(X509_get0_notAfter(who.leaf.get()));
  for (const x509_ptr& one : who.issuers)
    end = std::min(end, seconds_of(X509_get0_notAfter(one.get())));
  return end;
}

}  // namespace beck::tls::detail
