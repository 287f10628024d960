// SPDX-License-Identifier: BSL-1.0
// Operations of one ssl::stream side by side, over a transport whose writes the test lets pass: the
// order of what is sent, cancellation, and ends of the stream and of its context.
#include <memory>

#include "ssl_pair.hpp"
#include "support/manual_executor.hpp"

namespace {

using namespace beck_ssl_test;

/// A socket whose writes wait until they are let pass.
class gated_socket {
 public:
  using executor_type = plain_socket::executor_type;
  explicit gated_socket(asio::io_context& ctx) : next_(ctx), gate_(ctx, std::chrono::hours(1)) {}
  ~gated_socket() { state_->is_gone = true; }
  executor_type get_executor() const noexcept { return next_.get_executor(); }
  using lowest_layer_type = plain_socket;
  plain_socket& lowest_layer() noexcept { return next_; }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return next_.async_read_some(buffers, static_cast<Token&&>(token));
  }
  template <class Token>
  auto async_write_some(const asio::const_buffer& bytes, Token&& token) {
    return asio::async_compose<Token, void(asio::error_code, std::size_t)>(
        write_steps{this, state_, bytes}, token, next_);
  }

  void shut() { state_->passes = 0; }
  void let_pass(std::size_t writes) {
    state_->passes = writes;
    gate_.cancel();
  }
  void open() { let_pass(static_cast<std::size_t>(-1)); }
  int held() const { return state_->held; }

 private:
  /// Lives as long as a write that waits.
  struct state {
    std::size_t passes = static_cast<std::size_t>(-1);
    int held = 0;
    bool is_gone = false;
  };
  struct write_steps {
    gated_socket* at;
    std::shared_ptr<state> gate;
    asio::const_buffer bytes;
    bool is_passed = false;
    template <class Self>
    void operator()(Self& self, asio::error_code ec = {}, std::size_t n = 0) {
      if (is_passed || gate->is_gone || (ec && gate->passes == 0)) {
        self.complete(ec, n);
      } else if (gate->passes == 0) {
        ++gate->held;
        at->gate_.async_wait(std::move(self));
      } else {
        --gate->passes;
        is_passed = true;
        at->next_.async_write_some(bytes, std::move(self));
      }
    }
  };

  plain_socket next_;
  asio::steady_timer gate_;
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// Counts the certificates that a side receives.
void count_certificates(SSL* of, int& count) {
  SSL_set_msg_callback_arg(of, &count);
  SSL_set_msg_callback(of, [](int sent, int, int type, const void* bytes, std::size_t, SSL*,
                              void* to) {
    const bool is_certificate = type == SSL3_RT_HANDSHAKE &&
                                *static_cast<const unsigned char*>(bytes) == SSL3_MT_CERTIFICATE;
    if (sent == 0 && is_certificate) ++*static_cast<int*>(to);
  });
}

struct note {
  bool* done;
  void operator()(asio::error_code ec, std::size_t) const {
    CHECK_MESSAGE(!ec, ec.message());
    *done = true;
  }
};

/// A connection whose server asks the client for a certificate long after the handshake, and then
/// sends a byte: the client's read answers. The client's writes wait.
struct asked {
  explicit asked(asio::io_context& ctx)
      : pair(ctx, server_settings(ssl::context::tlsv13), client_settings(ssl::context::tlsv13)) {
    SSL_set_post_handshake_auth(pair.client.native_handle(), 1);
    pair.server.set_verify_mode(ssl::verify_peer | SSL_VERIFY_POST_HANDSHAKE);
    shake_hands(ctx, pair);
    count_certificates(pair.server.native_handle(), answers);
    gate().shut();
  }
  void ask() {
    CHECK(SSL_verify_client_post_handshake(pair.server.native_handle()) == 1);
    pair.server.async_handshake(ssl::stream_base::server, [this](asio::error_code result) {
      CHECK_FALSE(result);
      pair.server.async_write_some(asio::buffer("x", 1), [](auto ec, auto) { CHECK_FALSE(ec); });
    });
  }
  void read() { pair.client.async_read_some(asio::buffer(&byte, 1), note{&is_read}); }
  /// Runs until the answer of a read waits at the gate.
  void hold_answer(asio::io_context& ctx) {
    ask();
    read();
    run_until(ctx, [this] { return gate().held() == 1; });
  }
  gated_socket& gate() { return pair.client.next_layer(); }

  standalone_pair<gated_socket> pair;
  int answers = 0;
  bool is_read = false;
  char byte = 0;
};

}  // namespace

CONFORMANCE("asio::ssl: a read does not wait for a write in flight, which takes its answer along") {
  asio::io_context ctx(context_options());
  asked at(ctx);
  const std::string sent(1000, 's');
  bool is_written = false;
  at.pair.client.async_write_some(asio::buffer(sent), note{&is_written});
  run_until(ctx, [&] { return at.gate().held() == 1; });
  at.ask();
  at.read();
  run_until(ctx, [&] { return at.is_read; });
  CHECK(at.byte == 'x');
  CHECK_FALSE(is_written);
  at.gate().open();
  run_until(ctx, [&] { return is_written; });
  std::string got(1001, '\0');
  bool is_got = false;
  at.pair.client.async_write_some(asio::buffer("y", 1), [](auto ec, auto) { CHECK_FALSE(ec); });
  asio::async_read(at.pair.server, asio::buffer(got), note{&is_got});
  run_until(ctx, [&] { return is_got; });
  CHECK(got == sent + "y");
  CHECK(at.answers == 1);
}

CONFORMANCE("asio::ssl: a write behind an answer in flight completes when its own bytes are sent") {
  asio::io_context ctx(context_options());
  asked at(ctx);
  at.hold_answer(ctx);
  bool is_written = false;
  at.pair.client.async_write_some(asio::buffer("hello", 5), note{&is_written});
  ctx.poll();
  CHECK_FALSE(at.is_read);
  at.gate().let_pass(1);
  run_until(ctx, [&] { return at.gate().held() == 2; });
  CHECK(at.is_read);
  CHECK_FALSE(is_written);
  at.gate().open();
  std::string got(5, '\0');
  bool is_got = false;
  asio::async_read(at.pair.server, asio::buffer(got), note{&is_got});
  run_until(ctx, [&] { return is_got && is_written; });
  CHECK(got == "hello");
  CHECK(at.answers == 1);
}

CONFORMANCE("asio::ssl: a close_notify behind an answer in flight is sent") {
  asio::io_context ctx(context_options());
  asked at(ctx);
  at.hold_answer(ctx);
  asio::error_code ended = asio::error::would_block;
  at.pair.client.async_shutdown([&](asio::error_code ec) { ended = ec; });
  ctx.poll();
  at.gate().open();
  asio::error_code peer;
  at.pair.server.async_read_some(asio::buffer(&at.byte, 1), [&](asio::error_code ec, std::size_t) {
    peer = ec;
    at.pair.server.async_shutdown([](asio::error_code) {});
  });
  ctx.run();
  CHECK(at.is_read);
  CHECK(peer == asio::error::eof);
  CHECK_FALSE(ended);
}

CONFORMANCE("asio::ssl: a read gives its bytes though its answer cannot be sent") {
  asio::io_context ctx(context_options());
  asked at(ctx);
  at.hold_answer(ctx);
  at.pair.client.lowest_layer().close();
  at.gate().let_pass(1);
  run_until(ctx, [&] { return at.is_read; });
  CHECK(at.byte == 'x');
}

CONFORMANCE("asio::ssl: a terminal request cancels a handshake, others do nothing") {
  asio::io_context ctx(context_options());
  standalone_pair<> pair(ctx);
  asio::cancellation_signal signal;
  asio::error_code result;
  bool is_done = false;
  pair.server.async_handshake(ssl::stream_base::server,
                              asio::bind_cancellation_slot(signal.slot(), [&](asio::error_code ec) {
                                result = ec;
                                is_done = true;
                              }));
  ctx.poll();
  signal.emit(asio::cancellation_type::total | asio::cancellation_type::partial);
  ctx.poll();
  CHECK_FALSE(is_done);
  signal.emit(asio::cancellation_type::terminal);
  run_until(ctx, [&] { return is_done; });
  CHECK(result == asio::error::operation_aborted);
  CHECK_FALSE(signal.slot().has_handler());
}

CONFORMANCE("asio::ssl: terminal requests cancel a send, and the wait for it") {
  asio::io_context ctx(context_options());
  standalone_pair<gated_socket> pair(ctx);
  shake_hands(ctx, pair);
  pair.client.next_layer().shut();
  asio::cancellation_signal first;
  asio::cancellation_signal second;
  asio::error_code at_first;
  asio::error_code at_second;
  int ended = 0;
  const auto note_in = [&ended](asio::error_code& to) {
    return [&ended, &to](asio::error_code ec, std::size_t) {
      to = ec;
      ++ended;
    };
  };
  pair.client.async_write_some(asio::buffer("a", 1),
                               asio::bind_cancellation_slot(first.slot(), note_in(at_first)));
  pair.client.async_write_some(asio::buffer("b", 1),
                               asio::bind_cancellation_slot(second.slot(), note_in(at_second)));
  run_until(ctx, [&] { return pair.client.next_layer().held() == 1; });
  second.emit(asio::cancellation_type::terminal);
  first.emit(asio::cancellation_type::terminal);
  run_until(ctx, [&] { return ended == 2; });
  CHECK(at_first == asio::error::operation_aborted);
  CHECK(at_second == asio::error::operation_aborted);
}

CONFORMANCE("asio::ssl: terminal requests cancel the wait for a receive") {
  asio::io_context ctx(context_options());
  standalone_pair<> pair(ctx);
  shake_hands(ctx, pair);
  char byte;
  asio::cancellation_signal wait;
  asio::error_code result;
  int ended = 0;
  pair.server.async_read_some(asio::buffer(&byte, 1), [&](auto, auto) { ++ended; });
  pair.server.async_shutdown(asio::bind_cancellation_slot(wait.slot(), [&](asio::error_code ec) {
    result = ec;
    ++ended;
  }));
  ctx.poll();
  wait.emit(asio::cancellation_type::total);
  ctx.poll();
  CHECK(ended == 0);
  wait.emit(asio::cancellation_type::terminal);
  run_until(ctx, [&] { return ended == 1; });
  CHECK(result == asio::error::operation_aborted);
}

CONFORMANCE("asio::ssl: a coroutine limits the time of a handshake") {
  asio::io_context ctx(context_options());
  standalone_pair<> pair(ctx);
  const auto work = [&pair]() -> asio::awaitable<void> {
    const auto result = co_await pair.server.async_handshake(
        ssl::stream_base::server,
        asio::cancel_after(std::chrono::milliseconds(1), asio::as_tuple(asio::use_awaitable)));
    CHECK(std::get<0>(result) == asio::error::operation_aborted);
  };
  run_all(ctx, work());
}

CONFORMANCE("asio::ssl: a stream that is destroyed ends its operations") {
  asio::io_context ctx(context_options());
  auto pair = std::make_unique<standalone_pair<gated_socket>>(ctx);
  shake_hands(ctx, *pair);
  char byte;
  int aborted = 0;
  const auto count = [&](asio::error_code ec, std::size_t = 0) {
    aborted += ec == asio::error::operation_aborted ? 1 : 0;
  };
  pair->client.next_layer().shut();
  pair->client.async_read_some(asio::buffer(&byte, 1), count);
  pair->client.async_write_some(asio::buffer("a", 1), count);
  pair->client.async_shutdown(count);
  pair->server.async_read_some(asio::buffer(&byte, 1), count);
  ctx.poll();
  CHECK(aborted == 0);
  pair.reset();
  ctx.run();
  CHECK(aborted == 4);
}

CONFORMANCE("asio::ssl: a stream is destroyed between the end of a receive and its handler") {
  asio::io_context ctx(context_options());
  auto pair = std::make_unique<standalone_pair<>>(ctx);
  shake_hands(ctx, *pair);
  beck::test::manual_queue queue;
  char byte;
  int aborted = 0;
  const auto count = [&](asio::error_code ec, std::size_t = 0) {
    aborted += ec == asio::error::operation_aborted ? 1 : 0;
  };
  pair->server.async_read_some(asio::buffer(&byte, 1),
                               asio::bind_executor(queue.executor(), count));
  pair->server.async_shutdown(count);  // waits for the receive
  pair->client.async_write_some(asio::buffer("x", 1), [](auto ec, auto) { CHECK_FALSE(ec); });
  while (queue.queued() == 0) {  // its handlers run elsewhere, so run_one() would not return
    ctx.restart();
    ctx.poll();
  }
  CHECK(aborted == 0);
  pair.reset();
  queue.run();
  ctx.run();
  CHECK(aborted == 2);
}

CONFORMANCE("asio::ssl: a context that is destroyed drops the operations of a stream") {
  const auto witness = std::make_shared<int>(0);
  {
    ssl::context server = server_settings();
    ssl::context client = client_settings();
    asio::io_context ctx(context_options());
    auto pair = std::make_shared<ssl_pair<gated_socket>>(ctx, server, client);
    shake_hands(ctx, *pair);
    pair->client.next_layer().shut();
    char byte;
    const auto never = [witness, pair](asio::error_code, std::size_t = 0) { ++*witness; };
    pair->client.async_read_some(asio::buffer(&byte, 1), never);
    pair->client.async_write_some(asio::buffer("a", 1), never);
    pair->client.async_shutdown(never);
    ctx.poll();
    pair.reset();
  }
  CHECK(*witness == 0);
  CHECK(witness.use_count() == 1);
}
