// SPDX-License-Identifier: BSL-1.0
// Pushes in a session: those inside of replies, and those that are the answers to commands.
#include <doctest/doctest.h>

#include <beck/redis/request.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "redis/session/session.hpp"

using namespace beck::redis;
using beck::redis::detail::session;

namespace {

/// Some commands; their replies are texts.
class some_commands final : public detail::exchange, public detail::push_answers {
 public:
  explicit some_commands(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) wire_.push(name, "x");
    part_ = {wire_.bytes(), static_cast<std::uint32_t>(wire_.size())};
    set_commands(&part_, 1);
    replies = std::vector<reply<value>>(wire_.size());
  }
  detail::reply_place place_of(std::uint32_t i) noexcept override {
    return detail::place_of(replies[i]);
  }
  bool is_answer(std::uint32_t i, const value& push) noexcept override {
    const value_item root = push.root();
    const bool is_it = root.size() == 3 && root[1].text() == answers[i];
    if (is_it) text += "answer:" + answers[i] + " ";
    return is_it;
  }
  bool is_in_step(std::uint32_t i) noexcept override {
    return i + 1 == commands() ? (*replies[i]).root().text() == "token" : !!replies[i].error();
  }
  void done(const beck::error_code& ec) noexcept override {
    why = ec;
    ++ended;
  }

  std::vector<reply<value>> replies;
  std::vector<std::string> answers;
  std::string text;
  beck::error_code why;
  int ended = 0;

 private:
  request wire_;
  detail::command_bytes part_;
};

/// A session that is connected, and the pushes that have come.
struct pushed final : detail::push_sink {
  pushed() : s(detail::session_limits{}, this) {
    s.connected(0);
    s.queues().open();
  }
  void take_push(const value& message) override {
    text += std::string(message.root()[0].text()) + " ";
  }
  void write() {
    beck::const_buffer parts[detail::gathered_write::parts_max];
    const std::size_t count = s.writer().gather(parts, 0);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) bytes += parts[i].size();
    s.writer().wrote(bytes);
  }
  beck::error_code receive(std::string_view bytes, std::size_t step) {
    for (; bytes.size() > step; bytes.remove_prefix(step)) {
      if (const beck::error_code ec = s.reader().received(bytes.substr(0, step), 0); ec) return ec;
    }
    return s.reader().received(bytes, 0);
  }

  session s;
  std::string text;
};

constexpr std::string_view message = ">3\r\n+message\r\n+c\r\n*1\r\n+x\r\n";

std::string push_of(std::string_view word, std::string_view name) {
  return ">3\r\n+" + std::string(word) + "\r\n+" + std::string(name) + "\r\n:1\r\n";
}

const beck::error_code gone = beck::error::eof;

}  // namespace

TEST_CASE("redis: pushes inside the replies of a session are no elements of them") {
  const std::string inside = "*2\r\n" + std::string(message) + "*2\r\n:1\r\n" +
                             std::string(message) + "_\r\n" + std::string(message) + "+b\r\n";
  for (const std::size_t step : {1U, 7U, 1000U}) {
    pushed to;
    for (int connection = 0; connection < 2; ++connection) {
      some_commands one{"EXEC", "MGET"};
      to.s.queues().submit(one, 0);
      to.write();
      CHECK(!to.receive(inside + std::string(message), step));
      REQUIRE((*one.replies[0]).is_complete());
      CHECK(to_text<std::string>((*one.replies[0]).root()) == "[[1, null], \"b\"]");
      CHECK(!to.receive("+c\r\n", step));
      CHECK(one.ended == 1);
      CHECK((*one.replies[1]).root().text() == "c");
      CHECK(to.text == "message message message message ");
      to.s.lost(gone, 0);  // the next one begins with the same rules
      to.s.connected(0);
      to.s.queues().open();
      to.text.clear();
    }
  }
}

TEST_CASE("redis: commands are answered by their pushes, or by errors, up to the last one") {
  for (const std::size_t step : {1U, 1000U}) {
    pushed to;
    some_commands asked{"SUBSCRIBE", "SUBSCRIBE", "UNSUBSCRIBE", "PING"};
    some_commands behind{"GET"};
    asked.answers = {"a", "b", "d"};
    asked.set_watch({.pushes = &asked});
    to.s.queues().submit(behind, 0);
    to.s.queues().greet(asked, 0);
    to.write();
    CHECK(to.s.writer().in_flight() == 5);
    CHECK(!to.receive(push_of("other", "b") + push_of("subscribe", "a"), step));
    CHECK(asked.text == "answer:a ");
    CHECK(asked.answered() == 1);
    CHECK(!to.receive("-NOPERM no\r\n" + push_of("other", "x") + std::string(message), step));
    CHECK(asked.answered() == 2);
    CHECK(!to.receive(push_of("unsubscribe", "d"), step));
    CHECK(asked.ended == 0);
    CHECK(!to.receive(push_of("late", "c") + "+token\r\n", step));
    CHECK(asked.ended == 1);
    CHECK(!asked.why);
    CHECK(!asked.replies[0].error());
    CHECK(asked.replies[1].error() == error::noperm);
    CHECK(asked.replies[0].outcome() == outcome::executed);
    CHECK(!to.receive("+value\r\n", step));
    CHECK((*behind.replies[0]).root().text() == "value");
    CHECK(to.text == "other subscribe other message unsubscribe late ");
    CHECK(to.s.writer().in_flight() == 0);
  }
}

TEST_CASE("redis: a reply where a push has to be, or another than the last one, ends it all") {
  for (const std::string_view wrong : {"+token\r\n", "-ERR 1\r\n+value\r\n", "-ERR 1\r\n*0\r\n"}) {
    CAPTURE(wrong);
    pushed to;
    some_commands asked{"SUBSCRIBE", "PING"};
    some_commands behind{"GET"};
    asked.answers = {"a"};
    asked.set_watch({.pushes = &asked});
    to.s.queues().greet(asked, 0);
    to.s.queues().submit(behind, 0);
    to.write();
    CHECK(to.receive(std::string(wrong) + "+value\r\n", 1000) == protocol_error::unexpected_reply);
    to.s.lost(protocol_error::unexpected_reply, 0);
    CHECK(asked.ended == 1);
    CHECK(behind.ended == 1);
    CHECK(behind.why == protocol_error::unexpected_reply);
    CHECK(!behind.replies[0]);
  }
}

TEST_CASE("redis: commands that pushes answer end with their connection") {
  pushed to;
  some_commands asked{"SUBSCRIBE", "PING"};
  asked.answers = {"a"};
  asked.set_watch({.pushes = &asked});
  to.s.queues().greet(asked, 0);
  to.write();
  to.s.lost(gone, 0);
  CHECK(asked.ended == 1);
  CHECK(asked.why == gone);
  CHECK(!to.s.queues().is_waiting());
  some_commands unsent{"SUBSCRIBE", "PING"};
  unsent.set_watch({.pushes = &unsent});
  to.s.connected(0);
  to.s.queues().open();
  to.s.queues().greet(unsent, 0);
  to.s.lost(gone, 0);
  CHECK(unsent.ended == 1);
}
