# SPDX-License-Identifier: BSL-1.0
# Every switch of the build. All are off by default, so that a packager or a parent project gets the library alone.
option(BUILD_SHARED_LIBS "Build libbeck as a shared library" OFF)
# A static libbeck, too, is position-independent, for use in shared objects. -DCMAKE_POSITION_INDEPENDENT_CODE=OFF makes
# one for programs only.
option(BECK_BUILD_TESTS "Build the tests (needs doctest)" OFF)
option(BECK_BUILD_EXAMPLES "Build the examples" OFF)
option(BECK_BUILD_BENCH "Build the benchmarks and their peers" OFF)
option(BECK_BUILD_APPS "Build the command line tools" OFF)
option(BECK_INSTALL "Generate the install rules" ${PROJECT_IS_TOP_LEVEL})
option(BECK_WERROR "Treat warnings as errors; for work on beck itself" OFF)
option(BECK_LTO "Link-time optimisation: the library is inlined into the programs built here" OFF)
option(BECK_CHECK_RESULTS "Programs that link the library end with a message where a task drops a failed result" OFF)
set(BECK_TLS AUTO CACHE STRING "Build beck::tls over OpenSSL 3: ON, OFF, or AUTO, which means where it is found")
option(BECK_TLS_KEY_LOG "beck::tls writes its secrets to the file SSLKEYLOGFILE; never for programs in use" OFF)
option(BECK_USE_CCACHE "Compile through ccache where it is found" OFF)
option(BECK_UNITE "Compile the library twenty sources at a time: sooner from nothing, later after a change" OFF)
set(BECK_PROGRAM_OPTIONS "" CACHE STRING "More compiler options of the examples and of the command line tools")
set(BECK_SANITIZE "" CACHE STRING "Sanitizers for everything that is built here, e.g. address,undefined or thread")

if(BECK_USE_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(BECK_CCACHE ccache)
  if(BECK_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${BECK_CCACHE})
  endif()
endif()
