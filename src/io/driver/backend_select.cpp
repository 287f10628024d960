// SPDX-License-Identifier: BSL-1.0
// The choice of a backend: automatic means io_uring if a real ring works on this machine now,
// otherwise epoll; the report says why.
#include "io/driver/driver.hpp"

#include <cstdlib>
#include <string>

#include "io/epoll/epoll_driver.hpp"
#include "io/loop/io_loop.hpp"
#include "io/sim/sim_driver.hpp"
#include "io/system/posix_system.hpp"
#include "io/uring/ring_kernel.hpp"
#include "io/uring/uring_driver.hpp"

namespace beck::detail {
namespace {

uring_driver_options driver_options(io_context::receive_arming arming,
                                    bool batched_sends) noexcept {
  uring_driver_options options;
  options.batched_sends = batched_sends;
  options.lazy = arming == io_context::receive_arming::lazy;
  if (arming == io_context::receive_arming::none) options.small_receive_bytes_max = 0;
  return options;
}

}  // namespace

backend backend_selection::requested(const io_context::options& how) {
  if (how.backend != backend::automatic) return how.backend;
  const char* const name = std::getenv("BECK_BACKEND");
  return name != nullptr && *name != '\0' ? parse_backend(name) : backend::automatic;
}

void backend_selection::open(io_loop& loop, const io_context::options& how,
                             std::unique_ptr<system>& sys, std::unique_ptr<driver>& drv) {
  backend wanted = requested(how);
  if (how.threads > 1) {
    if (wanted == backend::io_uring) {
      throw_error(error::operation_not_supported,
                  "io_context: contexts for several threads run on epoll, not on io_uring; threads",
                  std::to_string(how.threads));
    }
    if (wanted == backend::automatic) wanted = backend::epoll;
  }
  if (wanted == backend::sim) return open_simulation(loop, how.host, how.seed, sys, drv);
  sys = std::make_unique<posix_system>();
  std::string refusal;
  if (wanted == backend::automatic || wanted == backend::io_uring) {
    try {
      uring::ring_kernel& kernel = how.kernel != nullptr ? *how.kernel : uring::real_kernel();
      drv = std::make_unique<uring_driver>(loop.engine(), loop.core(), kernel,
                                           driver_options(how.arming, how.batched_sends));
      return;
    } catch (const io_error& refused) {
      if (wanted == backend::io_uring) throw;
      refusal = refused.what();
    }
  }
  drv = std::make_unique<epoll_driver>(loop.engine(), loop.core(), refusal);
}

}  // namespace beck::detail
