# Flags and helpers that every target of the compiler shares.

option(TRANSFORMER_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
if(TRANSFORMER_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-sanitize=vptr -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

set(TRANSFORMER_WARNINGS -Wall -Wextra -Werror -Wno-unused-parameter -Wno-comment)

add_library(transformer_compiler_flags INTERFACE)
target_include_directories(transformer_compiler_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_include_directories(transformer_compiler_flags SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_options(transformer_compiler_flags INTERFACE ${TRANSFORMER_WARNINGS} -fno-rtti)
target_link_libraries(transformer_compiler_flags INTERFACE MLIR LLVM)

# TableGen (and C++) files name each other from the repository root.
include_directories(${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})

# transformer_library(NAME sources... [LINK libraries...])
function(transformer_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} transformer_compiler_flags)
endfunction()

# transformer_tool(NAME sources... LINK libraries...)
function(transformer_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} transformer_compiler_flags)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()
