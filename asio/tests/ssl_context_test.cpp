// SPDX-License-Identifier: BSL-1.0
// ssl::context: certificates, keys and authorities in each form, passwords, verification, errors.
#include <openssl/pem.h>

#include <stdexcept>

#include "ssl_pair.hpp"

namespace {

using namespace beck_ssl_test;
using beck::tls::test::identity_files;

/// Returns the errors of both handshakes: the server's, then the client's.
std::pair<asio::error_code, asio::error_code> shake(ssl::context& server, ssl::context& client) {
  asio::io_context ctx(context_options());
  ssl_pair<> pair(ctx, server, client);
  std::pair<asio::error_code, asio::error_code> ends;
  pair.server.async_handshake(ssl::stream_base::server, [&](auto ec) { ends.first = ec; });
  pair.client.async_handshake(ssl::stream_base::client, [&](auto ec) { ends.second = ec; });
  ctx.run();
  return ends;
}
bool is_shaken(ssl::context& server, ssl::context& client) {
  const auto [at_server, at_client] = shake(server, client);
  return !at_server && !at_client;
}

/// Returns what `write` writes.
template <class Write>
std::string bytes_of(Write write) {
  BIO* const to = BIO_new(BIO_s_mem());
  CHECK(write(to) == 1);
  char* begin = nullptr;
  const long size = BIO_get_mem_data(to, &begin);
  std::string bytes(begin, static_cast<std::size_t>(size));
  BIO_free(to);
  return bytes;
}

EVP_PKEY* read_key(const std::string& pem) {
  BIO* const from = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  EVP_PKEY* const key = PEM_read_bio_PrivateKey(from, nullptr, nullptr, nullptr);
  BIO_free(from);
  return key;
}

/// Returns the key with a password.
std::string locked_key(made which, const char* password) {
  EVP_PKEY* const key = read_key(identity_of(which).key);
  std::string locked = bytes_of([&](BIO* to) {
    return PEM_write_bio_PrivateKey(to, key, EVP_aes_128_cbc(), nullptr, 0, nullptr,
                                    const_cast<char*>(password));
  });
  EVP_PKEY_free(key);
  return locked;
}

std::string der_key(made which) {
  EVP_PKEY* const key = read_key(identity_of(which).key);
  std::string der = bytes_of([&](BIO* to) { return i2d_PrivateKey_bio(to, key); });
  EVP_PKEY_free(key);
  return der;
}
std::string der_certificate(made which) {
  const std::string& pem = identity_of(which).chain;
  BIO* const from = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* const one = PEM_read_bio_X509(from, nullptr, nullptr, nullptr);
  std::string der = bytes_of([&](BIO* to) { return i2d_X509_bio(to, one); });
  X509_free(one);
  BIO_free(from);
  return der;
}
std::string group_parameters() {
  EVP_PKEY_CTX* const maker = EVP_PKEY_CTX_new_from_name(nullptr, "DH", nullptr);
  EVP_PKEY* key = nullptr;
  CHECK(EVP_PKEY_keygen_init(maker) == 1);
  CHECK(EVP_PKEY_CTX_set_group_name(maker, "ffdhe2048") == 1);
  CHECK(EVP_PKEY_keygen(maker, &key) == 1);
  std::string pem = bytes_of([&](BIO* to) { return PEM_write_bio_Parameters(to, key); });
  EVP_PKEY_free(key);
  EVP_PKEY_CTX_free(maker);
  return pem;
}

/// A client that trusts the root and does not look at the name.
ssl::context any_name() {
  ssl::context settings(ssl::context::tls_client);
  settings.add_certificate_authority(asio::buffer(beck::tls::test::root()));
  settings.set_verify_mode(ssl::verify_peer);
  return settings;
}

}  // namespace

CONFORMANCE("asio::ssl: certificates and keys from files and buffers, in both formats") {
  const identity_files files;
  ssl::context client = any_name();
  client.add_certificate_authority(asio::buffer(beck::tls::test::intermediate()));
  {
    ssl::context server(ssl::context::tls_server);
    server.use_certificate_chain_file(files.chain(made::good));
    server.use_private_key_file(files.key(made::good), ssl::context::pem);
    CHECK(is_shaken(server, client));
  }
  {
    ssl::context server(ssl::context::tls_server);
    server.use_certificate_file(files.chain(made::rsa), ssl::context::pem);
    server.use_rsa_private_key_file(files.key(made::rsa), ssl::context::pem);
    CHECK(is_shaken(server, client));
  }
  {
    ssl::context server(ssl::context::tls_server);
    const std::string certificate = der_certificate(made::rsa);
    const std::string key = der_key(made::rsa);
    server.use_certificate(asio::buffer(certificate), ssl::context::asn1);
    server.use_rsa_private_key(asio::buffer(key), ssl::context::asn1);
    CHECK(is_shaken(server, client));
  }
  {
    ssl::context server(ssl::context::tls_server);
    const std::string certificate = files.write("der.crt", der_certificate(made::good));
    const std::string key = files.write("der.key", der_key(made::good));
    server.use_certificate_file(certificate, ssl::context::asn1);
    server.use_private_key_file(key, ssl::context::asn1);
    CHECK(is_shaken(server, client));
    ssl::context strict = any_name();
    CHECK_FALSE(is_shaken(server, strict));  // the chain lacks the intermediate
  }
}

CONFORMANCE("asio::ssl: authorities from a file, a folder and the system") {
  const identity_files files;
  ssl::context server = server_settings();
  ssl::context by_file(ssl::context::tls_client);
  by_file.set_verify_mode(ssl::verify_peer);
  CHECK_FALSE(is_shaken(server, by_file));
  by_file.load_verify_file(files.path("root.pem"));
  CHECK(is_shaken(server, by_file));
  ssl::context by_folder(ssl::context::tls_client);
  by_folder.set_verify_mode(ssl::context::verify_peer);
  BIO* const from = BIO_new_mem_buf(beck::tls::test::root().data(), -1);
  X509* const root = PEM_read_bio_X509(from, nullptr, nullptr, nullptr);
  char name[16];
  std::snprintf(name, sizeof name, "%08lx.0", X509_subject_name_hash(root));
  X509_free(root);
  BIO_free(from);
  files.write(name, beck::tls::test::root());
  by_folder.add_verify_path(files.folder());
  CHECK(is_shaken(server, by_folder));
  ssl::context by_system(ssl::context::tls_client);
  by_system.set_default_verify_paths();
  by_system.set_verify_mode(ssl::verify_peer);
  CHECK_FALSE(is_shaken(server, by_system));
}

CONFORMANCE("asio::ssl: names and addresses of a certificate are verified") {
  struct attempt {
    made which;
    const char* host;
    bool is_right;
  };
  for (const attempt one :
       {attempt{made::good, "example.com", true}, attempt{made::good, "www.example.com", true},
        attempt{made::good, "example.org", false}, attempt{made::good, "127.0.0.1", false},
        attempt{made::address, "127.0.0.1", true}, attempt{made::address, "::1", true},
        attempt{made::address, "127.0.0.2", false}, attempt{made::wildcard, "a.example.com", true},
        attempt{made::expired, "example.com", false},
        attempt{made::self_signed, "example.com", false}}) {
    CAPTURE(one.host);
    ssl::context server = server_settings(ssl::context::tls_server, one.which);
    ssl::context client = any_name();
    client.set_verify_callback(ssl::rfc2818_verification(one.host));
    CHECK(is_shaken(server, client) == one.is_right);
  }
}

CONFORMANCE(
    "asio::ssl: a program's function decides about certificates, and an exception refuses") {
  ssl::context server = server_settings(ssl::context::tls_server, made::self_signed);
  ssl::context client(ssl::context::tls_client);
  client.set_verify_mode(ssl::verify_peer);
  int calls = 0;
  client.set_verify_callback([&calls](bool preverified, ssl::verify_context& at) {
    calls += !preverified && X509_STORE_CTX_get_current_cert(at.native_handle()) != nullptr ? 1 : 0;
    return true;
  });
  CHECK(is_shaken(server, client));
  CHECK(calls > 0);
  ssl::context moved(std::move(client));  // takes the function along
  CHECK(is_shaken(server, moved));
  moved.set_verify_callback(
      [](bool, ssl::verify_context&) -> bool { throw std::runtime_error("never"); });
  CHECK(shake(server, moved).second.message() == "certificate verify failed (SSL routines)");
  asio::error_code ec = asio::error::eof;
  CHECK_FALSE(moved.set_verify_callback([](bool, ssl::verify_context&) { return true; }, ec));
  CHECK_FALSE(ec);
  asio::io_context ctx(context_options());
  ssl_pair<> pair(ctx, server, moved);
  bool is_asked = false;
  pair.client.set_verify_callback([&](bool, ssl::verify_context&) {
    is_asked = true;
    return false;
  });
  pair.client.set_verify_depth(3);
  CHECK(SSL_get_verify_depth(pair.client.native_handle()) == 3);
  pair.server.async_handshake(ssl::stream_base::server, [](asio::error_code) {});
  pair.client.async_handshake(ssl::stream_base::client, [](asio::error_code e) { CHECK(e); });
  ctx.run();
  CHECK(is_asked);
}

CONFORMANCE("asio::ssl: a server asks for a certificate, and may insist") {
  ssl::context server = server_settings();
  server.add_certificate_authority(asio::buffer(beck::tls::test::root()));
  server.set_verify_mode(ssl::verify_peer);
  ssl::context client = any_name();
  CHECK(is_shaken(server, client));
  server.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  CHECK(shake(server, client).first.message() ==
        "peer did not return a certificate (SSL routines)");
  client.use_certificate_chain(asio::buffer(identity_of(made::client).chain));
  client.use_private_key(asio::buffer(identity_of(made::client).key), ssl::context::pem);
  CHECK(is_shaken(server, client));
}

TEST_CASE("asio::ssl: passwords of keys") {
  const std::string locked = locked_key(made::rsa, "a password");
  ssl::context settings(ssl::context::tls);
  std::size_t room = 0;
  ssl::context::password_purpose purpose = ssl::context::for_writing;
  settings.set_password_callback([&](std::size_t size_max, ssl::context::password_purpose why) {
    room = size_max;
    purpose = why;
    return std::string("a password");
  });
  settings.use_private_key(asio::buffer(locked), ssl::context::pem);
  settings.use_rsa_private_key(asio::buffer(locked), ssl::context::pem);
  CHECK(room >= 10);
  CHECK(purpose == ssl::context::for_reading);
  asio::error_code ec;
  settings.set_password_callback([](std::size_t, auto) { return "another one"; }, ec);
  CHECK_FALSE(ec);
  settings.use_private_key(asio::buffer(locked), ssl::context::pem, ec);
  CHECK(ec.category() == asio::error::get_ssl_category());
  settings.set_password_callback(
      [](std::size_t, auto) -> std::string { throw std::runtime_error("forgotten"); });
  settings.use_private_key(asio::buffer(locked), ssl::context::pem, ec);
  CHECK(ec.category() == asio::error::get_ssl_category());
  settings.set_password_callback([](std::size_t, auto) { return std::string(100'000, 'p'); });
  CHECK(settings.use_private_key(asio::buffer(locked), ssl::context::pem, ec));
  CHECK(ERR_peek_error() == 0);
}

TEST_CASE(
    "asio::ssl: errors of a context name their cause, and the queue of errors is left empty") {
  ssl::context settings(ssl::context::tls);
  const std::string nonsense = "nonsense";
  const std::string empty;
  const auto garbage = asio::buffer(nonsense);
  asio::error_code ec;
  CHECK(settings.use_private_key_file("/nonexistent", ssl::context::pem, ec) ==
        std::errc::no_such_file_or_directory);
  CHECK(settings.use_certificate_file("/nonexistent", ssl::context::pem, ec) ==
        std::errc::no_such_file_or_directory);
  CHECK(settings.use_certificate_chain_file("/nonexistent", ec) ==
        std::errc::no_such_file_or_directory);
  CHECK(settings.use_tmp_dh_file("/nonexistent", ec) == std::errc::no_such_file_or_directory);
  CHECK(settings.load_verify_file("/nonexistent", ec));
  CHECK(settings.add_certificate_authority(garbage, ec));
  CHECK(settings.add_certificate_authority(asio::buffer(empty), ec));
  CHECK(settings.use_certificate(garbage, ssl::context::pem, ec));
  CHECK(settings.use_certificate(garbage, ssl::context::asn1, ec));
  CHECK(settings.use_certificate_chain(garbage, ec));
  CHECK(settings.use_private_key(garbage, ssl::context::pem, ec));
  CHECK(settings.use_tmp_dh(garbage, ec));
  CHECK(ec.category() == asio::error::get_ssl_category());
  CHECK(settings.use_rsa_private_key(asio::buffer(identity_of(made::good).key), ssl::context::pem,
                                     ec));
  CHECK(ec.message().find("expecting an rsa key") != std::string::npos);
  const std::string broken = identity_of(made::good).chain +
                             "-----BEGIN CERTIFICATE-----\nAAAA\n"
                             "-----END CERTIFICATE-----\n";
  CHECK(settings.use_certificate_chain(asio::buffer(broken), ec));
  CHECK(settings.add_certificate_authority(asio::buffer(broken), ec));
  CHECK_THROWS_AS(settings.use_private_key(garbage, ssl::context::pem), asio::system_error);
  try {
    settings.use_tmp_dh_file("/nonexistent");
    FAIL("no exception");
  } catch (const asio::system_error& thrown) {
    CHECK(std::string(thrown.what()) == "use_tmp_dh_file: No such file or directory");
  }
  CHECK(ERR_peek_error() == 0);
  const std::string group = group_parameters();
  CHECK_FALSE(settings.use_tmp_dh(asio::buffer(group), ec));
  CHECK_FALSE(ec);
}

TEST_CASE("asio::ssl: versions and options of a context") {
  CHECK_THROWS_AS(ssl::context{ssl::context::sslv2}, asio::system_error);
  CHECK_THROWS_AS(ssl::context(static_cast<ssl::context::method>(31)), asio::system_error);
  CHECK_THROWS_AS(ssl::context(static_cast<SSL_CTX*>(nullptr)), asio::system_error);
  ssl::context settings(ssl::context::tlsv12_client);
  SSL_CTX* const handle = settings.native_handle();
  CHECK(SSL_CTX_get_min_proto_version(handle) == TLS1_2_VERSION);
  CHECK(SSL_CTX_get_max_proto_version(handle) == TLS1_2_VERSION);
  ssl::context newest(ssl::context::tlsv13);
  CHECK(SSL_CTX_get_min_proto_version(newest.native_handle()) == TLS1_3_VERSION);
  CHECK((SSL_CTX_get_options(handle) & ssl::context::no_compression) != 0);
  settings.set_options(ssl::context::no_tlsv1_3 | ssl::context::single_dh_use);
  CHECK((SSL_CTX_get_options(handle) & ssl::context::no_tlsv1_3) != 0);
  settings.clear_options(ssl::context::no_tlsv1_3);
  CHECK((SSL_CTX_get_options(handle) & ssl::context::no_tlsv1_3) == 0);
  settings.set_verify_depth(2);
  CHECK(SSL_CTX_get_verify_depth(handle) == 2);
  ssl::context adopted(SSL_CTX_new(TLS_method()));
  adopted = std::move(settings);
  CHECK(adopted.native_handle() == handle);
  CHECK(settings.native_handle() == nullptr);
}
