// SPDX-License-Identifier: BSL-1.0
// The file belongs to the SSL_CTX. Every line is appended with one call, because other processes
// may write to the file, too.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include <beck/base/unique_fd.hpp>

#include "base/descriptor_number.hpp"
#include "tls/contexts.hpp"

namespace beck::tls::detail {
namespace {

void close_log(void*, void* file, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<unique_fd*>(file);
}

int log_index() noexcept {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, &close_log);
  return index;
}

/// Writes a line. Ignores errors: the log is for debugging only.
void write_line(const SSL* ssl, const char* line) {
  const auto* file =
      static_cast<const unique_fd*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), log_index()));
  if (file == nullptr) return;
  char end = '\n';
  const iovec parts[] = {{const_cast<char*>(line), std::strlen(line)}, {&end, 1}};
  [[maybe_unused]] const ssize_t written = ::writev(file->get(), parts, 2);
}

}  // namespace

bool log_keys_to(SSL_CTX* context, const char* path) {
  constexpr mode_t for_owner = 0600;
  auto file = std::make_unique<unique_fd>(beck::detail::behind_standard(
      ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, for_owner)));
  if (!*file || ::fchmod(file->get(), for_owner) != 0 ||
      SSL_CTX_set_ex_data(context, log_index(), file.get()) != 1)
    return false;
  static_cast<void>(file.release());
  SSL_CTX_set_keylog_callback(context, &write_line);
  return true;
}

void log_keys_if_asked(SSL_CTX* context) {
  if constexpr (BECK_TLS_KEY_LOG != 0) {
    if (const char* path = secure_getenv("SSLKEYLOGFILE")) log_keys_to(context, path);
  }
}

}  // namespace beck::tls::detail
