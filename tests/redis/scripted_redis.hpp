// SPDX-License-Identifier: BSL-1.0
// A session with a server that a test moves by hand: it takes what the session writes as far as the
// test lets it, counts how often it has seen each command, and answers with the command's number.
#pragma once

#include <beck/redis/reply_writer.hpp>
#include <beck/redis/request.hpp>
#include <beck/redis/request_parser.hpp>

#include <charconv>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/session/session.hpp"

namespace beck::redis::test {

inline error_code connection_reset() { return std::make_error_code(errc::connection_reset); }
inline error_code cancelled() { return std::make_error_code(errc::operation_canceled); }

/// The record of a server about the commands, which are numbered from 0.
struct command_record {
  std::size_t exchange = 0;
  int seen = 0;      // by the server, whole
  int answered = 0;  // the last byte of the reply was passed to the session
  bool may_run_again = false;
  bool must_not_run = false;  // an outcome was not_sent
};

/// The records of all commands, and the first fault that was found.
class ledger {
 public:
  /// Notes a fault; the first one stays.
  void fault(const char* what, std::size_t command) {
    if (text_.empty()) text_ = std::string(what) + ": command " + std::to_string(command);
  }
  const std::string& text() const { return text_; }
  std::size_t size() const { return commands_.size(); }
  command_record& operator[](std::size_t i) { return commands_[i]; }
  void add(const command_record& added) { commands_.push_back(added); }

 private:
  std::vector<command_record> commands_;
  std::string text_;
};

/// One to many commands. 'g' reads and 's' writes; as capitals they are long.
class scripted_exchange final : public detail::exchange {
 public:
  using exchange::terms;

  scripted_exchange(ledger& commands, std::size_t number, std::string_view kinds, bool is_retryable,
                    std::size_t long_bytes = 40)
      : ledger_(commands), first_(commands.size()), replies_(kinds.size()) {
    request wire;
    for (const char kind : kinds) {
      const bool is_read = kind == 'g' || kind == 'G';
      const std::size_t bytes = kind == 'G' || kind == 'S' ? long_bytes : 1;
      wire.push(is_read ? "GET" : "APPEND", commands.size(), std::string(bytes, 'v'));
      commands.add({.exchange = number, .may_run_again = is_read || is_retryable});
    }
    bytes_ = wire.bytes().size();
    wire_ = std::make_unique<char[]>(bytes_);
    std::memcpy(wire_.get(), wire.bytes().data(), bytes_);
    part_ = {{wire_.get(), bytes_}, static_cast<std::uint32_t>(kinds.size())};
    set_commands(&part_, 1);
    terms().is_retryable = is_retryable;
  }

  detail::reply_place place_of(std::uint32_t i) noexcept override {
    if (ended_ != 0) ledger_.fault("a reply was asked for after done()", first_ + i);
    return detail::place_of(replies_[i]);
  }
  void done(const error_code& ec) noexcept override {
    if (++ended_ != 1) ledger_.fault("done() was called twice", first_);
    why_ = ec;
    for (std::size_t i = 0; i < replies_.size(); ++i) check(first_ + i, replies_[i]);
    std::memset(wire_.get(), '#', bytes_);  // they must not be read any more
    wire_.reset();
  }

  void drop() noexcept override { ++dropped_; }

  int ended() const { return ended_; }
  int dropped() const { return dropped_; }
  const error_code& why() const { return why_; }
  const reply<std::string>& at(std::size_t i) const { return replies_[i]; }
  std::size_t bytes() const { return bytes_; }
  std::size_t first() const { return first_; }
  /// Returns the outcomes: n, m or e for each command.
  std::string outcomes() const {
    std::string text;
    for (const auto& each : replies_) text += "nme"[static_cast<int>(each.outcome())];
    return text;
  }

 private:
  void check(std::size_t number, const reply<std::string>& got) noexcept {
    command_record& known = ledger_[number];
    if (got) {
      if (*got != std::to_string(number)) ledger_.fault("the reply of another", number);
      if (known.answered == 0) ledger_.fault("a reply that was not sent", number);
      if (got.outcome() != outcome::executed) ledger_.fault("a reply, and not executed", number);
      return;
    }
    if (!why_) ledger_.fault("an error in an exchange that succeeded", number);
    if (got.error() != why_) ledger_.fault("the error of another", number);
    if (got.outcome() == outcome::executed) ledger_.fault("executed without a reply", number);
    const bool is_unsent = got.outcome() == outcome::not_sent;
    if (is_unsent && known.seen != 0) ledger_.fault("not_sent, and the server saw it", number);
    if (!is_unsent && known.seen == 0 && why_ == connection_reset())
      ledger_.fault("maybe_executed, and the server never saw it", number);
    if (is_unsent) known.must_not_run = true;
  }

  ledger& ledger_;
  std::size_t first_;
  std::vector<reply<std::string>> replies_;
  std::unique_ptr<char[]> wire_;
  std::size_t bytes_ = 0;
  detail::command_bytes part_;
  int ended_ = 0;
  int dropped_ = 0;
  error_code why_;
};

/// The server's end of one connection.
class scripted_peer {
 public:
  explicit scripted_peer(ledger& commands) : ledger_(commands) {}

  /// Takes bytes that were written.
  void take(std::string_view bytes) {
    arrived_ += bytes;
    for (;;) {
      const parsed_request found = parser_.parse(arrived_);
      if (found.event == request_event::refused) ledger_.fault("no command arrived", 0);
      if (found.event == request_event::command && found.command[0] == "ECHO")
        unanswered_.push_back({guard, std::string(found.command[1])});
      else if (found.event == request_event::command)
        see(found.command[1]);
      arrived_.erase(0, found.consumed);
      if (found.event != request_event::command) return;
    }
  }
  bool has_unanswered() const { return !unanswered_.empty(); }
  std::size_t unanswered() const { return unanswered_.size(); }
  /// Sends no reply to the next command.
  void skip() { unanswered_.pop_front(); }
  bool is_inside_reply() const { return passed_ != 0; }
  /// Returns up to `most` bytes of the next reply, at least one.
  std::string answer(std::size_t most) {
    const due next = unanswered_.front();
    reply_writer to;
    to.bulk(next.text);
    std::string bytes(to.bytes().substr(passed_, most));
    passed_ += bytes.size();
    if (passed_ == to.size()) {
      if (next.number != guard) ++ledger_[next.number].answered;
      unanswered_.pop_front();
      passed_ = 0;
    }
    return bytes;
  }

 private:
  /// A reply that is to be sent.
  struct due {
    std::size_t number;  // of the command, or guard
    std::string text;
  };
  static constexpr std::size_t guard = static_cast<std::size_t>(-1);

  void see(std::string_view text) {
    std::size_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    command_record& known = ledger_[number];
    if (++known.seen > 1 && !known.may_run_again) ledger_.fault("a write was sent twice", number);
    if (known.must_not_run) ledger_.fault("sent after not_sent", number);
    if (known.answered != 0) ledger_.fault("sent again after its reply", number);
    if (number != 0 && ledger_[number - 1].exchange == known.exchange && !follows(number))
      ledger_.fault("not sent in order", number);
    last_seen_.resize(ledger_.size(), false);
    last_seen_[number] = true;
    unanswered_.push_back({number, std::to_string(number)});
  }
  /// Returns whether the command before was seen on this connection, or answered before.
  bool follows(std::size_t number) {
    return ledger_[number - 1].answered != 0 ||
           (number - 1 < last_seen_.size() && last_seen_[number - 1]);
  }

  ledger& ledger_;
  request_parser parser_;
  std::string arrived_;
  std::deque<due> unanswered_;
  std::vector<bool> last_seen_;
  std::size_t passed_ = 0;  // bytes of the next reply
};

/// The session, its exchanges, and the connection that is open.
class scripted_redis final : detail::push_sink {
 public:
  explicit scripted_redis(const detail::session_limits& most = {}) : session(most, this) {
    session.connected(now);
    session.queues().open();
  }
  ~scripted_redis() {
    lose();
    for (const auto& each : exchanges) session.cancel(*each, cancelled());
  }

  /// Makes an exchange and submits it.
  scripted_exchange& submit(std::string_view kinds, bool is_retryable = false,
                            std::size_t long_bytes = 40) {
    scripted_exchange& made = make(kinds, is_retryable, long_bytes);
    session.queues().submit(made, now);
    return made;
  }
  scripted_exchange& make(std::string_view kinds, bool is_retryable = false,
                          std::size_t long_bytes = 40) {
    exchanges.push_back(
        std::make_unique<scripted_exchange>(commands, made_++, kinds, is_retryable, long_bytes));
    return *exchanges.back();
  }

  /// Begins a write; the server takes up to `most` bytes of it at once. Returns how many.
  std::size_t begin_write(std::size_t most = static_cast<std::size_t>(-1)) {
    part_count_ = session.writer().gather(parts_, now);
    is_writing = part_count_ != 0;
    offered = offered_bytes();
    taken = offered.size() < most ? offered.size() : most;
    if (taken != 0) peer->take(std::string_view(offered).substr(0, taken));
    return taken;
  }
  /// Ends the write with the bytes that the server has taken.
  void end_write() {
    is_writing = false;
    if (offered_bytes() != offered) commands.fault("bytes changed during their write", 0);
    session.writer().wrote(taken);
  }
  std::size_t write(std::size_t most = static_cast<std::size_t>(-1)) {
    const std::size_t bytes = begin_write(most);
    if (is_writing) end_write();
    return bytes;
  }
  /// Passes bytes from the server, in memory that is gone afterwards.
  error_code receive(std::string_view bytes) {
    const std::unique_ptr<char[]> arrived(new char[bytes.size()]);
    std::memcpy(arrived.get(), bytes.data(), bytes.size());
    return session.reader().received({arrived.get(), bytes.size()}, now);
  }
  /// The server answers the next command, or a part of it.
  void answer(std::size_t most = static_cast<std::size_t>(-1)) {
    if (receive(peer->answer(most))) commands.fault("a reply was refused", 0);
  }
  void answer_all() {
    while (peer->has_unanswered()) answer();
  }

  /// Destroys an exchange before its end.
  void forget(scripted_exchange& one) {
    session.forget(one);
    std::erase_if(exchanges, [&](const auto& each) { return each.get() == &one; });
  }

  void lose(const error_code& cause = connection_reset()) {
    if (peer == nullptr) return;
    if (is_writing) end_write();
    peer.reset();
    session.lost(cause, now);
  }
  void reconnect() {
    peer = std::make_unique<scripted_peer>(commands);
    session.connected(now);
    session.queues().open();
  }
  /// Writes and answers until nothing is left to do.
  void finish() {
    if (peer == nullptr) reconnect();
    int writes = 0;
    do {
      if (is_writing) end_write();
      while (write() != 0 && ++writes < 1'000) continue;
      if (writes == 1'000) return commands.fault("it writes for ever", 0);
      answer_all();
    } while (session.writer().has_output());
  }
  /// Returns the first fault, also one of finish(); empty if there is none.
  std::string verdict() {
    for (const auto& each : exchanges) {
      if (each->ended() != 1) commands.fault("it never ended", each->first());
      if (each->is_under_way()) commands.fault("it is still under way", each->first());
    }
    if (session.writer().in_flight() != 0) commands.fault("commands are still in flight", 0);
    if (session.queues().is_waiting() || session.queues().waiting() != 0)
      commands.fault("exchanges still wait", 0);
    return commands.text();
  }

  ledger commands;
  std::vector<std::unique_ptr<scripted_exchange>> exchanges;
  std::int64_t now = 1;
  detail::session session;
  std::unique_ptr<scripted_peer> peer = std::make_unique<scripted_peer>(commands);
  std::vector<std::string> pushes;
  bool is_writing = false;
  std::string offered;    // the bytes of the write under way
  std::size_t taken = 0;  // how many of them the server took

 private:
  std::string offered_bytes() const {
    std::string bytes;
    for (std::size_t i = 0; i < part_count_; ++i)
      bytes.append(static_cast<const char*>(parts_[i].data()), parts_[i].size());
    return bytes;
  }
  void take_push(const value& message) override {
    pushes.push_back(to_text<std::string>(message.root()));
  }
  void take_cut_push(const value& message) override {
    pushes.push_back("cut " + to_text<std::string>(message.root()));
  }

  const_buffer parts_[detail::gathered_write::parts_max];
  std::size_t part_count_ = 0;
  std::size_t made_ = 0;  // exchanges
};

}  // namespace beck::redis::test
