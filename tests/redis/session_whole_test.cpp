// SPDX-License-Identifier: BSL-1.0
// Transactions in a session: they are formatted in one piece, and after a loss they begin again or
// end, by whether their EXEC was sent.
#include <doctest/doctest.h>

#include <beck/redis/request.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "redis/session/session.hpp"

using namespace beck::redis;
using beck::redis::detail::session;

namespace {

/// MULTI, some commands, EXEC.
class transaction final : public detail::exchange {
 public:
  transaction(std::size_t commands, std::size_t value_bytes) {
    const std::string value(value_bytes, 'x');
    wire_.push("MULTI");
    for (std::size_t i = 0; i < commands; ++i) wire_.push("SET", "key", value);
    wire_.push("EXEC");
    for (const arguments& one : wire_) parts_.push_back({one.wire(), 1});
    set_commands(parts_.data(), parts_.size());
    terms().is_whole = true;
  }
  detail::reply_place place_of(std::uint32_t i) noexcept override {
    return i + 1 == commands() ? detail::place_of(last) : detail::place_of(others);
  }
  void done(const beck::error_code& ec) noexcept override {
    why = ec;
    ++ended;
  }

  std::string_view bytes() const { return wire_.bytes(); }

  reply<value> last;
  reply<void> others;
  beck::error_code why;
  int ended = 0;

 private:
  request wire_;
  std::vector<detail::command_bytes> parts_;
};

/// Returns the bytes of the next write, of which `most` are written.
std::string write(session& s, std::size_t most = static_cast<std::size_t>(-1)) {
  beck::const_buffer parts[detail::gathered_write::parts_max];
  std::string bytes;
  const std::size_t count = s.writer().gather(parts, 0);
  for (std::size_t i = 0; i < count; ++i) {
    bytes.append(static_cast<const char*>(parts[i].data()), parts[i].size());
  }
  if (bytes.size() > most) bytes.resize(most);
  s.writer().wrote(bytes.size());
  return bytes;
}

void connect(session& s) {
  s.connected(0);
  s.queues().open();
}

const beck::error_code gone = beck::error::eof;
constexpr std::string_view queued = "+OK\r\n+QUEUED\r\n";

}  // namespace

TEST_CASE("redis: a transaction is one write, whatever its size") {
  for (const std::size_t commands : {1U, 20U, 1000U}) {
    session s(detail::session_limits{}, nullptr);
    transaction one(commands, 17'000);
    connect(s);
    s.queues().submit(one, 0);
    CHECK(write(s) == one.bytes());
    CHECK(s.writer().in_flight() == commands + 2);
    s.cancel(one, gone);
    CHECK(one.ended == 1);
  }
}

TEST_CASE("redis: a transaction without its EXEC has not run, and begins again") {
  session s(detail::session_limits{}, nullptr);
  transaction one(1, 3);
  connect(s);
  s.queues().submit(one, 0);
  const std::size_t before_exec = one.bytes().find("*1\r\n$4\r\nEXEC");
  for (const std::size_t sent : {std::size_t{3}, before_exec, one.bytes().size() - 1}) {
    CHECK(write(s, sent) == one.bytes().substr(0, sent));
    if (sent >= before_exec) CHECK(!s.reader().received(queued, 0));
    s.lost(gone, 0);
    CHECK(one.ended == 0);
    connect(s);
  }
  CHECK(write(s) == one.bytes());
  CHECK(!s.reader().received(queued, 0));
  CHECK(!s.reader().received("*1\r\n+OK\r\n", 0));
  CHECK(one.ended == 1);
  CHECK(!one.why);
  CHECK(one.last);
  CHECK(one.last.outcome() == outcome::executed);
}

TEST_CASE("redis: a transaction whose EXEC was sent may have run") {
  for (const bool is_retryable : {false, true}) {
    session s(detail::session_limits{}, nullptr);
    transaction one(1, 3);
    one.terms().is_retryable = is_retryable;
    connect(s);
    s.queues().submit(one, 0);
    CHECK(write(s) == one.bytes());
    CHECK(!s.reader().received(queued, 0));
    s.lost(gone, 0);
    CHECK(one.ended == (is_retryable ? 0 : 1));
    connect(s);
    CHECK(write(s) == (is_retryable ? one.bytes() : std::string_view()));
    if (is_retryable) s.cancel(one, gone);
    CHECK(one.why == gone);
    CHECK(one.last.outcome() == outcome::maybe_executed);
  }
}
