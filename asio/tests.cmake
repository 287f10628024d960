# SPDX-License-Identifier: BSL-1.0
# The tests of the facade, included by tests/CMakeLists.txt.

# The facade: each namespace in a binary of its own.
beck_test(asio_tests SOURCES ../asio/tests/echo_test.cpp)
target_link_libraries(asio_tests PRIVATE beck::asio)
beck_test(boost_asio_tests SOURCES ../asio/tests/boost_test.cpp)
target_link_libraries(boost_asio_tests PRIVATE beck::boost_asio)
# A header that the facade has not got names the page to read.
add_test(NAME asio_stub COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -x c++
  ${PROJECT_BINARY_DIR}/asio/beck-asio/asio/serial_port.hpp)
set_tests_properties(asio_stub PROPERTIES PASS_REGULAR_EXPRESSION "serial_port.*see docs/porting-from-asio.md")
