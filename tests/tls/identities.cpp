// SPDX-License-Identifier: BSL-1.0
// The authority of the tests. Its random numbers follow from fixed seeds.
#include "tls/identities.hpp"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "tls/seeded_random.hpp"

namespace beck::tls::test {
namespace {

using key_share = std::shared_ptr<EVP_PKEY>;
using certificate_share = std::shared_ptr<X509>;

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string("tests: OpenSSL cannot ") + what);
}

/// What a certificate has.
struct plan {
  const char* name;  ///< also the common name
  const char* alternatives = nullptr;
  const char* usage = "serverAuth";  ///< extended; nullptr for an authority
  const char* from = "20000101000000Z";
  const char* to = "20491231235959Z";
};

struct authority {
  key_share key;
  certificate_share certificate;
};

key_share make_key(bool rsa, unsigned bits = 2048) {
  EVP_PKEY* key = rsa ? EVP_RSA_gen(bits) : EVP_EC_gen("P-256");
  if (key == nullptr) fail("make a key");
  return {key, &EVP_PKEY_free};
}

void add_extension(X509* to, X509* issuer, int kind, const char* value) {
  X509V3_CTX around;
  X509V3_set_ctx(&around, issuer, to, nullptr, nullptr, 0);
  X509_EXTENSION* made = X509V3_EXT_nconf_nid(nullptr, &around, kind, value);
  if (made == nullptr || X509_add_ext(to, made, -1) != 1) fail("make an extension");
  X509_EXTENSION_free(made);
}

/// Makes a certificate. `issuer`: nullptr for one that signs itself.
certificate_share make_certificate(const plan& how, EVP_PKEY* key, const authority* issuer) {
  certificate_share made(X509_new(), &X509_free);
  X509* const it = made.get();
  X509* const above = issuer != nullptr ? issuer->certificate.get() : it;
  X509_set_version(it, X509_VERSION_3);
  unsigned char serial[16];
  RAND_bytes(serial, sizeof serial);
  serial[0] = 1;
  BIGNUM* number = BN_bin2bn(serial, sizeof serial, nullptr);
  BN_to_ASN1_INTEGER(number, X509_get_serialNumber(it));
  BN_free(number);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(it), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(how.name), -1, -1, 0);
  X509_set_issuer_name(it, X509_get_subject_name(above));
  ASN1_TIME_set_string_X509(X509_getm_notBefore(it), how.from);
  ASN1_TIME_set_string_X509(X509_getm_notAfter(it), how.to);
  X509_set_pubkey(it, key);
  if (how.usage == nullptr) {
    add_extension(it, above, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(it, above, NID_key_usage, "critical,keyCertSign,cRLSign,digitalSignature");
  } else {
    add_extension(it, above, NID_basic_constraints, "critical,CA:FALSE");
    add_extension(it, above, NID_key_usage, "critical,digitalSignature,keyEncipherment");
    add_extension(it, above, NID_ext_key_usage, how.usage);
  }
  add_extension(it, above, NID_subject_key_identifier, "hash");
  if (issuer != nullptr) add_extension(it, above, NID_authority_key_identifier, "keyid");
  if (how.alternatives != nullptr) add_extension(it, above, NID_subject_alt_name, how.alternatives);
  if (X509_sign(it, issuer != nullptr ? issuer->key.get() : key, EVP_sha256()) == 0)
    fail("sign a certificate");
  return made;
}

template <class Write>
std::string pem_of(Write write) {
  BIO* bio = BIO_new(BIO_s_mem());
  if (bio == nullptr || write(bio) != 1) fail("write PEM");
  char* text = nullptr;
  const long bytes = BIO_get_mem_data(bio, &text);
  std::string copy(text, static_cast<std::size_t>(bytes));
  BIO_free(bio);
  return copy;
}

std::string pem_of(const certificate_share& one) {
  return pem_of([&](BIO* to) { return PEM_write_bio_X509(to, one.get()); });
}

std::string pem_of(const key_share& key) {
  return pem_of([&](BIO* to) {
    return PEM_write_bio_PKCS8PrivateKey(to, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
}

/// A list of `issuer` with the certificate, or with none.
std::string make_list(const authority& issuer, const X509* revoked) {
  X509_CRL* list = X509_CRL_new();
  X509_CRL_set_version(list, X509_CRL_VERSION_2);
  X509_CRL_set_issuer_name(list, X509_get_subject_name(issuer.certificate.get()));
  ASN1_TIME* time = ASN1_TIME_new();
  ASN1_TIME_set_string_X509(time, "20010101000000Z");
  X509_CRL_set1_lastUpdate(list, time);
  if (revoked != nullptr) {
    X509_REVOKED* entry = X509_REVOKED_new();
    X509_REVOKED_set_serialNumber(entry,
                                  const_cast<ASN1_INTEGER*>(X509_get0_serialNumber(revoked)));
    X509_REVOKED_set_revocationDate(entry, time);
    X509_CRL_add0_revoked(list, entry);
  }
  ASN1_TIME_set_string_X509(time, "20491231235959Z");
  X509_CRL_set1_nextUpdate(list, time);
  ASN1_TIME_free(time);
  if (X509_CRL_sign(list, issuer.key.get(), EVP_sha256()) == 0) fail("sign a list");
  std::string text = pem_of([&](BIO* to) { return PEM_write_bio_X509_CRL(to, list); });
  X509_CRL_free(list);
  return text;
}

std::string pin_text(X509* of) {
  unsigned char* der = nullptr;
  const int bytes = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(of), &der);
  unsigned char hash[32];
  unsigned char text[45];
  EVP_Digest(der, static_cast<std::size_t>(bytes), hash, nullptr, EVP_sha256(), nullptr);
  OPENSSL_free(der);
  EVP_EncodeBlock(text, hash, sizeof hash);
  return std::string("sha256/") + reinterpret_cast<const char*>(text);
}

/// Everything that was made.
class authorities {
 public:
  authorities() {
    const seeded_random random("authorities");
    root_ = make_authority("Test Root", nullptr);
    middle_ = make_authority("Test Intermediate", &root_);
    foreign_ = make_authority("Foreign Root", nullptr);
    root_pem = pem_of(root_.certificate);
    middle_pem = pem_of(middle_.certificate);
  }

  const identity& get(made which) {
    entry& one = entries_[static_cast<unsigned>(which)];
    if (one.certificate == nullptr) make(which, one);
    return one.pem;
  }
  X509* certificate(made which) {
    get(which);
    return entries_[static_cast<unsigned>(which)].certificate.get();
  }
  const std::string& lists() {
    if (lists_.empty()) {
      X509* revoked = certificate(made::revoked);
      const seeded_random random("lists");
      lists_ = make_list(root_, nullptr) + make_list(middle_, revoked);
    }
    return lists_;
  }
  const authority& issuer() const noexcept { return middle_; }
  const authority& foreign() const noexcept { return foreign_; }

  std::string root_pem, middle_pem;

 private:
  struct entry {
    certificate_share certificate;
    identity pem;
  };

  static authority make_authority(const char* name, const authority* issuer) {
    plan how{name};
    how.usage = nullptr;
    authority made;
    made.key = make_key(false);
    made.certificate = make_certificate(how, made.key.get(), issuer);
    return made;
  }

  static plan plan_of(made which) {
    plan how{"example.com", "DNS:example.com,DNS:www.example.com"};
    if (which == made::other_name) how = {"other.example", "DNS:other.example"};
    if (which == made::address) how = {"127.0.0.1", "IP:127.0.0.1,IP:::1"};
    if (which == made::wildcard) how = {"wildcard", "DNS:*.example.com"};
    if (which == made::partial_wildcard) how = {"partial", "DNS:w*.example.com"};
    if (which == made::only_common_name) how.alternatives = nullptr;
    if (which == made::expired) how.to = "20100131235959Z";
    if (which == made::not_yet_valid) how.from = "20400101000000Z";
    if (which == made::for_clients) how.usage = "clientAuth";
    if (which == made::revoked) how.usage = "serverAuth,clientAuth";
    if (which == made::client || which == made::other_client)
      how = {"client seven", nullptr, "clientAuth", "20000101000000Z", "20401231235959Z"};
    return how;
  }

  void make(made which, entry& to) {
    const seeded_random random(name_of(which));
    const bool rsa = which == made::rsa || which == made::weak;
    const key_share key = make_key(rsa, which == made::weak ? 1024 : 2048);
    const bool is_foreign = which == made::other_root || which == made::other_client;
    const authority* issuer = is_foreign ? &foreign_ : &middle_;
    if (which == made::self_signed) issuer = nullptr;
    to.certificate = make_certificate(plan_of(which), key.get(), issuer);
    to.pem.chain = pem_of(to.certificate);
    if (issuer == &middle_ && which != made::no_intermediate) to.pem.chain += middle_pem;
    to.pem.key = pem_of(key);
  }

  authority root_, middle_, foreign_;
  entry entries_[made_count];
  std::string lists_;
};

/// One set for the process; the lock is for tests with threads.
authorities& all() {
  static authorities made;
  return made;
}

std::mutex& lock() {
  static std::mutex made;
  return made;
}

}  // namespace

std::string_view name_of(made which) noexcept {
  constexpr const char* names[] = {"good",
                                   "rsa",
                                   "other_name",
                                   "address",
                                   "wildcard",
                                   "partial_wildcard",
                                   "only_common_name",
                                   "expired",
                                   "not_yet_valid",
                                   "self_signed",
                                   "no_intermediate",
                                   "other_root",
                                   "revoked",
                                   "weak",
                                   "for_clients",
                                   "client",
                                   "other_client"};
  static_assert(std::size(names) == made_count);
  return names[static_cast<unsigned>(which)];
}

const identity& identity_of(made which) {
  const std::lock_guard guard(lock());
  return all().get(which);
}

const std::string& root() { return all().root_pem; }
const std::string& intermediate() { return all().middle_pem; }

const std::string& revocation_lists() {
  const std::lock_guard guard(lock());
  return all().lists();
}

std::string pin_of(made which) {
  const std::lock_guard guard(lock());
  return pin_text(all().certificate(which));
}

std::string pin_of_intermediate() { return pin_text(all().issuer().certificate.get()); }

std::string ocsp_response(made about, ocsp_says what) {
  const std::lock_guard guard(lock());
  X509* const leaf = all().certificate(about);
  const authority& signer = what == ocsp_says::foreign_signature ? all().foreign() : all().issuer();
  const seeded_random random("ocsp");
  ASN1_TIME* from = ASN1_TIME_new();
  ASN1_TIME* to = ASN1_TIME_new();
  ASN1_TIME_set_string(from, what == ocsp_says::not_yet ? "20400101000000Z" : "20010101000000Z");
  ASN1_TIME_set_string(to, what == ocsp_says::too_old ? "20020101000000Z" : "20491231235959Z");
  OCSP_BASICRESP* basic = OCSP_BASICRESP_new();
  const authority& issuer = what == ocsp_says::foreign_issuer ? all().foreign() : all().issuer();
  OCSP_CERTID* id = OCSP_cert_to_id(EVP_sha1(), leaf, issuer.certificate.get());
  int status = V_OCSP_CERTSTATUS_GOOD;
  if (what == ocsp_says::revoked) status = V_OCSP_CERTSTATUS_REVOKED;
  if (what == ocsp_says::unknown) status = V_OCSP_CERTSTATUS_UNKNOWN;
  OCSP_basic_add1_status(basic, id, status, OCSP_REVOKED_STATUS_KEYCOMPROMISE, from, from, to);
  if (OCSP_basic_sign(basic, signer.certificate.get(), signer.key.get(), EVP_sha256(), nullptr,
                      0) != 1)
    fail("sign a response");
  OCSP_RESPONSE* response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic);
  unsigned char* der = nullptr;
  const int bytes = i2d_OCSP_RESPONSE(response, &der);
  std::string made(reinterpret_cast<const char*>(der), static_cast<std::size_t>(bytes));
  OPENSSL_free(der);
  OCSP_RESPONSE_free(response);
  OCSP_BASICRESP_free(basic);
  OCSP_CERTID_free(id);
  ASN1_TIME_free(from);
  ASN1_TIME_free(to);
  return made;
}

identity_files::identity_files() {
  for (unsigned i = 0; i < made_count; ++i) {
    const identity& one = identity_of(static_cast<made>(i));
    write(std::string(name_of(static_cast<made>(i))) + ".pem", one.chain);
    write(std::string(name_of(static_cast<made>(i))) + ".key", one.key);
  }
  write("root.pem", root());
  write("lists.crl", revocation_lists());
  write("good.ocsp", ocsp_response(made::good, ocsp_says::good));
}

std::string identity_files::write(std::string_view name, std::string_view text) const {
  std::ofstream to(path(name), std::ios::binary | std::ios::trunc);
  to.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!to.flush()) fail("write a file");
  return path(name);
}

std::string identity_files::read(std::string_view name) const {
  std::ifstream from(path(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(from), {}};
}

}  // namespace beck::tls::test
