# SPDX-License-Identifier: BSL-1.0
# BECK_SANITIZE applies to all that is built here: a program and the library that it links must agree on it.
if(BECK_SANITIZE)
  add_compile_options(-fsanitize=${BECK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # UBSan's vptr check opens a pipe to look at memory, and reports nonsense where a test has used all descriptors up.
  add_compile_options(-fno-sanitize=vptr)
  # AddressSanitizer finds what UBSan's check of object sizes does, and that takes a twelfth of a compilation.
  if(BECK_SANITIZE MATCHES address)
    add_compile_options(-fno-sanitize=object-size)
    add_compile_definitions(BECK_COUNT_TRANSITIONS)  # src/base/transition_log.hpp
  endif()
  add_link_options(-fsanitize=${BECK_SANITIZE})
endif()
