//===- ModelFiles.h - the small files beside weights ------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_MODELFILES_H
#define TRANSFORMER_RUNTIME_MODELFILES_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace transformer::runtime {

/// label2id of config.json: classes by their names; empty where there is none. All of these throw
/// Error when a file is damaged.
std::map<std::string, int64_t> readClasses(const std::string &folder);

/// problem_type of config.json, "single_label_classification" and the like; empty where there is
/// none.
std::string readProblemType(const std::string &folder);

/// What tokenizer_config.json says of lengths; checkpoints without a limit have a huge number.
std::optional<int64_t> readMaxLength(const std::string &folder);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_MODELFILES_H
