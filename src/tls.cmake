# SPDX-License-Identifier: BSL-1.0
# beck::tls over OpenSSL 3, which no public header names. Included where OpenSSL is found.
set_source_files_properties(tls/posix_key_log.cpp PROPERTIES
  COMPILE_DEFINITIONS BECK_TLS_KEY_LOG=$<BOOL:${BECK_TLS_KEY_LOG}>)
beck_library(beck_tls
  SOURCES
    tls/certificate_text.cpp
    tls/contexts.cpp
    tls/engine.cpp
    tls/error.cpp
    tls/failure.cpp
    tls/identity.cpp
    tls/options.cpp
    tls/pem_file.cpp
    tls/posix_key_log.cpp
    tls/posix_system_time.cpp
    tls/record_input.cpp
    tls/record_output.cpp
    tls/revocation.cpp
    tls/server_context.cpp
    tls/server_state.cpp
    tls/sealer.cpp
    tls/session.cpp
    tls/session_cache.cpp
    tls/stream.cpp
    tls/ticket_store.cpp
    tls/trust.cpp
  HEADERS
    tls/authorities.hpp
    tls/client_context.hpp
    tls/client_options.hpp
    tls/error.hpp
    tls/sealer.hpp
    tls/server_context.hpp
    tls/server_options.hpp
    tls/stream.hpp
    tls/ticket_keys.hpp
  PUBLIC beck
  PRIVATE OpenSSL::SSL
)
# The functions of OpenSSL 3.0, the oldest that there may be: later ones call some of them deprecated.
target_compile_definitions(beck_tls PRIVATE OPENSSL_API_COMPAT=30000)
