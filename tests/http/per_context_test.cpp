// SPDX-License-Identifier: BSL-1.0
// Objects that each context of run() has, and the end of run(): by signals, whatever runs beside.
#include <beck/http/server.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/event.hpp>
#include <beck/http/client.hpp>
#include <beck/io/steady_timer.hpp>

#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <csignal>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "http/blocking_client.hpp"
#include "http/served.hpp"
#include "support/child.hpp"

using namespace beck::http::test;
using beck::task;
namespace http = beck::http;

namespace {

constexpr beck::duration an_hour(3'600'000'000'000);

/// Waits on a context for ever, whatever tells it to stop.
task<> wait_for_ever(beck::any_io_executor on) {
  beck::steady_timer timer(on);
  for (;;) {
    timer.expires_after(beck::duration(1'000'000));
    beck::ignore(co_await timer.async_wait());
  }
}

/// What the objects of a case have done, from all threads.
struct life_count {
  std::atomic<int> made{0}, started{0}, stopped{0}, destroyed{0}, misplaced{0};

  std::string text() const {
    return std::to_string(made) + ' ' + std::to_string(started) + ' ' + std::to_string(stopped) +
           ' ' + std::to_string(destroyed) + ' ' + std::to_string(misplaced);
  }
};

/// An object that may not move, and that counts what happens to it, also on a wrong thread.
class counted_object {
 public:
  counted_object(beck::io_context& on, life_count& all) : on_(&on), all_(&all) { ++all_->made; }
  ~counted_object() { count(all_->destroyed); }
  counted_object(const counted_object&) = delete;
  counted_object& operator=(const counted_object&) = delete;

  task<> start() {
    beck::steady_timer timer(on_->get_executor(), beck::duration(100'000));
    beck::ignore(co_await timer.async_wait());
    count(all_->started);
    is_ready_ = true;
  }
  task<> stop() {
    count(all_->stopped);
    is_ready_ = false;
    co_return;
  }
  bool is_ready() const noexcept { return is_ready_ && std::this_thread::get_id() == thread_; }

 private:
  void count(std::atomic<int>& what) {
    ++what;
    if (std::this_thread::get_id() != thread_) ++all_->misplaced;
  }

  beck::io_context* on_;
  life_count* all_;
  std::thread::id thread_ = std::this_thread::get_id();
  bool is_ready_ = false;
};

/// Runs a server in a child process; `from_beside(server)` is called on another thread. Returns the
/// result, and what `text()` says afterwards.
template <class Beside, class Text>
std::string run_in_child(http::server& server, const http::run_options& how, Beside from_beside,
                         Text text) {
  std::thread beside([&] { from_beside(server); });
  const int result = http::run(server, how);
  beside.join();
  return std::to_string(result) + ' ' + text();
}

}  // namespace

TEST_CASE("http: run() returns when the server has drained, whatever else runs on its contexts") {
  for (const std::size_t contexts : {1U, 3U}) {
    CAPTURE(contexts);
    const std::string said = beck::test::said_by_child([&] {
      http::server server([](http::request& q, http::response& r) {
        beck::co_spawn(q.get_executor(), wait_for_ever(q.get_executor()), beck::detached);
        r.send("ok");
      });
      server.listen(any_port);
      const auto beside = [](http::server& s) {
        for (int i = 0; i < 10; ++i) ask_port(port_of(s));
        ::raise(SIGTERM);
      };
      return run_in_child(server, {.contexts = contexts}, beside,
                          [&] { return std::to_string(server.stats().exchanges); });
    });
    CHECK(said == "0 10");
  }
}

TEST_CASE("http: run() returns when the program stops the server itself") {
  const std::string said = beck::test::said_by_child([&] {
    http::server server([](http::request& q, http::response& r) {
      beck::co_spawn(q.get_executor(), wait_for_ever(q.get_executor()), beck::detached);
      r.send("ok");
    });
    server.listen(any_port);
    const auto beside = [](http::server& s) {
      ask_port(port_of(s));
      s.stop();
    };
    return run_in_child(server, {.contexts = 2}, beside, [] { return "end"; });
  });
  CHECK(said == "0 end");
}

TEST_CASE("http: a second signal cuts a connection, a third one a handler that ignores that") {
  for (const bool ignores : {false, true}) {
    CAPTURE(ignores);
    const std::string said = beck::test::said_by_child([&] {
      std::atomic<int> waiting(0), ended(0);
      http::server server([&](http::request& q, http::response&) -> task<> {
        ++waiting;
        beck::steady_timer timer(q.get_executor(), an_hour);
        if (ignores) co_await wait_for_ever(q.get_executor());
        beck::ignore(co_await timer.async_wait());
        ++ended;
      });
      server.listen(any_port);
      const auto beside = [&](http::server& s) {
        const beck::unique_fd fd = connect_to(port_of(s));
        send_to(fd, get("/"));
        while (waiting == 0) std::this_thread::yield();
        ::raise(SIGTERM);
        ::raise(SIGINT);
        if (ignores) ::raise(SIGTERM);
        read_to_end(fd);
      };
      const http::run_options how{.contexts = 2, .drain_timeout = an_hour};
      return run_in_child(server, how, beside, [&] { return std::to_string(ended); });
    });
    CHECK(said == (ignores ? "0 0" : "0 1"));
  }
}

TEST_CASE("http: handlers that ignore the end of the drain are dropped, with a line on stderr") {
  const beck::test::child_end end = beck::test::run_child([&](int fd) {
    ::dup2(fd, STDERR_FILENO);
    std::atomic<int> waiting(0);
    http::server server([&](http::request& q, http::response&) -> task<> {
      ++waiting;
      co_await wait_for_ever(q.get_executor());
    });
    server.listen(any_port);
    const auto beside = [&](http::server& s) {
      const beck::unique_fd client = connect_to(port_of(s));
      send_to(client, get("/"));
      while (waiting == 0) std::this_thread::yield();
      ::raise(SIGTERM);
      read_to_end(client);
    };
    const http::run_options how{.contexts = 1, .drain_timeout = beck::duration(1'000'000)};
    const std::string said = run_in_child(server, how, beside, [] { return "end"; });
    beck::test::exit_child(said == "0 end" ? 0 : 1);
  });
  CHECK(WIFEXITED(end.status));
  CHECK(WEXITSTATUS(end.status) == 0);
  CHECK(end.text == "http: dropped 1 connections; their handlers ignore that they are stopped\n");
}

TEST_CASE("http: each context of run() has its object, from before it listens to its end") {
  const std::string said = beck::test::said_by_child([&] {
    life_count all;
    http::per_context<counted_object> each(
        [&](beck::io_context& on) { return counted_object(on, all); });
    std::atomic<int> ready(0), early(0);
    http::server server([&](http::request& q, http::response& r) {
      if (all.started != 3) ++early;
      if (each.of(q).is_ready()) ++ready;
      beck::co_spawn(q.get_executor(), wait_for_ever(q.get_executor()), beck::detached);
      r.send("ok");
    });
    server.listen(any_port);
    const auto beside = [&](http::server& s) {
      for (int i = 0; i < 30; ++i) ask_port(port_of(s));
      ::raise(SIGTERM);
    };
    const http::run_options how{.contexts = 3, .objects = {each}};
    return run_in_child(server, how, beside, [&] {
      return std::to_string(ready) + ' ' + std::to_string(early) + ' ' + all.text();
    });
  });
  CHECK(said == "0 30 0 3 3 3 3 0");
}

namespace {

/// An object that writes its letter down when it starts and stops.
struct lettered_object {
  lettered_object(std::string& text, char which) : all(&text), letter(which) {}
  task<> start() {
    *all += letter;
    co_return;
  }
  task<> stop() {
    *all += letter;
    co_return;
  }

  std::string* all;
  char letter;
};

}  // namespace

TEST_CASE("http: objects of several kinds start in their order, and stop in the opposite one") {
  const std::string said = beck::test::said_by_child([] {
    std::string text;
    const auto make = [&](char which) {
      return [&text, which](beck::io_context&) { return lettered_object(text, which); };
    };
    http::per_context<lettered_object> a(make('a')), b(make('b')), c(make('c'));
    http::server server(say_path);
    server.listen(any_port);
    http::run_options how{.contexts = 1, .objects = {a, b}};
    how.objects[http::run_options::objects_max - 1] = c;  // behind places without an object
    const auto beside = [](http::server& s) {
      ask_port(port_of(s));
      s.stop();
    };
    return run_in_child(server, how, beside, [&] { return text; });
  });
  CHECK(said == "0 abccba");
}

namespace {

/// A client of the context, which keeps its connections.
struct upstream {
  explicit upstream(beck::io_context& on) : web(on) {}
  http::client web;
};

}  // namespace

TEST_CASE("http: clients that each context has do not keep run() from ending") {
  const std::string said = beck::test::said_by_child([&] {
    http::per_context<upstream> each;
    std::atomic<unsigned> port(0);
    http::server server([&](http::request& q, http::response& r) -> task<> {
      if (q.path() == "/up") co_return r.send("up");
      const std::string url = "http://127.0.0.1:" + std::to_string(port) + "/up";
      auto got = co_await each.of(q).web.async_get(url);
      r.status(got.error() ? 502 : 200).send();
    });
    server.listen(any_port);
    std::string text;
    const auto beside = [&](http::server& s) {
      port = port_of(s);
      for (int i = 0; i < 6; ++i) text = ask_port(port_of(s), "/call");
      ::raise(SIGTERM);
    };
    const http::run_options how{.contexts = 2, .objects = {each}};
    return run_in_child(server, how, beside, [&] { return text.substr(0, 15); });
  });
  CHECK(said == "0 HTTP/1.1 200 OK");
}

namespace {

/// The second object that is made fails, at `when`.
struct failing_object {
  failing_object(life_count& counts, const char* when) : all(&counts), fails(counts.made++ == 1) {
    if (fails && *when == 'm') throw std::runtime_error("no place to make it");
    if (!fails || *when != 's') fails = false;
  }
  failing_object(failing_object&&) = delete;
  ~failing_object() { ++all->destroyed; }
  task<> start() {
    if (fails) throw std::runtime_error("no Redis");
    ++all->started;
    co_return;
  }
  task<> stop() {
    ++all->stopped;
    co_return;
  }

  life_count* all;
  bool fails;
};

}  // namespace

TEST_CASE("http: an object that cannot be made or started ends run() before it listens") {
  for (const char* when : {"make", "start"}) {
    CAPTURE(when);
    const beck::test::child_end end = beck::test::run_child([&](int fd) {
      ::dup2(fd, STDERR_FILENO);
      life_count all;
      http::per_context<failing_object> each(
          [&](beck::io_context&) { return failing_object(all, when); });
      http::server server(say_path);
      server.listen(any_port);
      bool listened = false;
      const auto note = [](void* data) { *static_cast<bool*>(data) = true; };
      const http::run_options how{
          .contexts = 3, .objects = {each}, .on_listening = note, .listening_data = &listened};
      const int result = http::run(server, how);
      const bool ends =
          all.started == all.stopped && all.destroyed == all.made - (*when == 'm' ? 1 : 0);
      beck::test::exit_child(result == 1 && ends && !listened ? 0 : 1);
    });
    CHECK(WIFEXITED(end.status));
    CHECK(WEXITSTATUS(end.status) == 0);
    CHECK(end.text ==
          (*when == 'm' ? "cannot serve: no place to make it\n" : "cannot serve: no Redis\n"));
  }
}

namespace {

/// An object that takes for ever to start or to stop, until its scope is stopped.
struct slow_object {
  slow_object(beck::io_context& on, const char* which, std::atomic<int>& reached)
      : context(&on), when(which), waits(&reached) {}
  slow_object(slow_object&&) = delete;
  task<> start() { return wait(*when == 's'); }
  task<> stop() { return wait(*when == 'e'); }
  task<> wait(bool for_ever) {
    if (!for_ever) co_return;
    ++*waits;
    beck::steady_timer timer(context->get_executor(), an_hour);
    beck::ignore(co_await timer.async_wait());
  }

  beck::io_context* context;
  const char* when;
  std::atomic<int>* waits;
};

}  // namespace

TEST_CASE("http: a signal ends a start that takes for ever, a second one such a stop") {
  for (const char* when : {"start", "end"}) {
    CAPTURE(when);
    const std::string said = beck::test::said_by_child([&] {
      std::atomic<int> waits(0);
      http::per_context<slow_object> each(
          [&](beck::io_context& on) { return slow_object(on, when, waits); });
      http::server server(say_path);
      server.listen(any_port);
      const auto beside = [&](http::server& s) {
        if (*when == 'e') {
          ask_port(port_of(s));
          ::raise(SIGTERM);
        }
        while (waits != 2) std::this_thread::yield();
        ::raise(SIGTERM);
      };
      const http::run_options how{.contexts = 2, .objects = {each}};
      return run_in_child(server, how, beside, [] { return "end"; });
    });
    CHECK(said == "0 end");
  }
}

TEST_CASE("http: during the notice a server accepts, and tells that it will stop") {
  const std::string said = beck::test::said_by_child([&] {
    const http::server* self = nullptr;
    http::server server([&](http::request&, http::response& r) {
      r.status(self->is_stopping() ? 503 : 200).send();
    });
    self = &server;
    server.listen(any_port);
    std::string before, meanwhile;
    const auto beside = [&](http::server& s) {
      before = ask_port(port_of(s)).substr(9, 3);
      ::raise(SIGTERM);
      while (!s.is_stopping()) std::this_thread::yield();
      meanwhile = ask_port(port_of(s)).substr(9, 3);
      ::raise(SIGTERM);
    };
    const http::run_options how{.contexts = 2, .notice_timeout = an_hour};
    return run_in_child(server, how, beside, [&] { return before + ' ' + meanwhile; });
  });
  CHECK(said == "0 200 503");
}

namespace {

int count_listening() {
  int count = 0;
  for (int fd = 0; fd < 200; ++fd) {
    int value = 0;
    socklen_t bytes = sizeof value;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &bytes) == 0 && value == 1) ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("http: run() tells that it listens when all its contexts do") {
  for (const std::size_t contexts : {1U, 3U}) {
    CAPTURE(contexts);
    const std::string said = beck::test::said_by_child([&] {
      http::server server(say_path);
      server.listen(any_port);
      server.listen(any_port);
      int listening = 0;
      const auto tell = [](void* data) {
        *static_cast<int*>(data) = count_listening();
        ::raise(SIGTERM);
      };
      const http::run_options how{
          .contexts = contexts, .on_listening = tell, .listening_data = &listening};
      return run_in_child(
          server, how, [](http::server&) {}, [&] { return std::to_string(listening); });
    });
    CHECK(said == "0 " + std::to_string(2 * contexts));
  }
}

namespace {

/// Whether a run() may have so many objects.
template <class... Objects>
concept may_run_with = requires(Objects&... all) { http::run_options{.objects = {all...}}; };

using some = http::per_context<upstream>;
static_assert(may_run_with<some, some, some, some, some, some, some, some>);
static_assert(!may_run_with<some, some, some, some, some, some, some, some, some>);

}  // namespace

TEST_CASE("http: a context without an object is told") {
  http::per_context<upstream> each;
  const beck::io_context ctx;
  CHECK_THROWS_AS(each.of(ctx), std::logic_error);
}
