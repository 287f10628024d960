// SPDX-License-Identifier: BSL-1.0
//
// The operations of a client: one command, several with a reply each, and all commands of a
// request.
#pragma once

#include <beck/detail/fixed_text.hpp>
#include <beck/redis/client_options.hpp>
#include <beck/redis/command.hpp>
#include <beck/redis/exchange.hpp>
#include <beck/run/any_io_executor.hpp>
#include <beck/run/op.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

namespace beck::redis {

/// The replies to the commands of a request, in their order. Move-only.
template <class T>
class reply_list {
 public:
  /// Makes a list without replies.
  reply_list() noexcept = default;
  /// Makes a list of `count` replies. Throws std::bad_alloc.
  explicit reply_list(std::size_t count) : replies_(new reply<T>[count]), count_(count) {}
  reply_list(reply_list&& other) noexcept
      : replies_(std::exchange(other.replies_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  reply_list& operator=(reply_list&& other) noexcept {
    std::swap(replies_, other.replies_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~reply_list() { delete[] replies_; }

  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  /// Returns a reply. Requires i < size(); not checked.
  reply<T>& operator[](std::size_t i) noexcept { return replies_[i]; }
  const reply<T>& operator[](std::size_t i) const noexcept { return replies_[i]; }
  reply<T>* begin() noexcept { return replies_; }
  reply<T>* end() noexcept { return replies_ + count_; }
  const reply<T>* begin() const noexcept { return replies_; }
  const reply<T>* end() const noexcept { return replies_ + count_; }

 private:
  reply<T>* replies_ = nullptr;
  std::size_t count_ = 0;
};

namespace detail {

class link;

/// Shares an object, which counts its shares.
template <class T>
class shared {
 public:
  /// Takes over the first share.
  explicit shared(T* made) noexcept : of_(made) {}
  /// Adds a share.
  explicit shared(T& of) noexcept : of_(&of) { of.add_share(); }
  shared(const shared& other) noexcept : shared(*other.of_) {}
  shared(shared&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  shared& operator=(shared&& other) noexcept {
    std::swap(of_, other.of_);
    return *this;
  }
  ~shared() {
    if (of_ != nullptr) of_->drop_share();
  }
  explicit operator bool() const noexcept { return of_ != nullptr; }
  T& operator*() const noexcept { return *of_; }
  T* operator->() const noexcept { return of_; }

 private:
  T* of_;
};

using link_ref = shared<link>;

/// Sends exchanges: the connection of a client or lane, or a cluster. Thread: that of the context.
class sender {
 public:
  sender(const sender&) = delete;
  sender& operator=(const sender&) = delete;
  void add_share() noexcept { ++shares_; }
  void drop_share() noexcept {
    if (--shares_ == 0) destroy();
  }

  const any_io_executor& executor() const noexcept { return executor_; }
  /// Returns the options, each value as it counts; their name is valid as long as the sender.
  const client_options& bounds() const noexcept { return bounds_; }

  /// Returns why a command cannot be sent: needs_lane, not_on_lane.
  virtual error_code check(const arguments& command, bool is_whole) noexcept = 0;
  /// Takes an exchange. Returns an error if it does not, such as operation_aborted or queue_full.
  virtual error_code start(exchange& one) noexcept = 0;
  /// Ends an exchange with operation_aborted; that of a blocking command after the reply or the
  /// loss of the connection.
  virtual void cancel(exchange& one) noexcept = 0;
  /// Forgets an exchange that is destroyed before its end.
  virtual void forget(exchange& one) noexcept = 0;

 protected:
  /// Copies the options, and the name that they refer to.
  sender(const any_io_executor& executor, const client_options& how) noexcept;
  ~sender() = default;

 private:
  virtual void destroy() noexcept = 0;

  std::size_t shares_ = 1;  // not atomic: all that share it are on the context's thread
  const any_io_executor executor_;
  const beck::detail::fixed_text<64> name_;
  const client_options bounds_;  // refers to name_
};

using sender_ref = shared<sender>;

/// Commands of a client under way.
class execution : public exchange {
 protected:
  explicit execution(sender_ref of) noexcept;
  execution(execution&&) noexcept = default;
  ~execution();

  /// Hands the commands to the sender, or calls done() with the reason why not: `refused`, or that
  /// of the sender.
  void start(error_code refused) noexcept {
    if (!refused && commands() != 0) refused = sender_->start(*this);
    if (refused || commands() == 0) refuse(refused);
  }
  /// Ends the commands, as soon as no write refers to them.
  void stop() noexcept;
  /// Moves the operation's share of the sender to the caller. Call it before the handler: from then
  /// on another thread may destroy the operation, and shares are not atomic.
  sender_ref leave() noexcept { return static_cast<sender_ref&&>(sender_); }
  any_io_executor executor() const noexcept;
  /// Returns error::needs_lane or not_on_lane if the command cannot be sent on this connection.
  error_code check(const arguments& command) noexcept {
    if (!sender_) return beck::error::operation_aborted;  // awaited again
    return sender_->check(command, terms().is_whole);
  }

 private:
  /// Ends the commands, none of which was sent.
  void refuse(const error_code& why) noexcept;

  sender_ref sender_;
};

/// Replaces the error of EXEC by the one that explains it: that of MULTI, or watch_failed.
void end_transaction(reply_status& result, const reply<void>* accepted) noexcept;
/// Sets the error of a command whose transaction has failed: its own, or that of the transaction.
void fail_in_transaction(reply_status& one, const reply_status& accepted,
                         const reply_status& result) noexcept;

/// The base of the operations: the result is a reply, whose error is that of the completion. It is
/// read where it stays until the waiter takes it.
template <class Derived, class T>
class reply_op : public op<Derived, void(error_code, reply<T>)> {
  using base = op<Derived, void(error_code, reply<T>)>;

 public:
  static constexpr const char* waits_for = "redis";
  using typename base::handler;

  reply<T> await_resume() {
    auto&& got = this->get();
    if (got.error_ && got.error_ != got.value_.error()) got.value_.status().set(got.error_, {});
    return static_cast<reply<T>&&>(got.value_);
  }

 protected:
  // NOLINTBEGIN(bugprone-crtp-constructor-accessibility): exec_op stands between the two
  reply_op() { this->prepare(); }
  /// Begins with a result.
  explicit reply_op(reply<T>&& start) {
    this->prepare(error_code(), static_cast<reply<T>&&>(start));
  }
  reply_op(reply_op&& other) noexcept : base(static_cast<base&&>(other)) {
    this->prepare(other.get());
  }
  // NOLINTEND(bugprone-crtp-constructor-accessibility)
  ~reply_op() = default;

  reply<T>& result() noexcept {
    auto&& all = this->get();
    return all.value_;
  }
  /// Takes the error of the result for that of the completion.
  void take_error() noexcept {
    auto&& all = this->get();
    all.error_ = all.value_.error();
  }
  void keep(handler&& done) noexcept { done_ = static_cast<handler&&>(done); }
  /// Completes the operation with its result.
  void complete_with_result() noexcept {
    take_error();
    handler done = static_cast<handler&&>(done_);
    done.complete();
  }
  void drop_handler() noexcept { const handler dropped = static_cast<handler&&>(done_); }

 private:
  handler done_;
};

/// The base of the operations of a client or lane.
template <class Derived, class T>
class exec_op : public reply_op<Derived, T>, protected execution {
  using base = reply_op<Derived, T>;

 public:
  /// Sends the commands again, at most client_options::attempts times, if the connection is lost
  /// and it is not known whether they have run. Commands that only read always are.
  Derived&& retryable() && {
    terms().is_retryable = true;
    return static_cast<Derived&&>(*this);
  }
  /// Sets the bounds of each reply.
  Derived&& limits(const reply_limits& most) && {
    terms().limits = most;
    return static_cast<Derived&&>(*this);
  }

  any_io_executor get_executor() const noexcept { return executor(); }
  void cancel() noexcept { stop(); }

 protected:
  // NOLINTBEGIN(bugprone-crtp-constructor-accessibility): exec_tuple stands between the two
  explicit exec_op(sender_ref of) : execution(static_cast<sender_ref&&>(of)) {}
  exec_op(sender_ref of, reply<T>&& start)
      : base(static_cast<reply<T>&&>(start)), execution(static_cast<sender_ref&&>(of)) {}
  exec_op(exec_op&&) noexcept = default;
  // NOLINTEND(bugprone-crtp-constructor-accessibility)
  ~exec_op() = default;

  /// Completes the operation with its result, and gives up the sender.
  void complete() noexcept {
    const sender_ref last = this->leave();
    this->complete_with_result();
  }
  void drop() noexcept override {
    const sender_ref last = this->leave();
    this->drop_handler();
  }
};

/// The operation of client::exec() with one command.
template <class T>
class [[nodiscard]] exec_one : public exec_op<exec_one<T>, T> {
  using base = exec_op<exec_one<T>, T>;

 public:
  exec_one(sender_ref of, command<T>&& what)
      : base(static_cast<sender_ref&&>(of), static_cast<reply<T>&&>(what.result())),
        what_(static_cast<command<T>&&>(what).text()) {}
  /// Formats the command where it stays.
  template <class... Args>
  exec_one(sender_ref of, std::string_view name, const Args&... args)
      : base(static_cast<sender_ref&&>(of)), what_(name, args...) {
    static_cast<void>(reader_type_of<T>.kind);  // says it if no reply can be read into T
  }
  exec_one(exec_one&& other) noexcept
      : base(static_cast<base&&>(other)), what_(static_cast<command_text&&>(other.what_)) {}

  void initiate(typename base::handler done) {
    this->keep(static_cast<typename base::handler&&>(done));
    part_ = what_.part();
    this->set_commands(&part_, 1);
    const error_code refused = what_.error();
    this->start(refused ? refused : this->check(what_.arguments()));
  }

 private:
  reply_place place_of(std::uint32_t) noexcept override { return detail::place_of(this->result()); }
  void done(const error_code&) noexcept override { this->complete(); }

  command_text what_;
  command_bytes part_;
};

/// The base of the operations with several commands, each with a reply of its own.
template <class Derived, class... T>
class exec_tuple : public exec_op<Derived, std::tuple<reply<T>...>> {
  using base = exec_op<Derived, std::tuple<reply<T>...>>;

 protected:
  using replies = std::tuple<reply<T>...>;
  static constexpr std::size_t count = sizeof...(T);

  ~exec_tuple() = default;

  /// Writes the bytes of each command to `to`. Returns why one of them cannot be sent.
  error_code list(command_bytes* to) {
    error_code refused;
    const auto add = [&](const auto& one) {
      *to++ = one.part();
      if (!refused) refused = one.error();
      if (!refused) refused = this->check(one.arguments());
    };
    std::apply([&](const command<T>&... one) { (add(one), ...); }, what_);
    return refused;
  }
  /// Calls `function` with each command.
  template <class Function>
  auto apply(Function function) {
    return std::apply(function, what_);
  }

 private:
  friend Derived;

  exec_tuple(sender_ref of, command<T>&&... what)
      : base(static_cast<sender_ref&&>(of)), what_(static_cast<command<T>&&>(what)...) {}
  exec_tuple(exec_tuple&& other) noexcept
      : base(static_cast<base&&>(other)), what_(static_cast<commands&&>(other.what_)) {}

  using commands = std::tuple<command<T>...>;

  commands what_;
};

/// The operation of client::exec() with several commands.
template <class... T>
class [[nodiscard]] exec_all : public exec_tuple<exec_all<T...>, T...> {
  using base = exec_tuple<exec_all<T...>, T...>;

 public:
  exec_all(sender_ref of, command<T>&&... what)
      : base(static_cast<sender_ref&&>(of), static_cast<command<T>&&>(what)...) {}
  exec_all(exec_all&& other) noexcept : base(static_cast<base&&>(other)) {}

  void initiate(typename base::handler done) {
    this->keep(static_cast<typename base::handler&&>(done));
    reply_place* to = places_;
    this->apply([&](command<T>&... one) { ((*to++ = detail::place_of(one.result())), ...); });
    const error_code refused = this->list(parts_);
    this->set_commands(parts_, base::count);
    this->start(refused);
  }

 private:
  reply_place place_of(std::uint32_t i) noexcept override { return places_[i]; }
  void done(const error_code& ec) noexcept override {
    const std::size_t last = this->answered() < base::count ? this->answered() : base::count - 1;
    auto& result = this->result();
    result.status().set(ec, {});
    result.status().set(places_[last].status().outcome());
    *result = this->apply([](command<T>&... one) {
      return typename base::replies(static_cast<reply<T>&&>(one.result())...);
    });
    this->complete();
  }

  command_bytes parts_[base::count];
  reply_place places_[base::count];
};

/// The operation of client::transaction().
template <class... T>
class [[nodiscard]] exec_whole : public exec_tuple<exec_whole<T...>, T...> {
  using base = exec_tuple<exec_whole<T...>, T...>;

 public:
  exec_whole(sender_ref of, command<T>&&... what)
      : base(static_cast<sender_ref&&>(of), static_cast<command<T>&&>(what)...) {
    this->terms().is_whole = true;
  }
  exec_whole(exec_whole&& other) noexcept : base(static_cast<base&&>(other)) {}

  void initiate(typename base::handler done) {
    this->keep(static_cast<typename base::handler&&>(done));
    parts_[0] = {"*1\r\n$5\r\nMULTI\r\n", 1};
    const error_code refused = this->list(parts_ + 1);
    parts_[base::count + 1] = {"*1\r\n$4\r\nEXEC\r\n", 1};
    this->set_commands(parts_, base::count + 2);
    this->start(refused);
  }

 private:
  reply_place place_of(std::uint32_t i) noexcept override {
    return i <= base::count ? detail::place_of(accepted_[i]) : detail::place_of(this->result());
  }
  void done(const error_code&) noexcept override {
    auto& result = this->result();  // of EXEC
    detail::end_transaction(result.status(), accepted_);
    if (result.error()) {
      reply<void>* accepted = accepted_ + 1;
      std::apply(
          [&](reply<T>&... one) {
            (detail::fail_in_transaction(one.status(), (accepted++)->status(), result.status()),
             ...);
          },
          *result);
    }
    this->complete();
  }

  reply<void> accepted_[base::count + 1];  // of MULTI, and of each command
  command_bytes parts_[base::count + 2];
};

/// The operation of client::exec_each().
template <class T>
class [[nodiscard]] exec_list : public exec_op<exec_list<T>, reply_list<T>> {
  using base = exec_op<exec_list<T>, reply_list<T>>;

 public:
  exec_list(sender_ref of, const request& what)
      : base(static_cast<sender_ref&&>(of)), what_(&what) {}
  exec_list(exec_list&& other) noexcept : base(static_cast<base&&>(other)), what_(other.what_) {}

  void initiate(typename base::handler done) {
    this->result() = reply<reply_list<T>>(reply_list<T>(what_->size()));
    this->keep(static_cast<typename base::handler&&>(done));
    part_ = what_->part();
    this->set_commands(&part_, 1);
    error_code refused = what_->error();
    for (const arguments& one : *what_) {
      if (!refused) refused = this->check(one);
    }
    this->start(refused);
  }

 private:
  reply_place place_of(std::uint32_t i) noexcept override {
    return detail::place_of((*this->result())[i]);
  }
  void done(const error_code& ec) noexcept override {
    auto& result = this->result();
    result.status().set(ec, {});
    const std::size_t size = result->size();
    const std::size_t last = this->answered() < size ? this->answered() : size - 1;
    result.status().set(size != 0 ? (*result)[last].outcome() : outcome::executed);
    this->complete();
  }

  const request* what_;
  command_bytes part_;
};

}  // namespace detail

}  // namespace beck::redis
