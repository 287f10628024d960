// SPDX-License-Identifier: BSL-1.0
//
// The I/O of a client in front of a cluster: it receives commands, sends a batch, writes the
// replies, by turns.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/buffer_lease.hpp>
#include <beck/io/read_write.hpp>
#include <new>
#include <string>
#include <utility>

#include "cluster_client.hpp"
#include "cluster_pool.hpp"
#include "counters.hpp"
#include "settings.hpp"
#include "socket_steps.hpp"

namespace beck_redis_proxy {

/// A client on a socket, which must outlive run().
template <class Socket>
class cluster_session final : private cluster_client {
 public:
  cluster_session(Socket& client, cluster_pool& nodes, const settings& asked, counters& counts,
                  const statistics& all)
      : cluster_client(nodes.next_number(), face_of(client), all, nodes.counts(), nodes.scripts()),
        client_(client),
        nodes_(nodes),
        asked_(asked),
        relayed_(counts) {}

  /// Serves the client to its end. Returns whether it is to be seen off: more than it has received
  /// is on its way to it, or it has not read all that it has sent.
  beck::task<bool> run() {
    bool is_to_be_seen_off = false;
    try {
      auto serving = serve();
      is_to_be_seen_off = co_await std::move(serving);
    } catch (const std::bad_alloc&) {
      ++relayed_.broken;
    }
    co_return is_to_be_seen_off;
  }

 private:
  beck::task<bool> serve() {
    for (;;) {
      const bool goes_on = fill_batch();
      if (batch_.empty()) {
        auto receiving = receive();
        const bool has_received = co_await std::move(receiving);
        if (!has_received) co_return false;
        continue;
      }
      auto running = run_batch();
      const bool is_whole = co_await std::move(running);
      auto writing = write();
      const bool has_written = co_await std::move(writing);
      if (!has_written) co_return false;
      if (!goes_on || !is_whole) co_return true;
    }
  }

  /// Sends the commands of the batch, and adds the replies to out_. Returns false if one is
  /// missing.
  beck::task<bool> run_batch() {
    cluster_batch::replies got;
    if (!batch_.request().empty()) {
      relayed_.to_server += batch_.request().bytes().size();
      auto sending =
          nodes_.speaking(version()).template exec_each<beck::redis::raw_reply>(batch_.request());
      auto sent = co_await std::move(sending);
      got = std::move(*sent);
      auto finishing = finish_script(got);
      co_await std::move(finishing);
    }
    const batch_end end = batch_.compose(got, out_, counts_);
    nodes_.note(end);
    batch_.clear();
    note_replies(out_.size());
    co_return !end.is_lost;
  }

  /// Keeps a script that was loaded; sends the text of one that the node does not know, whose
  /// command is the last of the batch. A node that answers NOSCRIPT has run nothing.
  beck::task<> finish_script(cluster_batch::replies& got) {
    const beck::redis::arguments last = batch_.last_command();
    auto& reply = got[batch_.request().size() - 1];
    if (is_script(last, "load") && !reply.error())
      scripts_.add(digest_of((*reply).bytes()), last[2]);
    const bool is_unknown = reply.error() == beck::redis::error::noscript;
    const std::string* const text = is_unknown ? scripts_.text_of(last) : nullptr;
    if (text == nullptr) co_return;
    cluster_batch again;
    again.add_script(last, *text);
    auto sending =
        nodes_.speaking(version()).template exec_each<beck::redis::raw_reply>(again.request());
    auto sent = co_await std::move(sending);
    reply = std::move((*sent)[0]);
  }

  beck::task<bool> write() {
    limit_silence(client_, asked_.idle);
    const auto wrote = co_await beck::async_write(client_, beck::buffer(out_));
    relayed_.to_clients += wrote.value_;
    out_.clear();
    note_end(wrote.error());
    co_return !wrote.error();
  }

  beck::task<bool> receive() {
    if (in_.empty()) {
      release();
      note_pause();
    }
    limit_silence(client_, asked_.idle);
    const auto got = co_await beck::async_receive(client_);
    if (!got.error()) {
      append(in_, *got);
    } else if (got.error() != beck::error::eof) {
      note_end(got.error());
    }
    co_return !got.error();
  }

  /// Counts the end of the client's connection.
  void note_end(const beck::error_code& ec) noexcept {
    if (ec == beck::error::timeout) {
      ++relayed_.idle;
    } else if (ec) {
      ++relayed_.broken;
    }
  }

  Socket& client_;
  cluster_pool& nodes_;
  const settings& asked_;
  counters& relayed_;
};

}  // namespace beck_redis_proxy
