# SPDX-License-Identifier: BSL-1.0
# The tests of the facade, included by tests/CMakeLists.txt: each namespace in a binary of its own. Beside its tests, a
# binary has a source that includes each header of the table.
function(beck_facade_test name target prefix)
  file(STRINGS ${PROJECT_SOURCE_DIR}/asio/headers.txt lines REGEX "^[a-z][^!]*$")
  set(which EXCLUDE)
  if(target MATCHES "_ssl$")
    set(which INCLUDE)
  endif()
  list(FILTER lines ${which} REGEX "^ssl")
  set(text "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE " .*" "" header "${line}")
    string(APPEND text "#include <${prefix}/${header}>\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}_headers.cpp CONTENT "${text}" @ONLY)
  beck_test(${name} SOURCES ${ARGN} ${CMAKE_CURRENT_BINARY_DIR}/${name}_headers.cpp)
  target_link_libraries(${name} PRIVATE ${target})
endfunction()
# They reopen asio, or include a header in the middle.
set_source_files_properties(../asio/tests/traits_test.cpp ../asio/tests/streams_test.cpp
  ../asio/tests/stackless_test.cpp ../asio/tests/connect_test.cpp ../asio/tests/compose_test.cpp
  ../asio/tests/operations_test.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
beck_facade_test(asio_tests beck::asio asio ../asio/tests/echo_test.cpp
  ../asio/tests/traits_test.cpp
  ../asio/tests/streams_test.cpp ../asio/tests/stackless_test.cpp ../asio/tests/channel_test.cpp
  ../asio/tests/service_test.cpp ../asio/tests/default_token_test.cpp
  ../asio/tests/operations_test.cpp ../asio/tests/outliving_test.cpp
  ../asio/tests/composed_test.cpp ../asio/tests/network_test.cpp
  ../asio/tests/connect_test.cpp ../asio/tests/compose_test.cpp ../asio/tests/buffered_test.cpp
  ../asio/tests/executor_test.cpp ../asio/tests/generic_test.cpp ../asio/tests/icmp_test.cpp
  ../asio/tests/serial_port_test.cpp)
beck_facade_test(old_asio_tests beck::asio asio ../asio/tests/old_names_test.cpp)
target_compile_definitions(old_asio_tests PRIVATE BECK_ASIO_OLD_NAMES)
beck_facade_test(chosen_asio_tests beck::asio asio ../asio/tests/threads_test.cpp
  ../asio/tests/strict_datagrams_test.cpp)
target_compile_definitions(chosen_asio_tests PRIVATE BECK_ASIO_THREADS=2 BECK_ASIO_STRICT_DATAGRAMS
  BECK_ASIO_NO_INLINE_NAMESPACE)
beck_facade_test(boost_asio_tests beck::boost_asio boost/asio ../asio/tests/boost_test.cpp)

# With Boost itself, its codes, exceptions and Boost.Beast, where 1.77 or newer is installed.
find_path(BECK_BOOST_DIR boost/beast.hpp DOC "The include directory of Boost, for tests of the facade; may be empty")
set(version 0)
if(BECK_BOOST_DIR)
  file(STRINGS ${BECK_BOOST_DIR}/boost/version.hpp version REGEX "^#define BOOST_VERSION [0-9]+")
  string(REGEX REPLACE ".* " "" version "${version}")
endif()
if(NOT version LESS 107700)
  beck_test(boost_system_tests SOURCES ../asio/tests/boost_system_test.cpp)
  target_link_libraries(boost_system_tests PRIVATE beck::boost_asio)
  target_include_directories(boost_system_tests SYSTEM PRIVATE ${BECK_BOOST_DIR})
endif()

# A header that the facade has not got names the page to read, and a source has one of the two namespaces.
function(beck_facade_error name text include)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "${include}" @ONLY)
  add_test(NAME ${name} COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -I${PROJECT_SOURCE_DIR}/include
    -I${PROJECT_SOURCE_DIR}/asio/include -I${PROJECT_BINARY_DIR}/asio/beck-asio
    -I${PROJECT_BINARY_DIR}/asio/beck-boost-asio ${source})
  set_tests_properties(${name} PROPERTIES PASS_REGULAR_EXPRESSION "${text}")
endfunction()
beck_facade_error(asio_stub "spawn.*see docs/porting-from-asio.md" "#include <asio/spawn.hpp>\n")
beck_facade_error(asio_then_boost "cannot both be in one source"
  "#include <asio/post.hpp>\n#include <boost/asio/post.hpp>\n")
beck_facade_error(boost_then_asio "cannot both be in one source"
  "#include <boost/asio/post.hpp>\n#include <asio/post.hpp>\n")

# TLS: with certificates of the tests of beck::tls, and foreign peers.
if(TARGET beck_asio_ssl)
  beck_facade_test(asio_ssl_tests beck::asio_ssl asio ../asio/tests/ssl_stream_test.cpp
    ../asio/tests/ssl_context_test.cpp ../asio/tests/ssl_order_test.cpp ../asio/tests/ssl_peer_test.cpp
    tls/identities.cpp)
  beck_facade_test(boost_asio_ssl_tests beck::boost_asio_ssl boost/asio ../asio/tests/ssl_boost_test.cpp
    tls/identities.cpp)
  foreach(name IN ITEMS asio_ssl_tests boost_asio_ssl_tests)
    target_compile_definitions(${name} PRIVATE OPENSSL_SUPPRESS_DEPRECATED)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/asio/tests)
  endforeach()
endif()

# What a program sees, over Asio itself, where the version is installed that the table is about, and over the facade:
# see asio/semantics/table.py.
find_path(BECK_ASIO_INCLUDE asio/io_context.hpp)
set(version "")
if(BECK_ASIO_INCLUDE)
  file(STRINGS ${BECK_ASIO_INCLUDE}/asio/version.hpp version REGEX "define ASIO_VERSION 1022[0-9][0-9]")
endif()
if(NOT version)
  message(STATUS "tests: no Asio 1.22 (Debian 12: libasio-dev), the facade is not compared with it")
elseif(BECK_TEST_WHOLE AND NOT BECK_SANITIZE AND BECK_TEST_SEARCHES)
  set(semantics ${PROJECT_SOURCE_DIR}/asio/semantics)
  file(GLOB sources CONFIGURE_DEPENDS ${semantics}/*.cpp)
  find_package(Threads REQUIRED)
  foreach(library IN ITEMS asio facade)
    add_executable(semantics_of_${library} ${sources})
    set_target_properties(semantics_of_${library} PROPERTIES CXX_EXTENSIONS OFF)
    target_compile_features(semantics_of_${library} PRIVATE cxx_std_20)
    target_compile_options(semantics_of_${library} PRIVATE ${BECK_TEST_OPTIONS})
    target_precompile_headers(semantics_of_${library} PRIVATE ${semantics}/rows.hpp)
  endforeach()
  target_compile_definitions(semantics_of_asio PRIVATE BECK_SEMANTICS_OF_ASIO)
  target_include_directories(semantics_of_asio SYSTEM PRIVATE ${BECK_ASIO_INCLUDE})
  target_link_libraries(semantics_of_asio PRIVATE Threads::Threads)
  target_link_libraries(semantics_of_facade PRIVATE beck::asio)
  beck_warnings(semantics_of_facade)
  add_test(NAME asio_semantics COMMAND python3 ${semantics}/table.py $<TARGET_FILE:semantics_of_asio>
    $<TARGET_FILE:semantics_of_facade>)
endif()
