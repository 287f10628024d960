// SPDX-License-Identifier: BSL-1.0
// A source and a target of copies, and their contents as text.
#pragma once

#include <beck/file/read_write_at.hpp>
#include <beck/transfer/copy.hpp>
#include <string>

#include "support/file_place.hpp"
#include "support/stream_pair.hpp"

namespace beck::test {
using namespace detail;

inline constexpr auto for_writing = file_object::read_write | file_object::create;

inline void fill(random_access_file& file, const std::string& data) {
  CHECK(write_at(file, 0, buffer(data)) == data.size());
}

inline std::string contents(random_access_file& file) {
  std::string text(file.size(), 'x');
  error_code ec;
  CHECK(read_at(file, 0, buffer(text), ec) == text.size());
  return text;
}

struct two_files {
  two_files(io_context& ctx, backend where)
      : place(where),
        from(ctx, place.path("from"), for_writing),
        to(ctx, place.path("to"), for_writing) {}

  transfer_report copy(io_context& ctx, const copy_options& how, error_code& ec) {
    transfer_report report;
    run_task(ctx, [&]() -> task<> {
      auto [error, done] = co_await async_copy(from, to, how);
      ec = error;
      report = done;
    });
    return report;
  }
  transfer_report copy(io_context& ctx, const copy_options& how = copy_options()) {
    error_code ec;
    const transfer_report report = copy(ctx, how, ec);
    CHECK_FALSE(ec);
    return report;
  }

  file_place place;
  random_access_file from;
  random_access_file to;
};

}  // namespace beck::test
