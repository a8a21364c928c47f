# -DTRANSFORMER_SANITIZE=ON: with AddressSanitizer and UndefinedBehaviorSanitizer, and instrumented
# for the fuzz targets of test/fuzz.

option(TRANSFORMER_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
# Most of the time of building tests went into optimising them; fuzzing wants -O1.
set(TRANSFORMER_SANITIZE_LEVEL -O0 CACHE STRING "How far a runtime with sanitizers is optimised")
if(TRANSFORMER_SANITIZE)
  add_compile_options(-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined
    -fno-sanitize=vptr -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
