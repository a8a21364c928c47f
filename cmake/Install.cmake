# `cmake --install build --prefix P`: a tree that works from anywhere. The tools look for the runtime
# in lib/transformer beside the folder that they are in.
include(GNUInstallDirs)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON) # LLVM, where it is not with the system's libraries
set(TRANSFORMER_INSTALL_RUNTIME lib/transformer)

install(FILES ${PROJECT_SOURCE_DIR}/runtime/abi/ModuleAbi.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/transformer-mlir/runtime/abi)
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
# What `ninja aarch64-runtime` has made, if anybody asked for it.
install(CODE "
  file(GLOB files ${PROJECT_BINARY_DIR}/runtime/aarch64/libtransformer_runtime*.a
    ${PROJECT_BINARY_DIR}/runtime/aarch64/libutf8proc.a
    ${PROJECT_BINARY_DIR}/runtime/aarch64/transformer-run)
  file(INSTALL \${files} DESTINATION
    \${CMAKE_INSTALL_PREFIX}/${TRANSFORMER_INSTALL_RUNTIME}/aarch64 USE_SOURCE_PERMISSIONS)")
