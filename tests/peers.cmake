# SPDX-License-Identifier: BSL-1.0
# The programs that the scripts of ./test --peers run, on the release build: not in sanitized ones.

# beck_peer(NAME SOURCES file... LIBRARIES library...)
function(beck_peer name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  beck_warnings(${name})
  if(NOT BECK_TEST_WHOLE)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)  # built by its name
  endif()
endfunction()

# For http/peers.sh and http/hostile.sh.
beck_peer(http_peer_server SOURCES http/peer_server.cpp LIBRARIES beck::http)

# For http/peers.sh: the parser of forms with files alone.
beck_peer(http_form_peer SOURCES http/form_peer.cpp LIBRARIES beck::http)
target_include_directories(http_form_peer PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)

# For world/world.py.
beck_peer(redis_memory_peer SOURCES redis/memory_peer.cpp LIBRARIES beck::redis_testing)

# For websocket/peers.sh.
beck_peer(websocket_peer SOURCES websocket/peer.cpp LIBRARIES beck::websocket)

# For tls/posture.sh.
if(TARGET beck_tls)
  beck_peer(tls_posture_peer SOURCES tls/posture_peer.cpp tls/identities.cpp
    LIBRARIES beck::tls beck::http OpenSSL::SSL)
  target_include_directories(tls_posture_peer PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(tls_posture_peer PRIVATE OPENSSL_SUPPRESS_DEPRECATED)
endif()
