// SPDX-License-Identifier: BSL-1.0
//
// Chooses the handler of a request by its path and method, and runs middlewares around it.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/http/handler.hpp>
#include <beck/http/middleware.hpp>
#include <beck/http/route.hpp>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace beck::http {

/// The settings of a route.
struct route_options {
  /// The greatest number of bytes of a body. 0: body_limits::body_bytes of the server.
  std::uint64_t body_bytes = 0;
  /// Whether the handler waits for events, as a long poll does. Its scope is then stopped when the
  /// client has left (request::client_left()), and when the server is being stopped, which answers
  /// 503 unless the handler responds. Only a coroutine has a scope.
  bool waits_for_events = false;
  /// How long the handler and the middlewares around it may take, from the end of the head of the
  /// request on. 0: no limit. Then their scope is stopped, so what they wait for ends with
  /// error::timeout; the server answers 503 unless they respond, or cuts the connection if a part
  /// of a response was sent. The limit is of what waits: a handler that computes is not stopped. A
  /// kept exchange is answered with 503, too, and then sends nothing. It does not apply to a
  /// connection that was taken over, and not to responses that are whole and still being sent. The
  /// limit of a route goes before that of a mount() around it.
  duration handler_timeout = duration::zero();
  /// How many values a route may have.
  static constexpr std::size_t values_max = 4;
  /// What middlewares read of the route with request::route(), such as `is_public(true)`. A route
  /// below mount() also has the values of that.
  route_value values[values_max] = {};
};
static_assert(std::is_trivially_destructible_v<route_options>);

namespace detail {
class route_table;
}

/// A handler that passes each request to the handler of its route. A pattern is a decoded path, and
/// may capture whole segments:
///   "/"  "/about"  "/rows/{table}"  "/files/{path...}"
/// `{name}` stands for one segment that is not empty, `{name...}` for the rest of the path, which
/// may be empty. request::param() returns the captured text.
///
/// The path decides first. If several patterns match it, the first segment in which they differ
/// decides: a given text goes before `{name}`, and that before `{name...}`. A path with a "/" at
/// its end differs from the path without it. Then the method decides, among the routes of that
/// pattern. Unless they have routes of their own, HEAD goes to the route for GET, and OPTIONS is
/// answered with the list of methods. Other answers of the router: 404 if no pattern matches, 405
/// with Allow if the method has no route, 501 for a method without a value in http::method, 400 for
/// a path that decode_path() refuses.
///
/// Middlewares of use() are around all that the router answers; see middleware.hpp.
///
/// A copy shares the routes. Bounds: 1,024 bytes, 32 segments and 8 captures of a pattern; 8 nested
/// routers; 16 calls of use() in all of them.
/// Thread: one at a time while routes are added, before a server serves; then any. From the first
/// request on, functions that add throw std::logic_error.
class router {
 public:
  /// Makes a router without routes.
  router();
  router(const router& other) noexcept;
  router& operator=(const router& other) noexcept;
  ~router();

  /// Adds a route to `h`, a handler of any kind that a server takes, which is copied or moved into
  /// the router. Throws std::invalid_argument, which names the pattern and the reason: the pattern
  /// is malformed, or has a route for this method already, perhaps with other capture names;
  /// method::other, connect or trace.
  template <class H>
    requires(any_handler<std::decay_t<H>> && !routing_handler<std::decay_t<H>>)
  router& route(method m, std::string_view pattern, H&& h,
                const route_options& how = route_options()) {
    using handler = std::decay_t<H>;
    add(m, pattern, new handler(static_cast<H&&>(h)), detail::handler_table_of<handler>, how);
    return *this;
  }
  /// Adds a route for GET, and for HEAD unless HEAD has a route of its own. As route().
  template <class H>
  router& get(std::string_view pattern, H&& h, const route_options& how = route_options()) {
    return route(method::get, pattern, static_cast<H&&>(h), how);
  }
  /// Adds a route for POST. As route().
  template <class H>
  router& post(std::string_view pattern, H&& h, const route_options& how = route_options()) {
    return route(method::post, pattern, static_cast<H&&>(h), how);
  }
  /// Adds a route for PUT. As route().
  template <class H>
  router& put(std::string_view pattern, H&& h, const route_options& how = route_options()) {
    return route(method::put, pattern, static_cast<H&&>(h), how);
  }
  /// Adds a route for DELETE. As route().
  template <class H>
  router& del(std::string_view pattern, H&& h, const route_options& how = route_options()) {
    return route(method::delete_, pattern, static_cast<H&&>(h), how);
  }
  /// Adds a route for PATCH. As route().
  template <class H>
  router& patch(std::string_view pattern, H&& h, const route_options& how = route_options()) {
    return route(method::patch, pattern, static_cast<H&&>(h), how);
  }
  /// Adds a route for all methods from `prefix`, and all paths below it, to `h`. `h` may be a
  /// router, and sees the path without the prefix (request::path()). Throws as route(), and for a
  /// prefix with captures.
  template <class H>
    requires any_handler<std::decay_t<H>>
  router& mount(std::string_view prefix, H&& h, const route_options& how = route_options()) {
    using handler = std::decay_t<H>;
    add_mount(prefix, new handler(static_cast<H&&>(h)), detail::handler_table_of<handler>, how);
    return *this;
  }

  /// Adds a handler for requests without a route, which else are answered with 404. It does not
  /// replace the other answers of the router. Throws std::invalid_argument if there is one.
  template <class H>
    requires(any_handler<std::decay_t<H>> && !routing_handler<std::decay_t<H>>)
  router& otherwise(H&& h, const route_options& how = route_options()) {
    using handler = std::decay_t<H>;
    add_otherwise(new handler(static_cast<H&&>(h)), detail::handler_table_of<handler>, how);
    return *this;
  }
  /// Adds middlewares around everything that this router answers: routes that were added before
  /// and will be added later, routers that are mounted, and its own answers, such as 404, and 413
  /// for a body whose announced length is too large. The first one is the outermost; those of a
  /// router in which this one is mounted are around these. They are copied or moved. Throws
  /// std::length_error beyond 16 calls.
  template <class... M>
    requires(sizeof...(M) != 0 && (middleware<std::decay_t<M>> && ...))
  router& use(M&&... all) {
    add_layer(detail::layer_calls::make(static_cast<M&&>(all)...));
    return *this;
  }

  /// Returns the handler of a request. For the server.
  detail::route_choice choose(request& q) const;

  /// Serves a request inside another handler, with the middlewares of the router. Also sends the
  /// answers of the router itself, such as 404. Call it once for a request, before its body is
  /// read; the router must live until the task ends. The route's limit for bodies applies if it is
  /// below the server's.
  task<> operator()(request& q, response& r) const;

 private:
  void add(method m, std::string_view pattern, void* handler, const detail::handler_table& table,
           const route_options& how);
  void add_mount(std::string_view prefix, void* handler, const detail::handler_table& table,
                 const route_options& how);
  void add_otherwise(void* handler, const detail::handler_table& table, const route_options& how);
  void add_layer(const detail::layer& made);

  detail::route_table* table_;
};

}  // namespace beck::http
