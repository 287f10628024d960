// SPDX-License-Identifier: BSL-1.0
// The names of C++26's std::execution, from the library that the program uses: <execution> where it
// has senders; stdexec, if BECK_WITH_STDEXEC is defined before the first include of beck's headers;
// else a few types of our own, which suffice to connect and await senders, but have no algorithms.
// Everything is in an inline namespace of its own for each library, so that two files of a program
// that use different ones do not share a class.
#pragma once

#include <beck/run/stop_token.hpp>
#include <concepts>
#include <type_traits>
#include <utility>
#include <version>

#if defined(BECK_WITH_STDEXEC)
#include <stdexec/execution.hpp>
#define BECK_EXECUTION_VOCABULARY with_stdexec
#elif defined(__cpp_lib_senders)
#include <execution>
#include <stop_token>
#define BECK_EXECUTION_VOCABULARY with_std
#else
#define BECK_EXECUTION_VOCABULARY alone
#endif

namespace beck::execution {
inline namespace BECK_EXECUTION_VOCABULARY {

#if defined(BECK_WITH_STDEXEC) || defined(__cpp_lib_senders)

namespace detail {
#if defined(BECK_WITH_STDEXEC)
namespace library = ::stdexec;
namespace stops = ::stdexec;
#else
namespace library = ::std::execution;
namespace stops = ::std;
#endif
}  // namespace detail

using detail::library::completion_signatures;
using detail::library::connect_result_t;
using detail::library::env_of_t;
using detail::library::forward_progress_guarantee;
using detail::library::get_completion_scheduler_t;
using detail::library::get_delegation_scheduler_t;
using detail::library::get_forward_progress_guarantee_t;
using detail::library::get_scheduler_t;
using detail::library::get_start_scheduler_t;
using detail::library::operation_state_tag;
using detail::library::receiver_tag;
using detail::library::scheduler_tag;
using detail::library::sender_tag;
using detail::library::set_error_t;
using detail::library::set_stopped_t;
using detail::library::set_value_t;
using detail::stops::get_stop_token_t;
using detail::stops::inplace_stop_source;
using detail::stops::inplace_stop_token;
using detail::stops::never_stop_token;
using detail::stops::stop_token_of_t;
template <class Token, class F>
using stop_callback_for_t = detail::stops::stop_callback_for_t<Token, F>;

inline constexpr detail::library::connect_t connect{};
inline constexpr detail::library::get_env_t get_env{};
inline constexpr detail::library::start_t start{};
inline constexpr detail::library::schedule_t schedule{};

namespace detail {
template <class Sender, class... Env>
using signatures_of = library::completion_signatures_of_t<Sender, Env...>;
}  // namespace detail

#else

/// The completion functions, which are also the tags of signatures.
struct set_value_t {
  template <class Receiver, class... Values>
  void operator()(Receiver&& receiver, Values&&... values) const noexcept {
    static_cast<Receiver&&>(receiver).set_value(static_cast<Values&&>(values)...);
  }
};
struct set_error_t {
  template <class Receiver, class Error>
  void operator()(Receiver&& receiver, Error&& error) const noexcept {
    static_cast<Receiver&&>(receiver).set_error(static_cast<Error&&>(error));
  }
};
struct set_stopped_t {
  template <class Receiver>
  void operator()(Receiver&& receiver) const noexcept {
    static_cast<Receiver&&>(receiver).set_stopped();
  }
};
template <class... Signatures>
struct completion_signatures {};

struct sender_tag {};
struct receiver_tag {};
struct operation_state_tag {};
struct scheduler_tag {};
struct get_stop_token_t {};
struct get_scheduler_t {};
struct get_start_scheduler_t {};
struct get_delegation_scheduler_t {};
struct get_forward_progress_guarantee_t {};
enum class forward_progress_guarantee { concurrent, parallel, weakly_parallel };
template <class Completion>
struct get_completion_scheduler_t {};

/// A token through which no stop can be requested.
class never_stop_token {
  struct no_callback {
    template <class F>
    no_callback(never_stop_token, F&&) noexcept {}
  };

 public:
  template <class F>
  using callback_type = no_callback;
  static constexpr bool stop_requested() noexcept { return false; }
  static constexpr bool stop_possible() noexcept { return false; }
  bool operator==(const never_stop_token&) const = default;
};

/// A stop token and its source with the interface of the standard's in-place ones, over those of
/// beck: the state is a recycled block.
class inplace_stop_token {
 public:
  template <class F>
  using callback_type = stop_callback<F>;
  inplace_stop_token() noexcept = default;
  explicit inplace_stop_token(stop_token token) noexcept
      : token_(static_cast<stop_token&&>(token)) {}
  operator const stop_token&() const noexcept { return token_; }
  bool stop_requested() const noexcept { return token_.stop_requested(); }
  bool stop_possible() const noexcept { return token_.stop_possible(); }
  bool operator==(const inplace_stop_token&) const = default;

 private:
  stop_token token_;
};
class inplace_stop_source {
 public:
  inplace_stop_token get_token() const noexcept { return inplace_stop_token(source_.get_token()); }
  bool request_stop() noexcept { return source_.request_stop(); }
  bool stop_requested() const noexcept { return source_.stop_requested(); }

 private:
  stop_source source_;
};
template <class Token, class F>
using stop_callback_for_t = typename Token::template callback_type<F>;

namespace detail {

struct empty_env {};

struct connect_function {
  template <class Sender, class Receiver>
  auto operator()(Sender&& sender, Receiver&& receiver) const {
    return static_cast<Sender&&>(sender).connect(static_cast<Receiver&&>(receiver));
  }
};
struct start_function {
  template <class State>
  void operator()(State& state) const noexcept {
    state.start();
  }
};
struct schedule_function {
  template <class Scheduler>
  auto operator()(Scheduler&& scheduler) const {
    return static_cast<Scheduler&&>(scheduler).schedule();
  }
};
struct get_env_function {
  template <class T>
  auto operator()(const T& object) const noexcept {
    if constexpr (requires { object.get_env(); }) {
      return object.get_env();
    } else {
      return empty_env();
    }
  }
};
namespace functions {
template <class Env>
auto token_in(const Env& env) noexcept {
  if constexpr (requires { env.query(get_stop_token_t()); }) {
    return env.query(get_stop_token_t());
  } else {
    return never_stop_token();
  }
}
}  // namespace functions
using namespace functions;
template <class Sender, class... Env>
using signatures_of =
    decltype(std::remove_cvref_t<Sender>::template get_completion_signatures<Sender, Env...>());

}  // namespace detail

inline constexpr detail::connect_function connect{};
inline constexpr detail::get_env_function get_env{};
inline constexpr detail::start_function start{};
inline constexpr detail::schedule_function schedule{};
template <class T>
using env_of_t = decltype(get_env(std::declval<const T&>()));
template <class Sender, class Receiver>
using connect_result_t = decltype(connect(std::declval<Sender>(), std::declval<Receiver>()));
template <class Env>
using stop_token_of_t = decltype(detail::token_in(std::declval<const Env&>()));

#endif

/// Complete a receiver: the members of a library's receivers may be private.
inline constexpr set_value_t set_value{};
inline constexpr set_error_t set_error{};
inline constexpr set_stopped_t set_stopped{};

namespace detail {

namespace functions {
/// Returns the stop token of an environment.
template <class Env>
auto stop_token_in(const Env& env) noexcept {
#if defined(BECK_WITH_STDEXEC) || defined(__cpp_lib_senders)
  return get_stop_token_t()(env);
#else
  return detail::token_in(env);
#endif
}
}  // namespace functions
using namespace functions;

/// Whether a receiver with this environment can request a stop.
template <class Env>
inline constexpr bool can_stop =
    !requires { requires std::bool_constant<(!stop_token_of_t<Env>::stop_possible())>::value; };

template <class Signature, class List>
inline constexpr bool has_signature = false;
template <class Signature, class... All>
inline constexpr bool has_signature<Signature, completion_signatures<All...>> =
    (std::is_same_v<Signature, All> || ...);

/// Appends types to a list (signatures, a variant), each once.
template <class List, class... More>
struct append_new {
  using type = List;
};
template <template <class...> class List, class... Has, class Next, class... More>
struct append_new<List<Has...>, Next, More...>
    : append_new<
          std::conditional_t<(std::is_same_v<Next, Has> || ...), List<Has...>, List<Has..., Next>>,
          More...> {};

/// A sender: of any library.
template <class T>
concept any_sender = requires { typename std::remove_cvref_t<T>::sender_concept; } &&
                     std::derived_from<typename std::remove_cvref_t<T>::sender_concept, sender_tag>;

/// Converts to what `make` returns: constructs an object that cannot move in its place.
template <class F>
struct in_place {
  F make;
  operator std::invoke_result_t<F&>() { return make(); }
};
template <class F>
in_place(F) -> in_place<F>;

}  // namespace detail

}  // namespace BECK_EXECUTION_VOCABULARY
}  // namespace beck::execution
