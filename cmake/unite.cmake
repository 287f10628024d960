# SPDX-License-Identifier: BSL-1.0
# Compiles many sources as one that includes them, a group: their headers are read, and templates instantiated, once.
# The groups name their sources as an include path does, so that ccache finds them in another folder, too.

# beck_write_groups(OUT NAME SIZE BEFORE AFTER SOURCE...): divides sources into groups of at most SIZE and sets OUT to
# their files. BEFORE and AFTER enclose each source; @number@ in them is its place in the list. Neighbours go to
# different groups: their unnamed namespaces are the most alike.
function(beck_write_groups out name size before after)
  list(LENGTH ARGN count)
  math(EXPR groups "(${count} + ${size} - 1) / ${size}")
  foreach(number RANGE 1 ${count})
    math(EXPR place "${number} - 1")
    math(EXPR group "${place} % ${groups}")
    list(GET ARGN ${place} source)
    string(CONFIGURE "${before}#include \"${source}\"\n${after}" text @ONLY)
    string(APPEND text_${group} "${text}")
  endforeach()
  set(files)
  math(EXPR last "${groups} - 1")
  foreach(group RANGE ${last})
    set(file ${CMAKE_CURRENT_BINARY_DIR}/groups/${name}_${group}.cpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text_${group}}" @ONLY)
    list(APPEND files ${file})
  endforeach()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

# beck_compile_groups(TARGET FILE...): adds groups to a target.
function(beck_compile_groups target)
  target_sources(${target} PRIVATE ${ARGN})
  # g++ takes an unnamed namespace in an included file for one in a header. A tenth of its time goes into looking for
  # memory that it could free, unless it may take some first; a group then takes 0.95 instead of 0.84 GiB.
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage;--param=ggc-min-heapsize=524288>)
endfunction()

# beck_unite(TARGET): compiles the sources of a library twenty at a time. The sources of a group see each other's
# unnamed namespaces; where two names clash, change one. Those with options of their own, set before, stay alone.
# tools/tidy.py and builds that are not united show whether each source includes the headers that it uses.
function(beck_unite target)
  get_target_property(sources ${target} SOURCES)
  set(united)
  set(alone)
  foreach(source ${sources})
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(definitions OR options)
      list(APPEND alone ${source})
    else()
      string(REPLACE "${PROJECT_SOURCE_DIR}/src/" "" source "${source}")
      list(APPEND united ${source})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${alone}")
  set(before "")
  if(target MATCHES "^beck(_test_build)?$")
    # Behind a `using namespace detail` no header could open beck::functions for the first time.
    set(before "#include <beck/beck.hpp>\n")
  endif()
  beck_write_groups(files ${target} 20 "${before}" "" ${united})
  beck_compile_groups(${target} ${files})
endfunction()

# Precompiles the standard headers that most sources include, once for all libraries: a group then takes clang a tenth
# less time. g++ gains nothing from it.
function(beck_precompile_standard_headers target)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    return()
  endif()
  target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # or ccache never finds the same file
  if(target STREQUAL beck)
    target_precompile_headers(beck PRIVATE <algorithm> <array> <atomic> <chrono> <condition_variable> <coroutine>
      <deque> <exception> <functional> <map> <memory> <mutex> <optional> <random> <source_location> <span> <string>
      <string_view> <system_error> <thread> <tuple> <unordered_map> <utility> <variant> <vector>)
  else()
    target_precompile_headers(${target} REUSE_FROM beck)
  endif()
endfunction()
