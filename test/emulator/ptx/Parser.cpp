//===- Parser.cpp - text of PTX to statements -----------------------------===//
//
// What LLVM's NVPTX backend writes, and inline assembly in it: declarations,
// functions, nested scopes. Directives that only a debugger reads are skipped.
//
//===----------------------------------------------------------------------===//
#include "test/emulator/Fault.h"
#include "test/emulator/ptx/Ast.h"
#include "test/emulator/ptx/Lexer.h"

#include <bit>
#include <set>

namespace emulator::ptx {
namespace {

const std::set<std::string> spaces = {".global", ".const", ".shared", ".local", ".param"};

class Parser {
public:
  explicit Parser(const std::string &text) : tokens(tokensOf(text)) {}

  Module module() {
    Module result;
    scopes.emplace_back();
    while (!end())
      topLevel(result);
    return result;
  }

private:
  // --- tokens ---------------------------------------------------------------------------------

  const Token &peek(size_t ahead = 0) const {
    return tokens[std::min(at + ahead, tokens.size() - 1)];
  }
  bool end() const { return peek().kind == Token::End; }
  const Token &take() { return tokens[end() ? tokens.size() - 1 : at++]; }
  bool accept(const char *what) {
    bool is = !end() && peek().is(what);
    at += is;
    return is;
  }
  void expect(const char *what) {
    if (!accept(what))
      fail(what);
  }
  [[noreturn]] void fail(const std::string &expected) const {
    throw Fault{Result::InvalidPtx,
                text("line %d: expected %s, found \"%s\"", peek().line, expected.c_str(),
                     end() ? "the end of the module" : peek().text.c_str())};
  }
  std::string name() {
    if (peek().kind != Token::Word)
      fail("a name");
    return take().text;
  }
  int64_t integer() {
    bool negative = accept("-");
    if (peek().kind != Token::Integer)
      fail("an integer");
    int64_t value = take().value;
    return negative ? -value : value;
  }

  // --- module ---------------------------------------------------------------------------------

  void topLevel(Module &module) {
    static const std::set<std::string> linking = {".visible", ".extern", ".weak", ".common"};
    bool external = false;
    while (linking.count(peek().text))
      external |= take().text == ".extern";
    std::string word = peek().text;
    if (accept(".version")) {
      std::string number = take().text; // 7.0
      module.version = std::stoi(number) * 10 + number.back() - '0';
    } else if (accept(".target")) {
      do
        if (std::string option = name(); option.rfind("sm_", 0) == 0)
          module.architecture = std::atoi(option.c_str() + 3);
      while (accept(","));
    } else if (accept(".address_size")) {
      if (integer() != 64)
        fail("64-bit addresses");
    } else if (accept(".entry"))
      module.functions.push_back(function(true));
    else if (accept(".func"))
      module.functions.push_back(function(false));
    else if (accept(".section"))
      skipSection();
    else if (!debugging()) {
      if (!spaces.count(word))
        fail("a directive or a function");
      for (Variable &variable : variables()) {
        variable.external = external;
        module.variables.push_back(std::move(variable));
      }
    }
  }

  bool debugging() {
    if (accept(".file") || accept(".loc")) {
      for (int line = tokens[at - 1].line; !end() && peek().line == line;)
        take();
      return true;
    }
    if (accept(".pragma")) {
      while (!end() && !accept(";"))
        take();
      return true;
    }
    return false;
  }

  void skipSection() {
    while (!end() && !accept("}"))
      take();
  }

  // --- variables --------------------------------------------------------------------------------

  // .space [.align n] [.v4] .type name[n] = {...}, name...;
  std::vector<Variable> variables() {
    std::vector<Variable> result;
    Variable common;
    common.space = take().text.substr(1);
    int element = elementType(common);
    do {
      Variable variable = common;
      declarator(variable, element);
      result.push_back(std::move(variable));
    } while (accept(","));
    expect(";");
    return result;
  }

  Variable parameter() {
    expect(".param");
    Variable variable;
    variable.space = "param";
    int element = elementType(variable);
    declarator(variable, element);
    return variable;
  }

  // Up to the type, and what follows it for a pointer: bytes of an element.
  int elementType(Variable &variable) {
    uint64_t alignment = 0;
    int vector = 1, bytes = 0;
    while (peek().text[0] == '.') {
      std::string word = take().text;
      if (word == ".align")
        (bytes ? pointerAlignment : alignment) =
            integer(); // behind the type: of what is pointed to
      else if (word == ".v2" || word == ".v4")
        vector = word[2] - '0';
      else if (word == ".attribute")
        fail("no .attribute");
      else if (Type type = typeOf(word.substr(1)); type != Type::None)
        bytes = type == Type::Pred ? 1 : bytesOf(type);
      else if (word != ".ptr" && !spaces.count(word))
        fail("a type");
    }
    if (!bytes)
      fail("a type");
    variable.alignment = alignment ? alignment : bytes * vector;
    return bytes * vector;
  }

  void declarator(Variable &variable, int element) {
    variable.name = name();
    uint64_t count = 1;
    while (accept("[")) {
      count *= peek().is("]") ? 0 : integer(); // [] is dynamic shared memory
      expect("]");
    }
    variable.size = count * element;
    if (accept("=")) {
      initialiser(variable, element);
      if (variable.data.size() > variable.size)
        fail(text("at most %d bytes of initialisers of %s", (int)variable.size,
                  variable.name.c_str()));
    }
  }

  void initialiser(Variable &variable, int element) {
    if (accept("{")) {
      if (accept("}"))
        return;
      do
        initialiser(variable, element);
      while (accept(","));
      return expect("}");
    }
    uint64_t bits = 0;
    bool negative = accept("-");
    if (peek().kind == Token::Word) {
      bool generic = accept("generic");
      if (generic)
        expect("(");
      std::string symbol = name();
      if (generic)
        expect(")");
      int64_t offset = accept("+") ? integer() : 0;
      if (element != 8)
        fail("pointers as .b64 initialisers");
      variable.addresses.push_back({variable.data.size(), symbol, offset, generic});
    } else {
      const Token &token = take();
      bits = token.value;
      if (token.kind == Token::Float64 && element == 4)
        bits = std::bit_cast<uint32_t>((float)std::bit_cast<double>(token.value));
      else if (token.kind != Token::Integer && token.kind != Token::Float32 &&
               token.kind != Token::Float64)
        fail("a number");
      if (negative)
        bits = token.kind == Token::Integer ? -bits : bits ^ 1ull << (element * 8 - 1);
    }
    for (int i = 0; i < element; ++i)
      variable.data.push_back(bits >> (8 * i));
  }

  // --- functions
  // ----------------------------------------------------------------------------------

  std::vector<Variable> parameters() {
    std::vector<Variable> result;
    if (!accept("(") || accept(")"))
      return result;
    do
      result.push_back(parameter());
    while (accept(","));
    expect(")");
    return result;
  }

  int64_t product() {
    int64_t result = integer();
    while (accept(","))
      result *= integer();
    return result;
  }

  Function function(bool kernel) {
    Function result;
    result.kernel = kernel;
    if (!kernel)
      result.results = parameters();
    result.line = peek().line;
    result.name = name();
    result.parameters = parameters();
    while (!end() && !peek().is("{") && !accept(";")) {
      if (accept(".maxntid") || accept(".reqntid"))
        result.maxThreads = product();
      else if (accept(".reqnctapercluster"))
        for (int i = 0; i < 3; ++i)
          result.clusterSize[i] = i == 0 || accept(",") ? integer() : 1;
      else if (accept(".minnctapersm") || accept(".maxnreg") || accept(".maxclusterrank"))
        integer();
      else if (!accept(".noreturn") && !accept(".explicitcluster") && !debugging())
        fail("a body");
    }
    if (!peek().is("{"))
      return result;
    result.defined = true;
    scope(result);
    return result;
  }

  struct Scope {
    std::unordered_map<std::string, int> registers;
    std::unordered_map<std::string, std::string>
        variables; // to names that are unique in the function
  };

  void scope(Function &function) {
    expect("{");
    scopes.emplace_back();
    while (!end() && !accept("}"))
      line(function);
    scopes.pop_back();
  }

  void line(Function &function) {
    if (peek().is("{"))
      return scope(function);
    if (accept(".reg"))
      return registers(function);
    if (spaces.count(peek().text)) {
      for (Variable &variable : variables()) {
        std::string &unique = scopes.back().variables[variable.name];
        unique =
            scopes.size() == 2 ? variable.name : text("%s@%d", variable.name.c_str(), ++uniques);
        variable.name = unique;
        function.variables.push_back(std::move(variable));
      }
      return;
    }
    if (debugging() || accept(";"))
      return;
    Statement result;
    result.line = peek().line;
    if (peek(1).is(":")) {
      result.opcode = "label";
      result.label = name();
      expect(":");
      if (accept(".branchtargets")) {
        result.opcode = "branchtargets";
        operands(function, result.operands, ";");
      } else if (peek().is(".callprototype"))
        fail("no calls through pointers");
    } else
      statement(function, result);
    function.body.push_back(std::move(result));
  }

  // .reg .b32 %r<10>, %x;
  void registers(Function &function) {
    Variable unused;
    Type type = typeOf(take().text.substr(1));
    if (type == Type::None)
      fail("a type of registers");
    auto add = [&](const std::string &name) {
      scopes.back().registers[name] = function.registers.size();
      function.registers.push_back(type);
    };
    do {
      std::string prefix = name();
      if (accept("<")) {
        int64_t count = integer();
        for (int64_t i = 0; i < count; ++i)
          add(prefix + std::to_string(i));
        expect(">");
      } else
        add(prefix);
    } while (accept(","));
    expect(";");
  }

  void statement(Function &function, Statement &result) {
    if (accept("@")) {
      result.guardNegated = accept("!");
      result.guard = reg(name());
      if (result.guard < 0)
        fail("a predicate behind @");
    }
    result.opcode = name();
    for (size_t begin = 0; begin <= result.opcode.size();) {
      size_t dot = std::min(result.opcode.find('.', begin), result.opcode.size());
      result.parts.push_back(result.opcode.substr(begin, dot - begin));
      begin = dot + 1;
    }
    operands(function, result.operands, ";");
  }

  void operands(Function &function, std::vector<Operand> &list, const char *close) {
    if (accept(close))
      return;
    do
      list.push_back(alternative());
    while (accept(","));
    expect(close);
  }

  // %r1|%p1 is a list of two.
  Operand alternative() {
    Operand first = operand();
    if (!accept("|"))
      return first;
    Operand both;
    both.kind = Operand::Vector;
    both.elements = {first, operand()};
    return both;
  }

  int reg(const std::string &name) const {
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
      if (auto found = scope->registers.find(name); found != scope->registers.end())
        return found->second;
    return -1;
  }

  Operand operand() {
    Operand result;
    if (accept("{") || accept("(")) {
      const char *close = tokens[at - 1].text == "{" ? "}" : ")";
      result.kind = Operand::Vector;
      if (accept(close))
        return result;
      do
        result.elements.push_back(operand());
      while (accept(","));
      expect(close);
      return result;
    }
    if (accept("["))
      return address();
    if (accept("!")) {
      result = operand();
      result.negated = true;
      return result;
    }
    bool minus = accept("-");
    if (peek().kind == Token::Word && !minus)
      return named();
    const Token &token = take();
    result.value = token.value;
    result.kind = token.kind == Token::Integer   ? Operand::Integer
                  : token.kind == Token::Float32 ? Operand::Float32
                                                 : Operand::Float64;
    if (token.kind != Token::Integer && token.kind != Token::Float32 &&
        token.kind != Token::Float64) {
      --at;
      fail("an operand");
    }
    if (minus)
      result.value = result.kind == Operand::Integer   ? -result.value
                     : result.kind == Operand::Float32 ? result.value ^ 0x80000000
                                                       : result.value ^ INT64_MIN;
    return result;
  }

  Operand named() {
    Operand result;
    result.name = take().text;
    if (result.name == "_")
      return result;
    if (result.name == "WARP_SZ") {
      result.kind = Operand::Integer;
      result.value = 32;
      return result;
    }
    result.reg = reg(result.name);
    if (result.reg >= 0) {
      result.kind = Operand::Register;
      return result;
    }
    result.kind = result.name[0] == '%' ? Operand::Special : Operand::Symbol;
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
      if (auto found = scope->variables.find(result.name); found != scope->variables.end()) {
        result.name = found->second;
        break;
      }
    if (result.kind == Operand::Symbol && accept("+"))
      result.value = integer();
    return result;
  }

  Operand address() {
    Operand result;
    if (peek().kind == Token::Word) {
      result = named();
      if (result.kind != Operand::Register && result.kind != Operand::Symbol)
        fail("a register or a variable");
      if (accept("+"))
        result.value += integer();
      else if (accept("-"))
        result.value -= integer();
    } else
      result.value = integer();
    result.kind = Operand::Address;
    if (accept(","))
      result.elements = operand().elements;
    expect("]");
    return result;
  }

  std::vector<Token> tokens;
  size_t at = 0;
  int uniques = 0;
  uint64_t pointerAlignment = 0; // what LLVM knows of pointers does not matter here
  std::vector<Scope> scopes;
};

} // namespace

Module parse(const std::string &text) { return Parser(text).module(); }

} // namespace emulator::ptx
