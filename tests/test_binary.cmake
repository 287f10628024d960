# SPDX-License-Identifier: BSL-1.0
# beck_test(NAME [OPTIMISED] [LABELS label...] [SOURCES file...] [ONE_THREAD file...]): a test binary and its ctest
# entry. Without sources there is no binary. OPTIMISED: BECK_TEST_OPTIONS are not for it. Cases in ONE_THREAD never have
# a second thread, neither their own nor the library's: ThreadSanitizer does not get them. (Found by counting the calls
# of pthread_create, source by source.)
function(beck_test name)
  cmake_parse_arguments(arg "OPTIMISED" "" "LABELS;SOURCES;ONE_THREAD" ${ARGN})
  beck_require_one_thread(${arg_ONE_THREAD})
  if(NOT BECK_SANITIZE MATCHES thread)
    list(APPEND arg_SOURCES ${arg_ONE_THREAD})
  endif()
  if(NOT arg_SOURCES)
    return()
  endif()
  if(BECK_UNITE_TESTS)
    beck_unite_tests(${name} arg_SOURCES)
  else()
    add_executable(${name} ${arg_SOURCES})
  endif()
  target_link_libraries(${name} PRIVATE beck_test_support)
  set(kind optimised)
  if(NOT arg_OPTIMISED)
    target_compile_options(${name} PRIVATE ${BECK_TEST_OPTIONS})
    set(kind quick)
  endif()
  list(LENGTH arg_SOURCES sources)
  if(BECK_TEST_PRECOMPILED AND sources GREATER 7)
    beck_precompile(${name} ${kind})
  endif()
  beck_test_binary(${name} ${arg_LABELS})
endfunction()

# beck_optimise_tests(SOURCE...): compiles sources with -O1 where the others have BECK_TEST_OPTIONS: those that would
# run up to three times as long without. Call it before beck_test().
function(beck_optimise_tests)
  if(BECK_TEST_OPTIONS)
    set_source_files_properties(${ARGN} PROPERTIES
      COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# Makes a test binary whose tests are compiled forty at a time. Each stands in a namespace of its own, so that their
# names do not clash, and behind all headers. Compiled alone is a source that defines something outside of its own
# namespaces, such as a specialisation of a header's template, and one with SKIP_UNITY_BUILD_INCLUSION.
function(beck_unite_tests name sources)
  set(alone)
  set(united)
  set(headers)
  foreach(source ${${sources}})
    file(STRINGS ${source} outside REGEX "^(struct|int|namespace) (std|beck|doctest|asio|boost)(::|[ {])")
    get_source_file_property(is_alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(NOT source MATCHES "_test[.]cpp$" OR outside OR is_alone STREQUAL ON)
      list(APPEND alone ${source})
      continue()
    endif()
    file(STRINGS ${source} includes REGEX "^#include ")
    list(APPEND headers ${includes})
    list(APPEND united ${source})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source})
  endforeach()
  if(NOT united)
    add_executable(${name} ${alone})
    return()
  endif()
  list(SORT headers)
  list(REVERSE headers)  # ours of include/ and the system's before those of the tests, which may need them
  list(REMOVE_DUPLICATES headers)
  list(JOIN headers "\n" headers)
  file(CONFIGURE OUTPUT groups/${name}_headers.hpp CONTENT "#pragma once\n${headers}\n" @ONLY)
  beck_write_groups(groups ${name} 40
    "#include \"${name}_headers.hpp\"\nnamespace test_@number@ {\n" "}\n" ${united})
  add_executable(${name} ${alone})
  beck_compile_groups(${name} ${groups})
endfunction()

# Precompiles headers for a test binary; once for all of a kind, which have the same options.
function(beck_precompile name kind)
  set(owner beck_precompiled_${kind})
  if(NOT TARGET ${owner})
    add_library(${owner} OBJECT support/precompiled.cpp)
    target_link_libraries(${owner} PRIVATE beck_test_support)
    set_target_properties(${owner} PROPERTIES CXX_EXTENSIONS OFF)
    if(kind STREQUAL quick)
      target_compile_options(${owner} PRIVATE ${BECK_TEST_OPTIONS})
    endif()
    beck_warnings(${owner})
    beck_precompiler_options(${owner})
    target_precompile_headers(${owner} PRIVATE support/precompiled.hpp)
  endif()
  beck_precompiler_options(${name})
  target_precompile_headers(${name} REUSE_FROM ${owner})
endfunction()

function(beck_precompiler_options target)
  target_compile_options(${target} PRIVATE
    # Without the time of the build ccache finds the same file again.
    $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>
    # g++ 12 takes what it precompiled of the standard library for the program's own, and guesses wrong about it.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-maybe-uninitialized>)
endfunction()

# Ends the configuration if a source is in the wrong group.
function(beck_require_one_thread)
  foreach(source ${ARGN})
    file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/${source} threads
      REGEX "#include <(thread|future|beck/run/thread_pool.hpp|beck/io/io_pool.hpp)>")
    if(threads)
      message(FATAL_ERROR "${source} is in ONE_THREAD, and has threads: ${threads}")
    endif()
  endforeach()
endfunction()

# Makes a ctest entry of an executable.
function(beck_test_binary name)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  beck_warnings(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES
    LABELS "doctest;${ARGN}"
    TIMEOUT 900  # a bound for busy machines; the watchdog ends a case that hangs
    # Children that tests fork may make threads, also after the system_executor has made its own.
    ENVIRONMENT "BECK_TEST_REPORT=${PROJECT_BINARY_DIR}/reports/${name}.tsv;TSAN_OPTIONS=die_after_fork=0")
  set_property(GLOBAL APPEND PROPERTY beck_test_binaries $<TARGET_FILE:${name}>)
endfunction()
