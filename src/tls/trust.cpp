// SPDX-License-Identifier: BSL-1.0
// Loads roots and lists, and checks chains with OpenSSL's verifier, but with the date of the
// context and with a sentence for each kind of failure.
#include "tls/trust.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <beck/base/assert.hpp>
#include <beck/io/system_timer.hpp>

#include <algorithm>
#include <filesystem>
#include <new>
#include <stdexcept>

#include "tls/contexts.hpp"
#include "tls/failure.hpp"
#include "tls/pem_file.hpp"

namespace beck::tls::detail {
namespace {

constexpr const char* load_roots = "load roots";
constexpr std::string_view pin_prefix = "sha256/";

bool make_hash(const void* data, std::size_t bytes, key_hash& hash) noexcept {
  return EVP_Digest(data, bytes, hash.data(), nullptr, EVP_sha256(), nullptr) == 1;
}

/// Returns the hash of a certificate's SubjectPublicKeyInfo.
key_hash hash_of_key(const X509& certificate) {
  unsigned char* der = nullptr;
  const int bytes = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(&certificate), &der);
  if (bytes <= 0) throw std::bad_alloc();
  key_hash hash;
  const bool done = make_hash(der, static_cast<std::size_t>(bytes), hash);
  OPENSSL_free(der);
  if (!done) throw std::bad_alloc();
  return hash;
}

std::string pin_text(const key_hash& hash) {
  unsigned char text[45];
  EVP_EncodeBlock(text, hash.data(), static_cast<int>(hash.size()));
  return std::string(pin_prefix) + reinterpret_cast<const char*>(text);
}

/// Returns our error for a result of OpenSSL's verifier.
error error_of(int result) noexcept {
  switch (result) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return error::wrong_name;
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return error::expired;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return error::not_yet_valid;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return error::self_signed;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return error::unknown_issuer;
    case X509_V_ERR_CERT_REVOKED:
      return error::revoked;
    case X509_V_ERR_UNABLE_TO_GET_CRL:
    case X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER:
    case X509_V_ERR_CRL_HAS_EXPIRED:
    case X509_V_ERR_CRL_NOT_YET_VALID:
    case X509_V_ERR_CRL_SIGNATURE_FAILURE:
    case X509_V_ERR_KEYUSAGE_NO_CRL_SIGN:
    case X509_V_ERR_DIFFERENT_CRL_SCOPE:
    case X509_V_ERR_CRL_PATH_VALIDATION_ERROR:
      return error::revocation_unknown;
    case X509_V_ERR_EE_KEY_TOO_SMALL:
    case X509_V_ERR_CA_KEY_TOO_SMALL:
    case X509_V_ERR_CA_MD_TOO_WEAK:
      return error::weak_certificate;
    case X509_V_ERR_INVALID_PURPOSE:
    case X509_V_ERR_INVALID_CA:
    case X509_V_ERR_CERT_REJECTED:
    case X509_V_ERR_PATH_LENGTH_EXCEEDED:
    case X509_V_ERR_KEYUSAGE_NO_CERTSIGN:
      return error::wrong_usage;
    default:
      return error::bad_certificate;
  }
}

/// Returns the sentence for a chain that was refused.
std::string sentence_of(error why, X509_STORE_CTX* chain, const peer_check& peer) {
  const int depth = X509_STORE_CTX_get_error_depth(chain);
  const X509* certificate = X509_STORE_CTX_get_current_cert(chain);
  if (certificate == nullptr) certificate = X509_STORE_CTX_get0_cert(chain);
  const std::string text = description_of(*certificate);
  const std::string it = (depth > 0 ? "The issuing " : "The ") + text;
  if (why == error::wrong_name)
    return "The certificate is not valid for \"" + printable(peer.name) + "\": it is a " + text;
  if (why == error::expired || why == error::not_yet_valid)
    return it + ", " + (why == error::expired ? "has expired" : "is not valid yet") +
           ": the date here is " + date_text(system_now().nanoseconds() / 1'000'000'000);
  if (why == error::self_signed)
    return it + ", is self-signed, and none of the roots that are trusted here";
  if (why == error::unknown_issuer)
    return it + ", has an issuer that is not trusted here and was not sent along";
  if (why == error::revoked) return it + ", was revoked by its issuer";
  return it + ", was refused: " + X509_verify_cert_error_string(X509_STORE_CTX_get_error(chain));
}

bool is_host_name(std::string_view name) noexcept {
  constexpr std::size_t name_bytes_max = 253;  // RFC 1035, section 2.3.4
  constexpr std::size_t label_bytes_max = 63;
  if (name.empty() || name.size() > name_bytes_max) return false;
  std::size_t label = 0;
  for (const char c : name) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_';
    if (c == '.' ? label == 0 : !good) return false;
    label = c == '.' ? 0 : label + 1;
    if (label > label_bytes_max) return false;
  }
  return label != 0;
}

/// Returns the name in the form of certificates: without the brackets and the scope of an IPv6
/// address, and without a dot at the end.
std::string plain_name(std::string name) {
  if (name.find(':') < name.find('%')) {
    if (name.front() == '[' && name.back() == ']') name = name.substr(1, name.size() - 2);
    name.resize(std::min(name.find('%'), name.size()));
  }
  if (name.size() > 1 && name.back() == '.') name.pop_back();
  return name;
}

}  // namespace

key_hash hash_of(const void* data, std::size_t bytes) {
  key_hash hash;
  if (!make_hash(data, bytes, hash)) throw std::bad_alloc();
  return hash;
}

key_hash parse_pin(std::string_view text) {
  const std::string_view whole = text;
  if (text.starts_with(pin_prefix)) text.remove_prefix(pin_prefix.size());
  constexpr std::size_t base64_chars = 44;
  // curl writes "sha256//". The hash itself may begin with a slash, too.
  if (text.size() == base64_chars + 1 && text.front() == '/') text.remove_prefix(1);
  unsigned char bytes[33];
  const auto* from = reinterpret_cast<const unsigned char*>(text.data());
  if (text.size() != base64_chars || text.back() != '=' || text.find('=') != base64_chars - 1 ||
      EVP_DecodeBlock(bytes, from, static_cast<int>(base64_chars)) != 33) {
    throw std::invalid_argument("tls: pin(\"" + printable(whole, 100) +
                                "\"): not the base64 of a SHA-256, which has 44 characters");
  }
  key_hash hash;
  std::copy(bytes, bytes + hash.size(), hash.begin());
  return hash;
}

trust::trust(const trust_settings& from, std::vector<key_hash> pins, bool demand_ocsp)
    : store_(X509_STORE_new()), pins_(std::move(pins)), demand_ocsp_(demand_ocsp) {
  if (store_ == nullptr) throw std::bad_alloc();
  // Every loaded certificate is a root, also an intermediate, or the certificate of a server
  // itself.
  X509_STORE_set_flags(store_.get(), X509_V_FLAG_PARTIAL_CHAIN);
  const bool own_roots = !from.files.empty() || !from.folders.empty() || !from.texts.empty();
  if (from.system || !own_roots) X509_STORE_set_default_paths(store_.get());
  for (const std::string& path : from.files) add_roots(pem_file(load_roots, path));
  for (const std::string& text : from.texts)
    add_roots(pem_file(load_roots, "roots in memory", std::string_view(text)));
  for (const std::string& folder : from.folders) {
    std::error_code ec;
    std::size_t files = 0;
    for (std::filesystem::directory_iterator at(folder, ec), end; !ec && at != end;
         at.increment(ec)) {
      const std::string ending = at->path().extension().string();
      if (ending != ".pem" && ending != ".crt" && ending != ".cer") continue;
      add_roots(pem_file(load_roots, at->path().string()));
      ++files;
    }
    if (ec) refuse(ec, load_roots, folder);
    if (files == 0) refuse(error::bad_pem, load_roots, folder + ": no file .pem, .crt or .cer");
  }
  for (const std::string& path : from.revocation_lists) {
    for (const crl_ptr& one : pem_file("load revocation list", path).revocation_lists()) {
      if (X509_STORE_add_crl(store_.get(), one.get()) != 1) throw std::bad_alloc();
      if (X509_CRL_digest(one.get(), EVP_sha256(), hashes_.emplace_back().data(), nullptr) != 1)
        throw std::bad_alloc();
    }
    has_lists_ = true;
  }
  ERR_clear_error();
}

void trust::add_roots(const pem_file& from) {
  for (const x509_ptr& one : from.certificates()) {
    // OpenSSL parses the extensions at their first use: this does it before threads share them.
    X509_check_purpose(one.get(), -1, 0);
    if (X509_STORE_add_cert(store_.get(), one.get()) != 1) throw std::bad_alloc();
    hashes_.push_back(hash_of_key(*one));
  }
}

void trust::apply_to(SSL_CTX* context) const {
  SSL_CTX_set1_cert_store(context, store_.get());
  SSL_CTX_set_cert_verify_callback(context, &verify, const_cast<trust*>(this));
  if (!demand_ocsp_) return;
  set_status_callback(context, &check_status, const_cast<trust*>(this));
  SSL_CTX_ctrl(context, SSL_CTRL_SET_TLSEXT_STATUS_REQ_TYPE, TLSEXT_STATUSTYPE_ocsp, nullptr);
}

STACK_OF(X509_NAME) * trust::root_names() const {
  constexpr int root_names_max = 100;  // more would only enlarge every handshake
  STACK_OF(X509_NAME)* names = sk_X509_NAME_new_null();
  STACK_OF(X509_OBJECT)* all = X509_STORE_get0_objects(store_.get());
  for (int i = 0; i < sk_X509_OBJECT_num(all) && sk_X509_NAME_num(names) < root_names_max; ++i) {
    const X509* one = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, i));
    if (one != nullptr) sk_X509_NAME_push(names, X509_NAME_dup(X509_get_subject_name(one)));
  }
  return names;
}

key_hash trust::fingerprint() const {
  std::vector<key_hash> all = hashes_;
  std::sort(all.begin(), all.end());
  return hash_of(all.data(), all.size() * sizeof(key_hash));
}

/// Called by OpenSSL for the chain of a peer. Must not let an exception pass through OpenSSL.
int trust::verify(X509_STORE_CTX* chain, void* self) {
  const auto* rules = static_cast<const trust*>(self);
  const auto* ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  connection_notes* notes = notes_of(ssl);
  if (notes == nullptr) return 0;
  peer_check* const peer = &notes->peer;
  try {
    peer->found = rules->check(chain, *peer);
  } catch (const std::exception&) {  // no memory for the sentence
    peer->found.code = make_error_code(std::errc::not_enough_memory);
  }
  if (peer->found && X509_STORE_CTX_get_error(chain) == X509_V_OK)
    X509_STORE_CTX_set_error(chain, X509_V_ERR_CERT_REJECTED);
  return peer->found ? 0 : 1;
}

failure trust::check(X509_STORE_CTX* chain, const peer_check& peer) const {
  X509_STORE_CTX_set_time(chain, 0, system_now().nanoseconds() / 1'000'000'000);
  if (has_lists_)
    X509_STORE_CTX_set_flags(chain, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  const int done = X509_verify_cert(chain);
  const int result = X509_STORE_CTX_get_error(chain);
  ERR_clear_error();
  if (done == 1 && result == X509_V_OK) return check_pins(X509_STORE_CTX_get0_chain(chain));
  const error why = error_of(result);
  return {why, sentence_of(why, chain, peer)};
}

failure trust::check_pins(STACK_OF(X509) * chain) const {
  if (pins_.empty()) return {};
  BECK_ASSERT(sk_X509_num(chain) > 0, "pins were compared with no certificate");
  std::string keys;
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    const key_hash hash = hash_of_key(*sk_X509_value(chain, i));
    if (std::find(pins_.begin(), pins_.end(), hash) != pins_.end()) return {};
    keys.append(i == 0 ? "" : ", ").append(pin_text(hash));
  }
  return {error::bad_pin, "The " + description_of(*sk_X509_value(chain, 0)) +
                              ", is valid, but no key of its chain is pinned: " + keys};
}

/// Called by OpenSSL, after the check of the chain, when a server has sent its OCSP response or
/// none.
int trust::check_status(SSL* ssl, void* self) {
  const auto* rules = static_cast<const trust*>(self);
  connection_notes* notes = notes_of(ssl);
  if (SSL_session_reused(ssl) == 1) return 1;  // checked when the session was made
  STACK_OF(X509)* chain = SSL_get0_verified_chain(ssl);
  if (notes == nullptr || chain == nullptr) return 0;
  peer_check* const peer = &notes->peer;
  const unsigned char* response = nullptr;
  const long bytes =
      SSL_ctrl(ssl, SSL_CTRL_GET_TLSEXT_STATUS_REQ_OCSP_RESP, 0, static_cast<void*>(&response));
  const std::string_view view(reinterpret_cast<const char*>(response),
                              bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  try {
    peer->found = check_response(view, chain, rules->store_.get(),
                                 system_now().nanoseconds() / 1'000'000'000);
  } catch (const std::exception&) {  // no memory for the sentence
    peer->found.code = make_error_code(std::errc::not_enough_memory);
  }
  return peer->found ? 0 : 1;
}

error_code expect(SSL* ssl, peer_check& check) {
  check.name = plain_name(std::move(check.name));
  X509_VERIFY_PARAM* const rules = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_hostflags(
      rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (check.name.find('\0') == std::string::npos &&
      X509_VERIFY_PARAM_set1_ip_asc(rules, check.name.c_str()) == 1)
    return {};
  ERR_clear_error();
  if (!is_host_name(check.name)) return make_error_code(std::errc::invalid_argument);
  if (SSL_set1_host(ssl, check.name.c_str()) != 1 ||
      SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, check.name.data()) !=
          1)
    return make_error_code(std::errc::not_enough_memory);
  return {};
}

}  // namespace beck::tls::detail
