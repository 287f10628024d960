# SPDX-License-Identifier: BSL-1.0
# beck_warnings(TARGET): the warnings of this project's own code. They never reach a user: options are private to the
# target, and they are errors only where BECK_WERROR says so (the presets do).
function(beck_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast
    -Woverloaded-virtual -Wundef -Wswitch-enum
    # Of united sources (unite.cmake) each would see the names of the others.
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>)
  if(BECK_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
