// SPDX-License-Identifier: BSL-1.0
// All files are kept open equally long, so the oldest is closed next. That happens when another
// file is requested: an idle server keeps its files open. Below are the responses without a file.
#include "http/files/file_site.hpp"

#include <new>
#include <system_error>

#include <beck/base/assert.hpp>
#include <beck/http/media_type.hpp>
#include <beck/io/steady_timer.hpp>

#include "http/message/characters.hpp"

namespace beck::http::detail {

using beck::detail::loop_time;

void open_files::close_old(std::int64_t now, std::size_t most) {
  while (!order_.empty() && (order_.front().until <= now || order_.size() > most)) {
    const auto oldest = files_.find(order_.front().name);
    BECK_ASSERT(oldest != files_.end(), "the queue of open files has one that is not kept");
    files_.erase(oldest);  // a file that is being sent has another owner
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
  if (!ec && time_ > duration::zero() && status.kind == file_kind::regular)
    keep(std::move(name), found);
  co_return result;
}

/// Keeps a file open, unless memory is lacking. It then enters neither the map nor the queue: an
/// entry in the map alone would never be removed.
void open_files::keep(std::string&& name, const std::shared_ptr<open_file>& file) noexcept {
  const std::int64_t now = loop_time();
  close_old(now, files_max - 1);
  auto at = files_.end();
  try {
    const auto added = files_.emplace(std::move(name), file);
    if (!added.second) return;  // another request has opened it meanwhile
    at = added.first;
    order_.push_back({at->first, (duration(now) + time_).nanoseconds()});
    BECK_ASSERT(order_.size() == files_.size(), "an open file is never closed");
  } catch (const std::bad_alloc&) {
    if (at != files_.end()) files_.erase(at);
  }
}

std::string_view file_settings::type_of(std::string_view name) const noexcept {
  const std::size_t dot = name.rfind('.');
  if (dot != std::string_view::npos) {
    for (const auto& [extension, type] : types)
      if (equal_in_any_case(name.substr(dot + 1), extension)) return type;
  }
  return media_type_of(name);
}

bool is_absence(const error_code& ec) noexcept {
  using std::errc;
  for (const errc one :
       {errc::no_such_file_or_directory, errc::not_a_directory, errc::filename_too_long,
        errc::too_many_symbolic_link_levels, errc::cross_device_link,
        errc::no_such_device_or_address, errc::no_such_device, errc::invalid_argument}) {
    if (ec == one) return true;
  }
  return false;
}

void say_error(response& r, const error_code& ec) {
  using std::errc;
  if (is_absence(ec)) {
    r.fail(status::not_found, "not found");
  } else if (ec == errc::permission_denied || ec == errc::operation_not_permitted) {
    r.fail(status::forbidden, "not permitted");
  } else if (ec == errc::too_many_files_open || ec == errc::too_many_files_open_in_system ||
             ec == errc::not_enough_memory || ec == errc::resource_unavailable_try_again) {
    r.set(field::retry_after, "1");
    r.fail(status::service_unavailable, "too much is open now");
  } else {
    r.fail(status::internal_server_error, "the file cannot be read");
  }
}

}  // namespace beck::http::detail
