// SPDX-License-Identifier: BSL-1.0
// parallel groups: operations that run side by side as one operation, which completes with the
// results of all. A condition says when the end of one cancels the others. With Asio's names and
// meaning (asio/experimental/parallel_group.hpp). Coroutines have when_all and when_any.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <tuple>
#include <vector>

#include <beck/detail/functions.hpp>
#include <beck/detail/many_results.hpp>
#include <beck/detail/operation_executor.hpp>
#include <beck/interop/cancellation_condition.hpp>
#include <beck/run/op.hpp>

namespace beck {

namespace detail {

/// Counts the members of a group under way, notes the order of their ends, and passes requests to
/// cancel on. It frees itself behind the last end. Thread: inside its executor, except for the
/// start, which may be outside: then ends are held back until it is over.
class group_run {
 public:
  group_run(const group_run&) = delete;
  group_run& operator=(const group_run&) = delete;

  /// Returns the executor on which the members end.
  const any_io_executor& executor() const noexcept { return executor_; }
  /// Takes the end of a member, which asks for the request `asks` to the others.
  void take_end(std::size_t index, cancellation_type asks);
  /// Takes note that a member will never end: its handler was destroyed, or it has thrown.
  void take_loss();
  /// Returns whether the start is under way on another thread. Then `member` is queued again behind
  /// it.
  bool holds_back(queue_entry* member) noexcept;
  /// Queues `member`, whose handler was destroyed. Thread: any.
  void queue_loss(queue_entry* member) const noexcept;

 protected:
  group_run() noexcept = default;
  virtual ~group_run() = default;

  /// Starts the members, which end on `home`, or on a strand if entries run in parallel there.
  /// `order` has room for `count` indices. If a member fails to start, those before it are
  /// cancelled, the handler is dropped, and the exception passes through.
  void open(const any_io_executor& home, std::size_t* order, std::size_t count);

  /// Starts the members; `next` counts them, the one that throws included.
  virtual void start_members(std::size_t& next) = 0;
  /// Requests cancellation of the members that have not ended.
  virtual void emit(cancellation_type type) = 0;
  /// Passes the results to the handler, or drops it if a member was lost; frees the group.
  virtual void finish(bool lost) = 0;
  /// Drops the handler.
  virtual void abandon() noexcept = 0;
  /// Returns the slot of the handler.
  virtual cancellation_slot slot() const noexcept = 0;

 private:
  /// Queued if the start was outside of the executor.
  class start_entry : public queue_entry {
   public:
    group_run* group = nullptr;
  };
  class request_hook : public cancellation_hook {
   public:
    request_hook() noexcept
        : cancellation_hook([](cancellation_hook& self, cancellation_type type) {
            static_cast<request_hook&>(self).group->request(type);
          }) {}
    group_run* group = nullptr;
  };

  void start();
  void end_start(bool inside);
  void begin_ends();
  void give_up();
  void request(cancellation_type type);
  void request_and_leave(cancellation_type type);
  void leave();

  any_io_executor executor_;
  request_hook hook_;
  start_entry entry_;
  entry_queue held_back_;
  std::size_t* order_ = nullptr;
  std::size_t count_ = 0;
  std::size_t pending_ = 0;  // members that have not ended, and one for the start
  std::size_t ended_ = 0;
  cancellation_type asked_ = cancellation_type::none;
  bool has_started_ = false;
  bool is_lost_ = false;
};

/// The place of one operation in a group: it receives the result.
template <class Signature>
class group_member;
template <class... A>
class group_member<void(A...)> : public result_slot<A...> {
 public:
  using values = std::tuple<A...>;

  /// Starts `operation`, whose end asks `condition` for a request.
  template <class Op, class Condition>
  void start(group_run& group, std::size_t index, Op&& operation, Condition& condition) {
    group_ = &group;
    index_ = index;
    condition_ = &condition;
    ask_ = [](void* asked, const values& results) {
      return std::apply(*static_cast<Condition*>(asked), results);
    };
    this->begin(group.executor(), &deliver, signal_.slot());
    is_pending_ = true;
    const initiating_call call(static_cast<completion_slot*>(this));
    try {
      static_cast<Op&&>(operation)(result_handler<A...>(*this));
    } catch (...) {
      is_pending_ = false;
      this->sever();
      this->end_work();
      group.take_loss();
      throw;
    }
    if (call.result() == initiating_call::outcome::pending) return;
    is_pending_ = false;
    this->end_work();
    end(call.result() == initiating_call::outcome::completed);
  }
  void emit(cancellation_type type) {
    if (is_pending_) signal_.emit(type);
  }
  /// Returns the results. Requires that the operation has ended.
  values take() { return static_cast<values&&>(*values_); }

 private:
  static void deliver(queue_entry* entry, runner* where) {
    auto* self = static_cast<group_member*>(entry);
    // The handler may have been destroyed on any thread, or inside a request to the group.
    if (where == nullptr && !std::exchange(self->is_lost_, true))
      return self->group_->queue_loss(entry);
    if (self->group_->holds_back(entry)) return;
    self->is_pending_ = false;
    if (where != nullptr) ++where->counters.delivered;
    self->end(!self->is_lost_);
  }
  void end(bool has_result) {
    if (!has_result) return group_->take_loss();
    cancellation_type asks = cancellation_type::none;
    try {
      detail::call_with_result(
          [this](auto&&... v) { values_.emplace(static_cast<A>(static_cast<decltype(v)>(v))...); },
          static_cast<typename result_slot<A...>::result_type&&>(this->get()));
      asks = ask_(condition_, *values_);
    } catch (...) {
      group_->take_loss();
      throw;
    }
    group_->take_end(index_, asks);
  }

  group_run* group_ = nullptr;
  std::size_t index_ = 0;
  void* condition_ = nullptr;
  cancellation_type (*ask_)(void*, const values&) = nullptr;
  cancellation_signal signal_;
  std::optional<values> values_;
  bool is_pending_ = false;
  bool is_lost_ = false;
};

/// The signature of a group: the order of the ends, then the results of each operation.
template <class Order, class... Signatures>
struct group_signature;
template <class Order, class... A>
struct group_signature<Order, void(A...)> {
  using type = void(Order, A...);
};
template <class Order, class... A, class... B, class... More>
struct group_signature<Order, void(A...), void(B...), More...>
    : group_signature<Order, void(A..., B...), More...> {};

/// Throws std::invalid_argument.
[[noreturn]] void refuse_empty_group();

/// The places of operations of any types.
template <class... Ops>
class fixed_members {
 public:
  using operations = std::tuple<Ops...>;
  using order_type = std::array<std::size_t, sizeof...(Ops)>;
  using signature = typename group_signature<order_type, typename Ops::signature...>::type;

  explicit fixed_members(const operations&) noexcept {}
  std::size_t* order() noexcept { return order_.data(); }
  std::size_t size() const noexcept { return sizeof...(Ops); }

  /// Starts each operation; `next` counts them, the one that throws included.
  template <class Condition>
  void start(group_run& group, operations& all, Condition& condition, std::size_t& next) {
    const auto start_each = [&]<std::size_t... I>(std::index_sequence<I...>) {
      (std::get<I>(members_).start(group, next++, static_cast<Ops&&>(std::get<I>(all)), condition),
       ...);
    };
    start_each(std::index_sequence_for<Ops...>());
  }
  void emit(cancellation_type type) {
    std::apply([type](auto&... member) { (member.emit(type), ...); }, members_);
  }
  /// Returns the arguments of the handler.
  auto take() {
    return std::apply(
        [this](auto&... member) {
          return std::tuple_cat(std::make_tuple(order_), member.take()...);
        },
        members_);
  }

  /// Returns the executor of the first operation that has one.
  static any_io_executor executor_of(const operations& all) {
    any_io_executor found;
    const auto has_one = [&found](const auto& operation) {
      found = detail::executor_of_operation(operation);
      return static_cast<bool>(found);
    };
    std::apply([&](const Ops&... each) { static_cast<void>((has_one(each) || ...)); }, all);
    return found;
  }

 private:
  std::tuple<group_member<typename Ops::signature>...> members_;
  order_type order_{};
};

/// A column for each value of the signature of equal operations.
template <class Signature>
struct range_results;
template <class... A>
struct range_results<void(A...)> {
  using signature = void(std::vector<std::size_t>, std::vector<A>...);
  using columns = std::tuple<std::vector<A>...>;
};

/// The places of operations of one type.
template <class Op>
class range_members {
 public:
  using operations = std::vector<Op>;
  using signature = typename range_results<typename Op::signature>::signature;

  explicit range_members(const operations& all) : members_(all.size()), order_(all.size()) {}
  std::size_t* order() noexcept { return order_.data(); }
  std::size_t size() const noexcept { return order_.size(); }

  template <class Condition>
  void start(group_run& group, operations& all, Condition& condition, std::size_t& next) {
    while (next < all.size()) {
      const std::size_t index = next++;
      members_[index].start(group, index, static_cast<Op&&>(all[index]), condition);
    }
  }
  void emit(cancellation_type type) {
    for (auto& member : members_) member.emit(type);
  }
  auto take() {
    typename range_results<typename Op::signature>::columns all;
    std::apply([this](auto&... column) { (column.reserve(members_.size()), ...); }, all);
    for (auto& member : members_) add(member.take(), all);
    return std::tuple_cat(std::make_tuple(std::move(order_)), std::move(all));
  }

  static any_io_executor executor_of(const operations& all) {
    return detail::executor_of_operation(all.front());
  }

 private:
  template <class Row, class Columns>
  static void add(Row&& row, Columns& columns) {
    std::apply(
        [&](auto&... column) {
          std::apply([&](auto&... value) { (column.push_back(std::move(value)), ...); }, row);
        },
        columns);
  }

  std::vector<group_member<typename Op::signature>> members_;
  std::vector<std::size_t> order_;
};

/// A group under way, in a block of its own.
template <class Handler, class Condition, class Members>
class group final : public group_run {
 public:
  using operations = typename Members::operations;

  static void run(Handler&& done, Condition&& condition, operations&& all) {
    auto* self = detail::make_for_handler<group>(done, static_cast<Handler&&>(done),
                                                 static_cast<Condition&&>(condition),
                                                 static_cast<operations&&>(all));
    self->open(self->done_.get_executor(), self->members_.order(), self->members_.size());
  }

  group(Handler&& done, Condition&& condition, operations&& all)
      : condition_(static_cast<Condition&&>(condition)),
        operations_(static_cast<operations&&>(all)),
        members_(operations_),
        done_(static_cast<Handler&&>(done)) {}

 private:
  /// Destroys the group at the end of a scope.
  struct freeing {
    group* self;
    ~freeing() {
      self->~group();
      detail::free_block(self);
    }
  };

  void start_members(std::size_t& next) override {
    members_.start(*this, operations_, condition_, next);
  }
  void emit(cancellation_type type) override { members_.emit(type); }
  void finish(bool lost) override {
    const freeing at_end{this};
    if (!lost) std::apply(done_, members_.take());
  }
  void abandon() noexcept override { const Handler dropped(static_cast<Handler&&>(done_)); }
  cancellation_slot slot() const noexcept override { return done_.get_cancellation_slot(); }

  Condition condition_;
  operations operations_;
  Members members_;
  Handler done_;
};

/// The operation of async_wait() of both kinds of groups.
template <class Condition, class Members>
class [[nodiscard]] group_wait
    : public op<group_wait<Condition, Members>, typename Members::signature> {
 public:
  static constexpr const char* waits_for = "parallel group";
  using operations = typename Members::operations;

  group_wait(operations&& all, Condition&& condition)
      : operations_(static_cast<operations&&>(all)),
        condition_(static_cast<Condition&&>(condition)) {}
  any_io_executor get_executor() const { return Members::executor_of(operations_); }
  void initiate(typename group_wait::handler done) {
    group<typename group_wait::handler, Condition, Members>::run(
        static_cast<typename group_wait::handler&&>(done), static_cast<Condition&&>(condition_),
        static_cast<operations&&>(operations_));
  }

 private:
  operations operations_;
  Condition condition_;
};

}  // namespace detail

/// Operations that are started together. Made by make_parallel_group().
template <async_operation... Ops>
class [[nodiscard]] parallel_group {
 public:
  /// Takes the operations.
  explicit parallel_group(Ops... operations) : operations_(static_cast<Ops&&>(operations)...) {}

  /// Starts the operations in their order, and completes when all have ended: with the order of
  /// their ends (std::array of their indices), then the results of the first, of the second, and so
  /// on. As soon as `condition`, called with the results of each end, returns more than
  /// cancellation_type::none, the others get that request, once (not if a request from outside had
  /// all of it). Requires that it was not called
  /// before.
  ///
  ///   auto [order, e1, n, e2] = co_await make_parallel_group(
  ///       socket.async_read_some(buffer), timer.async_wait()).async_wait(wait_for_one());
  ///
  /// Errors: none of its own; each operation has its own among the results. Signatures of
  /// operations that carry an error have at most two more values.
  /// Cancellation: a request, or a stop of the coroutine, is passed to all operations. The group
  /// still waits for their ends, so that no buffer is in use any more when it completes. Neither
  /// arrives if the entries of the coroutine's or handler's executor run in parallel
  /// (docs/cancellation.md): use a strand there. The requests of the condition always do.
  /// Memory: one recycled block for the group, and one for each operation.
  /// Thread: the operations start inside this call. They end, and the condition is called, on the
  /// executor of the coroutine or handler, on a strand if its entries run in parallel. If the
  /// condition throws, the exception passes through that executor, and the handler is destroyed
  /// when all operations have ended.
  template <class Condition, class Token = deferred_t>
  auto async_wait(Condition condition, Token&& token = Token()) {
    using wait = detail::group_wait<Condition, detail::fixed_members<Ops...>>;
    return detail::launch(
        wait(static_cast<std::tuple<Ops...>&&>(operations_), static_cast<Condition&&>(condition)),
        static_cast<Token&&>(token));
  }

 private:
  std::tuple<Ops...> operations_;
};

/// Operations of one type that are started together. Made by make_parallel_group().
template <async_operation Op>
class [[nodiscard]] ranged_parallel_group {
 public:
  /// Takes the operations. Throws std::invalid_argument if there are none.
  explicit ranged_parallel_group(std::vector<Op> operations)
      : operations_(static_cast<std::vector<Op>&&>(operations)) {
    if (operations_.empty()) detail::refuse_empty_group();
  }

  /// As parallel_group::async_wait(), but completes with a std::vector of indices, and one
  /// std::vector, in the order of the operations, for each value of their signature.
  template <class Condition, class Token = deferred_t>
  auto async_wait(Condition condition, Token&& token = Token()) {
    using wait = detail::group_wait<Condition, detail::range_members<Op>>;
    return detail::launch(
        wait(static_cast<std::vector<Op>&&>(operations_), static_cast<Condition&&>(condition)),
        static_cast<Token&&>(token));
  }

 private:
  std::vector<Op> operations_;
};

/// Returns a group of `operations`, which have not started: as initiating functions return
/// them with the token deferred.
template <async_operation... Ops>
  requires(sizeof...(Ops) > 0)
parallel_group<std::decay_t<Ops>...> make_parallel_group(Ops&&... operations) {
  return parallel_group<std::decay_t<Ops>...>(static_cast<Ops&&>(operations)...);
}
/// Returns a group of the operations in a range, which are moved out of it. Throws
/// std::invalid_argument if it is empty.
template <class Range>
  requires(!async_operation<Range> &&
           requires(Range& r) { requires async_operation<decltype(*std::begin(r))>; })
auto make_parallel_group(Range&& range) {
  using operation = std::decay_t<decltype(*std::begin(range))>;
  std::vector<operation> all;
  for (auto& one : range) all.push_back(static_cast<operation&&>(one));
  return ranged_parallel_group<operation>(static_cast<std::vector<operation>&&>(all));
}

}  // namespace beck
