// SPDX-License-Identifier: BSL-1.0
// Loads an identity, makes all checks that need no peer, and finds the identity for a name.
#include "tls/identity.hpp"

#include <openssl/err.h>

#include <beck/base/assert.hpp>
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

std::string lower_case(std::string_view text) {
  std::string made(text);
  for (char& c : made) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return made;
}

/// Takes a number of two bytes. Returns false if fewer bytes than this number follow.
bool take_length(std::string_view& left, std::size_t& length) noexcept {
  if (left.size() < 2) return false;
  length =
      (static_cast<std::size_t>(left[0]) & 0xff) << 8 | (static_cast<std::size_t>(left[1]) & 0xff);
  left.remove_prefix(2);
  return left.size() >= length;
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
  BECK_ASSERT(who.leaf != nullptr && who.key != nullptr, "an identity that was not loaded");
  const certificates_ptr issuers = stack_of(who.issuers);
  const int done =
      SSL_CTX_use_cert_and_key(context, who.leaf.get(), who.key.get(), issuers.get(), 1);
  const int reason = ERR_GET_REASON(ERR_peek_error());
  ERR_clear_error();
  if (done == 1) return;
  const char* fault = "a certificate or key that OpenSSL refuses";
  if (reason == SSL_R_EE_KEY_TOO_SMALL) fault = "its key has less than 112 bits of security";
  if (reason == SSL_R_CA_KEY_TOO_SMALL)
    fault = "the key of an issuer has less than 112 bits of security";
  if (reason == SSL_R_CA_MD_TOO_WEAK)
    fault = "the digest of a signature has less than 112 bits of security";
  refuse(error::weak_certificate, load_chain, place_of(from.chain, 0, *who.leaf) + ": " + fault);
}

std::int64_t end_of(const identity& who) noexcept {
  std::int64_t end = seconds_of(X509_get0_notAfter(who.leaf.get()));
  for (const x509_ptr& one : who.issuers)
    end = std::min(end, seconds_of(X509_get0_notAfter(one.get())));
  return end;
}

// --- names ---------------------------------------------------------------------------------------

void name_table::add(std::string_view name, std::size_t index) {
  BECK_ASSERT(index != none, "a name without an identity");
  if (name.starts_with("*.")) {
    below_.insert_or_assign(lower_case(name.substr(2)), index);
  } else if (!name.empty()) {
    exact_.insert_or_assign(lower_case(name), index);
  }
}

std::size_t name_table::find(std::string_view asked) const {
  if (asked.ends_with('.')) asked.remove_suffix(1);
  const std::string name = lower_case(asked);
  if (const auto at = exact_.find(name); at != exact_.end()) return at->second;
  const std::size_t dot = name.find('.');
  if (dot == 0 || dot == std::string::npos) return none;
  const auto at = below_.find(std::string_view(name).substr(dot + 1));
  return at != below_.end() ? at->second : none;
}

std::string_view server_name_in(const unsigned char* extension, std::size_t bytes) noexcept {
  constexpr std::size_t name_bytes_max = 255;
  std::string_view left(reinterpret_cast<const char*>(extension), bytes);
  std::size_t length = 0;
  if (!take_length(left, length) || left.size() != length) return {};
  if (left.empty() || left[0] != 0) return {};  // host_name is the only kind
  left.remove_prefix(1);
  if (!take_length(left, length) || length == 0 || length > name_bytes_max) return {};
  const std::string_view name = left.substr(0, length);
  return name.find('\0') == std::string_view::npos ? name : std::string_view();
}

}  // namespace beck::tls::detail
