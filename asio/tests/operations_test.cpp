// SPDX-License-Identifier: BSL-1.0
// Operations and tokens of Asio that beck has in another form: reads and writes at offsets of a
// streambuf, connecting with iterators, functions with a token, dispositions.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <future>
#include <istream>
#include <memory>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <asio.hpp>
#include <asio/experimental/channel.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace {

using asio::ip::tcp;

/// A device in memory, of which a step moves at most three bytes.
class memory_device {
 public:
  using executor_type = asio::io_context::executor_type;
  explicit memory_device(asio::io_context& context) : context_(&context) {}
  executor_type get_executor() noexcept { return context_->get_executor(); }

  template <class Buffers>
  std::size_t read_some_at(std::uint64_t offset, const Buffers& to, asio::error_code& ec) {
    ec = asio::error_code();
    if (offset >= text.size()) {
      ec = asio::error::eof;
      return 0;
    }
    const auto rest = asio::buffer(text) + static_cast<std::size_t>(offset);
    return asio::buffer_copy(to, asio::buffer(rest, 3));
  }
  template <class Buffers>
  std::size_t write_some_at(std::uint64_t offset, const Buffers& from, asio::error_code& ec) {
    ec = offset < full_at ? asio::error_code() : asio::error::no_buffer_space;
    if (ec) return 0;
    char part[3];
    const std::size_t n = asio::buffer_copy(asio::buffer(part), from);
    text.resize(std::max<std::size_t>(text.size(), offset + n), '-');
    text.replace(static_cast<std::size_t>(offset), n, part, n);
    return n;
  }
  template <class Buffers, class Token>
  auto async_read_some_at(std::uint64_t offset, const Buffers& to, Token&& token) {
    asio::error_code ec;
    const std::size_t n = read_some_at(offset, to, ec);
    return asio::post(*context_, asio::append(static_cast<Token&&>(token), ec, n));
  }
  template <class Buffers, class Token>
  auto async_write_some_at(std::uint64_t offset, const Buffers& from, Token&& token) {
    asio::error_code ec;
    const std::size_t n = write_some_at(offset, from, ec);
    return asio::post(*context_, asio::append(static_cast<Token&&>(token), ec, n));
  }

  std::string text = "0123456789";
  std::uint64_t full_at = 1000;  // writes from here on fail

 private:
  asio::io_context* context_;
};

std::string content(asio::streambuf& from) {
  return {static_cast<const char*>(from.data().data()), from.size()};
}

/// A handler of an empty signature that records where it was called.
struct note {
  std::string* order;
  char name;
  void operator()() const { *order += name; }
};

/// An acceptor, and its endpoint behind one that nobody listens to.
class two_endpoints {
 public:
  explicit two_endpoints(asio::io_context& context)
      : acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    tcp::acceptor closed(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    all = {closed.local_endpoint(), acceptor.local_endpoint()};
  }
  tcp::acceptor acceptor;
  std::vector<tcp::endpoint> all;
};

using iterator = std::vector<tcp::endpoint>::const_iterator;

}  // namespace

CONFORMANCE_ON(::beck::test::kernel, "a streambuf is filled and emptied at offsets") {
  asio::io_context context(context_options());
  memory_device device(context);
  asio::streambuf some(4);
  asio::error_code ec;
  CHECK(asio::read_at(device, 2, some, ec) == 4);
  CHECK_FALSE(ec);
  CHECK(content(some) == "2345");
  asio::streambuf rest;
  CHECK(asio::read_at(device, 5, rest, ec) == 5);
  CHECK(ec == asio::error::eof);
  CHECK(content(rest) == "56789");
  CHECK(asio::read_at(device, 0, rest, asio::transfer_exactly(2)) == 2);
  CHECK(content(rest) == "5678901");
  CHECK_THROWS_AS(asio::read_at(device, 10, rest), asio::system_error);

  CHECK(asio::write_at(device, 8, rest) == 7);
  CHECK(device.text == "012345675678901");
  CHECK(rest.size() == 0);
  std::ostream(&rest) << "abcdef";
  CHECK(asio::write_at(device, 0, rest, asio::transfer_at_least(2), ec) == 3);
  CHECK(content(rest) == "def");

  std::size_t n = 0;
  const auto done = [&](asio::error_code e, std::size_t moved) { ec = e, n = moved; };
  asio::async_write_at(device, 1, rest, done);
  context.run();
  CHECK(n == 3);
  CHECK(rest.size() == 0);
  CHECK(device.text.substr(0, 5) == "adef4");
  asio::async_read_at(device, 11, rest, asio::transfer_at_least(4), done);
  context.restart();
  context.run();
  CHECK(n == 4);
  CHECK(content(rest) == "8901");
  asio::async_read_at(device, 13, rest, done);
  context.restart();
  context.run();
  CHECK(n == 2);
  CHECK(ec == asio::error::eof);
}

CONFORMANCE_ON(::beck::test::kernel, "a streambuf loses what was written, also before an error") {
  asio::io_context context(context_options());
  memory_device device(context);
  device.full_at = 5;
  asio::streambuf from;
  std::ostream(&from) << "abcdefgh";
  asio::error_code ec;
  std::size_t n = 0;
  const auto done = [&](asio::error_code e, std::size_t moved) { ec = e, n = moved; };
  asio::async_write_at(device, 0, from, done);
  context.run();
  CHECK(ec == asio::error::no_buffer_space);
  CHECK(n == 6);
  CHECK(content(from) == "gh");
  CHECK(asio::write_at(device, 4, from, ec) == 2);
  CHECK(from.size() == 0);

  // Requests reach the steps of a read only if they are partial or terminal.
  asio::cancellation_signal signal;
  asio::streambuf into;
  asio::async_read_at(device, 0, into, asio::transfer_exactly(9),
                      asio::bind_cancellation_slot(signal.slot(), done));
  signal.emit(asio::cancellation_type::total);
  ec = asio::error::eof;
  context.restart();
  context.run_one();
  CHECK(ec == asio::error::eof);  // not ended
  signal.emit(asio::cancellation_type::partial);
  context.run();
  CHECK(ec == asio::error::operation_aborted);
  CHECK(n == into.size());
  CHECK(n < 9);
}

CONFORMANCE_ON(::beck::test::kernel, "connect takes two iterators and conditions that move them") {
  asio::io_context context(context_options());
  const two_endpoints to(context);
  tcp::socket socket(context);
  asio::error_code ec;
  CHECK(asio::connect(socket, to.all.begin(), to.all.end()) == to.all.begin() + 1);
  CHECK(asio::connect(socket, to.all.begin(), to.all.begin() + 1, ec) == to.all.begin() + 1);
  CHECK(ec == asio::error::connection_refused);
  CHECK(asio::connect(socket, to.all.begin(), to.all.begin(), ec) == to.all.begin());
  CHECK(ec == asio::error::not_found);
  int asked = 0;
  const auto moves = [&](const asio::error_code&, iterator at) {
    return ++asked == 1 ? at + 1 : at;
  };
  CHECK(asio::connect(socket, to.all, moves) == to.all[1]);
  CHECK(asked == 1);
  CHECK(asio::connect(
            socket, to.all.begin(), to.all.end(),
            [](const asio::error_code&, const tcp::endpoint&) { return false; },
            ec) == to.all.end());
  CHECK(ec == asio::error::not_found);
}

CONFORMANCE_ON(::beck::test::kernel, "async_connect takes two iterators, and a moving condition") {
  asio::io_context context(context_options());
  const two_endpoints to(context);
  tcp::socket socket(context);
  asio::error_code ec = asio::error::would_block;
  iterator reached = to.all.begin();
  const auto done = [&](asio::error_code e, iterator at) { ec = e, reached = at; };
  asio::async_connect(socket, to.all.begin(), to.all.end(), done);
  context.run();
  CHECK_FALSE(ec);
  CHECK(reached == to.all.begin() + 1);
  asio::async_connect(socket, to.all.begin(), to.all.begin() + 1, done);
  context.restart();
  context.run();
  CHECK(ec == asio::error::connection_refused);
  tcp::endpoint found;
  asio::async_connect(
      socket, std::vector<tcp::endpoint>(to.all),
      [](const asio::error_code&, iterator at) { return at; },
      [&](asio::error_code e, const tcp::endpoint& endpoint) { ec = e, found = endpoint; });
  context.restart();
  context.run();
  CHECK_FALSE(ec);
  CHECK(found == to.all[1]);
}

CONFORMANCE_ON(::beck::test::kernel, "a function runs where it is posted, its handler on its own") {
  asio::io_context context(context_options());
  asio::io_context other(context_options());
  std::string order;
  const auto here = [&] {
    if (context.get_executor().running_in_this_thread()) return 'c';
    return other.get_executor().running_in_this_thread() ? 'o' : '-';
  };
  const auto function = [&] {
    order += here();
    return std::make_unique<int>(7);
  };
  const auto handler = asio::bind_executor(
      other, [&](std::unique_ptr<int> result) { order += std::to_string(*result) + here() + ' '; });
  asio::post(function, context, handler);
  asio::dispatch(function, context.get_executor(), handler);
  asio::defer(asio::bind_executor(other, function), context, handler);
  CHECK(other.poll() == 0);
  CHECK_FALSE(other.stopped());  // the handlers count as its work
  context.run();
  CHECK(order == "ccc");
  other.run();
  CHECK(order == "ccc7o 7o 7o ");
  auto result = asio::post([] { return 3; }, context, asio::use_future);
  context.restart();
  context.run();
  CHECK(result.get() == 3);
}

CONFORMANCE_ON(::beck::test::kernel, "a function is posted with a token for its result") {
  asio::io_context context(context_options());
  std::string order;
  asio::post([&] { order += 'f'; }, context, [&] { order += 'h'; });
  asio::defer([&] { return 7; }, context.get_executor(),
              [&](int result) { order += static_cast<char>('0' + result); });
  CHECK(order.empty());
  asio::dispatch([&] { order += 'd'; }, context, [&] { order += '.'; });
  context.run();
  CHECK(order == "fh7d.");
}

CONFORMANCE_ON(::beck::test::kernel, "inline_executor calls at once, async_immediate queues") {
  asio::io_context context(context_options());
  std::string order;
  asio::inline_executor().execute(note{&order, 'a'});
  asio::post(asio::inline_executor(), note{&order, 'b'});
  CHECK(order == "ab");
  asio::async_immediate(context, note{&order, 'c'});
  CHECK(order == "ab");
  asio::async_immediate(context,
                        asio::bind_immediate_executor(asio::inline_executor(), note{&order, 'd'}));
  CHECK(order == "abd");
  context.run();
  CHECK(order == "abdc");
  asio::any_completion_executor any = asio::inline_executor();
  CHECK(any == asio::any_completion_executor(asio::inline_executor()));
}

CONFORMANCE_ON(::beck::test::kernel, "cancel_after and cancel_at take a timer") {
  asio::io_context context(context_options());
  asio::steady_timer wait(context, std::chrono::hours(1));
  asio::steady_timer limit(context, std::chrono::hours(2));
  const auto expiry = limit.expiry();
  asio::error_code ec;
  wait.async_wait(
      asio::cancel_after(limit, std::chrono::milliseconds(1), [&](asio::error_code e) { ec = e; }));
  context.run();
  CHECK(ec == asio::error::operation_aborted);
  ec = asio::error_code();
  wait.async_wait(asio::cancel_at(limit, asio::steady_timer::clock_type::now(),
                                  [&](asio::error_code e) { ec = e; }));
  context.restart();
  context.run();
  CHECK(ec == asio::error::operation_aborted);
  CHECK(limit.expiry() == expiry);
}

CONFORMANCE_ON(::beck::test::kernel, "redirect_disposition stores an error, or an exception") {
  asio::io_context context(context_options());
  asio::steady_timer timer(context, std::chrono::hours(1));
  asio::error_code ec;
  std::exception_ptr error;
  std::string order;
  timer.async_wait(asio::redirect_disposition(note{&order, 'a'}, ec));
  timer.async_wait(asio::redirect_disposition(error))(note{&order, 'b'});
  timer.cancel();
  context.run();
  CHECK(order == "ab");
  CHECK(ec == asio::error::operation_aborted);
  CHECK(ec != asio::no_error);
  CHECK(error != asio::no_error);
  CHECK_THROWS_AS(asio::throw_exception(error), asio::system_error);
  CHECK_THROWS_AS(asio::throw_exception(ec), asio::system_error);
  CHECK(asio::to_exception_ptr(asio::error_code()) == asio::no_error);
}

CONFORMANCE_ON(::beck::test::kernel, "a channel that has no room leaves the values alone") {
  asio::io_context context(context_options());
  asio::experimental::channel<void(asio::error_code, std::string)> full(context);
  std::string word = "a word that is longer than a small string";
  CHECK_FALSE(full.try_send(asio::error_code(), std::move(word)));
  CHECK_FALSE(word.empty());  // nothing was sent
  std::string got;
  full.async_receive([&](asio::error_code, std::string received) { got = std::move(received); });
  CHECK(full.try_send(asio::error_code(), std::move(word)));
  context.run();
  CHECK(got.size() == 41);
}

CONFORMANCE_ON(::beck::test::kernel, "a receive without an error takes a message or an error") {
  asio::io_context context(context_options());
  asio::experimental::channel<void(std::string)> words(context, 1);
  std::string got;
  struct either {
    std::string* to;
    void operator()(const std::string& word) const { *to += word; }
    void operator()(asio::error_code ec) const { *to += ec ? "closed" : "no error"; }
  };
  CHECK(words.try_send("one "));
  words.async_receive(either{&got});
  words.async_receive(either{&got});
  context.poll();
  CHECK(got == "one ");
  words.close();
  context.restart();
  context.run();
  CHECK(got == "one closed");
}

TEST_CASE("names of the standard library are in asio, and old macros for results") {
  CHECK(std::is_same_v<asio::decay_t<const int&>, int>);
  CHECK(std::is_same_v<asio::constraint_t<true>, int>);
  CHECK(std::is_same_v<asio::uint64_t, std::uint64_t>);
  CHECK(std::is_same_v<decltype(asio::ip::host_name()), std::string>);
  CHECK_FALSE(asio::ip::host_name().empty());
  static_assert(std::is_same_v<decltype(asio::use_future), const asio::use_future_t<>>);
  constexpr auto token = asio::as_tuple(asio::use_future);
  CHECK(std::is_same_v<std::decay_t<decltype(token)>,
                       asio::as_tuple_t<std::decay_t<decltype(asio::use_future)>>>);
  std::string text = "ab";
  asio::dynamic_string_buffer<char, std::char_traits<char>, std::allocator<char>> growing =
      asio::dynamic_buffer(text);
  CHECK(growing.size() == 2);
}

TEST_CASE("options can be assigned and negated, and made without a value") {
  asio::socket_base::reuse_address reuse;
  reuse = true;
  CHECK(reuse.value());
  CHECK_FALSE(!reuse);
  asio::socket_base::receive_buffer_size size;
  size = 5;
  CHECK(size.value() == 5);
  asio::ip::multicast::hops hops(3);
  hops = 7;
  CHECK(hops.value() == 7);
  asio::socket_base::linger linger(true, 3);
  linger.enabled(false);
  linger.timeout(9);
  CHECK_FALSE(linger.enabled());
  CHECK(linger.timeout() == 9);
  asio::ip::multicast::join_group group;
  group = asio::ip::multicast::join_group(asio::ip::make_address("ff02::1"));
  CHECK(group.size() == 20);
  CHECK(asio::ip::multicast::outbound_interface().level() == 0);
  CHECK(std::is_same_v<asio::executor, asio::any_io_executor>);
}

namespace {

/// An operation that posts its results to `context`.
template <class Signature, class Token, class... Results>
auto posted(asio::io_context& context, Token&& token, Results... results) {
  return asio::async_initiate<Token, Signature>(
      [&context, results...](auto handler) {
        asio::post(context, asio::append(std::move(handler), results...));
      },
      token);
}

/// A disposition of a program.
struct grade {
  int value = 0;
};

}  // namespace

template <>
struct asio::disposition_traits<grade> {
  static bool not_an_error(const grade& g) noexcept { return g.value == 0; }
  static void throw_exception(grade g) { throw g.value; }
  static std::exception_ptr to_exception_ptr(grade g) noexcept {
    return g.value == 0 ? nullptr : std::make_exception_ptr(g.value);
  }
};

CONFORMANCE_ON(::beck::test::kernel, "redirect_disposition stores what its place takes") {
  asio::io_context context(context_options());
  asio::error_code ec;
  std::exception_ptr thrown;
  grade mark;
  std::string order;
  const asio::error_code eof = asio::error::eof;
  const std::exception_ptr failure = std::make_exception_ptr(1);
  const auto values = [&](auto... rest) { order += std::to_string(sizeof...(rest)); };
  posted<void(asio::error_code, int)>(context, asio::redirect_disposition(values, ec), eof, 1);
  posted<void(asio::error_code, int)>(context, asio::redirect_disposition(values, thrown), eof, 1);
  posted<void(grade)>(context, asio::redirect_disposition(values, mark), grade{2});
  context.run();
  CHECK(order == "110");
  CHECK(ec == eof);
  CHECK_THROWS_AS(std::rethrow_exception(thrown), asio::system_error);
  CHECK(mark.value == 2);
  CHECK(mark != asio::no_error);

  // These have no disposition for the place.
  order.clear();
  ec = asio::error_code();
  posted<void()>(context, asio::redirect_disposition(values, ec));
  posted<void(int, int)>(context, asio::redirect_disposition(values, thrown), 1, 2);
  posted<void(std::exception_ptr, int)>(context, asio::redirect_disposition(values, ec), failure,
                                        1);
  posted<void(std::exception_ptr, int)>(context, asio::redirect_error(values, ec), failure, 1);
  context.restart();
  context.run();
  CHECK(order == "0222");
  CHECK_FALSE(ec);
  posted<void(std::exception_ptr, int)>(context, asio::redirect_disposition(values, thrown),
                                        failure, 1);
  context.restart();
  context.run();
  CHECK(thrown == failure);
}

CONFORMANCE_ON(::beck::test::kernel, "an awaited timer's disposition is redirected") {
  asio::io_context context(context_options());
  std::exception_ptr thrown = std::make_exception_ptr(1);
  asio::error_code ec = asio::error::eof;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        asio::steady_timer timer(context, asio::chrono::milliseconds(1));
        co_await timer.async_wait(asio::redirect_disposition(asio::use_awaitable, thrown));
        co_await timer.async_wait(asio::redirect_disposition(ec));
      },
      asio::detached);
  context.run();
  CHECK(thrown == asio::no_error);
  CHECK_FALSE(ec);
}

CONFORMANCE_ON(::beck::test::kernel, "async_immediate completes inside on the system's executor") {
  asio::io_context context(context_options());
  asio::io_context other(context_options());
  std::string order;
  const auto add = [&](char name) { return [&order, name] { order += name; }; };
  asio::post(context, [&] {
    asio::async_immediate(context,
                          asio::bind_immediate_executor(asio::system_executor(), add('s')));
    asio::async_immediate(context, asio::bind_immediate_executor(context, add('c')));
    asio::async_immediate(
        context, asio::bind_immediate_executor(context, asio::bind_executor(other, add('o'))));
    asio::async_immediate(context, add('p'));
    order += '.';
  });
  context.run();
  other.run();
  CHECK(order == "sc.po");
  const auto bound = asio::bind_immediate_executor(other, add('-'));
  using executor = asio::associated_immediate_executor_t<decltype(bound)>;
  const executor found = asio::get_associated_immediate_executor(bound);
  CHECK(found == other.get_executor());
}
