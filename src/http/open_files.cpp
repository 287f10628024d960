// SPDX-License-Identifier: BSL-1.0
// All files are kept equally long, so the oldest is the next that is closed. That happens when
// another one is asked for: an idle server keeps what it has.
#include "http/open_files.hpp"

#include "http/phase_clock.hpp"

namespace beck::http::detail {

void open_files::close_old(std::int64_t now, std::size_t most) {
  while (!order_.empty() && (order_.front().until <= now || order_.size() > most)) {
    files_.erase(files_.find(order_.front().name));  // one that is being sent has another owner
    order_.pop_front();
  }
}

task<io_result<std::shared_ptr<open_file>>> open_files::open(directory& root, std::string name) {
  io_result<std::shared_ptr<open_file>> result;
  std::shared_ptr<open_file>& found = result.value_;
  close_old(loop_time(), files_max);
  if (const auto at = files_.find(name); at != files_.end()) {
    found = at->second;
    co_return result;
  }
  found = std::make_shared<open_file>(root.get_executor());
  auto [ec, status] =
      co_await root.async_open_file(found->file, name.c_str(), file_object::read_only);
  result.error_ = ec;
  found->status = status;
  if (!ec && time_ > duration::zero() && status.kind == file_kind::regular) {
    const std::int64_t now = loop_time();
    close_old(now, files_max - 1);
    const auto added = files_.emplace(std::move(name), found);
    if (added.second) order_.push_back({added.first->first, now + time_.nanoseconds()});
  }
  co_return result;
}

}  // namespace beck::http::detail
