// SPDX-License-Identifier: BSL-1.0
// Senders: beck's operations, tasks and executors in the form of C++26's std::execution, and
// senders of any library in tasks. See docs/senders.md. Not part of beck.hpp.
#pragma once

#include <beck/interop/execution/as_sender.hpp>
#include <beck/interop/execution/await_sender.hpp>
#include <beck/interop/execution/repeat_until.hpp>
#include <beck/interop/execution/schedule_after.hpp>
#include <beck/interop/execution/scheduler.hpp>
#include <beck/interop/execution/sync_wait.hpp>
