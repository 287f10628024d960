// SPDX-License-Identifier: BSL-1.0
// The names of a simulated world: its hosts are each other's only neighbours, and every host calls
// itself localhost. A few services have the names that they have everywhere.
#pragma once

#include <cstddef>

#include "io/system/name_lookup.hpp"

namespace beck::detail {

class sim_host;

/// As system::look_up() and name_of().
int sim_look_up(sim_host& asking, const name_question& question, name_sink& sink) noexcept;
int sim_name_of(sim_host& asking, const void* address, std::size_t bytes,
                name_texts& names) noexcept;

}  // namespace beck::detail
