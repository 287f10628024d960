// SPDX-License-Identifier: BSL-1.0
// Steps of one handler: between any two handlers of a context, the other contexts may run.
#include "io/sim/sim_scheduler.hpp"

#include <algorithm>
#include <string>

#include <beck/base/assert.hpp>

#include "io/loop/io_loop.hpp"
#include "io/sim/sim_driver.hpp"
#include "io/sim/sim_world.hpp"

namespace beck::detail {
namespace {
enum : std::uint64_t { context_stream = 6, runner_stream = 9, job_stream = 13 };
}

sim_scheduler::sim_scheduler(sim_world& world, sim_draws& draws) noexcept
    : world_(world),
      order_(draws, context_stream),
      runner_order_(draws, runner_stream),
      job_delay_(draws, job_stream) {}

void sim_scheduler::remove(sim_driver& context) noexcept {
  contexts_.erase(std::find(contexts_.begin(), contexts_.end(), &context));
}

/// Calls `steps(handlers)`, which makes steps and counts their handlers, and then takes all virtual
/// threads out of run().
template <class Steps>
std::size_t sim_scheduler::visit(Steps&& steps) {
  std::size_t handlers = 0;
  try {
    steps(handlers);
  } catch (...) {
    leave();
    throw;
  }
  return handlers + leave();
}

std::size_t sim_scheduler::leave() {
  std::size_t handlers = 0;
  for (std::size_t i = 0; i < contexts_.size(); ++i) handlers += contexts_[i]->end_steps();
  return handlers;
}

std::size_t sim_scheduler::run() {
  return visit([this](std::size_t& handlers) {
    while (has_work()) {
      if (has_ready()) {
        handlers += step();
      } else if (!wait(INT64_MAX)) {
        stuck();
      }
    }
  });
}

std::size_t sim_scheduler::run_until_idle() {
  return visit([this](std::size_t& handlers) {
    for (;;) {
      if (has_ready()) {
        handlers += step();
      } else if (is_still() || !wait(INT64_MAX)) {
        return;
      }
    }
  });
}

std::size_t sim_scheduler::run_until(std::int64_t time) {
  const std::int64_t end = sim_clock::later(std::max(time, world_.clock().now()), overtime_ns);
  return visit([this, time, end](std::size_t& handlers) {
    for (;;) {
      if (has_ready() && world_.clock().now() < end) {
        handlers += step();
      } else if (world_.clock().now() >= time || !wait(time)) {
        return;
      }
    }
  });
}

/// Runs one step of a drawn context among those that are ready. The draw 0 stands for the one after
/// the last, so that no context starves on a calm tape.
std::size_t sim_scheduler::step() {
  const std::size_t all = contexts_.size();
  std::uint64_t ready = 0;
  for (const sim_driver* context : contexts_) ready += context->is_ready() ? 1u : 0u;
  std::uint64_t skipped = ready > 1 ? order_.below(ready) : 0;
  for (std::size_t i = 0;; ++i) {
    const std::size_t at = (next_ + i) % all;
    if (!contexts_[at]->is_ready() || skipped-- != 0) continue;
    next_ = at + 1;
    return contexts_[at]->loop().step(1);
  }
}

bool sim_scheduler::has_ready() const noexcept {
  return std::any_of(contexts_.begin(), contexts_.end(),
                     [](const sim_driver* context) { return context->is_ready(); });
}

bool sim_scheduler::is_still() const noexcept {
  return world_.network().travelling() == 0 &&
         std::none_of(contexts_.begin(), contexts_.end(), [](const sim_driver* context) {
           return context->is_busy() || context->performs_jobs();
         });
}

bool sim_scheduler::has_work() const noexcept {
  return std::any_of(contexts_.begin(), contexts_.end(),
                     [](const sim_driver* context) { return context->has_work(); });
}

bool sim_scheduler::wait(std::int64_t limit) {
  std::int64_t next = limit;
  for (const sim_driver* context : contexts_) {
    if (!context->loop().stopped()) next = std::min(next, context->next_deadline());
  }
  return world_.advance(next) || next != INT64_MAX;
}

void sim_scheduler::stop(const sim_host& host) noexcept {
  for (const sim_driver* context : contexts_) {
    if (&context->host() == &host) context->loop().stop();
  }
}

void sim_scheduler::stuck() const {
  std::string text = "simulation: every task waits and nothing can happen";
  for (const sim_driver* context : contexts_) {
    if (context->has_work()) context->describe_waiting(text);
  }
  assertion_failed(__FILE__, __LINE__, "an event, a deadline or mail", text.c_str());
}

}  // namespace beck::detail
