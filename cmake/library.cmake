# SPDX-License-Identifier: BSL-1.0
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
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC ${its_PUBLIC} PRIVATE ${its_PRIVATE})
  set_target_properties(${target} PROPERTIES
    BECK_SOURCES "${its_SOURCES}"  # one by one, also where they are compiled in groups
    CXX_EXTENSIONS OFF
    DEFINE_SYMBOL ""
    EXPORT_NAME ${name}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}
    VERIFY_INTERFACE_HEADER_SETS ${BECK_BUILD_TESTS})
  beck_warnings(${target})
  if(BECK_UNITE)
    beck_unite(${target})
    beck_precompile_standard_headers(${target})
  endif()
endfunction()
