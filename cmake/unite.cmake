# SPDX-License-Identifier: BSL-1.0
# beck_unite(TARGET): compiles the sources of a library twenty at a time, as one that includes them: the headers are
# read once for all twenty. The sources of a group see each other's unnamed namespaces; where two names clash, change
# one. Not in the builds that show whether each source includes all headers that it uses: release, clang.
function(beck_unite target)
  # Neighbours go to different groups: their unnamed namespaces are the most alike.
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  math(EXPR groups "(${count} + 19) / 20")
  math(EXPR group_last "${groups} - 1")
  math(EXPR source_last "${count} - 1")
  set(mixed)
  foreach(group RANGE ${group_last})
    foreach(number RANGE ${group} ${source_last} ${groups})
      list(GET sources ${number} source)
      list(APPEND mixed ${source})
    endforeach()
  endforeach()
  math(EXPR size "(${count} + ${groups} - 1) / ${groups}")
  set_target_properties(${target} PROPERTIES SOURCES "${mixed}" UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  # g++ takes an unnamed namespace in an included file for one in a header.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
