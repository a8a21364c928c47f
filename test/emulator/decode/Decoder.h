//===- Decoder.h - statements to instructions -------------------*- C++ -*-===//
//
// Walks a kernel and the functions it calls. For each statement the file that
// knows its first word finds operands, by number, and a handler.
//
//===----------------------------------------------------------------------===//
#ifndef EMULATOR_DECODE_DECODER_H
#define EMULATOR_DECODE_DECODER_H

#include "test/emulator/execute/Access.h"
#include "test/emulator/ptx/Ast.h"

#include <functional>

namespace emulator {

using ptx::Type;

struct Symbol {
  Space space;
  int64_t address;
};

class Decoder {
public:
  Decoder(const ptx::Module &module, const LoadedModule &loaded, Kernel &kernel)
      : module(module), loaded(loaded), kernel(kernel) {}

  void decode(const ptx::Function &function);

  // --- what is asked of the statement -----------------------------------------------------------

  const ptx::Statement &statement() const { return *current; }
  const ptx::Operand &operand(size_t i) const;
  size_t numOperands() const { return current->operands.size(); }
  bool has(const char *part) const;
  /// The i-th part from the end, as a type.
  Type type(size_t fromEnd = 0) const;
  /// "line 12: mul.lo.f32: what".
  [[noreturn]] void fail(const std::string &what) const;
  [[noreturn]] void unknown() const { fail("the emulator has no such instruction"); }

  /// A register of `bytes` (0: a predicate) that is written; a scratch one for _.
  Place destination(const ptx::Operand &operand, int bytes);
  /// A register or a number of that many bytes.
  Place source(const ptx::Operand &operand, int bytes);
  Place source(const ptx::Operand &operand, Type type);
  Place destination(size_t i, int bytes) { return destination(operand(i), bytes); }
  Place source(size_t i, int bytes) { return source(operand(i), bytes); }
  Place source(size_t i, Type type) { return source(operand(i), type); }
  /// Bytes of a register operand, 0 of anything else.
  int registerBytes(const ptx::Operand &operand) const;
  Place constant(uint64_t bits, int bytes);
  /// Of a symbol in shared memory.
  Place sharedAddress(uint64_t bits, int bytes);
  Place inPool(uint64_t bits, int bytes);
  Place scratch(int bytes);
  Place carry(); ///< the condition code of add.cc
  /// Of a symbol, if there is one.
  const Symbol *find(const std::string &name) const;

  struct Address {
    Place base; ///< of `baseBytes`
    int baseBytes;
    int64_t offset;
    Space space; ///< that which the symbol lies in, else `space` of the statement
  };
  Address address(const ptx::Operand &operand, Space space);
  Space space() const; ///< by the statement's parts

  // --- what is made of it -----------------------------------------------------------------------

  /// An instruction with the statement's guard; the reference holds until the next one.
  Instruction &add(Handler handler, std::initializer_list<Place> places = {});
  void list(Instruction &in, const std::vector<Place> &places);
  void branchTo(Instruction &in, const std::string &label);
  uint32_t branchTable(const std::string &name);
  void call();
  /// ret, by a branch to where the caller goes on.
  void returnBy(Handler branch);

  const ptx::Module &module;
  const LoadedModule &loaded;
  Kernel &kernel;

private:
  struct Frame {
    const ptx::Function *function;
    std::vector<Place> registers;
    std::unordered_map<std::string, Symbol> symbols;
    std::unordered_map<std::string, uint32_t> labels;
    std::vector<std::pair<size_t, std::string>> jumps;
    struct Table {
      uint32_t index;
      std::vector<std::string> labels;
    };
    std::unordered_map<std::string, Table> tables;
    std::string end; ///< where ret goes; empty in the kernel
  };

  void body(Frame &frame);
  void statementOf(const ptx::Statement &statement);
  void registersOf(Frame &frame);
  void variablesOf(Frame &frame);
  void sharedOf(const ptx::Function &function, std::vector<const ptx::Function *> &seen);
  int64_t local(uint64_t size, uint64_t alignment);
  const ptx::Function *functionNamed(const std::string &name) const;
  Place newRegister(int bytes);

  Frame *frame = nullptr;
  const ptx::Statement *current = nullptr;
  std::unordered_map<std::string, Symbol> shared;
  std::map<std::pair<uint64_t, int>, Place> constants;
  std::map<std::pair<uint64_t, int>, Place> sharedAddresses; // which belong to a block
  std::map<int, Place> scratches;
  Place carryPlace = nowhere;
  int depth = 0;
};

/// What decodes the statements that start with a word.
using Decode = void (*)(Decoder &);
using Table = std::unordered_map<std::string, Decode>;
void addInteger(Table &);
void addBits(Table &);
void addFloat(Table &);
void addHalf(Table &);
void addCompare(Table &);
void addConvert(Table &);
void addMove(Table &);
void addMemory(Table &);
void addControl(Table &);
void addWarpOps(Table &);
void addAtomics(Table &);
void addAsyncCopy(Table &);
void addMatrix(Table &);
void addMbarrier(Table &);
void addWarpgroup(Table &);
bool decodeBulkCopy(Decoder &);       ///< of the words cp and prefetch
bool decodeArriveOfCopies(Decoder &); ///< cp.async.mbarrier.arrive

/// Parses and decodes a module and allocates its variables. Throws a Fault.
std::unique_ptr<LoadedModule> load(const std::string &text);

} // namespace emulator

#endif // EMULATOR_DECODE_DECODER_H
