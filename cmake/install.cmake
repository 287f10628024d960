# SPDX-License-Identifier: BSL-1.0
# Installs the library, its public headers, the CMake package and the pkg-config file. Everything installed is
# relocatable: `cmake --install BUILD --prefix P` works for any P.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/beck)
install(TARGETS beck beck_http beck_redis beck_websocket EXPORT beckTargets FILE_SET HEADERS)
install(EXPORT beckTargets NAMESPACE beck:: DESTINATION ${package_dir})
if(TARGET beck_tls)
  install(TARGETS beck_tls EXPORT beckTlsTargets FILE_SET HEADERS)
  install(EXPORT beckTlsTargets NAMESPACE beck:: DESTINATION ${package_dir})
endif()

configure_package_config_file(cmake/beckConfig.cmake.in ${PROJECT_BINARY_DIR}/beckConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/beckConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/beckConfig.cmake ${PROJECT_BINARY_DIR}/beckConfigVersion.cmake
  DESTINATION ${package_dir})

file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(pc_definitions "")
if(BECK_CHECK_RESULTS)
  set(pc_definitions " -DBECK_CHECK_RESULTS")
endif()
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
configure_file(cmake/beck.pc.in ${PROJECT_BINARY_DIR}/beck.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/beck.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
