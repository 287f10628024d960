// SPDX-License-Identifier: BSL-1.0
// Directories: opens them, starts operations on paths in them, and iterates over a listing.
#include <beck/file/directory.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>

#include "file/open_calls.hpp"
#include "io/loop/io_loop.hpp"
#include "io/system/directory_record.hpp"

namespace beck {
using namespace detail;
namespace {

constexpr std::size_t listing_bytes_min = 1024;
constexpr std::size_t listing_bytes_max = 1'048'576;
constexpr unsigned directory_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

}  // namespace

// --- listings ------------------------------------------------------------------------------------

directory_listing::directory_listing(std::size_t bytes)
    : room_(std::clamp(bytes, listing_bytes_min, listing_bytes_max)) {
  data_ = static_cast<char*>(::operator new(room_));
}

directory_listing::~directory_listing() { ::operator delete(data_); }

directory_listing::iterator::iterator(const char* at, const char* end) noexcept
    : at_(at), end_(end) {
  skip_dots();
}

directory_entry directory_listing::iterator::operator*() const noexcept {
  const directory_record record(at_);
  return {record.name(), record.inode(), record.kind()};
}

directory_listing::iterator& directory_listing::iterator::operator++() noexcept {
  at_ += directory_record(at_).bytes();
  skip_dots();
  return *this;
}

void directory_listing::iterator::skip_dots() noexcept {
  while (at_ != end_ && directory_record(at_).is_dots()) at_ += directory_record(at_).bytes();
}

list_operation::list_operation(descriptor* d, directory_listing& into) noexcept
    : file_operation(op_kind::file_in_order, file_call::list, d, 0, into.data_, into.room_),
      into_(&into) {
  creation_mode = into.begins_ ? 1 : 0;
}

io_result<std::size_t> list_operation::await_resume() noexcept {
  into_->filled_ = result > 0 ? static_cast<std::size_t>(result) : 0;
  if (result < 0) return {error(), 0};
  into_->begins_ = false;
  std::size_t count = 0;
  for (auto at = into_->begin(); at != into_->end(); ++at) ++count;
  return {result_error(), count};
}

// --- opening in a directory ----------------------------------------------------------------------

/// Sets the error and returns true if nothing can be opened in the object.
bool open_in_operation::refuse() noexcept {
  const descriptor& into = *into_->slot_to_open();
  int refused = openable(into);
  if (into.loop != target->loop && into.loop->drv().kind() == backend::sim) {
    refused = -error::operation_not_supported;
  }
  if (refused != 0) result = refused;
  return refused != 0;
}

void open_in_operation::begin() noexcept {
  if (refuse()) {
    complete_later(*this, result);
  } else {
    status_operation::begin();
  }
}

bool open_in_operation::begin_immediate() noexcept {
  return refuse() || status_operation::begin_immediate();
}

void open_in_operation::drop() noexcept { target->loop->sys().close(std::exchange(result, -1)); }

io_result<file_status> open_in_operation::await_resume() noexcept {
  if (const int fd = result; fd >= 0) {
    if (!refuse()) {
      descriptor& into = *into_->slot_to_open();
      into.loop->files().open(into, std::exchange(result, -1), static_cast<unsigned>(length));
      return {result_error(), status};
    }
    target->loop->sys().close(fd);  // another operation has opened the object meanwhile
  }
  return {error(), file_status()};
}

// --- directories ---------------------------------------------------------------------------------

directory::directory(io_context& context) : io_object(context.get_executor()) {}
directory::directory(const any_io_executor& executor) : io_object(executor) {}
directory::directory(io_context& context, std::string_view path) : directory(context) {
  open(path);
}

void directory::open(std::string_view path, error_code& ec) noexcept {
  descriptor& d = *slot_to_open();
  const object_use use = use_of(d, "open");
  ec = make_error(open_path(d, path, directory_flags));
}

void directory::open(std::string_view path) {
  error_code ec;
  open(path, ec);
  if (ec) throw_error(ec, "open", path);
}

file_action directory::async_open(const char* path) noexcept {
  return open_action(*slot_to_open(), path, directory_flags);
}

open_in_operation directory::async_open_file(file_object& file, const char* path,
                                             file_object::flags how, resolve limits) noexcept {
  // Without O_NONBLOCK the open of a named pipe would wait for its writer.
  return {descriptor_, file, path, open_flags_of(how) | O_NONBLOCK | O_NOCTTY, limits};
}

open_in_operation directory::async_open_directory(directory& other, const char* path,
                                                  resolve limits) noexcept {
  return {descriptor_, other, path, directory_flags, limits};
}

}  // namespace beck
