# SPDX-License-Identifier: BSL-1.0
# Installs the libraries, their public headers, the CMake package and the pkg-config files. Everything installed is
# relocatable: `cmake --install BUILD --prefix P` works for any P. The components are those of a distribution's
# packages: runtime (what programs need that use shared libraries), dev and tools.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/beck)

# beck_install_libraries(EXPORT TARGET...): installs libraries, and the file EXPORT.cmake that describes them.
function(beck_install_libraries export)
  install(TARGETS ${ARGN} EXPORT ${export}
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT dev
    ARCHIVE COMPONENT dev
    FILE_SET HEADERS COMPONENT dev)
  install(EXPORT ${export} NAMESPACE beck:: DESTINATION ${package_dir} COMPONENT dev)
endfunction()

# beck_install_pc(NAME DESCRIPTION REQUIRES REQUIRES_PRIVATE CFLAGS): installs NAME.pc for the library of that name.
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
function(beck_install_pc name description requires requires_private cflags)
  string(REPLACE - _ library ${name})
  configure_file(cmake/beck.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()

set(definitions "")
if(BECK_CHECK_RESULTS)
  set(definitions " -DBECK_CHECK_RESULTS")
endif()
set(same_beck "beck = ${PROJECT_VERSION}")
beck_install_libraries(beckTargets beck beck_http beck_redis beck_redis_testing beck_websocket)
beck_install_pc(beck "${PROJECT_DESCRIPTION}" "" "" "-I\${includedir} -pthread${definitions}")
beck_install_pc(beck-http "HTTP/1.1 servers and clients over beck" "${same_beck}" "" "")
beck_install_pc(beck-redis "A Redis client over beck" "${same_beck}" "" "")
beck_install_pc(beck-redis-testing "A Redis server in memory, for tests" "beck-redis = ${PROJECT_VERSION}" "" "")
beck_install_pc(beck-websocket "WebSocket over beck" "beck-http = ${PROJECT_VERSION}" "" "")
if(TARGET beck_tls)
  beck_install_libraries(beckTlsTargets beck_tls)
  set(openssl "libssl >= 3.0, libcrypto >= 3.0")
  if(BUILD_SHARED_LIBS)
    beck_install_pc(beck-tls "TLS over beck and OpenSSL" "${same_beck}" "${openssl}" "")
  else()
    beck_install_pc(beck-tls "TLS over beck and OpenSSL" "${same_beck}, ${openssl}" "" "")
  endif()
endif()

configure_package_config_file(cmake/beckConfig.cmake.in ${PROJECT_BINARY_DIR}/beckConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/beckConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/beckConfig.cmake ${PROJECT_BINARY_DIR}/beckConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT dev)
foreach(component IN ITEMS runtime dev)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ${component})
endforeach()
