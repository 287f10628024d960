// SPDX-License-Identifier: BSL-1.0
// boost::system::error_code beside std::error_code, the code of beck. Where Boost.System 1.77 or
// newer is installed its codes and exceptions are the program's, and they convert; where none is,
// its names are those of the standard library. An older one does not convert.
#pragma once

#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include <beck/asio/config.hpp>
#include <beck/base/error.hpp>

#if defined(BECK_ASIO_BOOST) && __has_include(<boost/system/system_error.hpp>)
#include <boost/version.hpp>
#if BOOST_VERSION >= 107700
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
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

/// A signature with each code `From` as a code `To`.
template <class From, class To, class Signature>
struct signature_with;
template <class From, class To, class R, class... A>
struct signature_with<From, To, R(A...)> {
  using type = R(std::conditional_t<std::is_same_v<std::remove_cvref_t<A>, From>, To, A>...);
};
/// A type of results as programs write it, also that of the results of a ranged group.
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
template <class Signature>
struct program_signature_of;
template <class R, class... A>
struct program_signature_of<R(A...)> {
  template <class T>
  using one = std::conditional_t<
      std::is_same_v<typename program_type<std::remove_cvref_t<T>>::type, std::remove_cvref_t<T>>,
      T, typename program_type<std::remove_cvref_t<T>>::type>;
  using type = R(one<A>...);
};
/// The signature as the operations of beck have it. A handler takes either, because the codes
/// convert.
template <class Signature>
using beck_signature = typename signature_with<program_code, beck::error_code, Signature>::type;
/// The signature as programs write it.
template <class Signature>
using program_signature = typename program_signature_of<Signature>::type;

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
