// SPDX-License-Identifier: BSL-1.0
//
// Codes are compared by programs, by value and by condition; both kinds of equality are promises.
// So is the range of ints that stands for each kind of error.
#include <doctest/doctest.h>

#include <beck/base/error.hpp>
#include <cerrno>
#include <climits>
#include <ostream>
#include <string>

#include "base/dies.hpp"

namespace {

TEST_CASE("basic errors are the system's and equal the std::errc of the same meaning") {
  const beck::error_code aborted = beck::error::operation_aborted;
  CHECK(aborted.category() == std::system_category());
  CHECK(aborted.value() == ECANCELED);
  CHECK(aborted == std::errc::operation_canceled);
  CHECK(beck::error_code(beck::error::connection_refused) == std::errc::connection_refused);
  CHECK(beck::error_code(beck::error::would_block) == beck::error::try_again);
  CHECK(beck::error_code(beck::error::timed_out) == std::errc::timed_out);
}

TEST_CASE("the kernel's timed_out and the library's timeout equal both spellings of timed_out") {
  const beck::error_code ours = beck::error::timeout;
  const beck::error_code kernels = beck::detail::make_error(-ETIMEDOUT);
  for (const beck::error_code& ec : {ours, kernels}) {
    CHECK(ec == beck::error::timed_out);
    CHECK(beck::error::timed_out == ec);
    CHECK_FALSE(ec != beck::error::timed_out);
    CHECK(ec == std::errc::timed_out);
    CHECK(ec != beck::error::connection_refused);
    CHECK(ec != beck::error::eof);
  }
  const beck::result_error of_result(ours, "read");
  CHECK(of_result == beck::error::timed_out);
}

TEST_CASE("a time limit and the kernel's ETIMEDOUT can be told apart, by code and by message") {
  const beck::error_code ours = beck::error::timeout;
  const beck::error_code kernels = beck::detail::make_error(-ETIMEDOUT);
  CHECK(ours == beck::error::timeout);
  CHECK(kernels != beck::error::timeout);
  CHECK(ours != kernels);
  CHECK(ours.message() != kernels.message());
}

TEST_CASE("a comparison with a basic error is one of codes, whatever the category") {
  const beck::error_code eof = beck::error::eof;  // 2, but not of the system
  CHECK(eof != beck::error::basic_errors(2));
  CHECK(beck::error_code(ECONNRESET, std::system_category()) == beck::error::connection_reset);
  CHECK(beck::error_code() != beck::error::timed_out);
}

TEST_CASE("a result_error is an error_code with the name of what failed") {
  beck::result_error ec(beck::error::connection_refused, "connect");
  CHECK(ec == beck::error::connection_refused);
  CHECK(std::string(ec.operation()) == "connect");
  const beck::error_code plain = ec;
  CHECK(plain == ec);
  ec = beck::error::eof;  // another error of the same operation
  CHECK(ec == beck::error::eof);
  CHECK(std::string(ec.operation()) == "connect");
  CHECK(std::string(beck::result_error(beck::error::eof).operation()).empty());
  CHECK(!beck::result_error());
}

TEST_CASE("a result_error is made from and set to whatever an error_code is") {
  beck::result_error ec = beck::error::eof;
  CHECK(ec == beck::error::eof);
  ec = beck::result_error(beck::error::timeout, "read");
  CHECK(std::string(ec.operation()) == "read");
  const beck::error_code code = beck::error::not_connected;
  ec = code;
  CHECK(ec == beck::error::not_connected);
  ec = beck::error::connection_reset;
  CHECK(ec == beck::error::connection_reset);
  ec = std::make_error_code(std::errc::permission_denied);
  CHECK(ec == std::errc::permission_denied);
  CHECK(std::string(ec.operation()) == "read");
  const beck::result_error other(beck::error::eof, "write");
  ec = other;
  CHECK(std::string(ec.operation()) == "write");
  ec = {};
  CHECK(!ec);
  CHECK(std::string(ec.operation()).empty());
}

TEST_CASE("the other misc errors equal no std::errc and no number of the system") {
  CHECK(beck::error_code(beck::error::eof) != std::errc::no_such_file_or_directory);
  CHECK(beck::error_code(beck::error::eof) != beck::error_code(2, std::system_category()));
  CHECK(beck::error_code(beck::error::already_open) != std::errc::operation_not_permitted);
}

TEST_CASE("every misc error has a message and a number outside the list says so") {
  CHECK(std::string(beck::detail::misc_category().name()) == "beck.misc");
  CHECK(beck::error_code(beck::error::eof).message() == "End of file");
  CHECK(beck::error_code(beck::error::already_open).message() == "Already open");
  CHECK(beck::error_code(beck::error::not_found).message() == "Element not found");
  CHECK(beck::error_code(beck::error::delimiter_not_found).message() ==
        "No delimiter within the limit");
  CHECK(beck::error_code(beck::error::timeout).message() == "Deadline passed");
  CHECK(beck::error_code(beck::error::channel_closed).message() == "Channel closed");
  CHECK(beck::error_code(77, beck::detail::misc_category()).message() == "Unknown error 77");
}

TEST_CASE("a result becomes success, the system's error or a misc error by its range") {
  CHECK(!beck::detail::make_error(0));
  CHECK(!beck::detail::make_error(INT_MAX));
  CHECK(beck::detail::make_error(-1) == beck::error_code(EPERM, std::system_category()));
  CHECK(beck::detail::make_error(-ECANCELED) == beck::error::operation_aborted);
  CHECK(beck::detail::make_error(-4095) == beck::error_code(4095, std::system_category()));
  CHECK(beck::detail::make_error(beck::detail::already_open_result) == beck::error::already_open);
  CHECK(beck::detail::make_error(beck::detail::eof_result) == beck::error::eof);
  CHECK(beck::detail::make_error(beck::detail::delimiter_not_found_result) ==
        beck::error::delimiter_not_found);
  CHECK(beck::detail::make_error(beck::detail::timeout_result) == beck::error::timeout);
  CHECK(beck::detail::make_error(beck::detail::channel_closed_result) ==
        beck::error::channel_closed);
  CHECK(beck::detail::make_error(INT_MIN));  // the arithmetic must not overflow
}

TEST_CASE("an io_error carries the code, the operation and the bytes, and its text names them") {
  try {
    beck::detail::throw_error(beck::error::broken_pipe, "async_write", 512);
  } catch (const beck::io_error& e) {
    CHECK(e.code() == beck::error::broken_pipe);
    CHECK(e.transferred() == 512);
    CHECK(std::string(e.operation()) == "async_write");
    CHECK(std::string(e.what()) == "async_write, after 512 bytes: Broken pipe");
    const beck::io_error copy = e;
    CHECK(copy.transferred() == 512);
    return;
  }
  FAIL("throw_error returned");
}

TEST_CASE("an io_error can be caught as std::system_error and its text has no empty parts") {
  try {
    beck::detail::throw_error(beck::error::eof);
  } catch (const std::system_error& e) {
    CHECK(std::string(e.what()) == "End of file");
  }
  CHECK(std::string(beck::io_error(beck::error::eof, "read").what()) == "read: End of file");
  CHECK(std::string(beck::io_error(beck::error::eof, "", 3).what()) ==
        "after 3 bytes: End of file");
}

TEST_CASE("the text of an io_error names what was refused, shortened and printable") {
  CHECK(std::string(beck::io_error(beck::error::invalid_argument, "make", "a\nb").what()) ==
        "make \"a?b\": Invalid argument");
  const std::string long_text = beck::io_error(beck::error::eof, "", std::string(999, 'x')).what();
  CHECK(long_text == '"' + std::string(200, 'x') + "\"...: End of file");
}

TEST_CASE("throwing success is a bug of the caller") {
  CHECK(dies_with([] { beck::detail::throw_error({}); }).find("success cannot be thrown") !=
        std::string::npos);
}

// A code may be compared before main and after it; the category must be there.
const beck::error_code before_main = beck::error::eof;
TEST_CASE("codes made before main are equal to those made in it") {
  CHECK(before_main == beck::error::eof);
}

// An exception of another library. Thrown only while a test asks for it: the form is the program's.
struct foreign_error {
  beck::error_code code;
};
thread_local bool throws_foreign = false;
constexpr beck::detail::exception_form foreign_form{[](const beck::io_error& error) {
                                                      if (throws_foreign)
                                                        throw foreign_error{error.code()};
                                                    },
                                                    []() noexcept -> beck::error_code {
                                                      try {
                                                        throw;
                                                      } catch (const foreign_error& known) {
                                                        return known.code;
                                                      } catch (...) {
                                                        return {};
                                                      }
                                                    }};

TEST_CASE("errors are thrown and recognised in another form where a program sets one") {
  const auto thrown_code = [](auto throwing) {
    try {
      throwing();
    } catch (...) {
      return beck::detail::caught_code();
    }
    return beck::error_code();
  };
  const beck::error_code eof = beck::error::eof;
  CHECK(thrown_code([&] { beck::detail::throw_error(eof, "read"); }) == eof);
  CHECK(thrown_code([&] { throw foreign_error{eof}; }) == beck::error_code());
  REQUIRE(beck::detail::set_exception_form(foreign_form));
  CHECK_THROWS_AS(beck::detail::throw_error(eof, "read"), beck::io_error);
  throws_foreign = true;
  CHECK_THROWS_AS(beck::detail::throw_error(eof, "read"), foreign_error);
  CHECK_THROWS_AS(beck::detail::throw_error(eof, "open", "name"), foreign_error);
  CHECK(thrown_code([&] { beck::detail::throw_error(eof, "read"); }) == eof);
  throws_foreign = false;
  CHECK(thrown_code([&] { throw std::system_error(eof); }) == eof);
  CHECK(thrown_code([] { throw 1; }) == beck::error_code());
}

}  // namespace
