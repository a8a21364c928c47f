//===- TrainData.h - --data on the command line -----------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TRAINDATA_H
#define TRANSFORMER_RUNTIME_TRAINDATA_H

#include "runtime/cli/Session.h"
#include "runtime/train/TextData.h"
#include "runtime/train/Trainer.h"

#include <memory>

namespace transformer::runtime {

/// How steps are made of text.
struct DataOptions {
  TextOptions text;
  std::vector<const CLI::Option *> ofText; // which no safetensors file takes
};

/// Adds --tokenizer, --epochs, --batch-size and their like to a subcommand; the seed is its own.
void addDataOptions(CLI::App &app, Session &session, DataOptions &options);

enum class DataUse { Training, Evaluation };

/// Opens a .txt or .tsv file, else a safetensors file, for steps or for evaluation, which reads it
/// once; says on stderr what is in text. Throws Error.
std::unique_ptr<DataSource> openData(const Session &session, const Trainer &trainer,
                                     const std::string &path, const DataOptions &options,
                                     DataUse use);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TRAINDATA_H
