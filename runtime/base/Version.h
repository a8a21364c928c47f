//===- Version.h - what was built -------------------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_VERSION_H
#define TRANSFORMER_RUNTIME_VERSION_H

namespace transformer::runtime {

/// The version of runtime and compiler: "0.1.0 (commit ad89d4a)". The commit is `git describe`'s,
/// or "unknown" where there was no git.
extern const char *const version;

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_VERSION_H
