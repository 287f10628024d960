// SPDX-License-Identifier: BSL-1.0
// The session of a lane, and the rules for its commands: what waits behind a blocking command, what
// ends without a reply, and how a stopped exchange ends.
#include <doctest/doctest.h>

#include <beck/redis/request.hpp>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "redis/session/lane_rules.hpp"
#include "redis/session/session.hpp"

using namespace beck::redis;
using beck::redis::detail::lane_rule;
using beck::redis::detail::session;

namespace {

/// Some commands, as inline text: "SET k v|GET k".
class call final : public detail::exchange {
 public:
  explicit call(std::string_view text) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('|'));
      text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
      push(line);
    }
    part_ = {wire_.bytes(), static_cast<std::uint32_t>(wire_.size())};
    replies.resize(wire_.size());
    set_commands(&part_, 1);
  }
  detail::reply_place place_of(std::uint32_t i) noexcept override {
    return detail::place_of(replies[i]);
  }
  void done(const beck::error_code& ec) noexcept override {
    why = ec;
    ++ended;
  }
  void drop() noexcept override { ++dropped; }

  /// Returns the outcomes: n, m or e for each command.
  std::string outcomes() const {
    std::string text;
    for (const auto& each : replies) text += "nme"[static_cast<int>(each.outcome())];
    return text;
  }

  std::vector<reply<value>> replies;
  beck::error_code why;
  int ended = 0;
  int dropped = 0;

 private:
  void push(std::string_view line) {
    std::vector<std::string_view> words;
    while (!line.empty()) {
      const std::string_view word = line.substr(0, line.find(' '));
      line.remove_prefix(word.size() < line.size() ? word.size() + 1 : word.size());
      words.push_back(word);
    }
    const std::string_view name = words.front();
    words.erase(words.begin());
    wire_.push(name, each(words));
  }

  request wire_;
  detail::command_bytes part_;
};

detail::session_limits lane_limits() {
  detail::session_limits most;
  most.is_lane = true;
  most.refused_for = 0;
  return most;
}

struct lane_session {
  explicit lane_session(const detail::session_limits& most = lane_limits()) : s(most, nullptr) {
    s.connected(0);
    s.queues().open();
  }
  /// Writes all that may be written. Returns the number of commands of it.
  int write(std::size_t most = static_cast<std::size_t>(-1)) {
    beck::const_buffer parts[detail::gathered_write::parts_max];
    const std::size_t count = s.writer().gather(parts, written_at);
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i)
      bytes.append(static_cast<const char*>(parts[i].data()), parts[i].size());
    if (bytes.size() > most) bytes.resize(most);
    s.writer().wrote(bytes.size());
    int commands = 0;
    for (std::size_t at = 0; (at = bytes.find('*', at)) != std::string::npos; ++at) ++commands;
    return commands;
  }
  void answer(std::string_view bytes, std::int64_t now = 0) {
    CHECK(!s.reader().received(bytes, now));
  }
  /// Returns until when the server may be silent.
  std::int64_t blocked_until() { return s.blocking().until(s.reader().heard_at()); }

  session s;
  std::int64_t written_at = 0;  // the time of the next write
};

const beck::error_code stopped = beck::error::operation_aborted;
const beck::error_code gone = beck::error::eof;
constexpr std::string_view unblocked = "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n";

std::int64_t time_of(std::string_view line) {
  request q;
  std::vector<std::string> words;
  for (std::string_view rest = line; !rest.empty();) {
    words.emplace_back(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(words.back().size() < rest.size() ? words.back().size() + 1
                                                         : words.back().size());
  }
  const std::string name = words.front();
  words.erase(words.begin());
  q.push(name, each(words));
  return detail::blocking_time(*q.begin());
}

}  // namespace

TEST_CASE("redis: the time that a command blocks is that of its argument") {
  constexpr std::int64_t second = 1'000'000'000;
  const auto is_near = [](std::int64_t time, std::int64_t wanted) {
    return time >= wanted && time <= wanted + 2;
  };
  CHECK(time_of("GET k") == 0);
  CHECK(time_of("XREAD STREAMS x 0") == 0);
  CHECK(is_near(time_of("BLPOP a b 2.5"), 5 * second / 2));
  CHECK(is_near(time_of("blmove a b LEFT RIGHT 1"), second));
  CHECK(is_near(time_of("BRPOPLPUSH a b 3"), 3 * second));
  CHECK(is_near(time_of("BLMPOP 4 1 a LEFT"), 4 * second));
  CHECK(is_near(time_of("BZMPOP 4 1 a MIN"), 4 * second));
  CHECK(is_near(time_of("WAIT 3 2000"), 2 * second));
  CHECK(is_near(time_of("XREAD COUNT 2 BLOCK 5000 STREAMS x $"), 5 * second));
  CHECK(is_near(time_of("XREADGROUP GROUP g c BLOCK 5000 STREAMS x >"), 5 * second));
  CHECK(is_near(time_of("XREADGROUP GROUP block 1 BLOCK 5000 STREAMS x >"), 5 * second));
  CHECK(is_near(time_of("XREADGROUP BLOCK 5000 GROUP g c STREAMS x >"), 5 * second));
  CHECK(is_near(time_of("XREAD BLOCK 1 BLOCK 5000 STREAMS x $"), 5 * second));
  for (const char* endless :
       {"BLPOP a 0", "BLPOP a -1", "BLPOP a x", "BLPOP a", "BLPOP", "BLPOP a nan", "BLPOP a inf",
        "BLPOP a 1e300", "XREAD BLOCK 0 STREAMS x $", "WAIT 1 0", "XREAD BLOCK"}) {
    CAPTURE(endless);
    CHECK(time_of(endless) == INT64_MAX);
  }
}

TEST_CASE("redis: CLIENT REPLY is followed as a server does it") {
  // ON is answered in every mode; OFF and SKIP never are; SKIP has no effect in OFF.
  const std::pair<const char*, const char*> lines[] = {
      {"PING", "y"},
      {"CLIENT REPLY SKIP|PING|PING", "nny"},
      {"CLIENT REPLY SKIP|CLIENT REPLY SKIP|PING|PING", "nnny"},
      {"CLIENT REPLY SKIP|CLIENT REPLY ON|PING", "nyy"},
      {"client reply off|PING|CLIENT REPLY SKIP|PING|PING|Client Reply On|PING", "nnnnnyy"},
      {"CLIENT REPLY WRONG|PING", "yy"},
      {"CLIENT REPLY SKIP|CLIENT REPLY WRONG|PING", "nny"},
      {"CLIENT REPLY|CLIENT REPLY OFF NOW|CLIENT ID|REPLY OFF|PING", "yyyyy"},
  };
  for (const auto& [text, expected] : lines) {
    CAPTURE(text);
    const std::string_view all = text;
    detail::reply_mode mode;
    std::string got;
    for (std::size_t at = 0; at <= all.size();) {
      const std::size_t end = all.find('|', at) == all.npos ? all.size() : all.find('|', at);
      std::vector<std::string_view> words;
      for (std::size_t i = at; i < end;) {
        const std::size_t space = all.find(' ', i) < end ? all.find(' ', i) : end;
        words.push_back(all.substr(i, space - i));
        i = space + 1;
      }
      got += mode.take(arguments(words.data(), words.size())) ? 'y' : 'n';
      at = end + 1;
    }
    CHECK(got == expected);
  }
}

TEST_CASE("redis: a lane sends in the order of the calls, and nothing behind a blocking command") {
  lane_session lane;
  call first("GET a|BLPOP q 0|GET b");
  call second("GET c");
  lane.s.queues().submit(first, 0);
  lane.s.queues().submit(second, 0);
  CHECK(lane.write() == 2);
  CHECK(lane.s.blocking().is_blocked());
  CHECK(lane.blocked_until() == INT64_MAX);
  CHECK(!lane.s.writer().has_output());
  lane.answer("+a\r\n");
  CHECK(lane.write() == 0);
  lane.answer("*2\r\n+q\r\n+x\r\n");
  CHECK(!lane.s.blocking().is_blocked());
  CHECK(lane.write() == 2);
  lane.answer("+b\r\n+c\r\n");
  CHECK(first.ended == 1);
  CHECK(second.ended == 1);
  CHECK(second.outcomes() == "e");
}

TEST_CASE("redis: the time of a blocking command counts from the reply before it") {
  constexpr std::int64_t second = 1'000'000'000;
  lane_session lane;
  call all("GET a|BLPOP q 5");
  lane.written_at = 1 * second;
  lane.s.queues().submit(all, lane.written_at);
  CHECK(lane.blocked_until() == INT64_MIN);
  lane.write();
  CHECK(lane.blocked_until() / second == 6);
  lane.answer("+a\r\n", 30 * second);  // from here on the server waits
  CHECK(lane.blocked_until() / second == 35);
  lane.answer("*2\r\n+q\r\n+x\r\n", 35 * second);
  CHECK(lane.blocked_until() == INT64_MIN);
  call endless("BLPOP q 0");
  lane.written_at = 40 * second;
  lane.s.queues().submit(endless, lane.written_at);
  lane.write();
  CHECK(lane.blocked_until() == INT64_MAX);
  lane.s.lost(gone, 0);
}

TEST_CASE("redis: a stopped exchange ends as the reply to its blocking command says") {
  for (const std::string_view reply : {std::string_view("*2\r\n+q\r\n+x\r\n"), unblocked}) {
    const bool is_value = reply[0] == '*';
    for (const bool has_more : {false, true}) {
      lane_session lane;
      call one(has_more ? "GET a|BLPOP q 9|INCR n" : "BLPOP q 9");
      lane.s.queues().submit(one, 0);
      CHECK(!lane.s.stop(one, stopped));
      lane.write();
      CHECK(lane.s.stop(one, stopped));
      CHECK(lane.s.stop(one, gone));  // nothing new
      if (has_more) lane.answer("+a\r\n");
      CHECK(lane.s.blocking().is_stopping());
      CHECK(one.ended == 0);
      lane.answer(reply);
      CHECK(lane.s.blocking().is_unblocked() == !is_value);
      CHECK(one.ended == (is_value ? 1 : 0));
      if (!is_value) {
        lane.s.end_unblocked();
      }
      CHECK(one.ended == 1);
      CHECK(!lane.s.blocking().is_stopping());
      CHECK(one.why == (is_value && !has_more ? beck::error_code() : stopped));
      CHECK(one.outcomes() == (has_more ? "een" : "e"));
      if (!is_value) CHECK(one.replies[has_more ? 1 : 0].error() == stopped);
      CHECK(lane.s.queues().waiting() == 0);
    }
  }
}

TEST_CASE("redis: a stopped exchange may be lost, forgotten, dropped or cancelled at any time") {
  for (const bool is_answered : {false, true}) {
    for (const int how : {0, 1, 2, 3}) {
      CAPTURE(how);
      lane_session lane;
      call one("BLPOP q 0");
      lane.s.queues().submit(one, 0);
      lane.write();
      lane.s.stop(one, stopped);
      if (is_answered) lane.answer(unblocked);
      if (how == 0) lane.s.lost(gone, 0);
      if (how == 1) lane.s.forget(one);
      if (how == 2) lane.s.drop_all();
      if (how == 3) lane.s.cancel(one, stopped);
      CHECK(one.ended == (how == 0 || how == 3 ? 1 : 0));
      CHECK(one.dropped == (how == 2 ? 1 : 0));
      if (how == 0) CHECK(one.why == gone);
      if (one.ended == 1) CHECK(one.outcomes() == "m");
      CHECK(!one.is_under_way());
      CHECK(!lane.s.blocking().is_stopping());
      if (how != 0) lane.s.lost(gone, 0);
    }
  }
}

TEST_CASE("redis: commands without a reply end when they are written and first in line") {
  lane_session lane;
  call off("GET a|CLIENT REPLY OFF|INCR n");
  call on("INCR n|CLIENT REPLY ON|GET b");
  lane.s.queues().submit(off, 0);
  lane.s.queues().submit(on, 0);
  CHECK(lane.write(30) == 2);  // GET a, and a part of the next one
  lane.answer("+a\r\n");
  CHECK(off.ended == 0);
  CHECK(off.replies[0].outcome() == outcome::executed);
  lane.write();
  CHECK(off.ended == 1);
  CHECK(off.outcomes() == "emm");
  CHECK(!off.why);
  CHECK(on.ended == 0);
  CHECK(lane.s.writer().in_flight() == 2);
  lane.answer("+OK\r\n+b\r\n");
  CHECK(on.outcomes() == "mee");
  CHECK(lane.s.writer().in_flight() == 0);
}

TEST_CASE("redis: a reply for a command without one, or an error behind it, is refused") {
  {
    lane_session lane;
    call off("CLIENT REPLY OFF|INCR n");
    lane.s.queues().submit(off, 0);
    lane.write();
    CHECK(off.ended == 1);
    CHECK(lane.s.reader().received(":1\r\n", 0) == protocol_error::unexpected_reply);
  }
  for (const auto& [text, is_refused] :
       {std::pair("-BUSY x\r\n", true), std::pair("-NOPERM x\r\n", true),
        std::pair("-ERR unknown command 'CLIENT', with args\r\n", true),
        std::pair("-ERR Unknown subcommand for 'REPLY'\r\n", true), std::pair("-ERR\r\n", false),
        std::pair("-ERR x\r\n", false), std::pair("-WRONGTYPE x\r\n", false)}) {
    CAPTURE(text);
    lane_session lane;
    call all("CLIENT REPLY SKIP|GET a|GET b|GET c");
    lane.s.queues().submit(all, 0);
    lane.write();
    CHECK(!!lane.s.reader().received(text, 0) == is_refused);
    if (!is_refused) CHECK(!lane.s.reader().received("-BUSY x\r\n", 0));  // it is not the first one
    lane.s.lost(protocol_error::unexpected_reply, 0);
    CHECK(all.ended == 1);
  }
}

TEST_CASE("redis: a lane's connection begins again only if nothing is under way") {
  lane_session lane;
  CHECK(lane.s.begin_again());
  CHECK(!lane.s.writer().has_output());
  lane.s.queues().open();
  call get("GET a");
  lane.s.queues().submit(get, 0);
  CHECK(!lane.s.begin_again());
  lane.write();
  CHECK(!lane.s.begin_again());
  lane.s.cancel(get, stopped);
  CHECK(lane.s.begin_again());  // its reply will be dropped
  call hello("HELLO 3");
  lane.s.queues().greet(hello, 0);
  CHECK(lane.write() == 1);
  lane.answer("+a\r\n+hello\r\n");
  CHECK(hello.outcomes() == "e");
  lane.s.queues().open();
  call skip("CLIENT REPLY SKIP");
  lane.s.queues().submit(skip, 0);
  lane.write();
  CHECK(skip.ended == 1);
  CHECK(!lane.s.begin_again());
  lane.s.lost(gone, 0);
}

TEST_CASE("redis: a lane's transaction is written whole, or the next call would be a part of it") {
  for (const bool is_narrow : {false, true}) {
    detail::session_limits most = lane_limits();
    if (is_narrow) most.in_flight = 2;
    if (!is_narrow) most.write_bytes = 16;
    lane_session lane(most);
    call whole("MULTI|SET k v|SET k w|EXEC");
    whole.terms().is_whole = true;
    call next("GET k");
    lane.s.queues().submit(whole, 0);
    lane.s.queues().submit(next, 0);
    CHECK(lane.write() == 4);
    lane.s.cancel(whole, stopped);
    lane.answer("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n+OK\r\n");
    CHECK(lane.write() == 1);
    lane.answer("+w\r\n");
    CHECK(next.outcomes() == "e");
  }
}

TEST_CASE("redis: CLIENT REPLY that is refused is noticed although the next call was cancelled") {
  for (const auto& [text, is_refused] :
       {std::pair("-NOPERM x\r\n", true), std::pair("-BUSY x\r\n", true),
        std::pair("-ERR x\r\n", false), std::pair("$4\r\nBUSY\r\n", false)}) {
    CAPTURE(text);
    lane_session lane;
    call skip("CLIENT REPLY SKIP|GET a");
    call get("GET b");
    lane.s.queues().submit(skip, 0);
    lane.s.queues().submit(get, 0);
    lane.write();
    lane.s.cancel(get, stopped);
    CHECK(!!lane.s.reader().received(text, 0) == is_refused);
    lane.s.lost(protocol_error::unexpected_reply, 0);
  }
}
