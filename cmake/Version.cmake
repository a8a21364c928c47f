# The version: a number, and the commit that was built, which goes into Version.inc at every build.
# Only base/Version.cpp reads that file, and it changes only when the commit does.
#
# As a script (cmake -DOUTPUT=FILE -P Version.cmake) it writes the file.
set(TRANSFORMER_VERSION 0.1.0)
if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

# "ad89d4a", behind it "-dirty" when files that git knows have been changed.
set(commit unknown)
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
find_program(GIT git)
if(GIT AND EXISTS ${root}/.git) # not that of another project around this one
  execute_process(COMMAND ${GIT} -C ${root} describe --always --dirty
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(commit ${described})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "\"${TRANSFORMER_VERSION} (commit ${commit})\"\n")
