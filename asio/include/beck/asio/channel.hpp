// SPDX-License-Identifier: BSL-1.0
// experimental::channel and concurrent_channel: beck's channels with an executor, and messages in
// the form of a signature.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>
#include <beck/asio/executor.hpp>
#include <beck/asio/token.hpp>
#include <beck/coro/channel.hpp>
#include <beck/run/op.hpp>

BECK_ASIO_BEGIN

namespace experimental {

namespace error {

/// The errors of channels, which are beck's.
inline constexpr beck::error::misc_errors channel_closed = beck::error::channel_closed;
/// A send or a receive was cancelled.
inline constexpr beck::error::basic_errors channel_cancelled = beck::error::operation_aborted;

}  // namespace error

namespace channel_errc = error;

}  // namespace experimental

namespace facade {

/// The messages of a channel with a signature, the signature of its receives, and give(), which
/// calls a handler of that with the error of a receive or with its message. A receive always has an
/// error, also where the signature has none.
template <class Signature>
struct channel_form;
template <class... A>
struct channel_form<void(A...)> {
  using message = std::tuple<std::decay_t<A>...>;
  using received = void(beck::error_code, std::decay_t<A>...);
  template <class F>
  static void give(F&& f, const beck::error_code& ec, message&& values) {
    std::apply(
        [&](auto&&... v) {
          if constexpr (std::is_invocable_v<F, A...>) {
            static_cast<F&&>(f)(static_cast<decltype(v)>(v)...);  // there is a message
          } else {
            static_cast<F&&>(f)(ec, static_cast<decltype(v)>(v)...);
          }
        },
        static_cast<message&&>(values));
  }
};
template <class... A>
struct channel_form<void(beck::error_code, A...)> {
  using message = std::tuple<beck::error_code, std::decay_t<A>...>;
  using received = void(beck::error_code, std::decay_t<A>...);
  template <class F>
  static void give(F&& f, const beck::error_code& ec, message&& values) {
    if (ec) std::get<0>(values) = ec;
    std::apply(static_cast<F&&>(f), static_cast<message&&>(values));
  }
};
template <class... A>
struct channel_form<void(std::exception_ptr, A...)> {
  using message = std::tuple<std::exception_ptr, std::decay_t<A>...>;
  using received = void(std::exception_ptr, std::decay_t<A>...);
  template <class F>
  static void give(F&& f, const beck::error_code& ec, message&& values) {
    if (ec) std::get<0>(values) = std::make_exception_ptr(system_error(ec));
    std::apply(static_cast<F&&>(f), static_cast<message&&>(values));
  }
};

/// Returns a handler with the properties of `done` that calls `function(done, results...)`.
template <class Handler, class Function>
auto passed_to(Handler&& done, Function function) {
  const any_io_executor executor(done.get_executor());
  const beck::cancellation_slot slot = done.get_cancellation_slot();
  return beck::bind_cancellation_slot(
      slot,
      beck::bind_executor(executor, [kept = std::move(done), function](auto&&... results) mutable {
        function(kept, static_cast<decltype(results)&&>(results)...);
      }));
}

/// Makes a message of its values when the channel takes it: they stay as they are if it does not.
template <class Message, class... Args>
class message_of {
 public:
  explicit message_of(Args... args) noexcept : values_(static_cast<Args>(args)...) {}
  operator Message() const {
    return std::apply([](auto&... v) { return Message(static_cast<Args>(v)...); }, values_);
  }

 private:
  std::tuple<Args...> values_;
};

/// beck's channel with Asio's ready() and reset().
template <class Message>
class message_queue : public beck::channel<Message> {
 public:
  using beck::channel<Message>::channel;
  /// Cancels what waits, drops the messages and opens the channel again. Operations that have not
  /// started stay good.
  void reset() {
    this->cancel();
    while (this->size() > 0) static_cast<void>(this->try_receive());
    const beck::detail::state_guard guard(this->state_);
    this->open_ = true;
  }
  /// Returns whether a receive would complete at once, also with channel_closed.
  bool ready() {
    if (this->size() > 0) return true;
    const beck::detail::state_guard guard(this->state_);
    return !this->senders_.empty() || !this->open_;
  }
};

/// A handler for a channel without errors in its signature that takes a message or an error, as
/// Asio calls it.
template <class Signature, class Handler>
inline constexpr bool takes_either = false;
template <class... A, class Handler>
inline constexpr bool takes_either<void(A...), Handler> =
    std::is_invocable_v<Handler&, A...> && std::is_invocable_v<Handler&, beck::error_code> &&
    (!beck::completion_token_for<Handler, void(beck::error_code, A...)> ||
     requires { typename beck::async_result<Handler, void()>::unspecialised; });
template <class... A, class Handler>
inline constexpr bool takes_either<void(beck::error_code, A...), Handler> = false;
template <class... A, class Handler>
inline constexpr bool takes_either<void(std::exception_ptr, A...), Handler> = false;
template <class Handler>
class either_handler {
 public:
  explicit either_handler(Handler handler) : handler_(std::move(handler)) {}
  const Handler& wrapped_handler() const noexcept { return handler_; }
  template <class... A>
  void operator()(const beck::error_code& ec, A&&... message) {
    if (ec) {
      handler_(ec);
    } else {
      handler_(static_cast<A&&>(message)...);
    }
  }

 private:
  Handler handler_;
};

template <class Form>
class [[nodiscard]] channel_receive
    : public beck::op<channel_receive<Form>, typename Form::received> {
 public:
  static constexpr const char* waits_for = "channel receive";
  using inner = beck::channel<typename Form::message>;

  channel_receive(inner& from, const any_io_executor& executor)
      : from_(&from), executor_(executor) {}
  const any_io_executor& get_executor() const noexcept { return executor_; }
  void initiate(typename channel_receive::handler done) {
    // What completes here goes to the immediate executor of the handler.
    const auto give = [&](const beck::error_code& ec, typename Form::message&& m) {
      Form::give(done, ec, std::move(m));
    };
    if (from_->try_receive(give)) return;
    from_->async_receive(facade::passed_to(
        std::move(done), [](auto& kept, const beck::error_code& ec, typename Form::message&& m) {
          Form::give(kept, ec, std::move(m));
        }));
  }

 private:
  inner* from_;
  any_io_executor executor_;
};

template <class Form>
class [[nodiscard]] channel_send : public beck::op<channel_send<Form>, void(beck::error_code)> {
 public:
  static constexpr const char* waits_for = "channel send";
  using message = typename Form::message;
  using inner = beck::channel<message>;

  channel_send(inner& to, const any_io_executor& executor, message values)
      : to_(&to), executor_(executor), message_(std::move(values)) {}
  const any_io_executor& get_executor() const noexcept { return executor_; }
  void initiate(typename channel_send::handler done) {
    // What completes here goes to the immediate executor of the handler.
    if (!to_->is_open()) return done(beck::error_code(beck::error::channel_closed));
    if (to_->try_send(std::move(message_))) return done(beck::error_code());
    to_->async_send(std::move(message_),
                    facade::passed_to(std::move(done),
                                      [](auto& kept, const beck::error_code& ec) { kept(ec); }));
  }

 private:
  inner* to_;
  any_io_executor executor_;
  message message_;
};

/// The function async_send() of a channel, whose parameters are the values of the signature, so
/// that braces convert to them.
template <class Channel, class Executor, class Signature>
class sends_messages;
template <class Channel, class Executor, class... A>
class sends_messages<Channel, Executor, void(A...)> {
 public:
  /// Starts sending a message of `values`. `token` takes (error_code).
  template <class Token = beck::default_completion_token_t<Executor>>
  auto async_send(A... values, Token&& token = Token()) {
    using send = channel_send<channel_form<void(A...)>>;
    Channel& self = static_cast<Channel&>(*this);
    return beck::detail::launch(send(self.queue(), any_io_executor(self.get_executor()),
                                     typename send::message(static_cast<A&&>(values)...)),
                                static_cast<Token&&>(token));
  }

 private:
  friend Channel;
  sends_messages() = default;
};

}  // namespace facade

namespace experimental {

/// Asio's traits of the errors of a receive, which programs name. They cannot be specialised.
template <class... Signatures>
struct channel_traits {
  /// The traits of other signatures.
  template <class... Others>
  struct rebind {
    using other = channel_traits<Others...>;
  };
};

/// A queue of messages with the values of a signature: void(error_code, ...),
/// void(std::exception_ptr, ...) or void(...). Handlers without an executor are called on that of
/// the channel.
/// Errors: channel_closed, channel_cancelled. What waits when the channel is destroyed or assigned
/// to ends with channel_cancelled. A moved-from channel is as new. Thread: one at a time; a
/// `Concurrent` channel any.
template <bool Concurrent, class Executor, class Signature>
class channel_of : public facade::sends_messages<channel_of<Concurrent, Executor, Signature>,
                                                 Executor, Signature> {
  using form = facade::channel_form<Signature>;
  using message = typename form::message;
  using inner = facade::message_queue<message>;

 public:
  /// The type of the executor.
  using executor_type = Executor;
  /// Asio's traits.
  using traits_type = channel_traits<Signature>;
  /// The same channel with another executor.
  template <class Other>
  struct rebind_executor {
    using other = channel_of<Concurrent, Other, Signature>;
  };

  /// Makes a channel that holds up to `size_max` messages. 0: a send ends when it is received.
  explicit channel_of(const Executor& executor, std::size_t size_max = 0)
      : executor_(executor), channel_(make(size_max)) {}
  /// As above, on the executor of `context`.
  template <beck::detail::has_executor Context>
    requires(!beck::detail::executor_like<Context>)
  explicit channel_of(Context& context, std::size_t size_max = 0)
      : channel_of(Executor(context.get_executor()), size_max) {}
  /// Takes over the messages, and what waits.
  channel_of(channel_of&& other)
      : executor_(other.executor_),
        channel_(std::exchange(other.channel_, make(other.capacity()))) {}
  /// As above, from a channel with another executor.
  template <class Other>
    requires std::is_convertible_v<Other, Executor>
  channel_of(channel_of<Concurrent, Other, Signature>&& other)
      : executor_(other.executor_),
        channel_(std::exchange(other.channel_, make(other.capacity()))) {}
  /// Cancels what waits, and takes over the messages, and what waits for them.
  channel_of& operator=(channel_of&& other) {
    channel_of taken(std::move(other));
    std::swap(channel_, taken.channel_);
    executor_ = taken.executor_;
    return *this;
  }
  ~channel_of() { channel_->cancel(); }

  /// Returns the executor.
  const executor_type& get_executor() const noexcept { return executor_; }
  /// Returns how many messages it holds at most.
  std::size_t capacity() const noexcept { return channel_->capacity(); }
  /// Returns whether close() was not called since the channel was made or reset.
  bool is_open() const noexcept { return channel_->is_open(); }
  /// Returns whether a receive would complete at once: with a message, that of a waiting send too,
  /// or with channel_closed.
  bool ready() const noexcept { return channel_->ready(); }
  /// Closes the channel: sends end with channel_closed, waiting ones too, and so do receives when
  /// the messages in it have been received.
  void close() { channel_->close(); }
  /// Ends waiting sends and receives with channel_cancelled.
  void cancel() { channel_->cancel(); }
  /// Cancels, drops the messages and opens the channel again. Requires that no other thread uses
  /// it.
  void reset() { channel_->reset(); }

  /// Sends a message if there is room or a waiting receive. Returns whether it did.
  template <class... Args>
    requires std::is_constructible_v<message, Args...>
  bool try_send(Args&&... args) {
    return channel_->try_send(facade::message_of<message, Args&&...>(static_cast<Args&&>(args)...));
  }
  /// As try_send().
  template <class... Args>
  bool try_send_via_dispatch(Args&&... args) {
    return try_send(static_cast<Args&&>(args)...);
  }
  /// As try_send_n().
  template <class... Args>
  std::size_t try_send_n_via_dispatch(std::size_t count, const Args&... args) {
    return try_send_n(count, args...);
  }
  /// Sends up to `count` equal messages. Returns their number.
  template <class... Args>
  std::size_t try_send_n(std::size_t count, const Args&... args) {
    std::size_t sent = 0;
    while (sent < count && try_send(args...)) ++sent;
    return sent;
  }
  /// Calls `handler` with a message if there is one, that of a waiting send too. Returns whether it
  /// did; false if the channel is closed.
  template <class Handler>
  bool try_receive(Handler&& handler) {
    bool is_received = false;
    channel_->try_receive([&](const beck::error_code& closed, message values) {
      if (closed) return;
      is_received = true;
      form::give(static_cast<Handler&&>(handler), closed, std::move(values));
    });
    return is_received;
  }

  /// Starts receiving a message. `token` takes the values of the signature, behind an error.
  template <class Token = beck::default_completion_token_t<Executor>>
  auto async_receive(Token&& token = Token()) {
    facade::channel_receive<form> receive(*channel_, any_io_executor(executor_));
    if constexpr (facade::takes_either<Signature, std::decay_t<Token>>) {
      using either = facade::either_handler<std::decay_t<Token>>;
      return beck::detail::launch(std::move(receive), either(static_cast<Token&&>(token)));
    } else {
      return beck::detail::launch(std::move(receive), static_cast<Token&&>(token));
    }
  }

 private:
  static std::unique_ptr<inner> make(std::size_t size_max) {
    if constexpr (Concurrent) {
      return std::make_unique<inner>(beck::concurrent, size_max);
    } else {
      return std::make_unique<inner>(size_max);
    }
  }
  inner& queue() noexcept { return *channel_; }

  template <bool, class, class>
  friend class channel_of;
  friend facade::sends_messages<channel_of, Executor, Signature>;

  Executor executor_;
  std::unique_ptr<inner> channel_;
};

namespace channel_parameters {

/// Selects the class for the parameters of a channel: an executor, which may be left out, and a
/// signature.
template <bool Concurrent, class... Parameters>
struct chosen;
template <bool Concurrent, class Signature>
struct chosen<Concurrent, Signature> {
  using type = channel_of<Concurrent, any_io_executor, facade::beck_signature<Signature>>;
};
template <bool Concurrent, class Executor, class Signature>
struct chosen<Concurrent, Executor, Signature> {
  using type = channel_of<Concurrent, Executor, facade::beck_signature<Signature>>;
};

}  // namespace channel_parameters

/// Asio's classes under their full names, with its own traits.
template <class Executor, class Traits, class Signature>
  requires std::is_same_v<typename Traits::template rebind<Signature>::other,
                          channel_traits<Signature>>
using basic_channel = channel_of<false, Executor, facade::beck_signature<Signature>>;
template <class Executor, class Traits, class Signature>
  requires std::is_same_v<typename Traits::template rebind<Signature>::other,
                          channel_traits<Signature>>
using basic_concurrent_channel = channel_of<true, Executor, facade::beck_signature<Signature>>;
/// A channel that one thread uses at a time.
template <class... Parameters>
using channel = typename channel_parameters::chosen<false, Parameters...>::type;
/// A channel for any threads.
template <class... Parameters>
using concurrent_channel = typename channel_parameters::chosen<true, Parameters...>::type;

}  // namespace experimental

BECK_ASIO_END
