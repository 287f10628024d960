// SPDX-License-Identifier: BSL-1.0
// Sealed texts: a header with the key's id and the time of its end, a random nonce, the ciphertext
// and its tag. Header and purpose are authenticated, too.
#include <beck/tls/sealer.hpp>

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <beck/base/assert.hpp>
#include <beck/base/base64.hpp>

#include "tls/openssl.hpp"
#include "tls/pem_file.hpp"
#include "tls/system_time.hpp"

namespace beck::tls {
namespace detail {
namespace {

constexpr std::size_t id_bytes = 4, time_bytes = 8, nonce_bytes = 12, tag_bytes = 16;
constexpr std::size_t header_bytes = 1 + id_bytes + time_bytes;
constexpr std::size_t overhead_bytes = header_bytes + nonce_bytes + tag_bytes;
constexpr char format = 1;
constexpr std::int64_t ns_of_a_second = 1'000'000'000;

using cipher_ptr = std::unique_ptr<EVP_CIPHER_CTX, openssl_free<&EVP_CIPHER_CTX_free>>;

unsigned char* bytes_of(char* text) noexcept { return reinterpret_cast<unsigned char*>(text); }
const unsigned char* bytes_of(std::string_view text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// A key, and the bytes by which a text names it. Wiped when it is destroyed.
struct sealer_key {
  sealer_key() noexcept = default;
  sealer_key(const sealer_key&) noexcept = default;
  sealer_key& operator=(const sealer_key&) noexcept = default;
  ~sealer_key() { OPENSSL_cleanse(this, sizeof *this); }

  std::array<unsigned char, sealer::key_bytes> secret{};
  std::array<char, id_bytes> id{};
};

/// Returns the value of a hexadecimal digit; 16 for another character.
unsigned digit_of(char c) noexcept {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? static_cast<unsigned>(lower - 'a' + 10) : 16;
}

/// Returns whether `line` is a key.
bool read_key(std::string_view line, sealer_key& to) {
  if (line.size() != 2 * sealer::key_bytes) return false;
  unsigned all = 0;
  for (std::size_t i = 0; i < sealer::key_bytes; ++i) {
    const unsigned high = digit_of(line[2 * i]), low = digit_of(line[2 * i + 1]);
    all |= high | low;
    to.secret[i] = static_cast<unsigned char>(high << 4 | low);
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash;
  if (all >= 16 || EVP_Q_digest(nullptr, "SHA256", nullptr, to.secret.data(), to.secret.size(),
                                hash.data(), nullptr) != 1)
    return false;
  std::memcpy(to.id.data(), hash.data(), id_bytes);
  return true;
}

[[noreturn]] void refuse_keys(std::string_view name, std::size_t line, const std::string& why) {
  std::string text = "tls::sealer: " + std::string(name);
  if (line != 0) text += ", line " + std::to_string(line);
  throw std::invalid_argument(text + ": " + why);
}

void fill_random(unsigned char* to, std::size_t bytes) {
  const error_queue scope;
  if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      RAND_bytes(to, static_cast<int>(bytes)) != 1)
    throw std::system_error(ENOENT, std::system_category(), "random bytes");
}

}  // namespace

struct sealer_keys {
  std::vector<sealer_key> all;  ///< the first one seals
  std::string purpose;
  std::atomic<unsigned> users{1};
};

namespace {

sealer_keys* parse_keys(std::string_view name, std::string_view text, std::string_view purpose) {
  auto made = std::make_unique<sealer_keys>();
  made->purpose = purpose;
  made->all.reserve(sealer::keys_max);  // keys never move
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    if (made->all.size() == sealer::keys_max)
      refuse_keys(name, number, "more than " + std::to_string(sealer::keys_max) + " keys");
    if (!read_key(line, made->all.emplace_back()))
      refuse_keys(name, number, "not a key of 64 hexadecimal digits");
  }
  if (made->all.empty()) refuse_keys(name, 0, "there is no key");
  return made.release();
}

/// Encrypts or decrypts one text with AES-256-GCM.
class gcm {
 public:
  /// Begins, with the header and the purpose as the data that is authenticated only.
  gcm(const sealer_key& key, const unsigned char* nonce, std::string_view header,
      std::string_view purpose, bool encrypts)
      : cipher_(EVP_CIPHER_CTX_new()) {
    if (cipher_ == nullptr) throw std::bad_alloc();
    good_ = EVP_CipherInit_ex(cipher_.get(), EVP_aes_256_gcm(), nullptr, key.secret.data(), nonce,
                              encrypts ? 1 : 0) == 1;
    update(nullptr, header);
    if (!purpose.empty()) update(nullptr, purpose);
  }

  /// Transforms `from`, which has at most INT_MAX bytes, into `to`; only authenticates it if that
  /// is null.
  void update(unsigned char* to, std::string_view from) {
    int bytes = 0;
    good_ = good_ && EVP_CipherUpdate(cipher_.get(), to, &bytes, bytes_of(from),
                                      static_cast<int>(from.size())) == 1;
  }
  /// Ends, and takes or checks the tag. Returns whether all went well.
  bool finish() {
    unsigned char none[16];
    int bytes = 0;
    return good_ && EVP_CipherFinal_ex(cipher_.get(), none, &bytes) == 1;
  }
  void get_tag(unsigned char* to) { control(EVP_CTRL_AEAD_GET_TAG, to); }
  void set_tag(const char* from) {
    std::array<unsigned char, tag_bytes> tag;
    std::memcpy(tag.data(), from, tag_bytes);
    control(EVP_CTRL_AEAD_SET_TAG, tag.data());
  }
  bool is_good() const noexcept { return good_; }

 private:
  void control(int command, unsigned char* tag) {
    good_ =
        good_ && EVP_CIPHER_CTX_ctrl(cipher_.get(), command, static_cast<int>(tag_bytes), tag) == 1;
  }

  const error_queue scope_;
  cipher_ptr cipher_;
  bool good_ = false;
};

}  // namespace
}  // namespace detail

using namespace detail;

sealer::sealer(const char* path, std::string_view purpose)
    : keys_(parse_keys(path, pem_file("read keys", path).view(), purpose)) {}

sealer sealer::from_text(std::string_view keys, std::string_view purpose) {
  return sealer(parse_keys("a text", keys, purpose));
}

sealer::sealer(const sealer& other) noexcept : keys_(other.keys_) {
  keys_->users.fetch_add(1, std::memory_order_relaxed);
}

sealer& sealer::operator=(const sealer& other) noexcept {
  sealer copy(other);
  std::swap(keys_, copy.keys_);
  return *this;
}

sealer::~sealer() {
  if (keys_->users.fetch_sub(1, std::memory_order_acq_rel) == 1) delete keys_;
}

std::string sealer::seal(std::string_view text, duration lifetime) const {
  return seal_at(system_seconds(), text, lifetime);
}

bool sealer::open(std::string_view sealed, std::string& to) const {
  return open_at(system_seconds(), sealed, to);
}

std::string sealer::seal_at(long long now, std::string_view text, duration lifetime) const {
  const std::int64_t seconds = lifetime.nanoseconds() / ns_of_a_second;
  if (seconds < 1)
    throw std::invalid_argument("tls::sealer: a lifetime of " +
                                std::to_string(lifetime.nanoseconds()) + " ns, below a second");
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw std::length_error("tls::sealer: a text of " + std::to_string(text.size()) + " bytes");
  const sealer_key& key = keys_->all.front();
  std::string all(1, format);
  all.append(key.id.data(), id_bytes);
  const auto end = static_cast<std::uint64_t>(now + seconds);
  for (std::size_t i = time_bytes; i-- > 0;) all += static_cast<char>(end >> (8 * i) & 0xffU);
  all.resize(overhead_bytes + text.size());
  unsigned char* const nonce = bytes_of(all.data() + header_bytes);
  fill_random(nonce, nonce_bytes);
  gcm cipher(key, nonce, std::string_view(all).substr(0, header_bytes), keys_->purpose, true);
  if (!text.empty()) cipher.update(nonce + nonce_bytes, text);
  const bool is_done = cipher.finish();
  cipher.get_tag(nonce + nonce_bytes + text.size());
  BECK_ASSERT(is_done && cipher.is_good(), "AES-256-GCM does not encrypt");
  return to_base64(all, base64_form::url);
}

bool sealer::open_at(long long now, std::string_view sealed, std::string& to) const {
  to.clear();
  std::string all;
  if (!from_base64(sealed, all, base64_form::url)) return false;
  if (all.size() < overhead_bytes || all[0] != format) return false;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < time_bytes; ++i)
    end = end << 8 | static_cast<unsigned char>(all[1 + id_bytes + i]);
  if (now >= 0 && static_cast<std::uint64_t>(now) >= end) return false;
  const std::string_view view(all);
  const std::string_view text =
      view.substr(header_bytes + nonce_bytes, all.size() - overhead_bytes);
  for (const sealer_key& key : keys_->all) {
    if (view.substr(1, id_bytes) != std::string_view(key.id.data(), id_bytes)) continue;
    gcm cipher(key, bytes_of(view.substr(header_bytes)), view.substr(0, header_bytes),
               keys_->purpose, false);
    to.resize(text.size());
    if (!text.empty()) cipher.update(bytes_of(to.data()), text);
    cipher.set_tag(text.data() + text.size());
    if (cipher.finish()) return true;
    OPENSSL_cleanse(to.data(), to.size());  // not authentic
    to.clear();
  }
  return false;
}

std::string functions::random_token(std::size_t bytes) {
  std::string all(bytes, '\0');
  fill_random(bytes_of(all.data()), bytes);
  return to_base64(all, base64_form::url);
}

}  // namespace beck::tls
