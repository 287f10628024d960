// SPDX-License-Identifier: BSL-1.0
//
// A client in front of a cluster: its input, cut into batches. The I/O is in cluster_session.hpp.
#pragma once

#include <beck/base/flat_buffer.hpp>
#include <beck/redis/request_parser.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

#include "cluster_batch.hpp"
#include "cluster_dialogue.hpp"
#include "counters.hpp"

namespace beck_redis_proxy {

/// A client whose commands go to the cluster one batch behind the other: so they run in their
/// order, also where one is redirected. Thread: that of the context.
class cluster_client {
 public:
  /// The most commands of a batch, at first and later.
  static constexpr std::size_t window_first = 8;
  static constexpr std::size_t window_most = 128;
  /// Behind replies of so many bytes a batch has one command.
  static constexpr std::size_t large_replies_bytes = 256 * 1024;
  /// A batch of so many bytes takes no further command.
  static constexpr std::size_t batch_bytes = 256 * 1024;
  /// A larger command ends its client.
  static constexpr std::size_t command_bytes_most = 64 * 1024 * 1024;

  /// Refers to the last three arguments, which must outlive it.
  cluster_client(std::uint64_t number, cluster_face face, const statistics& all,
                 cluster_counters& counts, cluster_scripts& scripts);
  cluster_client(const cluster_client&) = delete;
  cluster_client& operator=(const cluster_client&) = delete;

 protected:
  ~cluster_client() = default;

  /// Moves commands of the input to the empty batch, as many as it takes. Returns false if no
  /// further one follows: the client has said QUIT, or sent bytes that are no command.
  bool fill_batch();
  /// Takes the number of bytes of the replies to a batch.
  void note_replies(std::size_t bytes) noexcept;
  /// Frees the buffers of a client that sends nothing now.
  void release() noexcept;
  /// Takes that the client has the replies to all that it has sent.
  void note_pause() noexcept { dialogue_.note_pause(); }

  /// Returns the version of the protocol that the replies to the batch have.
  beck::redis::protocol version() const noexcept { return version_; }

  beck::flat_buffer in_;
  cluster_batch batch_;
  std::string out_;
  cluster_counters& counts_;
  cluster_scripts& scripts_;

 private:
  bool take(const beck::redis::arguments& command, bool is_followed);

  cluster_dialogue dialogue_;
  beck::redis::request_parser parser_;
  beck::redis::protocol version_ = beck::redis::protocol::resp2;
  std::size_t window_ = window_first;
};

}  // namespace beck_redis_proxy
