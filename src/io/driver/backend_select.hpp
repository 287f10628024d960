// SPDX-License-Identifier: BSL-1.0
// Choosing a driver: the only place that knows all of them.
#pragma once

#include <memory>

#include <beck/io/io_context.hpp>

#include "io/driver/driver.hpp"
#include "io/system/system.hpp"

namespace beck::detail {

class io_loop;

struct backend_selection {
  /// Makes what `how` (or, for automatic, BECK_BACKEND) asks for. Throws io_error with the reason
  /// when a backend that was asked for by name is refused.
  static void open(io_loop& loop, const io_context::options& how, std::unique_ptr<system>& sys,
                   std::unique_ptr<driver>& drv);
};

}  // namespace beck::detail
