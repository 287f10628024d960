// SPDX-License-Identifier: BSL-1.0
// The name of a failed operation, for exceptions: that of the function which started it, without
// "async_", as the synchronous forms have it.
#include <beck/io/file_operation.hpp>

namespace beck {
namespace {

const char* name_of_call(const file_operation& op) noexcept {
  const bool positional = op.kind == op_kind::file;
  const bool whole = (op.flags & io_op::flag_all) != 0;
  switch (op.call) {
    case file_call::read:
    case file_call::read_vector:
      if (!positional) return whole ? "read" : "read_some";
      return whole ? "read_at" : "read_some_at";
    case file_call::write:
    case file_call::write_vector:
      if (!positional) return whole ? "write" : "write_some";
      return whole ? "write_at" : "write_some_at";
    case file_call::sync_all:
      return "sync_all";
    case file_call::sync_data:
      return "sync_data";
    case file_call::resize:
      return "resize";
    case file_call::open:
      return "open";
  }
  return "";
}

const char* name_of_failed(const operation& op) noexcept {
  const bool whole = (op.flags & io_op::flag_all) != 0;
  switch (op.kind) {
    case op_kind::receive:
    case op_kind::receive_vector:
      return whole ? "read" : "read_some";
    case op_kind::send:
    case op_kind::send_vector:
      return whole ? "write" : "write_some";
    case op_kind::receive_lease:
    case op_kind::receive_message:
      return "receive";
    case op_kind::send_message:
      return "send";
    case op_kind::accept:
      return "accept";
    case op_kind::connect:
      return "connect";
    case op_kind::wait_read:
    case op_kind::wait_write:
    case op_kind::wait_error:
    case op_kind::wait_timer:
    case op_kind::wait_signal:
      return "wait";
    case op_kind::file:
    case op_kind::file_in_order:
      return name_of_call(static_cast<const file_operation&>(op));
    case op_kind::raw:
      return "submit";
    case op_kind::job:
      return "a blocking call";
  }
  return "";
}

}  // namespace

result_error operation::failure() const noexcept {
  return {make_failure(result), name_of_failed(*this)};
}

}  // namespace beck
