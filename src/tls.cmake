# SPDX-License-Identifier: BSL-1.0
# beck::tls over OpenSSL 3, which no public header names. Included by CMakeLists.txt where OpenSSL is found.
set(beck_tls_sources
  tls/certificate_text.cpp
  tls/contexts.cpp
  tls/engine.cpp
  tls/error.cpp
  tls/failure.cpp
  tls/identity.cpp
  tls/name_table.cpp
  tls/options.cpp
  tls/pem_file.cpp
  tls/posix_key_log.cpp
  tls/revocation.cpp
  tls/server_context.cpp
  tls/server_state.cpp
  tls/session.cpp
  tls/session_cache.cpp
  tls/stream.cpp
  tls/ticket_store.cpp
  tls/trust.cpp
)
set(beck_tls_headers
  tls/authorities.hpp
  tls/client_context.hpp
  tls/client_options.hpp
  tls/error.hpp
  tls/server_context.hpp
  tls/server_options.hpp
  tls/stream.hpp
  tls/ticket_keys.hpp
)
list(TRANSFORM beck_tls_headers PREPEND ${PROJECT_SOURCE_DIR}/include/beck/)
add_library(beck_tls)
add_library(beck::tls ALIAS beck_tls)
target_sources(beck_tls
  PRIVATE ${beck_tls_sources}
  PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${beck_tls_headers})
target_include_directories(beck_tls PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(beck_tls PUBLIC beck PRIVATE OpenSSL::SSL)
set_source_files_properties(tls/posix_key_log.cpp PROPERTIES
  COMPILE_DEFINITIONS BECK_TLS_KEY_LOG=$<BOOL:${BECK_TLS_KEY_LOG}>)
set_target_properties(beck_tls PROPERTIES
  CXX_EXTENSIONS OFF
  EXPORT_NAME tls
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}
  VERIFY_INTERFACE_HEADER_SETS ${BECK_BUILD_TESTS})
beck_warnings(beck_tls)
