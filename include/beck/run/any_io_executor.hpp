// SPDX-License-Identifier: BSL-1.0
// The polymorphic executor of I/O objects: two words. Work is an intrusive entry, so no executor is
// a template of handlers. Executors of the library's contexts are neither allocated nor counted; a
// user's own executor is copied once into a counted box.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <new>
#include <source_location>
#include <type_traits>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/detail/block.hpp>
#include <beck/detail/deferred_init.hpp>
#include <beck/detail/opaque_value.hpp>
#include <beck/detail/queue_entry.hpp>
#include <beck/detail/ref_count.hpp>
#include <beck/detail/runner.hpp>

namespace beck {

namespace detail {

/// Objects that end with a context: the services of the facade of Asio.
class context_services {
 public:
  virtual ~context_services() = default;
  /// Drops the work that they hold.
  virtual void shut_down() noexcept = 0;
};
struct context_services_access;

}  // namespace detail

/// A place where work runs: the base of io_context, thread_pool and users' own contexts.
class execution_context {
 public:
  class service;  // the facade of Asio defines these
  class id;

  execution_context() = default;
  execution_context(const execution_context&) = delete;
  execution_context& operator=(const execution_context&) = delete;
  virtual ~execution_context();

 protected:
  /// Makes the services drop the work that they hold. Destructors of contexts call it before they
  /// destroy their own state. Idempotent.
  void shutdown() noexcept;
  /// Destroys the services; so does the destructor. Idempotent.
  void destroy() noexcept;
  /// Returns whether there are services.
  bool has_services() const noexcept { return services_ != nullptr; }

 private:
  friend struct detail::context_services_access;

  detail::context_services* services_ = nullptr;
};

namespace detail {
struct owned_tree;

/// The common part of trees of one kind.
struct tree_kind {
  enum class content : unsigned char {
    root,    ///< a task that was spawned
    guest,   ///< a task that a coroutine elsewhere awaits (coro/via.hpp)
    sender,  ///< the wait of a sender's operation state (detail/sender_wait.hpp)
  };
  void (*destroy)(owned_tree* self);
  content what = content::root;
};

/// A tree of tasks for its context: linked newest first, and destroyed with the context.
struct owned_tree {
  owned_tree* older;
  owned_tree** link;  ///< the pointer that points to this one; null while it is not adopted
  const tree_kind* kind;
  std::uint64_t number;  ///< among its context's trees; its name in a dump

  void unlink() noexcept {
    if (link == nullptr) return;
    *link = older;
    if (older != nullptr) older->link = link;
    link = nullptr;
  }
};

struct timer_entry;

/// The functions of an executor of this library, for any_io_executor; one static table for each
/// kind of executor.
struct executor_table {
  void (*post)(void* self, queue_entry* entry);  ///< queues; if it throws, the entry was destroyed
  bool (*running_here)(const void* self) noexcept;  ///< may an entry run inside this call?
  void (*work)(void* self, long change) noexcept;   ///< outstanding work, +1 or -1
  execution_context* (*context)(const void* self) noexcept;
  bool (*equal)(const void* self, const void* other) noexcept;  ///< null: the same address
  void (*retain)(void* self) noexcept;                          ///< null: nothing is counted
  void (*release)(void* self) noexcept;
  void (*adopt)(void* self, owned_tree& tree) noexcept;  ///< null: trees of tasks are not owned
  /// `spawned_at`: where the task that the exception escaped from was spawned; null: unknown. If
  /// this function is null, the program ends with a message.
  void (*unhandled)(void* self, std::exception_ptr error, const std::source_location* spawned_at);
  /// Removes a tree that adopt() has added; null: a caller on the executor may unlink it.
  void (*disown)(void* self, owned_tree& tree) noexcept = nullptr;
  /// Whether an entry may run, on another thread, before the one that posted it has returned.
  bool concurrent = false;
  /// Points in time, nanoseconds of the steady clock; null: it has no clock. Called inside the
  /// executor.
  std::int64_t (*now)(void* self) noexcept = nullptr;
  bool (*arm)(void* self, timer_entry& entry) noexcept = nullptr;  ///< false: there is no memory
  void (*disarm)(void* self, timer_entry& entry) noexcept = nullptr;
  /// Whether entries expire on any thread and concurrently with the executor's entries; then
  /// disarm() must also be called for entries that have expired.
  bool expires_beside = false;
  /// Enters the executor at once, if no other caller is inside, and this caller is inside the
  /// executor below (strands). Every enter() that returned true has its leave(). null:
  /// running_here() alone decides.
  bool (*enter)(void* self) noexcept = nullptr;
  void (*leave)(void* self) noexcept = nullptr;
};

/// The caller's stay inside an executor, if it is inside or can enter at once, while this object
/// exists.
class executor_entry {
 public:
  executor_entry(const executor_table* table, void* self) noexcept
      : inside_(table->running_here(self)) {
    if (!inside_ && table->enter != nullptr) try_enter(table, self);
  }
  ~executor_entry() {
    if (!frame_) return;
    frame_.reset();
    table_->leave(self_);
  }
  executor_entry(const executor_entry&) = delete;
  executor_entry& operator=(const executor_entry&) = delete;

  explicit operator bool() const noexcept { return inside_; }

 private:
  void try_enter(const executor_table* table, void* self) noexcept;

  bool inside_;
  deferred_init<runner::executor_frame> frame_;  // the caller inside, if enter() was called
  const executor_table* table_;
  void* self_;
};

}  // namespace detail

class any_io_executor;

namespace detail {

/// An executor of this library: it stores its own two words. A counted one also declares `static
/// constexpr bool is_counted = true`.
template <class E>
concept native_executor = requires(const E& e) {
  { e.table() } -> std::same_as<const executor_table*>;
  { e.target() } -> std::same_as<void*>;
};

/// An executor written by the user: `execute(f)` runs the callable once, now or later; copies
/// compare equal; `context()` (optional) returns its execution_context. Copies and == are asked for
/// where one is stored, not here: if E is made from an any_io_executor, that asks this again.
template <class E>
concept user_executor = !std::is_same_v<std::remove_cvref_t<E>, any_io_executor> &&
                        !native_executor<E> && requires(const E& e, void (*f)()) { e.execute(f); };

}  // namespace detail

/// A copyable, comparable handle to any executor; empty when default-constructed. Except for bool
/// conversion, comparison and copies, functions require that it is not empty.
/// Thread: copies may be used from any thread. Size: 16 bytes. Copying allocates nothing.
class any_io_executor {
 public:
  /// Makes an empty executor.
  any_io_executor() noexcept = default;
  /// Makes an empty executor.
  any_io_executor(std::nullptr_t) noexcept {}
  /// Takes over one reference if the executor is counted. For the library.
  any_io_executor(const detail::executor_table* table, void* self) noexcept
      : table_(table), self_(self) {}

  /// Converts from an executor of the library.
  template <detail::native_executor E>
  any_io_executor(const E& executor) noexcept
      : any_io_executor(executor.table(), executor.target()) {
    if constexpr (requires { requires E::is_counted; }) retain();
  }

  /// Converts from a user's executor, which is moved into a counted block. Throws std::bad_alloc.
  template <detail::user_executor E>
    requires(!detail::native_executor<E>)
  any_io_executor(E executor);
  /// Converts from an executor. Without memory for it, makes an empty one.
  template <class E>
  any_io_executor(const std::nothrow_t&, E executor) noexcept {
    try {
      *this = any_io_executor(static_cast<E&&>(executor));
    } catch (const std::bad_alloc&) {}
  }

  any_io_executor(const any_io_executor& other) noexcept
      : table_(detail::opaque_value(other.table_)), self_(detail::opaque_value(other.self_)) {
    retain();
  }
  any_io_executor(any_io_executor&& other) noexcept
      : table_(std::exchange(other.table_, nullptr)), self_(std::exchange(other.self_, nullptr)) {}
  /// Takes over `other`.
  any_io_executor& operator=(any_io_executor other) noexcept {
    std::swap(table_, other.table_);
    std::swap(self_, other.self_);
    return *this;
  }
  ~any_io_executor() {
    if (table_ != nullptr && table_->release != nullptr) table_->release(self_);
  }

  /// Exchanges the executors.
  void swap(any_io_executor& other) noexcept {
    std::swap(table_, other.table_);
    std::swap(self_, other.self_);
  }

  /// Returns whether it is not empty.
  explicit operator bool() const noexcept { return table_ != nullptr; }

  /// Returns the context, or nullptr if a user's executor names none.
  execution_context* context_or_null() const noexcept { return table_->context(self_); }
  /// Returns the context. Requires, asserted, that there is one.
  execution_context& context() const noexcept {
    execution_context* const there = table_ != nullptr ? context_or_null() : nullptr;
    BECK_ASSERT(there != nullptr, "an executor was asked for a context that it does not have");
    return *there;
  }

  /// Queues an entry; never runs it inside this call. For the library. Thread: any.
  void post(detail::queue_entry* entry) const { table_->post(self_, entry); }
  /// Returns whether the caller is inside an entry of this executor, so that work may run at once;
  /// false for a user's executor.
  bool running_in_this_thread() const noexcept { return table_->running_here(self_); }
  /// Adds one unit of outstanding work, which keeps the context's run() from returning.
  void on_work_started() const noexcept { table_->work(self_, 1); }
  /// Removes one unit of outstanding work.
  void on_work_finished() const noexcept { table_->work(self_, -1); }

  /// Runs `f` now if the caller is inside this executor, or it is an idle strand over the executor
  /// that the caller is inside of; else queues it. Throws std::bad_alloc.
  template <class F>
  void execute(F&& f) const;

  /// Returns the functions of the executor, for the library.
  const detail::executor_table* table() const noexcept { return table_; }
  /// Returns the object of table()'s functions.
  void* target() const noexcept { return self_; }
  /// Returns the user's executor inside, if it is an E; nullptr if not, and for executors of the
  /// library, which are not stored. With void for E: the object of any executor.
  template <class E>
  E* target() const noexcept;

  friend bool operator==(const any_io_executor& a, const any_io_executor& b) noexcept {
    if (a.table_ != b.table_) return false;
    if (a.self_ == b.self_) return true;
    return a.table_ != nullptr && a.table_->equal != nullptr && a.table_->equal(a.self_, b.self_);
  }
  /// Returns whether there is no executor.
  friend bool operator==(const any_io_executor& a, std::nullptr_t) noexcept {
    return a.table_ == nullptr;
  }

 private:
  void retain() const noexcept {
    if (table_ != nullptr && table_->retain != nullptr) table_->retain(self_);
  }

  const detail::executor_table* table_ = nullptr;
  void* self_ = nullptr;
};
static_assert(sizeof(any_io_executor) == 16);

namespace detail {

/// Something with an executor: a context, an I/O object, a strand.
template <class C>
concept has_executor = !std::is_convertible_v<const C&, any_io_executor> && requires(C& c) {
  { c.get_executor() } -> std::convertible_to<any_io_executor>;
};
template <class E>
concept executor_like = std::is_convertible_v<const E&, any_io_executor>;

/// Notes that a tree of tasks that runs on `executor` has ended.
inline void disown(const any_io_executor& executor, owned_tree& tree) noexcept {
  if (auto* taken_out = executor.table()->disown; taken_out != nullptr) {
    taken_out(executor.target(), tree);
  } else {
    tree.unlink();
  }
}

}  // namespace detail

/// Keeps the executor during an upcall and then removes the outstanding work that the operation
/// counted there. For the library.
class outstanding_work {
 public:
  /// Takes over the work if `counted`.
  outstanding_work(any_io_executor executor, bool counted) noexcept
      : executor_(static_cast<any_io_executor&&>(executor)), counted_(counted) {}
  ~outstanding_work() {
    if (counted_) executor_.on_work_finished();
  }
  outstanding_work(const outstanding_work&) = delete;
  outstanding_work& operator=(const outstanding_work&) = delete;
  /// Returns the executor.
  const any_io_executor& executor() const noexcept { return executor_; }

 private:
  any_io_executor executor_;
  bool counted_;
};

namespace detail {

/// Runs one entry on a thread that may be outside of all runners (a user's executor).
void run_entry_here(queue_entry* entry);

/// The callable that carries an entry through a user's executor: runs it once, or destroys it
/// without running it.
class entry_call {
 public:
  explicit entry_call(queue_entry* entry) noexcept : entry_(entry) {}
  entry_call(entry_call&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  entry_call(const entry_call&) = delete;
  entry_call& operator=(const entry_call&) = delete;
  ~entry_call() {
    if (entry_ != nullptr) entry_->run(entry_, nullptr);
  }
  void operator()() { run_entry_here(std::exchange(entry_, nullptr)); }

 private:
  queue_entry* entry_;
};

/// The counted box around a user's executor.
template <class E>
class executor_box {
 public:
  static const executor_table table;

  static executor_box* make(E&& executor) {
    static_assert(std::is_copy_constructible_v<E>, "copies of an executor are made");
    static_assert(requires(const E& e) { e == e; }, "copies of an executor compare equal");
    void* block = allocate_block(sizeof(executor_box));
    return ::new (block) executor_box(static_cast<E&&>(executor));
  }
  static E* executor_in(void* self) noexcept { return &from(self).executor_; }

 private:
  explicit executor_box(E&& executor) noexcept : executor_(static_cast<E&&>(executor)) {}

  static executor_box& from(void* self) noexcept { return *static_cast<executor_box*>(self); }
  static const executor_box& from(const void* self) noexcept {
    return *static_cast<const executor_box*>(self);
  }
  static void post(void* self, queue_entry* entry) {
    from(self).executor_.execute(entry_call(entry));
  }
  static bool running_here(const void*) noexcept { return false; }
  static void work(void* self, long change) noexcept {
    if constexpr (requires(const E& e) { e.on_work_started(); }) {
      if (change > 0) {
        from(self).executor_.on_work_started();
      } else {
        from(self).executor_.on_work_finished();
      }
    }
  }
  static execution_context* context(const void* self) noexcept {
    if constexpr (requires(const E& e) { static_cast<execution_context*>(&e.context()); }) {
      return &from(self).executor_.context();
    } else {
      return nullptr;
    }
  }
  static bool equal(const void* a, const void* b) noexcept {
    return from(a).executor_ == from(b).executor_;
  }
  static void retain(void* self) noexcept { from(self).count_.add(); }
  static void release(void* self) noexcept {
    if (!from(self).count_.drop()) return;
    from(self).~executor_box();
    free_block(self);
  }

  E executor_;
  ref_count count_;
};

template <class E>
const executor_table executor_box<E>::table{&post,   &running_here, &work,    &context,
                                            &equal,  &retain,       &release, nullptr,
                                            nullptr, nullptr,       true};

}  // namespace detail

/// Boxes a user's executor. Throws std::bad_alloc.
template <detail::user_executor E>
  requires(!detail::native_executor<E>)
any_io_executor::any_io_executor(E executor)
    : table_(&detail::executor_box<E>::table),
      self_(detail::executor_box<E>::make(static_cast<E&&>(executor))) {}

template <class E>
E* any_io_executor::target() const noexcept {
  if constexpr (std::is_void_v<E>) {
    return self_;
  } else if constexpr (detail::user_executor<E>) {
    const bool is_e = table_ == &detail::executor_box<E>::table;
    return is_e ? detail::executor_box<E>::executor_in(self_) : nullptr;
  } else {
    return nullptr;
  }
}

}  // namespace beck
