// SPDX-License-Identifier: BSL-1.0
// Macros of Asio's configuration that it removed when it left C++03: for programs that define
// BECK_ASIO_OLD_NAMES.
#pragma once

#if defined(BECK_ASIO_BOOST)
#define BOOST_ASIO_MOVE_ARG(type) type&&
#define BOOST_ASIO_MOVE_ARG2(type1, type2) type1, type2&&
#define BOOST_ASIO_MOVE_CAST(type) static_cast<type&&>
#define BOOST_ASIO_MOVE_CAST2(type1, type2) static_cast<type1, type2&&>
#define BOOST_ASIO_CONSTEXPR constexpr
#define BOOST_ASIO_DELETED = delete
#define BOOST_ASIO_NULLPTR nullptr
#else
#define ASIO_MOVE_ARG(type) type&&
#define ASIO_MOVE_ARG2(type1, type2) type1, type2&&
#define ASIO_MOVE_CAST(type) static_cast<type&&>
#define ASIO_MOVE_CAST2(type1, type2) static_cast<type1, type2&&>
#define ASIO_CONSTEXPR constexpr
#define ASIO_DELETED = delete
#define ASIO_NULLPTR nullptr
#endif
