// SPDX-License-Identifier: BSL-1.0
// Services of contexts, and blocking.always.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <asio.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace service_test {

/// Writes its ends into a text of the test.
class noting_service : public asio::execution_context::service {
 public:
  noting_service(asio::execution_context& context, std::string* to, char name)
      : asio::execution_context::service(context), to_(to), name_(name) {}
  ~noting_service() override { note('d'); }
  void shutdown() override { note('s'); }

 private:
  void note(char what) {
    *to_ += name_;
    *to_ += what;
  }
  std::string* to_;
  char name_;
};
class first_service : public noting_service {
 public:
  using noting_service::noting_service;
};
class second_service : public noting_service {
 public:
  using noting_service::noting_service;
};

/// Is made on demand, and uses another service.
class counter : public asio::execution_context::service {
 public:
  static asio::execution_context::id id;
  explicit counter(asio::execution_context& context) : asio::execution_context::service(context) {}
  void shutdown() override {}
  int value = 0;
};
asio::execution_context::id counter::id;
class reader : public asio::execution_context::service {
 public:
  explicit reader(asio::execution_context& context)
      : asio::execution_context::service(context), of(asio::use_service<counter>(context)) {}
  void shutdown() override {}
  counter& of;
};
/// Is found as a counter.
class fast_counter : public counter {
 public:
  using key_type = counter;
  using counter::counter;
};
/// Inherits the id of a counter, so it is one.
class slow_counter : public counter {
 public:
  using counter::counter;
};
class keyed : public asio::execution_context::service {
 public:
  using key_type = noting_service;
  explicit keyed(asio::execution_context& context) : asio::execution_context::service(context) {}
  void shutdown() override {}
};

/// Holds work until it is shut down.
class holding_service : public asio::execution_context::service {
 public:
  explicit holding_service(asio::execution_context& context)
      : asio::execution_context::service(context), timer(static_cast<asio::io_context&>(context)) {}
  void shutdown() override { timer.cancel(); }
  asio::steady_timer timer;
};

/// A context of a program.
class own_context : public asio::execution_context {
 public:
  ~own_context() override {
    shutdown();
    *noted += '|';
    destroy();
  }
  std::string* noted = nullptr;
};

TEST_CASE("a context has one service of a kind, and ends them newest first") {
  std::string noted;
  {
    asio::io_context context;
    CHECK_FALSE(asio::has_service<first_service>(context));
    asio::make_service<first_service>(context, &noted, '1');
    auto other = std::make_unique<second_service>(context, &noted, '2');
    asio::add_service(context, other.get());
    CHECK(asio::has_service<second_service>(context));
    static_cast<void>(other.release());  // the context has it
    CHECK(asio::has_service<first_service>(context));
    CHECK_THROWS_AS(asio::make_service<first_service>(context, &noted, '3'),
                    asio::service_already_exists);
    CHECK(noted == "3d");
    noted.clear();
    asio::io_context another;
    second_service elsewhere(another, &noted, '4');
    CHECK_THROWS_AS(asio::add_service(context, &elsewhere), asio::invalid_service_owner);
    CHECK(noted.empty());
    CHECK(&elsewhere.context() == &another);
  }
  CHECK(noted == "4d2s1s2d1d");
}

TEST_CASE("use_service makes a service once, with those that it uses") {
  asio::io_context context;
  asio::thread_pool pool(1);
  asio::use_service<reader>(context).of.value = 3;
  CHECK(asio::use_service<counter>(context).value == 3);
  CHECK(&asio::use_service<fast_counter>(pool) == &asio::use_service<counter>(pool));
  CHECK(&asio::use_service<slow_counter>(pool) == &asio::use_service<counter>(pool));
  CHECK(asio::use_service<counter>(pool).value == 0);
  CHECK_FALSE(asio::has_service<keyed>(context));
  asio::use_service<keyed>(context);
  CHECK(asio::has_service<keyed>(context));
  asio::any_io_executor executor(context.get_executor());
  CHECK(asio::use_service<counter>(asio::query(executor, asio::execution::context)).value == 3);
}

CONFORMANCE_ON(::beck::test::kernel, "a service drops its work while its context still exists") {
  std::weak_ptr<int> alive;
  int calls = 0;
  {
    asio::io_context context(context_options());
    auto& service = asio::use_service<holding_service>(context);
    service.timer.expires_after(asio::chrono::hours(1));
    auto held = std::make_shared<int>(1);
    alive = held;
    service.timer.async_wait([held, &calls](asio::error_code) { ++calls; });
    held.reset();
    CHECK_FALSE(alive.expired());
  }
  CHECK(alive.expired());
  CHECK(calls == 0);
}

TEST_CASE("a context of a program ends its services when it says so") {
  std::string noted;
  {
    own_context context;
    context.noted = &noted;
    asio::make_service<first_service>(context, &noted, 'a');
  }
  CHECK(noted == "as|ad");
}

TEST_CASE("an executor that always blocks returns when the function has run") {
  asio::static_thread_pool pool(1);
  int balance = 0;
  const auto always = asio::require(pool.executor(), asio::execution::blocking.always);
  for (int i = 0; i < 100; ++i) {
    always.execute([&balance, i] { balance += i; });
    CHECK(balance == i * (i + 1) / 2);
  }
  std::thread::id inside;
  std::thread::id nested;
  always.execute([&] {
    inside = std::this_thread::get_id();
    always.execute([&] { nested = std::this_thread::get_id(); });  // at once
  });
  CHECK(inside == nested);
  CHECK(inside != std::this_thread::get_id());
}

}  // namespace service_test
