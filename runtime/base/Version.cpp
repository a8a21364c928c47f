//===- Version.cpp - what was built ---------------------------------------===//
#include "runtime/base/Version.h"

namespace transformer::runtime {

const char *const version =
#include "Version.inc" // cmake/Version.cmake writes it at every build
    ;

} // namespace transformer::runtime
