//===- Decoder.cpp - statements to instructions ---------------------------===//
#include "test/emulator/decode/Decoder.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace emulator {
namespace {

const Table &table() {
  static const Table table = [] {
    Table result;
    for (auto add :
         {addInteger, addBits, addFloat, addHalf, addCompare, addConvert, addMove, addMemory,
          addControl, addWarpOps, addAtomics, addAsyncCopy, addMatrix, addMbarrier, addWarpgroup})
      add(result);
    return result;
  }();
  return table;
}

uint64_t alignedTo(uint64_t at, uint64_t alignment) {
  return (at + alignment - 1) / alignment * alignment;
}

// A register lies at a multiple of a vector of 64 bytes; 4 bytes are enough for a predicate.
constexpr int vectorBytes = 64;

} // namespace

void Decoder::fail(const std::string &what) const {
  throw Fault{Result::InvalidPtx,
              text("kernel %s, line %d: %s: %s", kernel.name.c_str(), current ? current->line : 0,
                   current ? current->opcode.c_str() : "", what.c_str())};
}

const ptx::Operand &Decoder::operand(size_t i) const {
  if (i >= current->operands.size())
    fail(
        text("expected at least %d operands, found %d", (int)i + 1, (int)current->operands.size()));
  return current->operands[i];
}

bool Decoder::has(const char *part) const {
  return std::find(current->parts.begin() + 1, current->parts.end(), part) != current->parts.end();
}

Type Decoder::type(size_t fromEnd) const {
  const auto &parts = current->parts;
  Type found = fromEnd < parts.size() ? ptx::typeOf(parts[parts.size() - 1 - fromEnd]) : Type::None;
  if (found == Type::None)
    unknown();
  return found;
}

// --- registers, numbers, symbols
// ------------------------------------------------------------------

Place Decoder::newRegister(int bytes) {
  Place place = alignedTo(kernel.frameBytes, bytes ? vectorBytes : 4);
  kernel.frameBytes = place + (bytes ? bytes * lanes : 4);
  return place;
}

Place Decoder::scratch(int bytes) {
  auto [found, isNew] = scratches.try_emplace(bytes, nowhere);
  if (isNew)
    found->second = newRegister(bytes);
  return found->second;
}

Place Decoder::carry() {
  if (carryPlace == nowhere)
    carryPlace = newRegister(0);
  return carryPlace;
}

Place Decoder::constant(uint64_t bits, int bytes) {
  if (bytes < 8)
    bits &= (uint64_t{1} << bytes * 8) - 1;
  auto [found, isNew] = constants.try_emplace({bits, bytes}, nowhere);
  return isNew ? found->second = inPool(bits, bytes) : found->second;
}

Place Decoder::sharedAddress(uint64_t bits, int bytes) {
  auto [found, isNew] = sharedAddresses.try_emplace({bits, bytes}, nowhere);
  if (isNew) {
    found->second = inPool(bits, bytes);
    kernel.sharedAddresses.emplace_back(found->second & ~1, bytes);
  }
  return found->second;
}

Place Decoder::inPool(uint64_t bits, int bytes) {
  // The pool is 64-byte aligned by what reads it: places are multiples of 64.
  Place place = kernel.constants.size() * 8;
  kernel.constants.resize(kernel.constants.size() + std::max(bytes * lanes, vectorBytes) / 8);
  auto *begin = reinterpret_cast<std::byte *>(kernel.constants.data()) + place;
  for (int lane = 0; lane < lanes; ++lane)
    std::memcpy(begin + lane * bytes, &bits, bytes);
  return place | 1;
}

int Decoder::registerBytes(const ptx::Operand &operand) const {
  return operand.kind == ptx::Operand::Register
             ? ptx::bytesOf(frame->function->registers[operand.reg])
             : 0;
}

Place Decoder::destination(const ptx::Operand &operand, int bytes) {
  if (operand.kind == ptx::Operand::Sink)
    return scratch(bytes);
  if (operand.kind != ptx::Operand::Register || registerBytes(operand) != bytes)
    fail(text("expected a register of %d bits as the destination", bytes ? bytes * 8 : 1));
  return frame->registers[operand.reg];
}

Place Decoder::source(const ptx::Operand &operand, int bytes) {
  static const std::unordered_map<std::string, Place> specials = {
      {"%tid.x", threadX},
      {"%tid.y", threadY},
      {"%tid.z", threadZ},
      {"%ctaid.x", blockX},
      {"%ctaid.y", blockY},
      {"%ctaid.z", blockZ},
      {"%ntid.x", blockSizeX},
      {"%ntid.y", blockSizeY},
      {"%ntid.z", blockSizeZ},
      {"%nctaid.x", gridX},
      {"%nctaid.y", gridY},
      {"%nctaid.z", gridZ},
      {"%clusterid.x", clusterX},
      {"%clusterid.y", blockY},
      {"%clusterid.z", blockZ},
      {"%nclusterid.x", clustersX},
      {"%nclusterid.y", gridY},
      {"%nclusterid.z", gridZ},
      {"%cluster_ctaid.x", clusterRank},
      {"%cluster_ctaid.y", zero},
      {"%cluster_ctaid.z", zero},
      {"%cluster_ctarank", clusterRank},
      {"%cluster_nctaid.x", clusterSize},
      {"%cluster_nctaid.y", one},
      {"%cluster_nctaid.z", one},
      {"%cluster_nctarank", clusterSize},
      {"%laneid", laneId},
      {"%warpid", warpId},
      {"%nwarpid", numWarps},
      {"%lanemask_eq", maskEq},
      {"%lanemask_lt", maskLt},
      {"%lanemask_le", maskLe},
      {"%lanemask_gt", maskGt},
      {"%lanemask_ge", maskGe},
      {"%smid", smId},
      {"%dynamic_smem_size", dynamicShared},
      {"%total_smem_size", totalShared}};
  switch (operand.kind) {
  case ptx::Operand::Register:
    if (registerBytes(operand) != bytes)
      fail(text("expected an operand of %d bits, found %d", bytes ? bytes * 8 : 1,
                registerBytes(operand) * 8));
    return frame->registers[operand.reg];
  case ptx::Operand::Integer:
    return bytes ? constant(operand.value, bytes) : constant(operand.value ? allLanes : 0, 4);
  case ptx::Operand::Float32:
    if (bytes == 8)
      return constant(std::bit_cast<uint64_t>(double(std::bit_cast<float>(int32_t(operand.value)))),
                      8);
    return constant(operand.value, bytes);
  case ptx::Operand::Float64:
    if (bytes == 4)
      return constant(std::bit_cast<uint32_t>(float(std::bit_cast<double>(operand.value))), 4);
    if (bytes != 8)
      fail("a decimal number for 16 bits");
    return constant(operand.value, 8);
  case ptx::Operand::Special:
    if (auto found = specials.find(operand.name); found != specials.end() && bytes == 4)
      return found->second;
    fail("the emulator has no " + operand.name);
  case ptx::Operand::Symbol:
    if (const Symbol *symbol = find(operand.name)) {
      uint64_t address = symbol->address + operand.value;
      return symbol->space == Space::Shared ? sharedAddress(address, bytes)
                                            : constant(address, bytes);
    }
    fail("there is no " + operand.name);
  default:
    fail("expected a register or a number");
  }
}

Place Decoder::source(const ptx::Operand &operand, Type type) {
  return source(operand, ptx::bytesOf(type));
}

const Symbol *Decoder::find(const std::string &name) const {
  if (auto found = frame->symbols.find(name); found != frame->symbols.end())
    return &found->second;
  if (auto found = shared.find(name); found != shared.end())
    return &found->second;
  static thread_local Symbol global;
  if (auto found = loaded.globals.find(name); found != loaded.globals.end()) {
    global = {Space::Global, int64_t(found->second)};
    return &global;
  }
  return nullptr;
}

Space Decoder::space() const {
  for (size_t i = 1; i < current->parts.size(); ++i) {
    std::string part = current->parts[i].substr(0, current->parts[i].find("::"));
    if (part == "global")
      return Space::Global;
    if (part == "shared")
      return Space::Shared;
    if (part == "local")
      return Space::Local;
    if (part == "const")
      return Space::Constant;
    if (part == "param")
      return Space::Parameter;
  }
  return Space::Generic;
}

Decoder::Address Decoder::address(const ptx::Operand &operand, Space space) {
  if (operand.kind != ptx::Operand::Address)
    fail("expected an address in brackets");
  Address result{constant(0, 8), 8, operand.value, space};
  if (operand.reg >= 0) {
    result.base = frame->registers[operand.reg];
    result.baseBytes = ptx::bytesOf(frame->function->registers[operand.reg]);
    if (result.baseBytes != 4 && result.baseBytes != 8)
      fail("expected an address of 32 or 64 bits");
  } else if (!operand.name.empty()) {
    const Symbol *symbol = find(operand.name);
    if (!symbol)
      fail("there is no variable " + operand.name);
    result.offset += symbol->address;
    result.space = symbol->space;
  }
  return result;
}

// --- instructions
// -----------------------------------------------------------------------------------

Instruction &Decoder::add(Handler handler, std::initializer_list<Place> places) {
  Instruction in;
  in.run = handler;
  std::copy(places.begin(), places.end(), in.op);
  in.line = current->line;
  if (current->guard >= 0) {
    in.guard = frame->registers[current->guard];
    in.guardNegated = current->guardNegated;
  }
  kernel.code.push_back(in);
  kernel.opcodes.push_back(current->opcode);
  return kernel.code.back();
}

void Decoder::list(Instruction &in, const std::vector<Place> &places) {
  in.list = kernel.places.size();
  in.count = places.size();
  kernel.places.insert(kernel.places.end(), places.begin(), places.end());
}

void Decoder::branchTo(Instruction &in, const std::string &label) {
  frame->jumps.emplace_back(&in - kernel.code.data(), label);
}

uint32_t Decoder::branchTable(const std::string &name) {
  auto found = frame->tables.find(name);
  if (found == frame->tables.end())
    fail("there is no .branchtargets " + name);
  return found->second.index;
}

void Decoder::statementOf(const ptx::Statement &statement) {
  current = &statement;
  if (statement.opcode == "label") {
    frame->labels[statement.label] = kernel.code.size();
    return;
  }
  if (statement.opcode == "branchtargets") {
    Frame::Table &targets = frame->tables[statement.label];
    targets.index = kernel.branchTables.size();
    kernel.branchTables.emplace_back();
    for (const ptx::Operand &label : statement.operands)
      targets.labels.push_back(label.name);
    return;
  }
  auto found = table().find(statement.parts[0]);
  if (found == table().end())
    unknown();
  found->second(*this);
}

void Decoder::body(Frame &inner) {
  Frame *outer = std::exchange(frame, &inner);
  const ptx::Statement *caller = current;
  registersOf(inner);
  variablesOf(inner);
  for (const ptx::Statement &statement : inner.function->body)
    statementOf(statement);
  auto target = [&](const std::string &label) {
    auto found = inner.labels.find(label);
    if (found == inner.labels.end())
      fail("there is no label " + label);
    return found->second;
  };
  inner.labels[inner.end] = kernel.code.size();
  for (auto &[at, label] : inner.jumps)
    kernel.code[at].target = target(label);
  for (auto &[name, branches] : inner.tables)
    for (const std::string &label : branches.labels)
      kernel.branchTables[branches.index].push_back(target(label));
  frame = outer;
  current = caller;
}

void Decoder::registersOf(Frame &inner) {
  for (Type type : inner.function->registers)
    inner.registers.push_back(newRegister(ptx::bytesOf(type)));
  kernel.registers += inner.registers.size();
}

int64_t Decoder::local(uint64_t size, uint64_t alignment) {
  uint64_t at = alignedTo(kernel.localBytes, std::max<uint64_t>(alignment, 1));
  kernel.localBytes = at + size;
  return at;
}

void Decoder::variablesOf(Frame &inner) {
  for (const ptx::Variable &variable : inner.function->variables) {
    Symbol &symbol = inner.symbols[variable.name];
    if (variable.space == "shared") {
      kernel.sharedBytes = alignedTo(kernel.sharedBytes, variable.alignment);
      symbol = {Space::Shared, sharedBase + kernel.sharedBytes};
      kernel.sharedBytes += variable.size;
    } else
      symbol = {Space::Local, local(variable.size, variable.alignment)};
  }
}

// --- functions
// ----------------------------------------------------------------------------------------

const ptx::Function *Decoder::functionNamed(const std::string &name) const {
  for (const ptx::Function &function : module.functions)
    if (function.name == name && function.defined)
      return &function;
  return nullptr;
}

// The module's shared variables that a kernel names, itself or in what it calls; the dynamic one
// lies behind all others.
void Decoder::sharedOf(const ptx::Function &function, std::vector<const ptx::Function *> &seen) {
  if (std::find(seen.begin(), seen.end(), &function) != seen.end())
    return;
  seen.push_back(&function);
  auto place = [&](const ptx::Operand &operand) {
    if (operand.name.empty() || shared.count(operand.name))
      return;
    for (const ptx::Variable &variable : module.variables)
      if (variable.space == "shared" && variable.name == operand.name) {
        if (variable.external) {
          shared[variable.name] = {Space::Shared, -1};
          kernel.dynamicAlignment = std::max<uint32_t>(kernel.dynamicAlignment, variable.alignment);
          return;
        }
        kernel.sharedBytes = alignedTo(kernel.sharedBytes, variable.alignment);
        shared[variable.name] = {Space::Shared, sharedBase + kernel.sharedBytes};
        kernel.sharedBytes += variable.size;
      }
    if (const ptx::Function *callee = functionNamed(operand.name))
      sharedOf(*callee, seen);
  };
  for (const ptx::Statement &statement : function.body)
    for (const ptx::Operand &operand : statement.operands) {
      place(operand);
      for (const ptx::Operand &element : operand.elements)
        place(element);
    }
}

void Decoder::decode(const ptx::Function &function) {
  kernel.frameBytes = endOfSpecial;
  kernel.name = function.name;
  if (function.maxThreads)
    kernel.maxThreads = function.maxThreads;
  std::copy_n(function.clusterSize, 3, kernel.clusterSize);
  Frame outermost{&function, {}, {}, {}, {}, {}, "@end"};
  for (const ptx::Variable &parameter : function.parameters) {
    uint32_t at = alignedTo(kernel.parameterBytes, parameter.alignment);
    kernel.parameters.push_back({at, uint32_t(parameter.size)});
    kernel.parameterBytes = at + parameter.size;
    outermost.symbols[parameter.name] = {Space::Parameter, at};
  }
  std::vector<const ptx::Function *> seen;
  sharedOf(function, seen);
  uint32_t statics = kernel.sharedBytes;
  for (const ptx::Function *called : seen)
    for (const ptx::Variable &variable : called->variables)
      if (variable.space == "shared")
        statics = alignedTo(statics, variable.alignment) + variable.size;
  uint32_t dynamic = alignedTo(statics, kernel.dynamicAlignment);
  for (auto &[name, symbol] : shared)
    if (symbol.address < 0)
      symbol.address = sharedBase + dynamic;
  body(outermost);
  if (kernel.sharedBytes > dynamic)
    fail("shared variables of a function that is called more than once");
  kernel.sharedBytes = dynamic;
  // What falls off the end exits.
  static const ptx::Statement last = [] {
    ptx::Statement exit;
    exit.opcode = "exit";
    exit.parts = {"exit"};
    return exit;
  }();
  frame = &outermost;
  statementOf(last);
}

void Decoder::call() {
  // call (results), name, (arguments): each of them may be left out.
  size_t at = 0;
  std::vector<ptx::Operand> results, arguments;
  if (operand(at).kind == ptx::Operand::Vector)
    results = operand(at++).elements;
  const std::string name = operand(at++).name;
  if (at < numOperands())
    arguments = operand(at).elements;
  const ptx::Function *callee = functionNamed(name);
  if (!callee)
    fail("there is no function " + (name.empty() ? "behind a pointer" : name));
  if (results.size() != callee->results.size() || arguments.size() != callee->parameters.size())
    fail(text("%s: expected %d results and %d arguments", name.c_str(), (int)callee->results.size(),
              (int)callee->parameters.size()));
  if (current->guard >= 0)
    fail("a call under a predicate");
  if (++depth > 30)
    fail("functions that call each other for ever");
  Frame inner{callee, {}, {}, {}, {}, {}, "@end"};
  auto bind = [&](const ptx::Variable &formal, const ptx::Operand &actual) {
    const Symbol *symbol = find(actual.name);
    if (!symbol || symbol->space != Space::Local)
      fail("expected .param variables as arguments");
    inner.symbols[formal.name] = *symbol;
  };
  for (size_t i = 0; i < results.size(); ++i)
    bind(callee->results[i], results[i]);
  for (size_t i = 0; i < arguments.size(); ++i)
    bind(callee->parameters[i], arguments[i]);
  body(inner);
  --depth;
}

void Decoder::returnBy(Handler branch) { branchTo(add(branch), frame->end); }

} // namespace emulator
