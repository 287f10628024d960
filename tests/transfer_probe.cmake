# SPDX-License-Identifier: BSL-1.0
# One copy or transmission, and a script that looks at its system calls under strace.
# Nothing for ThreadSanitizer.
if(NOT BECK_SANITIZE MATCHES thread)
  add_executable(transfer_probe transfer/transfer_probe.cpp)
  target_link_libraries(transfer_probe PRIVATE beck::beck)
  set_target_properties(transfer_probe PROPERTIES CXX_EXTENSIONS OFF)
  beck_warnings(transfer_probe)
  add_test(NAME transfer_calls COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/transfer/system_calls_test.py
    $<TARGET_FILE:transfer_probe>)
endif()
