// SPDX-License-Identifier: BSL-1.0
// The public options: they only collect settings; the states load the files.
#include <beck/tls/server_options.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "tls/contexts.hpp"
#include "tls/ticket_store.hpp"

namespace beck::tls {
namespace {

/// Returns the names in ALPN's form.
std::string wire_form(const std::string& names) {
  constexpr std::size_t name_bytes_max = 255;
  std::string wire;
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(' ', at), names.size());
    if (end - at > name_bytes_max)
      throw std::invalid_argument("tls: protocols(): a name of " + std::to_string(end - at) +
                                  " bytes; at most " + std::to_string(name_bytes_max));
    if (end != at) {
      wire += static_cast<char>(end - at);
      wire.append(names, at, end - at);
    }
    at = end + 1;
  }
  return wire;
}

void set_versions(detail::common_settings& to, version least, version most) {
  if (least > most) throw std::invalid_argument("tls: versions(): the least is above the most");
  to.version_min = static_cast<int>(least);
  to.version_max = static_cast<int>(most);
}

}  // namespace

authorities::authorities() : settings_(new detail::trust_settings) {}
authorities::authorities(const authorities& other)
    : settings_(new detail::trust_settings(*other.settings_)) {}
authorities& authorities::operator=(const authorities& other) {
  if (this != &other) *settings_ = *other.settings_;
  return *this;
}
authorities::~authorities() { delete settings_; }

authorities& authorities::file(std::string_view path) {
  settings_->files.emplace_back(std::string(path));
  return *this;
}
authorities& authorities::folder(std::string_view path) {
  settings_->folders.emplace_back(std::string(path));
  return *this;
}
authorities& authorities::pem(std::string_view text) {
  settings_->texts.emplace_back(std::string(text));
  return *this;
}
authorities& authorities::system() {
  settings_->system = true;
  return *this;
}
authorities& authorities::revocation_list(std::string_view path) {
  settings_->revocation_lists.emplace_back(std::string(path));
  return *this;
}

client_options::client_options() : settings_(new detail::client_settings) {}
client_options::client_options(const client_options& other)
    : settings_(new detail::client_settings(*other.settings_)) {}
client_options& client_options::operator=(const client_options& other) {
  if (this != &other) *settings_ = *other.settings_;
  return *this;
}
client_options::~client_options() { delete settings_; }

client_options& client_options::trust(const authorities& roots) {
  settings_->trust = roots.settings();
  return *this;
}
client_options& client_options::pin(std::string_view hash) {
  settings_->pins.push_back(detail::parse_pin({hash.data(), hash.size()}));
  return *this;
}
client_options& client_options::demand_ocsp(bool on) noexcept {
  settings_->demands_ocsp = on;
  return *this;
}
client_options& client_options::identity(std::string_view chain_file, std::string_view key_file) {
  settings_->identity.chain = std::string(chain_file);
  settings_->identity.key = std::string(key_file);
  return *this;
}
client_options& client_options::protocols(std::string_view names) {
  settings_->protocols = wire_form(std::string(names));
  return *this;
}
client_options& client_options::versions(version least, version most) {
  set_versions(*settings_, least, most);
  return *this;
}
client_options& client_options::resumption(bool on) noexcept {
  settings_->resumes = on;
  return *this;
}

server_options::server_options() : settings_(new detail::server_settings) {
  settings_->protocols = wire_form("http/1.1 http/1.0");
  settings_->identities.emplace_back();
}
server_options::server_options(const server_options& other)
    : settings_(new detail::server_settings(*other.settings_)) {}
server_options& server_options::operator=(const server_options& other) {
  if (this != &other) *settings_ = *other.settings_;
  return *this;
}
server_options::~server_options() { delete settings_; }

server_options& server_options::identity(std::string_view chain_file, std::string_view key_file) {
  detail::identity_source& added = settings_->identities.emplace_back();
  added.chain = std::string(chain_file);
  added.key = std::string(key_file);
  return *this;
}
server_options& server_options::ocsp(std::string_view file) {
  settings_->identities.back().ocsp = std::string(file);
  return *this;
}
server_options& server_options::clients(const authorities& issuers, client_certificate need) {
  settings_->clients = issuers.settings();
  settings_->asks_clients = true;
  settings_->demands_clients = need == client_certificate::required;
  return *this;
}
server_options& server_options::protocols(std::string_view names) {
  settings_->protocols = wire_form(std::string(names));
  return *this;
}
server_options& server_options::versions(version least, version most) {
  set_versions(*settings_, least, most);
  return *this;
}
server_options& server_options::tickets(const ticket_keys& keys) {
  settings_->tickets = keys.share().store;
  return *this;
}
server_options& server_options::resumption(bool on) noexcept {
  settings_->resumes = on;
  return *this;
}

ticket_keys::ticket_keys(duration rotation) {
  constexpr long long second = 1'000'000'000;
  if (rotation.nanoseconds() < second)
    throw std::invalid_argument("tls: keys of tickets are rotated each second at the most");
  auto made = std::make_shared<detail::ticket_store>(rotation.nanoseconds() / second);
  share_ = new detail::ticket_share{std::move(made)};
}
ticket_keys::ticket_keys(const ticket_keys& other)
    : share_(new detail::ticket_share(*other.share_)) {}
ticket_keys& ticket_keys::operator=(const ticket_keys& other) noexcept {
  if (this != &other) *share_ = *other.share_;
  return *this;
}
ticket_keys::~ticket_keys() { delete share_; }

void ticket_keys::set(const_buffer newest_first) {
  const std::size_t count = newest_first.size() / bytes;
  if (newest_first.size() % bytes != 0 || count == 0 || count > generations)
    throw std::invalid_argument("tls: keys of tickets: " + std::to_string(newest_first.size()) +
                                " bytes; it must be 1 to 3 keys of 80");
  share_->store->set(static_cast<const unsigned char*>(newest_first.data()), count);
}

}  // namespace beck::tls
