// SPDX-License-Identifier: BSL-1.0
// The namespace of the facade: `asio`, or `boost::asio` where a program includes <boost/asio/...>.
// Programs reopen it and specialise its templates, so it is a namespace and no alias. The inline
// namespace inside gives its classes other mangled names than Asio's have: a program that links
// object files of both has two classes, never a mixture of one.
#pragma once

#if defined(BECK_ASIO_BOOST)
#define BECK_ASIO_BEGIN   \
  namespace boost::asio { \
  inline namespace over_beck {
#else
#define BECK_ASIO_BEGIN \
  namespace asio {      \
  inline namespace over_beck {
#endif
#define BECK_ASIO_END \
  }                   \
  }
