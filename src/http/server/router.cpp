// SPDX-License-Identifier: BSL-1.0
// The router: decodes the path once, finds the route, and answers requests without a route.
#include <beck/http/router.hpp>

#include <memory>
#include <string>
#include <utility>

#include <beck/http/target.hpp>

#include "http/server/exchange_state.hpp"
#include "http/server/route_table.hpp"

namespace beck::http {
namespace detail {
namespace {

void say_not_found(void*, request&, response& r) { r.fail(status::not_found, "not found"); }

void say_bad_path(void*, request& q, response& r) {
  const path_error why = state_of(q).handler.route.decode(q.path());
  r.fail(status::bad_request, text_of(why));
}

void say_allow(void* allow, request& q, response& r) {
  r.set(field::allow, *static_cast<const std::string*>(allow));
  if (q.method() == method::options) {
    r.status(status::no_content).send();
  } else {
    r.fail(status::method_not_allowed, "the method is not allowed here");
  }
}

void say_unknown_method(void*, request&, response& r) {
  r.fail(status::not_implemented, "the method is not known here");
}

void say_all_methods(void*, request&, response& r) {
  r.status(status::no_content).set(field::allow, all_methods_text);
  r.send();
}

void say_too_deep(void*, request&, response& r) {
  r.fail(status::internal_server_error,
         "routers in each other without end, with more than 8 parameters, or 16 use()");
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
    return std::make_unique<route>(handler, table, how);
  } catch (...) {
    table.destroy(handler);
    throw;
  }
}

/// Returns the choice of an answer of the router itself.
route_choice answer_with(const handler_table& table, void* data = nullptr) noexcept {
  return {&table, data, 0, false, true, duration()};
}

/// Returns the choice of a route that was found.
route_choice enter(const route& found, request& q) {
  state_of(q).handler.route.add_route(found);
  if (found.table.choose == nullptr)
    return {&found.table,           found.handler, found.body_bytes,
            found.waits_for_events, false,         found.handler_timeout};
  route_choice inner = found.table.choose(found.handler, q);
  if (inner.body_bytes == 0) inner.body_bytes = found.body_bytes;
  inner.waits_for_events = inner.waits_for_events || found.waits_for_events;
  if (inner.handler_timeout == duration()) inner.handler_timeout = found.handler_timeout;
  return inner;
}

/// Lets routers that choose add their layers to a list of the caller.
class layer_collection {
 public:
  layer_collection(handler_state& of, layer_run& to) noexcept
      : of_(of), before_(std::exchange(of.collects, &to)) {}
  ~layer_collection() { of_.collects = before_; }
  layer_collection(const layer_collection&) = delete;
  layer_collection& operator=(const layer_collection&) = delete;

 private:
  handler_state& of_;
  layer_run* before_;
};

/// Chooses the handler of a request inside another handler, and its layers.
route_choice choose_inside(const router& by, request& q, layer_run& layers) {
  exchange_state& of = state_of(q);
  const layer_collection collection(of.handler, layers);
  route_choice chosen = by.choose(q);
  of.handler.waits_for_events = of.handler.waits_for_events || chosen.waits_for_events;
  of.port->limit_time(chosen.handler_timeout);
  const bool is_too_long = !of.port->lower_bound(chosen.body_bytes);
  if (is_too_long) chosen.table = &body_too_long;
  of.handler.route.note_answer(chosen.is_answer || is_too_long);
  return chosen;
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

void router::add_otherwise(void* handler, const handler_table& table, const route_options& how) {
  table_->set_otherwise(own(handler, table, how));
}

void router::add_layer(const layer& made) { table_->add_layer(made); }

route_choice router::choose(request& q) const {
  handler_state& handler = state_of(q).handler;
  route_match& match = handler.route;
  table_->note_served();
  if (!handler.collects->add(table_->layers())) return answer_with(too_deep);
  if (!match.has_path()) {
    if (q.target() == "*") return answer_with(all_methods);
    if (match.decode(q.path()) != path_error::none) return answer_with(bad_path);
  }
  if (!match.go_deeper()) return answer_with(too_deep);
  route_search search;
  table_->find(match.path().empty() ? "/" : match.path(), search);
  if (search.found == nullptr) {
    const detail::route* const other = table_->otherwise();
    return other != nullptr ? enter(*other, q) : answer_with(not_found);
  }
  const detail::route* const chosen = search.found->find(q.method());
  if (chosen == nullptr && q.method() == method::other) return answer_with(unknown_method);
  if (chosen == nullptr) return answer_with(allow, const_cast<std::string*>(&search.found->allow));
  for (std::size_t i = 0; i < chosen->names.size(); ++i) {
    if (!match.add(chosen->names[i], search.captures[i])) return answer_with(too_deep);
  }
  if (chosen == search.found->of_all) match.enter(search.below, q.path());
  return enter(*chosen, q);
}

task<> router::operator()(request& q, response& r) const {
  layer_run layers;
  const route_choice chosen = choose_inside(*this, q, layers);
  pending left = layers.start(chosen, q, r);
  co_await std::move(left);
}

}  // namespace beck::http
