// SPDX-License-Identifier: BSL-1.0
// Names of the standard library that Asio has in its namespace, and programs use from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <beck/asio/config.hpp>

BECK_ASIO_BEGIN

using std::add_const;
using std::conditional;
using std::conditional_t;
using std::decay;
using std::decay_t;
using std::declval;
using std::enable_if;
using std::enable_if_t;
using std::false_type;
using std::int16_t;
using std::int32_t;
using std::int64_t;
using std::integral_constant;
using std::is_base_of;
using std::is_class;
using std::is_const;
using std::is_constructible;
using std::is_convertible;
using std::is_copy_constructible;
using std::is_default_constructible;
using std::is_move_constructible;
using std::is_nothrow_copy_constructible;
using std::is_object;
using std::is_pointer;
using std::is_reference;
using std::is_same;
using std::is_unsigned;
using std::nullptr_t;
using std::remove_cv;
using std::remove_cv_t;
using std::remove_cvref;
using std::remove_cvref_t;
using std::remove_pointer;
using std::remove_pointer_t;
using std::remove_reference;
using std::remove_reference_t;
using std::string_view;
using std::true_type;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
using std::uintmax_t;

/// Asio's name for enable_if_t with int.
template <bool Condition, class T = int>
using constraint_t = std::enable_if_t<Condition, T>;
/// Asio's name for enable_if with int.
template <bool Condition, class T = int>
struct constraint : std::enable_if<Condition, T> {};
/// Asio's name for std::void_t.
template <class...>
using void_t = void;

BECK_ASIO_END
