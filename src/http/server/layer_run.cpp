// SPDX-License-Identifier: BSL-1.0
// Calls the middlewares and the handler of a request. The functions here are those behind the
// templates of <beck/http/middleware.hpp>, <beck/http/slot.hpp> and <beck/http/handler.hpp>.
#include "http/server/layer_run.hpp"

#include <stdexcept>

#include "http/server/exchange_state.hpp"

namespace beck::http::detail {
namespace {

task<> wait_for_return(exchange_state& of) {
  beck::ignore(co_await of.handler.exchange_gone.wait());
}

void refuse_body(void*, request& q, response&) { state_of(q).port->refuse_body(); }

}  // namespace

constexpr handler_table body_too_long{&refuse_body, nullptr, nullptr, nullptr,
                                      [](void*) noexcept {}};

pending layer_run::start(const route_choice& chosen, request& q, response& r) {
  chosen_ = chosen;
  last_ = {&layer_run::call_handler, this, nullptr};
  list_[count_] = &last_;
  return list_[0]->call(static_cast<void*>(list_.data()), q, r);
}

pending layer_run::call_handler(void* of, request& q, response& r) {
  layer** const at = static_cast<layer**>(of);
  const route_choice& chosen = static_cast<layer_run*>((*at)->object)->chosen_;
  const handler_table& table = *chosen.table;
  if (table.callback != nullptr) return call_with_exchange(q, chosen.handler, table.callback);
  if (table.call != nullptr) return table.call(chosen.handler, q, r);
  table.plain(chosen.handler, q, r);
  return {};
}

void exchange_state::give(void* to, void (*call)(void* handler, http::exchange&& x)) {
  if (handler.is_taken())
    throw std::logic_error("http: a handler that has kept its exchange is called again");
  handler.exchange_gone.reset();
  handler.taken_by = port->share();
  call(to, make_exchange());
}

pending call_with_exchange(request& q, void* handler,
                           void (*call)(void* handler, http::exchange&& x)) {
  exchange_state& state = state_of(q);
  state.give(handler, call);
  if (!state.handler.is_taken()) return {};
  return wait_for_return(state);
}

void keep_value(request& q, kept_value* made) noexcept { state_of(q).values.add(made); }

kept_value* find_value(const request& q, const void* key) noexcept {
  return state_of(q).values.find(key);
}

}  // namespace beck::http::detail
