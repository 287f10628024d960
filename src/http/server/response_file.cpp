// SPDX-License-Identifier: BSL-1.0
// Files as bodies of responses. If the stream is a socket, the kernel sends them, with the head
// before the first bytes; else they are read and written.
#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/file/file_object.hpp>
#include <beck/transfer/transmit.hpp>

#include "http/files/file_site.hpp"
#include "http/server/connection.hpp"

namespace beck::http::detail {
namespace {

constexpr std::size_t copy_block_bytes = 65'536;  // where the kernel cannot send the file
constexpr std::uint64_t small_max = 16'384;       // cheaper to copy than to send with the kernel

using file_result = io_result<std::uint64_t>;
using beck::detail::file_transfer;
using beck::detail::op_kind;
constexpr auto read_call = beck::detail::file_call::read;

}  // namespace

task<bool> has_false_size(file_object& file, std::uint64_t bytes) {
  constexpr std::uint64_t page_max = 65'536;  // of a page at most: the size in sysfs
  if (bytes > page_max) co_return false;
  char byte;
  file_transfer next(op_kind::file, read_call, file.slot(), bytes, &byte, 1);
  auto behind = co_await std::move(next);
  if (behind.value_ != 0) co_return true;
  if (bytes == 0) co_return false;
  file_transfer last(op_kind::file, read_call, file.slot(), bytes - 1, &byte, 1);
  auto there = co_await std::move(last);
  co_return there.error() == beck::error::eof;
}

/// Begins, unless it has begun, the response that `bytes` bytes of a file belong to. `is_all`: they
/// may become the length of the response. Returns the error of a response that cannot take them.
error_code response_side::begin_file(std::uint64_t bytes, bool is_all) {
  response_state& response = state();
  if (connection_.is_lost()) return make_error_code(std::errc::broken_pipe);
  if (!may_take_parts()) return make_error_code(std::errc::invalid_argument);
  if (response.has_length() && bytes > response.length - response.sent) {
    return make_error_code(std::errc::message_size);
  }
  if (response.has_begun()) return {};
  if (!response.has_length() && is_all) response.promise(bytes);
  begin_stream();
  return {};
}

/// Adds a small part of a file to the queued output if it is in memory, so that responses of a
/// pipeline leave together. Returns false if the part has to be sent in another way.
bool response_side::send_cached(file_object& from, std::uint64_t offset, std::uint64_t bytes,
                                error_code& ec) {
  if (bytes > small_max || bytes == 0 || !output_.has_room()) return false;
  char block[small_max];
  const mutable_buffer whole(block, static_cast<std::size_t>(bytes));
  if (from.read_cached(offset, whole, ec) != whole.size()) return false;
  ec = begin_file(bytes);
  std::size_t written = 0;
  if (!ec) static_cast<void>(write_ready(whole, written, ec));
  return true;
}

task<file_result> response_side::send_file(std::shared_ptr<connection> keep, file_object& from,
                                           std::uint64_t offset, std::uint64_t bytes) {
  response_side& to = keep->responses();
  error_code ec;
  bool is_generated = false;
  if (bytes == to_the_end) {
    const file_status found = from.status(ec);
    bytes = found.bytes > offset ? found.bytes - offset : 0;
    if (!ec && found.stored_bytes == 0) is_generated = co_await has_false_size(from, found.bytes);
  }
  response_state& response = to.state();
  if (ec) {
    response.broken = response.broken || response.has_begun();
    co_return file_result(ec, 0);
  }
  if (!is_generated) ec = to.begin_file(bytes);
  if (ec) co_return file_result(ec, 0);
  if (!is_generated && !to.body_allowed()) {
    response.sent += bytes;
    co_return file_result(ec, bytes);
  }
  const bool was_broken =
      std::exchange(response.broken, true);  // stays true if a part cannot be sent
  file_result sent;
  if (is_generated) {
    sent = co_await to.copy_to_end(from, offset);
  } else if (keep->stream().is_plain() && response.framing != body_framing::chunked) {
    sent = co_await to.transmit(from, offset, bytes);
  } else {
    sent = co_await to.copy(from, offset, bytes);
  }
  if (!sent.error()) response.broken = was_broken;
  co_return sent;
}

/// Lets the kernel send the file after the queued output.
task<file_result> response_side::transmit(file_object& from, std::uint64_t offset,
                                          std::uint64_t bytes) {
  const_buffer parts[beck::writer_source::parts_max];
  beck::byte_queue& queue = output_.queue();
  if (output_.writer().is_writing() || queue.gather(parts) > 1) {
    const bool sent = co_await output_.flush();
    if (connection_.is_lost()) co_return file_result(make_error_code(std::errc::broken_pipe), 0);
    if (!sent) co_return file_result(make_error_code(error::operation_aborted), 0);
  }
  transmit_options how;
  if (queue.gather(parts) == 1) how.prefix = parts[0];
  std::uint64_t counted = 0;
  auto count = [&](std::uint64_t sent) {
    BECK_ASSERT(sent >= counted, "a file has sent fewer bytes than before");
    output_.writer().note_sent(static_cast<std::size_t>(sent - counted));
    counted = sent;
  };
  how.progress = count;
  output_.writer().lend();
  io_result<transfer_report> sent;
  try {
    sent = co_await async_transmit(connection_.stream().socket(), from, offset, bytes, how);
  } catch (...) {  // no memory: notify the waiting writers
    sent.error_ = make_error_code(std::errc::not_enough_memory);
  }
  const transfer_report report = sent.value_;
  BECK_ASSERT(report.bytes <= bytes, "more of a file was sent than its response has");
  state().sent += report.bytes;
  output_.writer().take_back(static_cast<std::size_t>(report.prefix_bytes));
  co_return file_result(sent.error(), report.bytes);
}

/// Reads the file and writes it to the stream.
task<file_result> response_side::copy(file_object& from, std::uint64_t offset,
                                      std::uint64_t bytes) {
  const std::unique_ptr<char[]> block(new char[copy_block_bytes]);
  std::uint64_t copied = 0;
  error_code ec;
  while (!ec && copied < bytes) {
    const auto most =
        static_cast<std::size_t>(std::min<std::uint64_t>(copy_block_bytes, bytes - copied));
    file_transfer read(op_kind::file, read_call, from.slot(), offset + copied, block.get(), most);
    auto got = co_await std::move(read);
    ec = got.error();
    if (!ec) ec = co_await write_block(const_buffer(block.get(), got.value_), copied);
  }
  co_return file_result(ec, copied);
}

/// Reads a file whose size is not its length up to its end, and writes it to the stream. A file
/// that fits into one block gets its length in the head.
task<file_result> response_side::copy_to_end(file_object& from, std::uint64_t offset) {
  const std::unique_ptr<char[]> block(new char[copy_block_bytes]);
  std::uint64_t copied = 0;
  for (bool is_end = false; !is_end;) {
    file_transfer read(op_kind::file, read_call, from.slot(), offset + copied, block.get(),
                       copy_block_bytes);
    read.flags = beck::detail::io_op::flag_all;
    auto got = co_await std::move(read);
    is_end = got.error() == beck::error::eof;
    error_code ec = is_end ? error_code() : got.error();
    if (!ec) ec = begin_file(got.value_, is_end && copied == 0);
    if (!ec) ec = co_await write_block(const_buffer(block.get(), got.value_), copied);
    if (ec) co_return file_result(ec, copied);
    is_end = is_end || !body_allowed();  // a response to HEAD is complete with its head
  }
  co_return file_result(error_code(), copied);
}

/// Writes a block of a body, and adds the number of bytes taken to `written`.
task<error_code> response_side::write_block(const_buffer block, std::uint64_t& written) {
  error_code ec;
  while (!ec && block.size() != 0) {
    auto sent = co_await response_write(connection_.active(), block);
    ec = sent.error();
    block += sent.value_;
    written += sent.value_;
  }
  co_return ec;
}

}  // namespace beck::http::detail
