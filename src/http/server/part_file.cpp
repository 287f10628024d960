// SPDX-License-Identifier: BSL-1.0
// The name beside is random, so no other process has it, and none can guess it.
#include "http/server/part_file.hpp"

#include <stdexcept>
#include <string_view>
#include <utility>

#include <beck/base/error.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/file/rename.hpp>
#include <beck/io/context_services.hpp>

namespace beck::http::detail {
namespace {

/// Returns a new name in the directory of `path`.
std::string name_beside(const any_io_executor& executor, std::string_view path) {
  constexpr char digits[] = "0123456789abcdef";
  const std::size_t directory = path.rfind('/') + 1;  // 0 if there is none
  if (directory == path.size())
    throw std::invalid_argument("http: form_part::save() needs a path with a file name");
  unsigned char random[8];
  random_bytes(executor, mutable_buffer(random, sizeof random));
  std::string name(path.substr(0, directory));
  name += ".beck-";
  for (const unsigned byte : random) (name += digits[byte >> 4]) += digits[byte & 15];
  return name += ".part";
}

}  // namespace

part_file::part_file(const any_io_executor& executor, std::string path)
    : path_(std::move(path)), part_path_(name_beside(executor, path_)), file_(executor) {}

part_file::~part_file() {
  error_code ignored;
  if (may_exist_) remove_file(file_.get_executor(), part_path_, ignored);
}

task<> part_file::open() {
  constexpr auto how = file_object::write_only | file_object::create | file_object::exclusive;
  may_exist_ = true;  // also if the open is cancelled, or its time is over
  auto opened = co_await file_.async_open(part_path_.c_str(), how);
  if (!opened.error()) co_return;
  may_exist_ = opened.error() != std::errc::file_exists;
  beck::detail::throw_error(opened.error(), "form_part::save", path_);
}

task<> part_file::write(std::uint64_t offset, const_buffer data) {
  auto written = co_await async_write_at(file_, offset, data);
  if (written.error()) beck::detail::throw_error(written.error(), "form_part::save", path_);
}

task<> part_file::publish() {
  auto synced = co_await file_.async_sync_data();
  if (synced.error()) beck::detail::throw_error(synced.error(), "form_part::save", path_);
  auto renamed = co_await async_rename_file(file_.get_executor(), part_path_, path_);
  if (renamed.error()) beck::detail::throw_error(renamed.error(), "form_part::save", path_);
  may_exist_ = false;
}

}  // namespace beck::http::detail
