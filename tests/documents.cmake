# SPDX-License-Identifier: BSL-1.0
# Compiles the C++ blocks of the documents. ./test builds this target as a step of its own.
file(GLOB documents CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md ${PROJECT_SOURCE_DIR}/docs/*/*.md)
list(APPEND documents ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/tools/snippets.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${documents})
execute_process(
  COMMAND python3 ${PROJECT_SOURCE_DIR}/tools/snippets.py ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/documents
  OUTPUT_VARIABLE snippets OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" snippets "${snippets}")
if(snippets)
  add_library(document_snippets OBJECT EXCLUDE_FROM_ALL ${snippets})
  target_link_libraries(document_snippets PRIVATE beck::beck)
  target_compile_options(document_snippets PRIVATE -O0)  # they are never run
  beck_warnings(document_snippets)
else()
  add_custom_target(document_snippets)
endif()
