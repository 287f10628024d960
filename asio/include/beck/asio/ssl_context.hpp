// SPDX-License-Identifier: BSL-1.0
// ssl::context: the configuration of connections, as a layer over OpenSSL's SSL_CTX, which programs
// configure further through native_handle().
#pragma once

#include <openssl/pem.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include <beck/asio/buffer.hpp>
#include <beck/asio/ssl_verify.hpp>
#include <beck/detail/io_object.hpp>

BECK_ASIO_BEGIN

namespace ssl {

/// The constants of a context.
class context_base {
 public:
  /// The versions of TLS and the side of a context: both, client or server. Without SSL 2, which
  /// OpenSSL 3 has not got.
  enum method {
    sslv2,
    sslv2_client,
    sslv2_server,
    sslv3,
    sslv3_client,
    sslv3_server,
    tlsv1,
    tlsv1_client,
    tlsv1_server,
    sslv23,  ///< every version that OpenSSL's configuration allows
    sslv23_client,
    sslv23_server,
    tlsv11,
    tlsv11_client,
    tlsv11_server,
    tlsv12,
    tlsv12_client,
    tlsv12_server,
    tlsv13,
    tlsv13_client,
    tlsv13_server,
    tls,  ///< TLS 1.0 and newer
    tls_client,
    tls_server,
  };
  /// A union of the values below, and of OpenSSL's SSL_OP_...
  using options = std::uint64_t;
  static constexpr options default_workarounds = SSL_OP_ALL;
  static constexpr options single_dh_use = SSL_OP_SINGLE_DH_USE;
  static constexpr options no_sslv2 = SSL_OP_NO_SSLv2;
  static constexpr options no_sslv3 = SSL_OP_NO_SSLv3;
  static constexpr options no_tlsv1 = SSL_OP_NO_TLSv1;
  static constexpr options no_tlsv1_1 = SSL_OP_NO_TLSv1_1;
  static constexpr options no_tlsv1_2 = SSL_OP_NO_TLSv1_2;
  static constexpr options no_tlsv1_3 = SSL_OP_NO_TLSv1_3;
  static constexpr options no_compression = SSL_OP_NO_COMPRESSION;
  /// The formats of certificates and keys.
  enum file_format { asn1, pem };
  /// The purpose of a password.
  enum password_purpose { for_reading, for_writing };

  /// Other names of the constants in ssl, from before Asio had them there.
  using verify_mode = ssl::verify_mode;
  static constexpr verify_mode verify_none = ssl::verify_none;
  static constexpr verify_mode verify_peer = ssl::verify_peer;
  static constexpr verify_mode verify_fail_if_no_peer_cert = ssl::verify_fail_if_no_peer_cert;
  static constexpr verify_mode verify_client_once = ssl::verify_client_once;

 protected:
  ~context_base() = default;
};

namespace detail {

/// The function of set_password_callback().
class password_callback {
 public:
  virtual ~password_callback() = default;
  virtual std::string call(std::size_t size_max, context_base::password_purpose purpose) = 0;

  /// Copies the password to OpenSSL's buffer. Returns its size; -1 after an exception, which must
  /// not pass through OpenSSL's frames.
  static int answer(char* to, int size, int purpose, void* callback) noexcept {
    if (callback == nullptr) return 0;
    try {
      std::string password = static_cast<password_callback*>(callback)->call(
          static_cast<std::size_t>(size),
          purpose != 0 ? context_base::for_writing : context_base::for_reading);
      const std::size_t bytes = beck::buffer_copy(
          beck::mutable_buffer(to, static_cast<std::size_t>(size)), beck::buffer(password));
      OPENSSL_cleanse(password.data(), password.size());
      return static_cast<int>(bytes);
    } catch (...) {
      return -1;
    }
  }
};

template <class Function>
class password_function final : public password_callback {
 public:
  explicit password_function(Function&& function) : function_(static_cast<Function&&>(function)) {}
  std::string call(std::size_t size_max, context_base::password_purpose purpose) override {
    return function_(size_max, purpose);
  }

 private:
  Function function_;
};

using ssl_ctx_ptr = std::unique_ptr<SSL_CTX, openssl_free<&SSL_CTX_free>>;
using bio_ptr = std::unique_ptr<BIO, openssl_free<&BIO_free>>;
using x509_ptr = std::unique_ptr<X509, openssl_free<&X509_free>>;
using key_ptr = std::unique_ptr<EVP_PKEY, openssl_free<&EVP_PKEY_free>>;

/// Returns a source of the bytes, which must outlive it; nullptr on failure.
inline bio_ptr read_buffer(const beck::const_buffer& bytes) noexcept {
  ERR_clear_error();
  return bio_ptr(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}
/// Returns a source of the bytes of a file; nullptr on failure.
inline bio_ptr read_file(const std::string& name) noexcept {
  ERR_clear_error();
  return bio_ptr(BIO_new_file(name.c_str(), "rb"));
}

}  // namespace detail

/// The configuration of connections: versions, certificates, keys, verification. The peer is not
/// verified unless set_verify_mode() says so, as in Asio. Move-only; a moved-from context may only
/// be destroyed and assigned to. Its functions for passwords and verification live as long as it;
/// a verification after its end fails. Functions without an error_code throw io_error; those with
/// one return it, too. Thread: one at a time, before its first connection is made.
class context : public context_base {
 public:
  /// The type of native_handle().
  using native_handle_type = SSL_CTX*;

  /// Makes a context. Throws io_error: invalid_argument for versions that OpenSSL has not got.
  explicit context(method what);
  /// Takes over a context of OpenSSL. Throws io_error (invalid_argument) for nullptr.
  explicit context(native_handle_type handle) : handle_(handle) {
    if (handle == nullptr) beck::detail::throw_error(beck::error::invalid_argument, "context");
  }
  context(context&&) noexcept = default;
  context& operator=(context&& other) noexcept {
    context old(static_cast<context&&>(*this));
    handle_ = static_cast<detail::ssl_ctx_ptr&&>(other.handle_);
    verify_ = static_cast<std::unique_ptr<detail::verify_callback>&&>(other.verify_);
    password_ = static_cast<std::unique_ptr<detail::password_callback>&&>(other.password_);
    return *this;
  }
  /// Connections that outlive it keep OpenSSL's context, without the functions.
  ~context() {
    if (handle_ == nullptr) return;
    if (verify_ != nullptr) SSL_CTX_set_app_data(handle_.get(), nullptr);
    if (password_ != nullptr) SSL_CTX_set_default_passwd_cb_userdata(handle_.get(), nullptr);
  }

  /// Returns OpenSSL's context, which this object keeps owning.
  native_handle_type native_handle() noexcept { return handle_.get(); }

  /// Adds options.
  void set_options(options o) { SSL_CTX_set_options(handle_.get(), o); }
  beck::error_code set_options(options o, beck::error_code& ec) {
    return set_options(o), ec = beck::error_code();
  }
  /// Removes options.
  void clear_options(options o) { SSL_CTX_clear_options(handle_.get(), o); }
  beck::error_code clear_options(options o, beck::error_code& ec) {
    return clear_options(o), ec = beck::error_code();
  }

  /// Sets whether the certificate of the peer is verified.
  void set_verify_mode(ssl::verify_mode mode) {
    SSL_CTX_set_verify(handle_.get(), mode, SSL_CTX_get_verify_callback(handle_.get()));
  }
  beck::error_code set_verify_mode(ssl::verify_mode mode, beck::error_code& ec) {
    return set_verify_mode(mode), ec = beck::error_code();
  }
  /// Sets how many issuers a certificate may have, one above the other.
  void set_verify_depth(int depth) { SSL_CTX_set_verify_depth(handle_.get(), depth); }
  beck::error_code set_verify_depth(int depth, beck::error_code& ec) {
    return set_verify_depth(depth), ec = beck::error_code();
  }
  /// Sets the function that decides about each certificate of a chain: `bool(bool preverified,
  /// verify_context&)`. An exception refuses.
  template <class Function>
  void set_verify_callback(Function function) {
    verify_ =
        std::make_unique<detail::verify_function<Function>>(static_cast<Function&&>(function));
    SSL_CTX_set_app_data(handle_.get(), verify_.get());
    SSL_CTX_set_verify(handle_.get(), SSL_CTX_get_verify_mode(handle_.get()), &verify);
  }
  template <class Function>
  beck::error_code set_verify_callback(Function function, beck::error_code& ec) {
    return set_verify_callback(static_cast<Function&&>(function)), ec = beck::error_code();
  }

  /// Trusts the authorities in a file.
  void load_verify_file(const std::string& name) {
    beck::error_code ec;
    beck::detail::throw_if(load_verify_file(name, ec), "load_verify_file");
  }
  beck::error_code load_verify_file(const std::string& name, beck::error_code& ec) {
    ERR_clear_error();
    return ec = outcome(SSL_CTX_load_verify_locations(handle_.get(), name.c_str(), nullptr));
  }
  /// Trusts the authorities in a folder, whose files are named as OpenSSL's rehash names them.
  void add_verify_path(const std::string& path) {
    beck::error_code ec;
    beck::detail::throw_if(add_verify_path(path, ec), "add_verify_path");
  }
  beck::error_code add_verify_path(const std::string& path, beck::error_code& ec) {
    ERR_clear_error();
    return ec = outcome(SSL_CTX_load_verify_locations(handle_.get(), nullptr, path.c_str()));
  }
  /// Trusts the authorities of the system.
  void set_default_verify_paths() {
    beck::error_code ec;
    beck::detail::throw_if(set_default_verify_paths(ec), "set_default_verify_paths");
  }
  beck::error_code set_default_verify_paths(beck::error_code& ec) {
    ERR_clear_error();
    return ec = outcome(SSL_CTX_set_default_verify_paths(handle_.get()));
  }
  /// Trusts the authorities in `authorities`, certificates in PEM.
  void add_certificate_authority(const beck::const_buffer& authorities) {
    beck::error_code ec;
    beck::detail::throw_if(add_certificate_authority(authorities, ec), "add_certificate_authority");
  }
  beck::error_code add_certificate_authority(const beck::const_buffer& authorities,
                                             beck::error_code& ec);

  /// Sets the certificate that the peer gets.
  void use_certificate(const beck::const_buffer& bytes, file_format format) {
    beck::error_code ec;
    beck::detail::throw_if(use_certificate(bytes, format, ec), "use_certificate");
  }
  beck::error_code use_certificate(const beck::const_buffer& bytes, file_format format,
                                   beck::error_code& ec) {
    return ec = set_certificate(detail::read_buffer(bytes), format);
  }
  void use_certificate_file(const std::string& name, file_format format) {
    beck::error_code ec;
    beck::detail::throw_if(use_certificate_file(name, format, ec), "use_certificate_file");
  }
  beck::error_code use_certificate_file(const std::string& name, file_format format,
                                        beck::error_code& ec) {
    return ec = set_certificate(detail::read_file(name), format);
  }
  /// Sets the certificate and those of its issuers, in this order, in PEM.
  void use_certificate_chain(const beck::const_buffer& bytes) {
    beck::error_code ec;
    beck::detail::throw_if(use_certificate_chain(bytes, ec), "use_certificate_chain");
  }
  beck::error_code use_certificate_chain(const beck::const_buffer& bytes, beck::error_code& ec) {
    return ec = set_chain(detail::read_buffer(bytes));
  }
  void use_certificate_chain_file(const std::string& name) {
    beck::error_code ec;
    beck::detail::throw_if(use_certificate_chain_file(name, ec), "use_certificate_chain_file");
  }
  beck::error_code use_certificate_chain_file(const std::string& name, beck::error_code& ec) {
    return ec = set_chain(detail::read_file(name));
  }

  /// Sets the key of the certificate.
  void use_private_key(const beck::const_buffer& bytes, file_format format) {
    beck::error_code ec;
    beck::detail::throw_if(use_private_key(bytes, format, ec), "use_private_key");
  }
  beck::error_code use_private_key(const beck::const_buffer& bytes, file_format format,
                                   beck::error_code& ec) {
    return ec = set_key(detail::read_buffer(bytes), format, false);
  }
  void use_private_key_file(const std::string& name, file_format format) {
    beck::error_code ec;
    beck::detail::throw_if(use_private_key_file(name, format, ec), "use_private_key_file");
  }
  beck::error_code use_private_key_file(const std::string& name, file_format format,
                                        beck::error_code& ec) {
    return ec = set_key(detail::read_file(name), format, false);
  }
  /// As use_private_key(), and refuses keys other than RSA.
  void use_rsa_private_key(const beck::const_buffer& bytes, file_format format) {
    beck::error_code ec;
    beck::detail::throw_if(use_rsa_private_key(bytes, format, ec), "use_rsa_private_key");
  }
  beck::error_code use_rsa_private_key(const beck::const_buffer& bytes, file_format format,
                                       beck::error_code& ec) {
    return ec = set_key(detail::read_buffer(bytes), format, true);
  }
  void use_rsa_private_key_file(const std::string& name, file_format format) {
    beck::error_code ec;
    beck::detail::throw_if(use_rsa_private_key_file(name, format, ec), "use_rsa_private_key_file");
  }
  beck::error_code use_rsa_private_key_file(const std::string& name, file_format format,
                                            beck::error_code& ec) {
    return ec = set_key(detail::read_file(name), format, true);
  }

  /// Sets the parameters of Diffie-Hellman for TLS 1.2, in PEM.
  void use_tmp_dh(const beck::const_buffer& bytes) {
    beck::error_code ec;
    beck::detail::throw_if(use_tmp_dh(bytes, ec), "use_tmp_dh");
  }
  beck::error_code use_tmp_dh(const beck::const_buffer& bytes, beck::error_code& ec) {
    return ec = set_tmp_dh(detail::read_buffer(bytes));
  }
  void use_tmp_dh_file(const std::string& name) {
    beck::error_code ec;
    beck::detail::throw_if(use_tmp_dh_file(name, ec), "use_tmp_dh_file");
  }
  beck::error_code use_tmp_dh_file(const std::string& name, beck::error_code& ec) {
    return ec = set_tmp_dh(detail::read_file(name));
  }

  /// Sets the function that returns the password of a key: `std::string(std::size_t size_max,
  /// password_purpose)`. An exception refuses the key.
  template <class Function>
  void set_password_callback(Function function) {
    password_ =
        std::make_unique<detail::password_function<Function>>(static_cast<Function&&>(function));
    SSL_CTX_set_default_passwd_cb_userdata(handle_.get(), password_.get());
    SSL_CTX_set_default_passwd_cb(handle_.get(), &detail::password_callback::answer);
  }
  template <class Function>
  beck::error_code set_password_callback(Function function, beck::error_code& ec) {
    return set_password_callback(static_cast<Function&&>(function)), ec = beck::error_code();
  }

 private:
  static int verify(int preverified, X509_STORE_CTX* handle) noexcept {
    SSL* const connection = detail::verify_callback::connection_of(handle);
    return detail::verify_callback::answer(SSL_CTX_get_app_data(SSL_get_SSL_CTX(connection)),
                                           preverified, handle);
  }
  /// Returns the error of a call that has returned `done`, which is 1 on success.
  static beck::error_code outcome(int done) noexcept {
    return done == 1 ? beck::error_code() : detail::take_error(error::unexpected_result);
  }
  detail::x509_ptr read_certificate(BIO* source) const noexcept {
    return detail::x509_ptr(
        PEM_read_bio_X509(source, nullptr, SSL_CTX_get_default_passwd_cb(handle_.get()),
                          SSL_CTX_get_default_passwd_cb_userdata(handle_.get())));
  }
  /// Returns whether reading has failed because there is no more PEM.
  static bool at_end() noexcept {
    const unsigned long last = ERR_peek_last_error();
    return ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  }
  beck::error_code set_certificate(detail::bio_ptr source, file_format format);
  beck::error_code set_chain(detail::bio_ptr source);
  beck::error_code set_key(detail::bio_ptr source, file_format format, bool rsa_only);
  beck::error_code set_tmp_dh(detail::bio_ptr source);

  detail::ssl_ctx_ptr handle_;
  std::unique_ptr<detail::verify_callback> verify_;
  std::unique_ptr<detail::password_callback> password_;
};

inline context::context(method what) {
  struct range {
    int oldest, newest;
  };
  // In the order of `method`, which has three for each; 0: OpenSSL's own bound.
  static constexpr range ranges[] = {
      {SSL2_VERSION, SSL2_VERSION},     {SSL3_VERSION, SSL3_VERSION},
      {TLS1_VERSION, TLS1_VERSION},     {0, 0},
      {TLS1_1_VERSION, TLS1_1_VERSION}, {TLS1_2_VERSION, TLS1_2_VERSION},
      {TLS1_3_VERSION, TLS1_3_VERSION}, {TLS1_VERSION, 0}};
  const unsigned row = static_cast<unsigned>(what) / 3;
  const unsigned side = static_cast<unsigned>(what) % 3;
  if (row >= std::size(ranges)) {
    beck::detail::throw_error(beck::error::invalid_argument, "context");
  }
  ERR_clear_error();
  handle_.reset(SSL_CTX_new(side == 0   ? TLS_method()
                            : side == 1 ? TLS_client_method()
                                        : TLS_server_method()));
  if (handle_ == nullptr) {
    beck::detail::throw_error(detail::take_error(error::unexpected_result), "context");
  }
  const auto [oldest, newest] = ranges[row];
  if ((oldest != 0 && SSL_CTX_set_min_proto_version(handle_.get(), oldest) != 1) ||
      (newest != 0 && SSL_CTX_set_max_proto_version(handle_.get(), newest) != 1)) {
    ERR_clear_error();
    beck::detail::throw_error(beck::error::invalid_argument, "context");
  }
  set_options(no_compression);
}

inline beck::error_code context::add_certificate_authority(const beck::const_buffer& authorities,
                                                           beck::error_code& ec) {
  const detail::bio_ptr source = detail::read_buffer(authorities);
  if (source == nullptr) return ec = outcome(0);
  X509_STORE* const store = SSL_CTX_get_cert_store(handle_.get());
  for (bool any = false;; any = true) {
    const detail::x509_ptr one = read_certificate(source.get());
    if (one == nullptr && any && at_end()) break;
    if (one == nullptr || X509_STORE_add_cert(store, one.get()) != 1) return ec = outcome(0);
  }
  ERR_clear_error();
  return ec = beck::error_code();
}

inline beck::error_code context::set_certificate(detail::bio_ptr source, file_format format) {
  if (source == nullptr) return outcome(0);
  const detail::x509_ptr one = format == pem
                                   ? read_certificate(source.get())
                                   : detail::x509_ptr(d2i_X509_bio(source.get(), nullptr));
  return outcome(one != nullptr ? SSL_CTX_use_certificate(handle_.get(), one.get()) : 0);
}

inline beck::error_code context::set_chain(detail::bio_ptr source) {
  if (source == nullptr) return outcome(0);
  const detail::x509_ptr own(
      PEM_read_bio_X509_AUX(source.get(), nullptr, SSL_CTX_get_default_passwd_cb(handle_.get()),
                            SSL_CTX_get_default_passwd_cb_userdata(handle_.get())));
  if (own == nullptr || SSL_CTX_use_certificate(handle_.get(), own.get()) != 1) return outcome(0);
  SSL_CTX_clear_chain_certs(handle_.get());
  while (detail::x509_ptr issuer = read_certificate(source.get())) {
    if (SSL_CTX_add0_chain_cert(handle_.get(), issuer.get()) != 1) return outcome(0);
    static_cast<void>(issuer.release());
  }
  if (!at_end()) return outcome(0);
  ERR_clear_error();
  return beck::error_code();
}

inline beck::error_code context::set_key(detail::bio_ptr source, file_format format,
                                         bool rsa_only) {
  if (source == nullptr) return outcome(0);
  const detail::key_ptr key(
      format == pem ? PEM_read_bio_PrivateKey(source.get(), nullptr,
                                              SSL_CTX_get_default_passwd_cb(handle_.get()),
                                              SSL_CTX_get_default_passwd_cb_userdata(handle_.get()))
                    : d2i_PrivateKey_bio(source.get(), nullptr));
  if (key == nullptr) return outcome(0);
  if (rsa_only && EVP_PKEY_is_a(key.get(), "RSA") != 1) {
    ERR_raise(ERR_LIB_EVP, EVP_R_EXPECTING_AN_RSA_KEY);
    return outcome(0);
  }
  return outcome(SSL_CTX_use_PrivateKey(handle_.get(), key.get()));
}

inline beck::error_code context::set_tmp_dh(detail::bio_ptr source) {
  if (source == nullptr) return outcome(0);
  detail::key_ptr parameters(PEM_read_bio_Parameters(source.get(), nullptr));
  if (parameters == nullptr || SSL_CTX_set0_tmp_dh_pkey(handle_.get(), parameters.get()) != 1) {
    return outcome(0);
  }
  static_cast<void>(parameters.release());
  return beck::error_code();
}

}  // namespace ssl

BECK_ASIO_END
