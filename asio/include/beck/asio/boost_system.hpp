// SPDX-License-Identifier: BSL-1.0
// boost::system::error_code beside std::error_code, the code of beck. Where Boost.System 1.77 or
// newer is installed its codes and exceptions are the program's, and they convert; where none is,
// its names are those of the standard library. An older one does not convert.
#pragma once

#include <string>
#include <system_error>
#include <type_traits>

#include <beck/asio/config.hpp>
#include <beck/base/error.hpp>

#if defined(BECK_ASIO_BOOST) && __has_include(<boost/system/system_error.hpp>)
#include <boost/version.hpp>
#if BOOST_VERSION >= 107700
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <vector>
#define BECK_ASIO_BOOST_SYSTEM
#endif
#endif

BECK_ASIO_BEGIN

namespace facade {

#if defined(BECK_ASIO_BOOST_SYSTEM)
using program_code = boost::system::error_code;
using program_category = boost::system::error_category;

/// A category of beck as one of Boost, for codes that programs make.
class boost_category final : public boost::system::error_category {
 public:
  explicit boost_category(const std::error_category& of) noexcept : of_(&of) {}
  const char* name() const noexcept override { return of_->name(); }
  std::string message(int value) const override { return of_->message(value); }

 private:
  const std::error_category* of_;
};

/// Returns the category as programs see it.
template <const std::error_category& (*Category)() noexcept>
const program_category& to_program() noexcept {
  static const boost_category instance(Category());
  return instance;
}

/// Returns the code as programs see it: the system's codes are in Boost's category for them, so
/// that value() is errno. Other codes stay codes of beck inside of Boost's, and compare equal to
/// the enumerators.
inline boost::system::error_code to_program(const beck::error_code& ec) noexcept {
  if (ec.category() == std::system_category()) {
    return {ec.value(), boost::system::system_category()};
  }
  return ec;
}
#else
using program_code = beck::error_code;
using program_category = std::error_category;

template <const std::error_category& (*Category)() noexcept>
const program_category& to_program() noexcept {
  return Category();
}
#endif

#if defined(BECK_ASIO_BOOST_SYSTEM)
/// A type of results as programs write it. A ranged group has a vector of codes.
template <class T>
struct program_type {
  using type = T;
};
template <>
struct program_type<beck::error_code> {
  using type = program_code;
};
template <>
struct program_type<std::vector<beck::error_code>> {
  using type = std::vector<program_code>;
};
/// And as the operations of beck have it.
template <class T>
struct beck_type {
  using type = T;
};
template <>
struct beck_type<program_code> {
  using type = beck::error_code;
};

/// The signature with each of its types mapped; references to types that are not stay.
template <template <class> class Map, class Signature>
struct mapped_signature;
template <template <class> class Map, class R, class... A>
struct mapped_signature<Map, R(A...)> {
  template <class T, class Plain = std::remove_cvref_t<T>, class Mapped = typename Map<Plain>::type>
  using one = std::conditional_t<std::is_same_v<Plain, Mapped>, T, Mapped>;
  using type = R(one<A>...);
};
/// The signature as the operations of beck have it. A handler takes either, because the codes
/// convert.
template <class Signature>
using beck_signature = typename mapped_signature<beck_type, Signature>::type;
/// The signature as programs write it.
template <class Signature>
using program_signature = typename mapped_signature<program_type, Signature>::type;
#else
template <class Signature>
using beck_signature = Signature;
template <class Signature>
using program_signature = Signature;
#endif

}  // namespace facade

BECK_ASIO_END

#if defined(BECK_ASIO_BOOST_SYSTEM)
// Codes of the standard library, such as those in the tuples of as_tuple, compare with the
// enumerators of libraries over Boost.System.
template <class E>
  requires(boost::system::is_error_code_enum<E>::value)
struct std::is_error_code_enum<E> : std::true_type {};
template <class E>
  requires(boost::system::is_error_condition_enum<E>::value && !std::is_error_code_enum<E>::value &&
           !std::is_same_v<E, boost::system::errc::errc_t>)
struct std::is_error_condition_enum<E> : std::true_type {};
/// As above, the enumerators of the system's errors.
namespace boost::system::errc {
inline bool operator==(const std::error_code& ec, errc_t e) noexcept {
  return ec == static_cast<std::errc>(e);
}
}  // namespace boost::system::errc
#endif

#if defined(BECK_ASIO_BOOST) && !__has_include(<boost/system/system_error.hpp>)
namespace boost::system {

using std::error_category;
using std::error_code;
using std::error_condition;
using std::generic_category;
using std::system_category;
using std::system_error;
namespace errc {
using enum std::errc;
}  // namespace errc

}  // namespace boost::system
#endif
