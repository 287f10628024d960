// SPDX-License-Identifier: BSL-1.0
// Nothing: a target that precompiles headers has to have a source.
