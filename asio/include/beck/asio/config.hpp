// SPDX-License-Identifier: BSL-1.0
// The namespace of the facade: `asio`, or `boost::asio` where a program includes <boost/asio/...>.
// Programs reopen it and specialise its templates, so it is a namespace and no alias. The inline
// namespace inside changes the mangled names of its classes: a program that also links object files
// compiled with Asio has two separate classes of a name, never a mixture of both. A program without
// such files may define BECK_ASIO_NO_INLINE_NAMESPACE, for declarations of its own such as
// `namespace asio { class io_context; }`.
#pragma once

#if defined(BECK_ASIO_BOOST)
#define BECK_ASIO ::boost::asio
#define BECK_ASIO_OPEN namespace boost::asio {
#else
#define BECK_ASIO ::asio
#define BECK_ASIO_OPEN namespace asio {
#endif
#if defined(BECK_ASIO_NO_INLINE_NAMESPACE)
#define BECK_ASIO_BEGIN BECK_ASIO_OPEN
#define BECK_ASIO_END }
#else
#define BECK_ASIO_BEGIN \
  BECK_ASIO_OPEN        \
  inline namespace over_beck {
#define BECK_ASIO_END \
  }                   \
  }
#endif

#if defined(BECK_ASIO_OLD_NAMES)
#include <beck/asio/old_macros.hpp>
#endif

/// The macros that programs test: the version of Asio whose names these are, and its features.
#if defined(BECK_ASIO_BOOST)
#define BOOST_ASIO_VERSION 103802
#define BOOST_ASIO_NOEXCEPT noexcept
#define BOOST_ASIO_ERROR_CATEGORY_NOEXCEPT noexcept
#define BOOST_ASIO_HAS_CO_AWAIT 1
#define BOOST_ASIO_HAS_DEDUCED_EQUALITY_COMPARABLE_TRAIT 1
#define BOOST_ASIO_HAS_DEDUCED_EXECUTE_MEMBER_TRAIT 1
#define BOOST_ASIO_HAS_DEDUCED_QUERY_MEMBER_TRAIT 1
#define BOOST_ASIO_HAS_DEDUCED_QUERY_STATIC_CONSTEXPR_MEMBER_TRAIT 1
#define BOOST_ASIO_HAS_DEDUCED_REQUIRE_MEMBER_TRAIT 1
#define BOOST_ASIO_HAS_DEDUCED_PREFER_MEMBER_TRAIT 1
#define BOOST_ASIO_HAS_LOCAL_SOCKETS 1
#define BOOST_ASIO_HAS_POSIX_STREAM_DESCRIPTOR 1
#define BOOST_ASIO_HAS_FILE 1
#define BOOST_ASIO_HAS_PIPE 1
#define BOOST_ASIO_HAS_SERIAL_PORT 1
#define BOOST_ASIO_HAS_CHRONO 1
#define BOOST_ASIO_HAS_MOVE 1
#define BOOST_ASIO_HAS_NOEXCEPT 1
#define BOOST_ASIO_HAS_RETURN_TYPE_DEDUCTION 1
#define BOOST_ASIO_HAS_STD_ATOMIC 1
#define BOOST_ASIO_HAS_STD_CHRONO 1
#define BOOST_ASIO_HAS_STD_FUTURE_CLASS 1
#define BOOST_ASIO_HAS_STD_HASH 1
#define BOOST_ASIO_HAS_STD_STRING_VIEW 1
#define BOOST_ASIO_HAS_STD_SYSTEM_ERROR 1
#define BOOST_ASIO_HAS_STRING_VIEW 1
#define BOOST_ASIO_HAS_THREADS 1
#define BOOST_ASIO_HAS_VARIADIC_TEMPLATES 1
#define BOOST_ASIO_COMPLETION_TOKEN_FOR(...) ::boost::asio::completion_token_for<__VA_ARGS__>
#define BOOST_ASIO_COMPLETION_HANDLER_FOR(...) ::boost::asio::completion_handler_for<__VA_ARGS__>
#define BOOST_ASIO_INITFN_RESULT_TYPE(...) auto
#define BOOST_ASIO_INITFN_AUTO_RESULT_TYPE(...) auto
#define BOOST_ASIO_INITFN_AUTO_RESULT_TYPE_PREFIX(...) auto
#define BOOST_ASIO_INITFN_AUTO_RESULT_TYPE_SUFFIX(expr) ->decltype expr
#define BOOST_ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(...) \
  = ::boost::asio::default_completion_token_t<__VA_ARGS__>
#define BOOST_ASIO_DEFAULT_COMPLETION_TOKEN(...) \
  = ::boost::asio::default_completion_token_t<__VA_ARGS__>()
#define BOOST_ASIO_INITFN_DEDUCED_RESULT_TYPE(token, signature, expr) decltype expr
#define BOOST_ASIO_SYNC_OP_VOID void
#define BOOST_ASIO_SYNC_OP_VOID_RETURN(ec) return
#define BOOST_ASIO_REBIND_ALLOC(alloc, t) \
  typename std::allocator_traits<alloc>::template rebind_alloc<t>
#define BOOST_ASIO_HANDLER_LOCATION(...) static_cast<void>(0)
#else
#define ASIO_VERSION 103802
#define ASIO_NOEXCEPT noexcept
#define ASIO_ERROR_CATEGORY_NOEXCEPT noexcept
#define ASIO_STANDALONE 1
#define ASIO_HAS_CO_AWAIT 1
#define ASIO_HAS_DEDUCED_EQUALITY_COMPARABLE_TRAIT 1
#define ASIO_HAS_DEDUCED_EXECUTE_MEMBER_TRAIT 1
#define ASIO_HAS_DEDUCED_QUERY_MEMBER_TRAIT 1
#define ASIO_HAS_DEDUCED_QUERY_STATIC_CONSTEXPR_MEMBER_TRAIT 1
#define ASIO_HAS_DEDUCED_REQUIRE_MEMBER_TRAIT 1
#define ASIO_HAS_DEDUCED_PREFER_MEMBER_TRAIT 1
#define ASIO_HAS_LOCAL_SOCKETS 1
#define ASIO_HAS_POSIX_STREAM_DESCRIPTOR 1
#define ASIO_HAS_FILE 1
#define ASIO_HAS_PIPE 1
#define ASIO_HAS_SERIAL_PORT 1
#define ASIO_HAS_CHRONO 1
#define ASIO_HAS_MOVE 1
#define ASIO_HAS_NOEXCEPT 1
#define ASIO_HAS_RETURN_TYPE_DEDUCTION 1
#define ASIO_HAS_STD_ATOMIC 1
#define ASIO_HAS_STD_CHRONO 1
#define ASIO_HAS_STD_FUTURE_CLASS 1
#define ASIO_HAS_STD_HASH 1
#define ASIO_HAS_STD_STRING_VIEW 1
#define ASIO_HAS_STD_SYSTEM_ERROR 1
#define ASIO_HAS_STRING_VIEW 1
#define ASIO_HAS_THREADS 1
#define ASIO_HAS_VARIADIC_TEMPLATES 1
#define ASIO_COMPLETION_TOKEN_FOR(...) ::asio::completion_token_for<__VA_ARGS__>
#define ASIO_COMPLETION_HANDLER_FOR(...) ::asio::completion_handler_for<__VA_ARGS__>
#define ASIO_INITFN_RESULT_TYPE(...) auto
#define ASIO_INITFN_AUTO_RESULT_TYPE(...) auto
#define ASIO_INITFN_AUTO_RESULT_TYPE_PREFIX(...) auto
#define ASIO_INITFN_AUTO_RESULT_TYPE_SUFFIX(expr) ->decltype expr
#define ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(...) = ::asio::default_completion_token_t<__VA_ARGS__>
#define ASIO_DEFAULT_COMPLETION_TOKEN(...) = ::asio::default_completion_token_t<__VA_ARGS__>()
#define ASIO_INITFN_DEDUCED_RESULT_TYPE(token, signature, expr) decltype expr
#define ASIO_SYNC_OP_VOID void
#define ASIO_SYNC_OP_VOID_RETURN(ec) return
#define ASIO_REBIND_ALLOC(alloc, t) typename std::allocator_traits<alloc>::template rebind_alloc<t>
#define ASIO_HANDLER_LOCATION(...) static_cast<void>(0)
#endif
