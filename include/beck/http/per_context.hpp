// SPDX-License-Identifier: BSL-1.0
//
// Objects of the program of which each context of run() has one, such as clients of databases: made
// before the server listens, closed after its last exchange.
#pragma once

#include <beck/coro/task.hpp>
#include <beck/http/request.hpp>
#include <beck/io/io_context.hpp>
#include <cstddef>
#include <type_traits>

namespace beck::http {

template <class T>
class per_context;

namespace detail {

class serving_program;

/// The functions of the objects of a per_context.
struct context_object_table {
  void* (*make)(void* maker, io_context& on);
  task<> (*start)(void* object);  ///< nullptr: there is nothing to start
  task<> (*stop)(void* object);   ///< nullptr: there is nothing to stop
  void (*destroy)(void* object) noexcept;
  void (*destroy_maker)(void* maker) noexcept;
};

/// The objects of a per_context of any type, in the order of the contexts. Thread: an entry belongs
/// to the thread of its context; the list of contexts does not change while they run.
class context_objects {
 public:
  context_objects(const context_object_table& table, void* maker) noexcept
      : table_(&table), maker_(maker) {}
  ~context_objects();
  context_objects(const context_objects&) = delete;
  context_objects& operator=(const context_objects&) = delete;

  /// Returns the object of a context. Throws std::logic_error if it has none.
  void* find(const execution_context& of) const;

 private:
  friend class serving_program;
  struct entry {
    const execution_context* context = nullptr;
    void* object = nullptr;
  };

  void prepare(std::size_t contexts);
  void know(std::size_t index, const execution_context& on) noexcept {
    entries_[index].context = &on;
  }
  void make(std::size_t index, io_context& on);
  task<> start(std::size_t index) const;
  task<> stop(std::size_t index) const;
  void destroy(std::size_t index) noexcept;

  const context_object_table* table_;
  void* maker_;
  entry* entries_ = nullptr;
  std::size_t count_ = 0;
};

/// A reference to a per_context of any type, for run_options::objects; or to none.
class per_context_reference {
 public:
  per_context_reference() noexcept = default;
  template <class T>
  per_context_reference(per_context<T>& objects) noexcept : objects_(&objects.objects_) {}

 private:
  friend class serving_program;

  context_objects* objects_ = nullptr;
};

template <class T, class Maker>
constexpr context_object_table context_object_table_of() {
  context_object_table table{
      [](void* maker, io_context& on) -> void* { return new T((*static_cast<Maker*>(maker))(on)); },
      nullptr, nullptr, [](void* object) noexcept { delete static_cast<T*>(object); },
      [](void* maker) noexcept { delete static_cast<Maker*>(maker); }};
  if constexpr (requires(T& one) { one.start(); }) {
    table.start = [](void* object) -> task<> { co_await static_cast<T*>(object)->start(); };
  }
  if constexpr (requires(T& one) { one.stop(); }) {
    table.stop = [](void* object) -> task<> { co_await static_cast<T*>(object)->stop(); };
  }
  return table;
}
template <class T, class Maker>
inline constexpr context_object_table context_object_table_for =
    detail::context_object_table_of<T, Maker>();

/// Makes a T from its context.
template <class T>
struct plain_maker {
  T operator()(io_context& on) const { return T(on); }
};

}  // namespace detail

/// An object of type T for each context of a run() that has it in run_options::objects. It is made
/// as `T(io_context&)`, or by a function, on the thread of its context. If T has these
/// functions, they are called there:
///   task<> start();  // before the server listens. If it, or the constructor, throws, run() ends.
///   task<> stop();   // when the last exchange of all contexts has ended; for at most 5 s
/// A signal that stops the server also stops the scope of start(); a second one stops that of
/// stop(). The object is destroyed on the same thread, as the last object of its context.
/// Thread: of(): that of the context. Lifetime: longer than run(), one run() at a time.
template <class T>
class per_context {
 public:
  /// Makes objects as `T(io_context&)`.
  per_context() : per_context(detail::plain_maker<T>()) {}
  /// Makes objects with `make`, a function `T(io_context&)`, which is copied or moved. Several
  /// contexts call it at the same time, each on its thread.
  template <class Make>
    requires std::is_same_v<std::invoke_result_t<std::decay_t<Make>&, io_context&>, T>
  explicit per_context(Make&& make)
      : objects_(detail::context_object_table_for<T, std::decay_t<Make>>,
                 new std::decay_t<Make>(static_cast<Make&&>(make))) {}

  /// Returns the object of the context that serves `q`. Throws std::logic_error if it has none.
  T& of(const request& q) const { return of(q.get_executor().context()); }
  /// Returns the object of a context. Throws std::logic_error if it has none.
  T& of(const execution_context& context) const { return *static_cast<T*>(objects_.find(context)); }

 private:
  friend class detail::per_context_reference;

  detail::context_objects objects_;
};

}  // namespace beck::http
