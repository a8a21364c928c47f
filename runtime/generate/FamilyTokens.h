//===- FamilyTokens.h - tokens that a shortened config.json leaves out -*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_FAMILYTOKENS_H
#define TRANSFORMER_RUNTIME_FAMILYTOKENS_H

#include "runtime/base/Json.h"

#include <string>

namespace transformer::runtime {

/// Of an encoder-decoder's `model_type` the tokens that its configuration class has by default, by
/// their names in config.json; an empty object for others.
Json familyTokens(const std::string &modelType);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_FAMILYTOKENS_H
