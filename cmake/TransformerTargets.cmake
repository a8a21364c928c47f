# Flags and helpers that every target of the compiler shares.

include(cmake/Sanitize.cmake)

set(TRANSFORMER_WARNINGS -Wall -Wextra -Werror -Wno-unused-parameter -Wno-comment)

add_library(transformer_compiler_flags INTERFACE)
target_include_directories(transformer_compiler_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_include_directories(transformer_compiler_flags SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_options(transformer_compiler_flags INTERFACE ${TRANSFORMER_WARNINGS} -fno-rtti)
target_link_libraries(transformer_compiler_flags INTERFACE MLIR LLVM)

# The compiler spends its time in libMLIR and libLLVM, so our own part is built for quick builds.
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")

# One precompiled header for the whole compiler: parsing MLIR's headers is most of a build's time.
file(WRITE ${PROJECT_BINARY_DIR}/pch.cpp "")
add_library(transformer_pch OBJECT ${PROJECT_BINARY_DIR}/pch.cpp)
target_link_libraries(transformer_pch PUBLIC transformer_compiler_flags)
target_precompile_headers(transformer_pch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/CompilerPch.h)
add_dependencies(transformer_pch TransformerDialectGen TransformerKernelGen)

# TableGen (and C++) files name each other from the repository root.
include_directories(${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})

# transformer_library(NAME sources... [LINK libraries...])
function(transformer_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} transformer_compiler_flags)
  target_precompile_headers(${name} REUSE_FROM transformer_pch)
endfunction()

# transformer_tool(NAME sources... LINK libraries...)
function(transformer_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} transformer_compiler_flags)
  # The header is for libraries: an executable's -fPIE would refuse it.
  target_compile_options(${name} PRIVATE -fPIC)
  target_precompile_headers(${name} REUSE_FROM transformer_pch)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()
