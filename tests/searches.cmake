# SPDX-License-Identifier: BSL-1.0
# Tests that search: seeded walks over all that a program may do, the lock-free parts in every order, fuzzers. One
# thread is nothing for ThreadSanitizer, and a second build of the library costs: not in every preset.

# The programs of simulation_tests from a command line: replays a seed or a tape, shrinks, and prints what those tests
# compare between builds, seed by seed (--hashes), to find where two of them part.
add_executable(simulate simulation/simulate.cpp)
target_link_libraries(simulate PRIVATE beck_simulations)
set_target_properties(simulate PROPERTIES CXX_EXTENSIONS OFF)
beck_warnings(simulate)
foreach(program IN ITEMS schedule faulty cluster workers)
  add_test(NAME simulate_${program} COMMAND simulate ${program} --seeds 200 --check)
  set_tests_properties(simulate_${program} PROPERTIES TIMEOUT 300)
endforeach()

# The library with what only tests have (src/base/test_build.hpp): bugs to plant, transitions to see. Under
# AddressSanitizer all tests link that one; elsewhere it is built once more.
if(BECK_SANITIZE MATCHES address)
  add_library(beck_test_build INTERFACE)
  target_link_libraries(beck_test_build INTERFACE beck::beck)
  target_include_directories(beck_test_build INTERFACE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(beck PUBLIC BECK_TEST_BUILD)
else()
  find_package(Threads REQUIRED)
  get_target_property(library_sources beck BECK_SOURCES)
  list(TRANSFORM library_sources PREPEND ${PROJECT_SOURCE_DIR}/src/)
  add_library(beck_test_build STATIC ${library_sources})
  target_include_directories(beck_test_build
    PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(beck_test_build PUBLIC BECK_TEST_BUILD)
  target_compile_features(beck_test_build PUBLIC cxx_std_20)
  target_compile_options(beck_test_build PRIVATE -O1)  # the walks compare it with itself, and with AddressSanitizer's
  target_link_libraries(beck_test_build PUBLIC Threads::Threads)
  set_target_properties(beck_test_build PROPERTIES CXX_EXTENSIONS OFF)
  beck_unite(beck_test_build)
endif()

add_library(beck_walks OBJECT
  simulation/oracles.cpp simulation/planted.cpp simulation/walk.cpp simulation/walk_program.cpp
  simulation/walk_station.cpp)
target_link_libraries(beck_walks PUBLIC beck_test_build)
set_target_properties(beck_walks PROPERTIES CXX_EXTENSIONS OFF)
beck_warnings(beck_walks)

add_executable(simulate_walks simulation/walk_main.cpp simulation/workers.cpp simulation/workers_parts.cpp)
target_link_libraries(simulate_walks PRIVATE beck_walks)
set_target_properties(simulate_walks PROPERTIES CXX_EXTENSIONS OFF)
beck_warnings(simulate_walks)

# Not through beck_test: it is linked with that library, and so with a test runner of its own.
add_executable(walk_tests
  simulation/walk_test.cpp
  $<TARGET_OBJECTS:beck_test_support>
  support/scripted_engine.cpp support/scripted_operation.cpp support/scripted_progress.cpp
  support/scripted_queues.cpp support/scripted_ring.cpp)
target_compile_definitions(walk_tests PRIVATE
  DOCTEST_CONFIG_SUPER_FAST_ASSERTS "SIMULATE_WALKS=\"$<TARGET_FILE:simulate_walks>\"")
target_link_libraries(walk_tests PRIVATE beck_walks doctest::doctest)
beck_test_binary(walk_tests)
add_dependencies(walk_tests simulate_walks)

# The lock-free parts in every order that the memory model allows.
beck_test(interleaving_tests OPTIMISED SOURCES
  interleavings/idle_threads_test.cpp
  interleavings/explore.cpp
  interleavings/fiber.cpp
  interleavings/litmus_test.cpp
  interleavings/mailbox_test.cpp
  interleavings/private_queue_test.cpp
  interleavings/ref_count_test.cpp
  interleavings/run_end_test.cpp
  interleavings/strand_queue_test.cpp
  interleavings/world.cpp
  interleavings/world_memory.cpp
)

add_subdirectory(fuzz)
