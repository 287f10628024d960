// SPDX-License-Identifier: BSL-1.0
//
// Clients take turns at the connections.
#include "shared_pool.hpp"

namespace beck_redis_proxy {

shared_pool::shared_pool(beck::io_context& context, const settings& asked, server_target& target,
                         counters& counts, const statistics& all, server_log& log)
    : asked_(asked), counts_(counts), all_(all) {
  using beck::redis::protocol;
  for (auto* const all_of : {&resp2_, &resp3_}) {
    const protocol version = all_of == &resp3_ ? protocol::resp3 : protocol::resp2;
    for (std::size_t i = 0; i < asked.shared_connections; ++i)
      all_of->push_back(std::make_unique<shared_connection>(context, asked, version, target, counts,
                                                            shared_counts_, log));
  }
}

void shared_pool::close() noexcept {
  for (const auto& one : resp2_) one->close();
  for (const auto& one : resp3_) one->close();
}

void shared_pool::count(shared_end how, move_reason why) noexcept {
  if (how == shared_end::idle) ++counts_.idle;
  if (how == shared_end::failed) ++counts_.broken;
  if (how == shared_end::overflow) ++shared_counts_.overflows;
  if (how != shared_end::moved) return;
  if (why == move_reason::state) ++shared_counts_.moved_state;
  if (why == move_reason::unknown) ++shared_counts_.moved_unknown;
  if (why == move_reason::bytes) ++shared_counts_.moved_bytes;
}

}  // namespace beck_redis_proxy
