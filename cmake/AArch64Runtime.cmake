# `ninja aarch64-runtime`: the runtime for AArch64, where transformer-compile --arch aarch64 looks
# for it. Not part of `all`: it needs a C++ library for AArch64 (scripts/setup test).
include(ExternalProject)
ExternalProject_Add(aarch64-runtime
  SOURCE_DIR ${PROJECT_SOURCE_DIR}/runtime
  BINARY_DIR ${PROJECT_BINARY_DIR}/runtime/aarch64
  CMAKE_ARGS
    --toolchain ${PROJECT_SOURCE_DIR}/cmake/aarch64-linux-gnu.cmake
    -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_CXX_COMPILER_LAUNCHER=${CCACHE}
    # Headers only, the same for every machine.
    -Dfmt_DIR=${fmt_DIR} -DCLI11_DIR=${CLI11_DIR} -Dnlohmann_json_DIR=${nlohmann_json_DIR}
  BUILD_COMMAND ${CMAKE_COMMAND} --build <BINARY_DIR> --target transformer_runtime_main transformer-run
  INSTALL_COMMAND ""
  BUILD_ALWAYS ON
  EXCLUDE_FROM_ALL ON)
