// SPDX-License-Identifier: BSL-1.0
// Takes back the names of yield.hpp. May be included again.
#undef reenter
#undef yield
#undef fork
