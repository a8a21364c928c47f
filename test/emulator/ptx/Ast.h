//===- Ast.h - a PTX module as it is written --------------------*- C++ -*-===//
//
// Statements with their operands; names of registers are numbers already, what a
// statement means is the decoder's business.
//
//===----------------------------------------------------------------------===//
#ifndef EMULATOR_PTX_AST_H
#define EMULATOR_PTX_AST_H

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace emulator::ptx {

enum class Type {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F64
};

/// Bytes of a register of that type: predicates are masks of a warp and have none.
int bytesOf(Type type);
/// Type::None for what is no type. `name` comes without its dot.
Type typeOf(const std::string &name);

struct Operand {
  enum Kind { Register, Special, Integer, Float32, Float64, Symbol, Address, Vector, Sink };
  Kind kind = Sink;
  int reg = -1;         ///< Register, and Address with a register as its base
  bool negated = false; ///< !%p
  std::string name;     ///< Special, Symbol, and Address of a symbol
  int64_t value = 0;    ///< Integer; bits of Float32 and Float64; offset of Address and Symbol
  std::vector<Operand>
      elements; ///< Vector: {a, b}, (a, b) and a|b; Address: a tensor's coordinates
};

struct Statement {
  int line = 0;
  int guard = -1; ///< the register of @%p
  bool guardNegated = false;
  std::string opcode;             ///< ld.global.b32; "label" and "branchtargets" are statements too
  std::vector<std::string> parts; ///< ld, global, b32
  std::vector<Operand> operands;
  std::string label;
};

/// A variable or parameter: `size` bytes, `data` as far as it is initialised.
struct Variable {
  std::string name, space;
  uint64_t alignment = 1, size = 0;
  bool external = false;
  std::vector<uint8_t> data;
  struct Address {
    uint64_t at;
    std::string symbol;
    int64_t offset;
    bool generic;
  };
  std::vector<Address> addresses; ///< pointers among the initialisers
};

struct Function {
  std::string name;
  int line = 0;
  bool kernel = false, defined = false;
  std::vector<Variable> results, parameters;
  std::vector<Variable> variables; ///< .local, .shared and .param inside of the body
  std::vector<Type> registers;
  std::vector<Statement> body;
  int maxThreads = 0;             ///< .maxntid, .reqntid: their product, 0 without
  int clusterSize[3] = {0, 0, 0}; ///< .reqnctapercluster
};

struct Module {
  int version = 0;      ///< 70 is 7.0
  int architecture = 0; ///< 80 is sm_80
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

/// Throws a Fault (InvalidPtx) that names the line.
Module parse(const std::string &text);

} // namespace emulator::ptx

#endif // EMULATOR_PTX_AST_H
