//===- Description.h - what a module says about itself ----------*- C++ -*-===//
//
// The JSON text of a tr_module as plain structs; docs/module-abi.md is its
// schema.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_DESCRIPTION_H
#define TRANSFORMER_RUNTIME_DESCRIPTION_H

#include "runtime/base/DataType.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace transformer::runtime {

/// How a parameter starts before training: #transformer.init of docs/dialect.md.
struct InitInfo {
  enum Kind {
    Zeros,
    Ones,
    Constant,
    Uniform,
    Normal,
    TruncatedNormal,
    Sinusoids,     // rank 2
    XavierUniform, // these: rank 2 or more
    XavierNormal,
    KaimingUniform,
    KaimingNormal
  } kind = Zeros;
  double value = 0;
  std::optional<int64_t> zeroRow = {}; // of the first dimension
};

/// A tensor of the checkpoint.
struct ParameterInfo {
  std::string name;
  std::vector<std::string> aliases; // other names, tried in this order
  DataType dtype = DataType::F32;
  std::vector<int64_t> shape;
  std::optional<InitInfo> init;
};

/// A tensor that a function of the module makes once from parameters and from tensors that were
/// made before.
struct PreparedInfo {
  std::string name;
  size_t function = 0;
  std::vector<size_t> sources; // indexes of parameters; behind all of them, of prepared tensors
  DataType dtype = DataType::F32;
  std::vector<int64_t> shape; // rank at most TR_MAX_RANK
};

/// What one pointer of the table handed to entry points refers to.
struct SlotInfo {
  enum Kind { Parameter, Prepared } kind = Parameter;
  size_t index = 0;
};

/// A size, or the name of one that is known when the inputs are.
struct Dimension {
  std::string name; // empty: static
  int64_t size = 0;
};

/// A tensor that a program keeps from call to call; entry points update it. It starts as zeros.
struct StateInfo {
  std::string name;
  DataType dtype = DataType::F32;
  std::vector<Dimension> shape; // rank at most TR_MAX_RANK; at most one size has a name
};

/// How an input that was not given is made.
struct DefaultInfo {
  enum Kind { Ones, Zeros, Columns, NotEqual, Greater, CountNotEqual, CountBefore } kind = Ones;
  std::string input; // the last three: the input they look at
  int64_t value = 0;
};

struct ValueRange {
  int64_t low, high; // low <= value < high
};

struct InputInfo {
  std::string name;
  DataType dtype = DataType::I64;
  std::vector<Dimension> shape; // rank at most TR_MAX_RANK
  std::optional<ValueRange> range;
  std::optional<int64_t> ignored; // a value outside of the range that is allowed
  std::string below; // the size that bounds every value, which is 0 or more; empty: none
  std::optional<int64_t> maxLength; // of the last dimension
  std::optional<DefaultInfo> defaultValue;
  bool broadcast = false; // a first size of 1 stands for every row

  /// Whether it says which tokens there are, by ones.
  bool isMask() const;
};

struct OutputInfo {
  std::string name;
  DataType dtype = DataType::F32;
  std::vector<Dimension> shape;
};

/// Floating point operations of attention, per pair of a query and a key of one row.
struct AttentionFlops {
  std::string queries, keys; // names of mask inputs
  double perPair = 0;
  bool causal = false;
};

struct FlopsInfo {
  double perToken = 0;                         // of the first mask
  std::map<std::string, double> perTokenOf;    // per mask input
  std::map<std::string, double> perSequenceOf; // for each row of a mask input
  std::vector<AttentionFlops> attention;
};

struct EntryInfo {
  std::string name;
  size_t function = 0;
  std::vector<InputInfo> inputs;
  std::vector<size_t> states;     // indexes of those that it updates
  std::vector<size_t> hostInputs; // inputs whose copies on the host it reads, too
  std::vector<OutputInfo> outputs;
  FlopsInfo flops;
  std::string objective; // what a training step's labels are: "next_token"; empty: not said

  /// Null when there is no input of that name.
  const InputInfo *findInput(const std::string &input) const;

  /// The first input that tells tokens from padding (a name with "attention_mask" in it, or a
  /// default of ones, not_equal or greater); null when there is none.
  const InputInfo *firstMask() const;
};

struct EmbeddingInfo {
  enum Pooling { Mean, Cls, Max } pooling = Mean;
  bool normalize = false;
  std::optional<int64_t> maxLength; // tokens, special ones included
};

/// Low-rank adapters, as #transformer.lora of docs/dialect.md.
struct LoraInfo {
  int64_t rank = 0;
  double alpha = 0, dropout = 0;
  std::vector<std::string> targets;
};

/// How the checkpoint generates: the text of its generation_config.json or config.json.
struct GenerationInfo {
  std::string file, text;
};

struct Description {
  std::string producer, modelType, mode, cpu;
  std::string kind = "cpu"; // of machine that tensors lie on: "cpu", "cuda"
  std::string arch;         // of that machine
  std::vector<std::string> features;
  std::vector<ParameterInfo> parameters;
  std::vector<PreparedInfo> prepared;
  std::vector<SlotInfo> slots;
  std::vector<StateInfo> states;
  std::vector<EntryInfo> entries;
  std::optional<EmbeddingInfo> embedding;
  std::optional<GenerationInfo> generation;
  std::optional<LoraInfo> lora;
  std::string tokenizer; // JSON text that Tokenizer::parse() reads; empty: none
  std::string text;      // the description itself
  uint64_t preparation;  // a hash of what says which tensors are prepared, and how

  /// Null when there is no entry of that name.
  const EntryInfo *findEntry(const std::string &name) const;
};

/// Parses and checks a description: every index, name and size in it can be relied on afterwards.
/// `numFunctions` is the size of the module's function table. Throws Error that names `module` and
/// the field.
Description parseDescription(const std::string &module, std::string text, size_t numFunctions);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_DESCRIPTION_H
