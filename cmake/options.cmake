# SPDX-License-Identifier: BSL-1.0
# Every switch of the build. All are off by default, so that a packager or a parent project gets the library alone.
option(BUILD_SHARED_LIBS "Build libbeck as a shared library" OFF)
option(BECK_BUILD_TESTS "Build the tests (needs doctest)" OFF)
option(BECK_BUILD_EXAMPLES "Build the examples" OFF)
option(BECK_BUILD_BENCH "Build the benchmarks and their peers" OFF)
option(BECK_BUILD_APPS "Build the command line tools" OFF)
option(BECK_INSTALL "Generate the install rules" ${PROJECT_IS_TOP_LEVEL})
option(BECK_WERROR "Treat warnings as errors; for work on beck itself" OFF)
option(BECK_LTO "Link-time optimisation: the library is inlined into the programs built here" OFF)
option(BECK_USE_CCACHE "Compile through ccache where it is found" OFF)
set(BECK_SANITIZE "" CACHE STRING "Sanitizers for everything that is built here, e.g. address,undefined or thread")

if(BECK_USE_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(BECK_CCACHE ccache)
  if(BECK_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${BECK_CCACHE})
  endif()
endif()
