// SPDX-License-Identifier: BSL-1.0
// Names of operations: as the synchronous forms have them, so that both fail with the same words.
#include "io/op/operation_name.hpp"

#include <beck/io/file_operation.hpp>

#include "io/op/descriptor.hpp"

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

}  // namespace

const char* name_of(const io_op& op) noexcept {
  if (is_file(op.kind)) return name_of_call(static_cast<const file_operation&>(op));
  const bool whole = (op.flags & (io_op::flag_all | io_op::flag_steps)) != 0;
  if (!whole && is_receive(op.kind)) return "read_some";
  if (!whole && (op.kind == op_kind::send || op.kind == op_kind::send_vector)) return "write_some";
  return name_of(op.kind);
}

result_error operation::failure() const noexcept { return {make_failure(result), name_of(*this)}; }

}  // namespace beck
