// SPDX-License-Identifier: BSL-1.0
// The sentinels that name the primary, and the URL that names them: each is asked, and watched for
// announcements, as long as a connection of the client lives. The answer with the greatest
// configuration epoch counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <beck/coro/event.hpp>
#include <beck/coro/task.hpp>
#include <beck/detail/intrusive_list.hpp>
#include <beck/redis/client.hpp>
#include <beck/redis/subscription.hpp>
#include <beck/run/stop_token.hpp>

#include "redis/protocol/slot_map.hpp"
#include "redis/session/handshake.hpp"

namespace beck::redis::detail {

/// The sentinels, the name of the primary, and the login and database there.
struct sentinel_url {
  static constexpr std::size_t sentinels_max = 32;

  std::vector<server_url> sentinels;  ///< with their own login
  std::string name;                   ///< of the primary
  server_url primary;                 ///< without an address
};

/// Returns whether the scheme of a URL is redis+sentinel or rediss+sentinel.
bool is_sentinel_url(std::string_view text) noexcept;

/// Parses a URL; see redis::client. Throws std::invalid_argument, whose text does not contain the
/// URL: it may have a password.
sentinel_url parse_sentinel_url(std::string_view text);

/// The kinds of answers of a sentinel.
enum class sentinel_word : std::uint8_t {
  none,     ///< it was not asked yet
  failed,   ///< it does not answer, or with an error
  unknown,  ///< it knows no primary of this name
  known,    ///< it has named the primary
};

/// The last answer of a sentinel.
struct sentinel_answer {
  sentinel_word word = sentinel_word::none;
  std::int64_t epoch = 0;  ///< of the configuration that the address is from
  node_address at;
  error_code error;  ///< why it has failed
};

/// Returns the address to connect to, or nullptr if that is not certain yet: that of the greatest
/// epoch, and among equal ones that of most sentinels, or `now`. Without most of the sentinels no
/// answer replaces `now` that is not newer, and the first address waits until all have answered or
/// failed. `now`: nullptr: there is none.
const sentinel_answer* choose_primary(const std::vector<const sentinel_answer*>& all,
                                      const sentinel_answer* now) noexcept;

/// A connection that has to lead to the primary. Unlinked by its destructor.
struct sentinel_user {
  link* of = nullptr;  ///< nullptr: a program makes the connections itself
  beck::detail::list_hook hook;
};

/// The sentinels of a client. Shared by the connections of the client and its lanes, and by
/// coroutines, one for each sentinel. Thread: that of the context.
class sentinels {
 public:
  sentinels(const any_io_executor& executor, sentinel_url to, const client_options& how);
  sentinels(const sentinels&) = delete;
  sentinels& operator=(const sentinels&) = delete;
  void add_share() noexcept { ++shares_; }
  void drop_share() noexcept {
    if (--shares_ == 0) delete this;
  }

  void secure(stream_layer& with) noexcept { layer_ = &with; }
  /// Begins to ask and to watch, for a connection, which is called when the primary is another one.
  /// Does nothing if it is there already. Throws std::bad_alloc.
  void join(sentinel_user& user);
  /// Ends asking and watching with the last connection.
  void leave(sentinel_user& user) noexcept;

  /// Returns the address of the primary; asks all sentinels again, also if it is known already.
  /// Errors: unknown_primary; the reason of the first sentinel if none answers. error_text() has
  /// the others. Requires join(). Cancellation: through the awaiting scope.
  task<io_result<node_address>> find();
  /// Returns the words of all sentinels. Throws std::bad_alloc.
  std::string error_text() const;
  /// Returns the address that was found last; without a host: there was none.
  const node_address& primary() const noexcept { return primary_.at; }
  /// Returns how often another address than before was found.
  std::uint64_t changes() const noexcept { return changes_; }
  /// Waits until changes() is another number than `seen`. Cancellation: through the awaiting scope.
  task<io_result<>> wait_for_change(std::uint64_t seen);

 private:
  /// A sentinel.
  struct node {
    server_url to;
    sentinel_answer answer;
    client* connection = nullptr;  // while it is watched
    stop_source waker;             // ends the pause before the next question
    bool is_watched = false;       // watch() runs
    bool is_over = false;          // this connection of it has to end
  };

  ~sentinels() = default;
  static task<> watch(shared<sentinels> self, node& one);
  task<> talk(node& one);
  task<bool> ask(node& one);
  task<> wait_for_news(node& one, subscription& news, duration most);
  void take(node& one, sentinel_answer answer);
  error_code failure() const noexcept;
  void stop() noexcept;

  const any_io_executor executor_;
  const client_options how_;  // of the connections to sentinels
  const std::string name_;
  std::vector<node> nodes_;
  std::vector<const sentinel_answer*> answers_;
  beck::detail::intrusive_list<sentinel_user, &sentinel_user::hook> users_;
  sentinel_answer primary_;  // that was chosen
  bool is_found_ = false;    // and is still named by a sentinel
  std::uint64_t changes_ = 0;
  manual_reset_event changed_;
  stream_layer* layer_ = nullptr;
  std::size_t shares_ = 1;
};

}  // namespace beck::redis::detail
