# SPDX-License-Identifier: BSL-1.0
# BECK_SANITIZE applies to all that is built here: a program and the library that it links must agree on it.
if(BECK_SANITIZE)
  add_compile_options(-fsanitize=${BECK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BECK_SANITIZE})
endif()
