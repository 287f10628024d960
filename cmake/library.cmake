# SPDX-License-Identifier: BSL-1.0
# The libraries of the project: beck_library() makes each of them, with the code and the exported names that both its
# forms need, static and shared.

# Before 1.0 the ABI changes with each minor version.
set(soversion ${PROJECT_VERSION_MAJOR})
if(soversion EQUAL 0)
  set(soversion 0.${PROJECT_VERSION_MINOR})
endif()
configure_file(cmake/exports.map.in ${PROJECT_BINARY_DIR}/exports.map @ONLY)

# beck_code_for_shared_objects(TARGET): a static library can be linked into a shared object, too, and a shared one
# exports what is in the namespace beck and nothing else.
function(beck_code_for_shared_objects target)
  if(NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)
    set_property(TARGET ${target} PROPERTY POSITION_INDEPENDENT_CODE ON)
  endif()
  set_property(TARGET ${target} PROPERTY VISIBILITY_INLINES_HIDDEN ON)
  # As clang does by itself: calls within the library are direct and can be inlined in such code, too; and no variable
  # is made common to all shared objects of a process, which would then stay loaded after dlclose(3).
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>
    $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY" OR NOT CMAKE_CXX_VISIBILITY_PRESET)
    # Else a parent project's preset holds: its own shared objects may hide the static library in them.
    set_property(TARGET ${target} PROPERTY CXX_VISIBILITY_PRESET default)
  endif()
  if(NOT DEFINED CMAKE_INSTALL_RPATH)
    set_property(TARGET ${target} PROPERTY INSTALL_RPATH "$ORIGIN")  # the libraries find one another in any prefix
  endif()
  if(type STREQUAL "SHARED_LIBRARY")
    target_link_options(${target} PRIVATE LINKER:--version-script=${PROJECT_BINARY_DIR}/exports.map)
    set_property(TARGET ${target} PROPERTY LINK_DEPENDS ${PROJECT_BINARY_DIR}/exports.map)
  endif()
endfunction()

# beck_library(TARGET SOURCES file... HEADERS file... [PUBLIC library...] [PRIVATE library...])
# Makes a library of the project from its sources in src and its public headers in include/beck, linked with others.
# TARGET is beck, or beck_NAME for the library that users know as beck::NAME.
function(beck_library target)
  cmake_parse_arguments(PARSE_ARGV 1 its "" "" "SOURCES;HEADERS;PUBLIC;PRIVATE")
  string(REGEX REPLACE "^beck_" "" name ${target})
  list(TRANSFORM its_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/beck/)
  add_library(${target})
  add_library(beck::${name} ALIAS ${target})
  target_sources(${target}
    PRIVATE ${its_SOURCES}
    PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${its_HEADERS})
  target_include_directories(${target}
    PRIVATE ${PROJECT_SOURCE_DIR}/src
    INTERFACE $<INSTALL_INTERFACE:include>)  # for users' CMake before 3.23, which knows no file sets
  target_link_libraries(${target} PUBLIC ${its_PUBLIC} PRIVATE ${its_PRIVATE})
  set_target_properties(${target} PROPERTIES
    BECK_SOURCES "${its_SOURCES}"  # one by one, also where they are compiled in groups
    CXX_EXTENSIONS OFF
    DEFINE_SYMBOL ""
    EXPORT_NAME ${name}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${soversion}
    UNITY_BUILD OFF  # also for a parent project that unites its own sources; BECK_UNITE is ours
    VERIFY_INTERFACE_HEADER_SETS ${BECK_BUILD_TESTS})
  beck_warnings(${target})
  beck_code_for_shared_objects(${target})
  if(BECK_UNITE)
    beck_unite(${target})
    beck_precompile_standard_headers(${target})
  endif()
endfunction()
