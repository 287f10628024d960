// SPDX-License-Identifier: BSL-1.0
// Responds with an open file: chooses its compressed form, evaluates conditions and ranges.
#include <algorithm>
#include <memory>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/http/conditions.hpp>
#include <beck/http/date.hpp>
#include <beck/http/entity_tag.hpp>
#include <beck/http/range.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/system_timer.hpp>
#include <beck/transfer/transfer_report.hpp>

#include "http/files/file_site.hpp"

namespace beck::http::detail {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t clock_step = 20'000'000;  // at most, in a kernel's coarse clock

std::int64_t seconds_of(std::int64_t ns) noexcept {
  return ns / second - (ns % second < 0 ? 1 : 0);
}

std::string_view suffix_of(content_coding c) noexcept {
  switch (c) {
    case content_coding::gzip:
      return ".gz";
    case content_coding::br:
      return ".br";
    case content_coding::zstd:
      return ".zst";
    case content_coding::identity:
      break;
  }
  return {};
}

/// Returns whether a file may change again without a change of its modification time. A time in
/// whole seconds shows a file system that counts whole seconds.
bool is_fresh(std::int64_t modified_ns, std::int64_t now) noexcept {
  const std::int64_t step = modified_ns % second == 0 ? 2 * second : clock_step;
  return modified_ns > now - step;
}

/// Opens the compressed form of a file that the client prefers. `status` becomes the status of that
/// form. Returns content_coding::identity if there is none.
task<content_coding> open_compressed(file_call call, const std::string& name,
                                     std::shared_ptr<open_file>& file, file_status& status) {
  const accepted_codings accepted(call.q.head());
  content_coding left[3] = {};
  std::size_t count = 0;
  for (const content_coding c : call.site.settings.codings) left[count++] = c;
  while (count != 0) {
    const content_coding best = accepted.pick(left, count);
    if (best == content_coding::identity) break;
    count = static_cast<std::size_t>(std::remove(left, left + count, best) - left);
    std::string path = name + std::string(suffix_of(best));
    auto opened = co_await call.open.files.open(call.open.root, std::move(path));
    if (opened.error()) continue;
    const file_status& found = opened.value_->status;
    if (found.kind == file_kind::regular &&
        seconds_of(found.modified_ns) >= seconds_of(status.modified_ns)) {
      status = found;
      file = std::move(opened.value_);
      co_return best;
    }
  }
  co_return content_coding::identity;
}

/// Returns the number for a boundary between ranges: the nanosecond of the request, which the
/// author of a file cannot know. In a simulation it is reproducible.
std::uint64_t boundary_now() noexcept {
  const std::uint64_t now =
      static_cast<std::uint64_t>(system_now().nanoseconds()) * 0x9E3779B97F4A7C15;
  return now ^ now >> 32;
}

/// Sends several ranges, each with its head.
task<> send_ranges(file_call call, file_object& file, const byte_ranges& ranges,
                   const multipart_ranges& texts) {
  for (unsigned i = 0; i < ranges.size(); ++i) {
    char room[512];
    std::string more;
    mutable_buffer to(room, sizeof room);
    if (texts.part_head_bytes(i) > sizeof room) {
      more.resize(texts.part_head_bytes(i));
      to = mutable_buffer(more.data(), more.size());
    }
    const std::string_view head = texts.part_head(i, to);
    BECK_ASSERT(!head.empty(), "the head of a part of a file needs more room");
    const const_buffer head_text(head.data(), head.size());
    auto written = co_await async_write(call.r, head_text);
    if (written.error()) co_return;
    auto sent = co_await call.r.async_send_file(file, ranges[i].first, ranges[i].bytes());
    if (sent.error()) co_return;
  }
  const std::string_view end = texts.end_text();
  const const_buffer end_text(end.data(), end.size());
  ignore(co_await async_write(call.r, end_text));
}

/// Sends one part of a file, which may be all of it.
task<> send_part(file_call call, file_object& file, std::uint64_t first, std::uint64_t bytes) {
  call.r.content_length(bytes);
  if (bytes == 0 || call.q.method() == method::head) co_return;  // the server sends only the head
  ignore(co_await call.r.async_send_file(file, first, bytes));   // an error cuts the connection
}

/// Sends the part of a file that the request asks for. Requires that the fields are set.
task<> send_body(file_call call, file_object& file, std::uint64_t size, std::string_view type,
                 bool range_applies) {
  response& r = call.r;
  byte_ranges ranges;
  if (range_applies) ranges = parse_range(call.q.get(field::range), size);
  switch (ranges.status()) {
    case range_status::none:
      r.set(field::content_type, type);
      co_await send_part(call, file, 0, size);
      co_return;
    case range_status::unsatisfiable:
      r.set(field::content_range, content_range_text(size));
      r.fail(status::range_not_satisfiable, "the file has no such range");
      co_return;
    case range_status::partial:
      break;
  }
  r.status(status::partial_content);
  if (ranges.size() == 1) {
    r.set(field::content_type, type);
    r.set(field::content_range, content_range_text(ranges[0], size));
    co_await send_part(call, file, ranges[0].first, ranges[0].bytes());
    co_return;
  }
  const multipart_ranges texts(ranges, size, type, boundary_now());
  r.set(field::content_type, texts.content_type());
  r.content_length(texts.bytes());
  co_await send_ranges(call, file, ranges, texts);
}

/// Responds with a file that the kernel generates. Its size, its time and so its tag do not
/// describe the contents, so it has no conditions and no ranges.
task<> send_generated(file_call call, file_object& file, std::string_view type) {
  call.r.set(field::content_type, type);
  ignore(co_await call.r.async_send_file(file, 0, to_the_end));
}

}  // namespace

task<> send_found_file(file_call call, const std::string& name, file_object& file,
                       file_status status) {
  response& r = call.r;
  const file_settings& settings = call.site.settings;
  std::shared_ptr<open_file> compressed;
  content_coding coding = content_coding::identity;
  if (call.is_fallback) r.set(field::vary, "Accept");
  if (!settings.codings.empty()) {
    r.set(field::vary, call.is_fallback ? "Accept, Accept-Encoding" : "Accept-Encoding");
    coding = co_await open_compressed(call, name, compressed, status);
  }
  const bool is_compressed = coding != content_coding::identity;
  file_object& body = is_compressed ? static_cast<file_object&>(compressed->file) : file;
  if (!settings.cache_control.empty()) r.set(field::cache_control, settings.cache_control);
  bool is_generated = false;
  if (status.stored_bytes == 0) is_generated = co_await has_false_size(body, status.bytes);
  if (is_generated) {
    if (is_compressed) r.set(field::content_encoding, name_of(coding));
    co_await send_generated(call, body, settings.type_of(name));
    co_return;
  }
  const std::int64_t now = system_now().nanoseconds();
  const std::int64_t changed = seconds_of(std::min(status.modified_ns, now));
  const file_tag tag(status.bytes, status.modified_ns, status.inode,
                     is_fresh(status.modified_ns, now));
  r.set(field::etag, tag).set(field::last_modified, date_text(changed));
  representation_state state;
  state.etag = tag;
  state.last_modified = changed;
  state.has_last_modified = true;
  const condition_result found = evaluate_conditions(call.q.head(), state, seconds_of(now));
  switch (found.status) {
    case condition_status::precondition_failed:
      r.fail(http::status::precondition_failed, "the file is another version");
      co_return;
    case condition_status::not_modified:
      r.status(http::status::not_modified).send();
      co_return;
    case condition_status::proceed:
      break;
  }
  if (is_compressed) r.set(field::content_encoding, name_of(coding));
  r.set(field::accept_ranges, "bytes");
  const bool range_applies = found.range_applies && call.q.method() == method::get;
  co_await send_body(call, body, status.bytes, settings.type_of(name), range_applies);
}

}  // namespace beck::http::detail
