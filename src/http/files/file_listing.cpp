// SPDX-License-Identifier: BSL-1.0
// Reads a folder, and responds with a page that lists it. The page is written in parts: while a
// reader is slow, memory holds the names only, not the page.
#include <beck/base/assert.hpp>
#include <beck/file/directory.hpp>
#include <beck/http/static_files.hpp>
#include <beck/io/generic_stream.hpp>

#include "http/files/file_site.hpp"
#include "http/files/listing_page.hpp"
#include "http/server/exchange_state.hpp"

namespace beck::http::detail {
namespace {

constexpr unsigned listings_max = 32;  // at the same time in one context
constexpr std::size_t part_bytes = 16'384;
constexpr std::int64_t ns_of_second = 1'000'000'000;

/// Counts a listing while it is made and sent.
class counted_listing {
 public:
  explicit counted_listing(unsigned& count) noexcept : count_(&count) { ++count; }
  counted_listing(const counted_listing&) = delete;
  counted_listing& operator=(const counted_listing&) = delete;
  ~counted_listing() {
    BECK_ASSERT(*count_ != 0, "a listing ends that was not counted");
    --*count_;
  }

 private:
  unsigned* count_;
};

/// Adds an entry if the server would serve it. Leaves out devices, and entries without a readable
/// status.
task<> add_entry(directory& folder, std::string name, listing_page& page) {
  auto [ec, status] = co_await folder.async_status(name.c_str());
  if (ec) co_return;
  const bool is_folder = status.kind == file_kind::directory;
  if (!is_folder && status.kind != file_kind::regular) co_return;
  page.add(name, is_folder, status.bytes, status.modified_ns / ns_of_second);
}

/// Reads the entries of a folder. `is_cut`: there are more than a page may have.
task<error_code> read_entries(directory& folder, listing_page& page, bool& is_cut) {
  directory_listing batch;
  for (;;) {
    auto [ec, count] = co_await folder.async_list(batch);
    if (ec) co_return ec == error::eof ? error_code() : ec;
    for (const directory_entry entry : batch) {
      std::string name(entry.name.data(), entry.name.size());
      if (!listing_page::can_list(name)) continue;
      if (page.size() == file_options::listing_max) {
        is_cut = true;
        co_return error_code();
      }
      co_await add_entry(folder, std::move(name), page);
    }
  }
}

task<> write_page(response& r, const listing_page& page, std::string_view path, bool is_cut) {
  std::string part = page.begin(path);
  for (std::size_t i = 0; i <= page.size(); ++i) {
    part += i < page.size() ? page.line(i) : page.end(is_cut);
    if (part.size() < part_bytes && i < page.size()) continue;
    auto written = co_await async_write(r, buffer(part));
    if (written.error()) co_return;
    part.clear();
  }
}

}  // namespace

task<> send_listing(file_call call, const std::string& name) {
  response& r = call.r;
  if (call.open.listings == listings_max) {
    r.set(field::retry_after, "1");
    r.fail(status::service_unavailable, "too many folders are being listed");
    co_return;
  }
  const counted_listing counted(call.open.listings);
  directory folder(call.q.get_executor());
  auto [ec, status] = co_await call.open.root.async_open_directory(folder, name.c_str());
  if (ec) {
    say_error(r, ec);
    co_return;
  }
  listing_page page;
  bool is_cut = false;
  const error_code failed = co_await read_entries(folder, page, is_cut);
  if (failed) {
    say_error(r, failed);
    co_return;
  }
  page.sort();
  r.set(field::content_type, "text/html; charset=utf-8");
  r.set(field::content_security_policy, "default-src 'none'; style-src 'unsafe-inline'");
  r.set(field::cache_control, "no-cache");
  if (call.q.method() == method::head) {
    ignore(co_await r.async_flush());
  } else {
    co_await write_page(r, page, state_of(call.q).handler.route.path(), is_cut);
  }
}

}  // namespace beck::http::detail
