// SPDX-License-Identifier: BSL-1.0
// The common part of bind_executor, as_tuple, redirect_error and similar tokens: a token inside
// another one. An adapter changes the handler on its way to the operation. Where the operation is
// an object and is awaited, it changes only the result; then there is no handler and no memory.
#pragma once

#include <beck/detail/functions.hpp>
#include <beck/run/deferred.hpp>

namespace beck {

namespace detail {

/// The base of adapters that only answer a query (bind.hpp): the signature stays, and the handler
/// is wrapped in a binder.
class association_adapter {};

/// Maps the signature of an operation to the signature of the inner token. An association_adapter
/// does not change it. Other adapters have these members:
///   template <class Signature> using signature   the signature for the inner token
///   adapt<Signature>(handler)                     makes a handler of `Signature` from the handler
///                                                 of the inner token; called once, on an rvalue
///   template <class Signature> maps_result        true: an await calls map() instead
///   map(result...)                                returns the value of the co_await expression;
///                                                 takes no argument for void
template <class Adapter, class Signature>
struct adapted_signature {
  using type = typename Adapter::template signature<Signature>;
};
template <class Adapter, class Signature>
  requires std::is_base_of_v<association_adapter, Adapter>
struct adapted_signature<Adapter, Signature> {
  using type = Signature;
};
template <class Adapter, class Signature>
using adapted_signature_t = typename adapted_signature<Adapter, Signature>::type;

/// The types of a function, for an adapter around a pointer to it, with names of old.
template <class Function>
struct function_types {};
template <class R, class A>
struct function_types<R (*)(A)> {
  using argument_type = A;
  using result_type = R;
};
template <class R, class A, class B>
struct function_types<R (*)(A, B)> {
  using first_argument_type = A;
  using second_argument_type = B;
  using result_type = R;
};
template <class Adapter, class Token>
class token_adapter;
template <class Adapter, class Token>
struct function_types<token_adapter<Adapter, Token>> : function_types<Token> {};

/// A token and the adapter that changes it. With an association_adapter it is a handler, too, if
/// the token is one.
template <class Adapter, class Token>
class token_adapter : public Adapter,
                      public function_types<Token>,
                      public may_be_default<token_adapter<Adapter, Token>> {
 public:
  using target_type = Token;

  token_adapter() = default;

  template <class A, class T>
  constexpr token_adapter(A&& adapter, T&& token)
      : Adapter(static_cast<A&&>(adapter)), token_(static_cast<T&&>(token)) {}

  Token& get() & noexcept { return token_; }
  Token&& get() && noexcept { return static_cast<Token&&>(token_); }
  const Token& get() const& noexcept { return token_; }

  /// Returns the token, which answers the queries that the adapter does not answer.
  const Token& wrapped_handler() const noexcept { return token_; }

  template <class... A>
    requires std::is_base_of_v<association_adapter, Adapter>
  auto operator()(A&&... a) & -> decltype(std::declval<Token&>()(static_cast<A&&>(a)...)) {
    return token_(static_cast<A&&>(a)...);
  }
  template <class... A>
    requires std::is_base_of_v<association_adapter, Adapter>
  auto operator()(A&&... a) && -> decltype(std::declval<Token>()(static_cast<A&&>(a)...)) {
    return static_cast<Token&&>(token_)(static_cast<A&&>(a)...);
  }

 private:
  [[no_unique_address]] Token token_;
};

namespace functions {

/// Returns the handler for the operation, made from the handler of the inner token.
template <class Signature, class Adapter, class Handler>
auto adapt_handler(Adapter&& adapter, Handler&& handler) {
  if constexpr (std::is_base_of_v<association_adapter, Adapter>) {
    return token_adapter<Adapter, std::decay_t<Handler>>(static_cast<Adapter&&>(adapter),
                                                         static_cast<Handler&&>(handler));
  } else {
    return static_cast<Adapter&&>(adapter).template adapt<Signature>(
        static_cast<Handler&&>(handler));
  }
}

}  // namespace functions

/// An operation whose awaited result is mapped; like the operation itself, it is stored in the
/// awaiting frame.
template <class Adapter, class Op>
class [[nodiscard]] mapped_operation : public Op {
 public:
  using signature = adapted_signature_t<Adapter, typename Op::signature>;

  mapped_operation(Adapter&& adapter, Op&& inert)
      : Op(static_cast<Op&&>(inert)), adapter_(static_cast<Adapter&&>(adapter)) {}

  auto await_resume() {
    if constexpr (std::is_void_v<decltype(Op::await_resume())>) {
      Op::await_resume();
      return adapter_.map();
    } else {
      auto awaited = Op::await_resume();  // no reference
      return adapter_.map(static_cast<decltype(awaited)&&>(awaited));
    }
  }

  template <class Token>
  auto operator()(Token&& token) && {
    using adapted = token_adapter<Adapter, std::decay_t<Token>>;
    return detail::launch(static_cast<Op&&>(*this),
                          adapted(static_cast<Adapter&&>(adapter_), static_cast<Token&&>(token)));
  }

 private:
  [[no_unique_address]] Adapter adapter_;
};

/// The initiation that the inner token receives.
template <class Adapter, class Signature, class Initiation>
class adapted_initiation {
 public:
  template <class A, class I>
  adapted_initiation(A&& adapter, I&& initiation)
      : adapter_(static_cast<A&&>(adapter)), initiation_(static_cast<I&&>(initiation)) {}

  auto get_executor() const
    requires requires(const Initiation& i) { i.get_executor(); }
  {
    return initiation_.get_executor();
  }

  template <class Handler, class... Args>
  auto operator()(Handler&& handler, Args&&... args) {
    return static_cast<Initiation&&>(initiation_)(
        detail::adapt_handler<Signature>(static_cast<Adapter&&>(adapter_),
                                         static_cast<Handler&&>(handler)),
        static_cast<Args&&>(args)...);
  }

  auto operation() &&
    requires requires(Initiation&& i) {
      static_cast<Initiation&&>(i).operation();
      requires Adapter::template maps_result<Signature>;
    }
  {
    using op = std::decay_t<decltype(static_cast<Initiation&&>(initiation_).operation())>;
    return mapped_operation<Adapter, op>(static_cast<Adapter&&>(adapter_),
                                         static_cast<Initiation&&>(initiation_).operation());
  }

 private:
  [[no_unique_address]] Adapter adapter_;
  [[no_unique_address]] Initiation initiation_;
};

}  // namespace detail

template <class Adapter, class Token, class Signature>
  requires completion_token_for<Token, detail::adapted_signature_t<Adapter, Signature>>
class async_result<detail::token_adapter<Adapter, Token>, Signature> {
 public:
  template <class Initiation, class Tok, class... Args>
  static auto initiate(Initiation&& initiation, Tok&& token, Args&&... args) {
    using inner = async_result<Token, detail::adapted_signature_t<Adapter, Signature>>;
    using adapted = detail::adapted_initiation<Adapter, Signature, std::decay_t<Initiation>>;
    // Each half of the token is moved, if the token may be, into its place.
    constexpr bool may_move = !std::is_lvalue_reference_v<Tok> && !std::is_const_v<Tok>;
    using half = std::conditional_t<may_move, Adapter&&, const Adapter&>;
    return inner::initiate(adapted(static_cast<half>(token), static_cast<Initiation&&>(initiation)),
                           static_cast<Tok&&>(token).get(), static_cast<Args&&>(args)...);
  }
};

}  // namespace beck
