# SPDX-License-Identifier: BSL-1.0
# Compiles the C++ blocks of the documents. ./test --static builds this target.
file(GLOB documents CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md ${PROJECT_SOURCE_DIR}/docs/*/*.md)
list(APPEND documents ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/tools/snippets.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${documents})
execute_process(
  COMMAND python3 ${PROJECT_SOURCE_DIR}/tools/snippets.py ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/documents
  OUTPUT_VARIABLE snippets OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" snippets "${snippets}")
add_custom_target(document_snippets)

# Those that begin with the library's one header for all get it precompiled.
set(of_everything)
set(of_parts)
foreach(snippet IN LISTS snippets)
  file(STRINGS ${snippet} first LIMIT_COUNT 1 REGEX "^#include")
  if(first STREQUAL "#include <beck/beck.hpp>")
    list(APPEND of_everything ${snippet})
  else()
    list(APPEND of_parts ${snippet})
  endif()
endforeach()
foreach(kind everything parts)
  if(of_${kind})
    add_library(snippets_of_${kind} OBJECT EXCLUDE_FROM_ALL ${of_${kind}})
    target_link_libraries(snippets_of_${kind} PRIVATE beck::beck)
    target_compile_options(snippets_of_${kind} PRIVATE -O0)  # they are never run
    beck_warnings(snippets_of_${kind})
    add_dependencies(document_snippets snippets_of_${kind})
  endif()
endforeach()
if(of_everything)
  beck_precompiler_options(snippets_of_everything)
  target_precompile_headers(snippets_of_everything PRIVATE <beck/beck.hpp>)
endif()
