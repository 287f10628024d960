// SPDX-License-Identifier: BSL-1.0
// A session whose calls, writes, cancellations and losses the input directs, with a server that
// sends the bytes of the input. Each call ends once and says the truth about its commands: the
// server has never seen one that was not sent, and sees a second time only those that may be
// repeated.
#include <beck/redis/request.hpp>
#include <beck/redis/request_parser.hpp>

#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/http/fuzz.hpp"
#include "redis/session/session.hpp"

namespace {

using namespace beck::redis;
using namespace beck::http::fuzz;

constexpr std::size_t all = static_cast<std::size_t>(-1);

/// The record of one command.
struct command_record {
  int seen = 0;  // by the server, whole
  bool may_repeat = false;
  bool decides = true;  // it may have run when it was seen
  bool is_unsent = false;
};

/// One to four commands.
class call final : public detail::exchange {
 public:
  call(std::vector<command_record>& records, const bool& has_refused, unsigned kind, bool is_lane)
      : records_(records),
        has_refused_(has_refused),
        first_(records.size()),
        replies_(1 + (kind & 3)) {
    const bool is_retryable = (kind & 4) != 0;
    if ((kind & 8) != 0 && !is_lane) terms().is_whole = true;
    for (std::size_t i = 0; i < replies_.size(); ++i) push((kind >> 4) + i, is_lane, is_retryable);
    // Nothing of a transaction has run without its last command.
    for (std::size_t i = 0; terms().is_whole && i + 1 < replies_.size(); ++i)
      records_[first_ + i] = {.may_repeat = true, .decides = false};
    parts_ = {wire_.bytes(), static_cast<std::uint32_t>(replies_.size())};
    set_commands(&parts_, 1);
    terms().is_retryable = is_retryable;
  }

  detail::reply_place place_of(std::uint32_t i) noexcept override {
    require(ended_ == 0, "a reply was asked for after done()");
    return detail::place_of(replies_[i]);
  }
  void done(const beck::error_code& ec) noexcept override {
    require(++ended_ == 1, "done() was called twice");
    for (std::size_t i = 0; i < replies_.size(); ++i) {
      const outcome o = replies_[i].outcome();
      require(ec || o != outcome::not_sent, "a call that succeeds has a command that was not sent");
      if (o != outcome::not_sent) continue;
      if (has_refused_) continue;
      require(!records_[first_ + i].decides || records_[first_ + i].seen == 0,
              "not_sent, and the server has seen it");
      records_[first_ + i].is_unsent = true;
    }
    wire_.clear();
  }
  int ended() const { return ended_; }

 private:
  void push(std::size_t kind, bool is_lane, bool is_retryable) {
    const std::size_t number = records_.size();
    const bool is_read = kind % 4 < 2;
    records_.push_back({.may_repeat = is_retryable || is_read});
    if (is_read) {
      wire_.push("GET", number, std::string(kind % 4 * 90, 'k'));
    } else if (!is_lane) {
      wire_.push("APPEND", number, std::string(kind % 8 * 10, 'v'));
    } else if (kind % 8 < 4) {
      wire_.push("BLPOP", number, kind % 2);
    } else {
      wire_.push("CLIENT", "REPLY", kind % 3 == 0 ? "ON" : kind % 3 == 1 ? "OFF" : "SKIP", number);
    }
  }

  std::vector<command_record>& records_;
  const bool& has_refused_;  // the server may have seen commands, and has run none of them
  std::size_t first_;
  std::vector<reply<value>> replies_;
  request wire_;
  detail::command_bytes parts_;
  int ended_ = 0;
};

class play final : detail::push_sink {
 public:
  explicit play(choices input)
      : input_(input), limits_(limits_of(input_.byte())), session_(limits_, this) {
    begin();
    while (!input_.rest().empty()) step();
    finish();
  }

 private:
  static detail::session_limits limits_of(unsigned choice) {
    detail::session_limits most;
    most.is_lane = (choice & 1) != 0;
    most.guard = (choice & 2) != 0 && !most.is_lane ? 2 : 0;
    if ((choice & 4) != 0) most.gather_bytes = 60;
    if ((choice & 8) != 0) most.in_flight = 3;
    if ((choice & 16) != 0) most.slice_commands = 2;
    if ((choice & 32) != 0) most.replies.elements = 8;
    most.refused_for = (choice & 64) != 0 ? 0 : 50'000'000;
    return most;
  }

  void step() {
    const unsigned choice = input_.byte();
    now_ += choice * 100'000;
    switch (choice % 10) {
      case 0:
        return submit(input_.byte());
      case 1:
        return write(input_.byte());
      case 2:
        return write(all);
      case 3:
        return receive(std::string(input_.text()));
      case 4:
        return answer(input_.byte());
      case 5:
        return cancel(input_.byte());
      case 6:
        session_.queues().wake(now_);
        return end_stopping();
      case 7:
        return is_open_ ? lose(std::make_error_code(std::errc::connection_reset)) : begin();
      case 8:
        if (!is_open_)
          session_.end_waiting(std::make_error_code(std::errc::timed_out), now_ - 5'000'000);
        return;
      default:
        return session_.trim();
    }
  }
  void begin() {
    is_open_ = true;
    parser_ = request_parser();
    arrived_.clear();
    session_.connected(now_);
    session_.queues().open();
  }
  void submit(unsigned kind) {
    calls_.push_back(std::make_unique<call>(records_, has_refused_, kind, limits_.is_lane));
    session_.queues().submit(*calls_.back(), now_);
  }
  void write(std::size_t most) {
    if (!is_open_) return;
    beck::const_buffer parts[detail::gathered_write::parts_max];
    const std::size_t count = session_.writer().gather(parts, now_);
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i)
      bytes.append(static_cast<const char*>(parts[i].data()), parts[i].size());
    require(session_.writer().has_output() || bytes.empty(), "there is output that is none");
    if (bytes.size() > most) bytes.resize(most);
    if (bytes.empty()) return;
    see(bytes);
    session_.writer().wrote(bytes.size());
  }
  /// The server sees bytes.
  void see(const std::string& bytes) {
    arrived_ += bytes;
    for (;;) {
      const parsed_request found = parser_.parse(arrived_);
      require(found.event != request_event::refused, "a write is no command");
      if (found.event == request_event::command) see(found.command);
      arrived_.erase(0, found.consumed);
      if (found.event != request_event::command) return;
    }
  }
  void see(const arguments& command) {
    if (command[0] == "ECHO") return;
    const std::string_view text = command[0] == "CLIENT" ? command[3] : command[1];
    std::size_t number = all;
    std::from_chars(text.data(), text.data() + text.size(), number);
    require(number < records_.size(), "an unknown command was sent");
    command_record& known = records_[number];
    require(!known.is_unsent, "sent after not_sent");
    require(++known.seen == 1 || known.may_repeat || has_refused_, "a write was sent twice");
  }
  void receive(const std::string& text) {
    if (!is_open_) return;
    if (text.find("-BUSY") != text.npos || text.find("-LOADING") != text.npos ||
        text.find("-TRYAGAIN") != text.npos || text.find("-MASTERDOWN") != text.npos ||
        text.find("-CLUSTERDOWN") != text.npos)
      has_refused_ = true;
    const exact_copy bytes(text);
    const beck::error_code ec = session_.reader().received(bytes.view(), now_);
    if (ec) lose(ec);
  }
  /// The server sends a reply of a kind that the input may not hit upon.
  void answer(unsigned kind) {
    static const char* const replies[] = {"+OK\r\n",
                                          "$1\r\na\r\n",
                                          ":7\r\n",
                                          "$-1\r\n",
                                          "*2\r\n:1\r\n:2\r\n",
                                          "-BUSY x\r\n",
                                          "-LOADING x\r\n",
                                          "_\r\n",
                                          "-UNBLOCKED x\r\n",
                                          ">2\r\n+a\r\n+b\r\n",
                                          "-ERR x\r\n",
                                          "|1\r\n+a\r\n:1\r\n",
                                          "*1\r\n",
                                          "$20000\r\n01234567",
                                          "-NOPERM x\r\n"};
    receive(replies[kind % std::size(replies)]);
  }
  void cancel(unsigned choice) {
    if (calls_.empty()) return;
    call& one = *calls_[choice % calls_.size()];
    const auto why = std::make_error_code(std::errc::operation_canceled);
    if (limits_.is_lane && one.is_under_way() && session_.stop(one, why)) return;
    session_.cancel(one, why);
  }
  /// Ends a call that was stopped, as behind a fence.
  void end_stopping() {
    if (!is_open_) return;
    if (session_.blocking().is_unblocked()) session_.end_unblocked();
    if (session_.blocking().stopped() == nullptr) session_.queues().open();
  }
  void lose(const beck::error_code& why) {
    is_open_ = false;
    session_.lost(why, now_);
  }
  void finish() {
    if (is_open_) lose(std::make_error_code(std::errc::connection_reset));
    session_.end_waiting(std::make_error_code(std::errc::timed_out), INT64_MAX);
    for (const auto& each : calls_) require(each->ended() == 1, "a call has not ended");
    require(!session_.queues().is_waiting() && session_.queues().waiting() == 0,
            "calls still wait");
    require(session_.writer().in_flight() == 0, "commands are still in flight");
  }
  void take_push(const value&) override {}

  choices input_;
  detail::session_limits limits_;
  std::vector<command_record> records_;
  std::vector<std::unique_ptr<call>> calls_;
  detail::session session_;
  request_parser parser_;
  std::string arrived_;
  std::int64_t now_ = 1;
  bool is_open_ = false;
  bool has_refused_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  play(choices(text_of(data, size)));
  return 0;
}
