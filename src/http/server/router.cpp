// SPDX-License-Identifier: BSL-1.0
// The router: decodes the path once, finds the route, and answers requests without a route.
#include <beck/http/router.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <beck/http/target.hpp>

#include "http/server/exchange_state.hpp"
#include "http/server/route_table.hpp"

namespace beck::http {
namespace detail {
namespace {

constexpr unsigned depth_max = 8;  // of nested routers

void say_not_found(void*, request&, response& r) {
  r.status(status::not_found).set(field::content_type, "text/plain; charset=utf-8");
  r.send("not found\n");
}

void say_bad_path(void*, request& q, response& r) {
  const path_error why = state_of(q).handler.route.decode(q.path());
  r.status(status::bad_request).set(field::content_type, "text/plain; charset=utf-8");
  r.send(std::string(text_of(why)) + '\n');
}

void say_allow(void* allow, request& q, response& r) {
  r.set(field::allow, *static_cast<const std::string*>(allow));
  if (q.method() == method::options) {
    r.status(status::no_content).send();
  } else {
    r.status(status::method_not_allowed).set(field::content_type, "text/plain; charset=utf-8");
    r.send("the method is not allowed here\n");
  }
}

void say_unknown_method(void*, request&, response& r) {
  r.status(status::not_implemented).set(field::content_type, "text/plain; charset=utf-8");
  r.send("the method is not known here\n");
}

void say_all_methods(void*, request&, response& r) {
  r.status(status::no_content).set(field::allow, all_methods_text);
  r.send();
}

void say_too_deep(void*, request&, response& r) {
  r.status(status::internal_server_error)
      .send("routers in each other without end, or with more than 8 parameters\n");
}

void keep(void*) noexcept {}

constexpr handler_table not_found{&say_not_found, nullptr, nullptr, nullptr, &keep};
constexpr handler_table bad_path{&say_bad_path, nullptr, nullptr, nullptr, &keep};
constexpr handler_table allow{&say_allow, nullptr, nullptr, nullptr, &keep};
constexpr handler_table unknown_method{&say_unknown_method, nullptr, nullptr, nullptr, &keep};
constexpr handler_table all_methods{&say_all_methods, nullptr, nullptr, nullptr, &keep};
constexpr handler_table too_deep{&say_too_deep, nullptr, nullptr, nullptr, &keep};

/// Makes a route of a handler; destroys the handler if that throws.
std::unique_ptr<route> own(void* handler, const handler_table& table, const route_options& how) {
  try {
    return std::make_unique<route>(handler, table, how.body_bytes, how.waits_for_events);
  } catch (...) {
    table.destroy(handler);
    throw;
  }
}

/// Changes to the route that a router has chosen inside a handler. Returns false if the body of the
/// request is too long for that route: the handler must then end without a response.
bool enter_route(exchange_state& of, const route_choice& chosen) noexcept {
  of.handler.waits_for_events = of.handler.waits_for_events || chosen.waits_for_events;
  return of.port.lower_bound(chosen.body_bytes);
}

}  // namespace
}  // namespace detail

using namespace detail;

router::router() : table_(new route_table) {}

router::router(const router& other) noexcept : table_(other.table_) { table_->holders.add(); }

router& router::operator=(const router& other) noexcept {
  router copy(other);
  std::swap(table_, copy.table_);
  return *this;
}

router::~router() {
  if (table_->holders.drop()) delete table_;
}

void router::add(method m, std::string_view pattern, void* handler, const handler_table& table,
                 const route_options& how) {
  table_->add(m, pattern, own(handler, table, how));
}

void router::add_mount(std::string_view prefix, void* handler, const handler_table& table,
                       const route_options& how) {
  table_->mount(prefix, own(handler, table, how));
}

route_choice router::choose(request& q) const {
  route_match& match = state_of(q).handler.route;
  if (!match.has_path()) {
    if (q.target() == "*") return {&all_methods, nullptr, 0};
    if (match.decode(q.path()) != path_error::none) return {&bad_path, nullptr, 0};
  }
  if (!match.go_deeper(depth_max)) return {&too_deep, nullptr, 0};
  route_search search;
  table_->find(match.path().empty() ? "/" : match.path(), search);
  if (search.found == nullptr) return {&not_found, nullptr, 0};
  const detail::route* const chosen = search.found->find(q.method());
  if (chosen == nullptr && q.method() == method::other) return {&unknown_method, nullptr, 0};
  if (chosen == nullptr) return {&allow, const_cast<std::string*>(&search.found->allow), 0};
  for (std::size_t i = 0; i < chosen->names.size(); ++i) {
    if (!match.add(chosen->names[i], search.captures[i])) return {&too_deep, nullptr, 0};
  }
  if (chosen == search.found->of_all) match.enter(search.below, q.path());
  if (chosen->table.choose == nullptr)
    return {&chosen->table, chosen->handler, chosen->body_bytes, chosen->waits_for_events};
  route_choice inner = chosen->table.choose(chosen->handler, q);
  if (inner.body_bytes == 0) inner.body_bytes = chosen->body_bytes;
  inner.waits_for_events = inner.waits_for_events || chosen->waits_for_events;
  return inner;
}

task<> router::operator()(request& q, response& r) const {
  const route_choice chosen = choose(q);
  const handler_table& table = *chosen.table;
  if (table.callback != nullptr) {
    throw std::logic_error(
        "a route whose handler takes its exchange over was chosen inside another handler");
  }
  if (!enter_route(state_of(q), chosen)) co_return;
  if (table.plain != nullptr) {
    table.plain(chosen.handler, q, r);
  } else {
    auto work = table.coroutine(chosen.handler, q, r);
    co_await std::move(work);
  }
}

}  // namespace beck::http
