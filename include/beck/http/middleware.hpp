// SPDX-License-Identifier: BSL-1.0
//
// Middlewares: functions around handlers, for what many of them have in common. They are composed
// when the program is compiled, and allocate nothing.
#pragma once

#include <beck/http/handler.hpp>
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace beck::http {

/// The rest of a chain: the middlewares further inside, and the handler. A value of two words.
/// Calling it runs the rest, or returns the part of it that waits; a middleware returns that, or
/// awaits it:
///   http::pending no_store(http::request& q, http::response& r, http::next next) {
///     r.set("Cache-Control", "no-store");
///     return next(q, r);
///   }
///   beck::task<> timed(http::request& q, http::response& r, http::next next) {
///     const auto began = clock::now();
///     co_await next(q, r);
///     note(clock::now() - began);
///   }
/// A middleware that does not call it answers the request itself. A second call runs the rest
/// again, which can respond only if nothing was sent. Exceptions of the rest come out of the call,
/// or of the await.
/// Thread: that of the handler. Lifetime: it may be used until the exchange ends.
class next {
 public:
  using function = pending (*)(void* of, request& q, response& r);

  /// Makes one that calls `call` with `of`.
  next(function call, void* of) noexcept : call_(call), of_(of) {}
  /// Runs the rest of the chain. Throws what it throws.
  pending operator()(request& q, response& r) const { return call_(of_, q, r); }

 private:
  function call_;
  void* of_;
};

/// A function around handlers: `pending(request&, response&, next)`, or a coroutine
/// `task<>(request&, response&, next)`. Several contexts call it at the same time.
template <class M>
concept middleware = requires(M& m, request& q, response& r, next rest) {
  { m(q, r, rest) } -> std::convertible_to<pending>;
};

namespace detail {

/// The middlewares of one router::use(), as the router keeps them. While an exchange runs, a list
/// of pointers to layers ends with a pointer to one that calls the handler.
struct layer {
  /// Calls the first of them. `at` points to this layer's place in the list, a `layer**`.
  next::function call;
  void* object;
  void (*destroy)(void* object) noexcept;
};

/// Middlewares in a row, the outermost first.
template <class First, class... More>
struct middleware_row {
  template <class M, class... Rest>
  explicit middleware_row(M&& m, Rest&&... rest)
      : first(static_cast<M&&>(m)), more(static_cast<Rest&&>(rest)...) {}

  First first;
  middleware_row<More...> more;
};
template <class Last>
struct middleware_row<Last> {
  template <class M>
    requires(!std::is_same_v<std::decay_t<M>, middleware_row>)
  explicit middleware_row(M&& m) : first(static_cast<M&&>(m)) {}

  Last first;
};

/// Calls of layers, and how they are made.
struct layer_calls {
  /// Returns the middleware number `I` of a row.
  template <std::size_t I, class Row>
  static auto& at(Row& row) noexcept {
    if constexpr (I == 0) {
      return row.first;
    } else {
      return at<I - 1>(row.more);
    }
  }
  /// Calls the middleware number `I` of a layer, whose row has `Count` of them.
  template <class Row, std::size_t Count, std::size_t I>
  static pending call(void* of, request& q, response& r) {
    layer** const place = static_cast<layer**>(of);
    auto& one = at<I>(*static_cast<Row*>((*place)->object));
    if constexpr (I + 1 == Count) {
      return one(q, r, next(place[1]->call, static_cast<void*>(place + 1)));
    } else {
      return one(q, r, next(&call<Row, Count, I + 1>, of));
    }
  }
  /// Makes a layer of middlewares.
  template <class... M>
  static layer make(M&&... all) {
    using row = middleware_row<std::decay_t<M>...>;
    return {&call<row, sizeof...(M), 0>, new row(static_cast<M&&>(all)...),
            [](void* object) noexcept { delete static_cast<row*>(object); }};
  }
};

/// A middleware around a handler, which may be a layered one, too.
template <class Outer, class Inner>
class layered_handler {
 public:
  template <class O, class I>
  layered_handler(O&& outer, I&& inner)
      : outer_(static_cast<O&&>(outer)), inner_(static_cast<I&&>(inner)) {}

  pending operator()(request& q, response& r) { return outer_(q, r, next(&call_inner, this)); }

 private:
  static pending call_inner(void* of, request& q, response& r) {
    return detail::handler_calls::call(static_cast<layered_handler*>(of)->inner_, q, r);
  }

  Outer outer_;
  Inner inner_;
};

}  // namespace detail

namespace functions {

/// Returns `handler` with a middleware around it, for one route or as the handler of a server. Both
/// are copied or moved. `handler` is of any kind that a server takes.
template <middleware M, class H>
  requires any_handler<std::decay_t<H>>
auto with(M&& outer, H&& handler) {
  return detail::layered_handler<std::decay_t<M>, std::decay_t<H>>(static_cast<M&&>(outer),
                                                                   static_cast<H&&>(handler));
}
/// As above, with several middlewares, the outermost first: `with(first, second, handler)`.
template <middleware M, class Second, class Third, class... More>
auto with(M&& outer, Second&& second, Third&& third, More&&... more) {
  return functions::with(static_cast<M&&>(outer),
                         functions::with(static_cast<Second&&>(second), static_cast<Third&&>(third),
                                         static_cast<More&&>(more)...));
}

}  // namespace functions
using namespace functions;

}  // namespace beck::http
