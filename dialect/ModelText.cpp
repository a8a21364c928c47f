//===- ModelText.cpp - reading models written as MLIR ---------------------===//
#include "dialect/ModelText.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::transformer;
using llvm::StringRef;

namespace {

/// Reads text from the front, so far as needed to know how deep it is nested.
class NestingScanner {
public:
  explicit NestingScanner(StringRef text) : text(text) {}

  /// What is too deep, on line(); null if nothing is.
  const char *findProblem() {
    for (; at < text.size(); ++at) {
      step();
      if (deepest > maxNesting)
        return "brackets nested deeper than 256 levels";
      if (affineDepth && at - affineBegin > maxAffineLength)
        return "an affine map or set longer than 1024 characters";
    }
    return nullptr;
  }

  unsigned line() const { return lines; }

private:
  static constexpr size_t maxAffineLength = 1024;

  /// Goes over one character, a comment, a string, an arrow or a name.
  void step() {
    StringRef rest = text.substr(at);
    switch (rest.front()) {
    case '\n':
      ++lines;
      break;
    case '/':
      if (rest.starts_with("//"))
        at += rest.take_until([](char c) { return c == '\n'; }).size() - 1;
      break;
    case '"':
      skipString();
      break;
    case '-':
      at += rest.starts_with("->");
      break;
    case '<':
      if (rest.starts_with("<=")) // in an affine set
        break;
      open();
      if (StringRef before = text.take_front(at);
          !affineDepth && (before.ends_with("affine_map") || before.ends_with("affine_set"))) {
        affineDepth = depth;
        affineBegin = at;
      }
      break;
    case '(':
    case '[':
    case '{':
      open();
      break;
    case '>':
      if (!rest.starts_with(">="))
        close();
      break;
    case ')':
    case ']':
    case '}':
      close();
      break;
    case '#':
    case '!':
      readName(rest);
      break;
    }
  }

  void reach(unsigned levels) {
    deepest = std::max(deepest, levels);
    if (!defined.empty())
      aliases[defined] = std::max(aliases[defined], levels);
  }

  void open() { reach(++depth); }

  void close() {
    depth -= depth > 0;
    if (depth < affineDepth)
      affineDepth = 0;
  }

  /// A string ends with its line at the latest.
  void skipString() {
    for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
      at += text[at] == '\\';
    lines += at < text.size() && text[at] == '\n';
  }

  /// "#name = value" defines an alias, as deep as its value; elsewhere a name is as deep as what
  /// it stands for. Nothing tells where the value ends, so what follows the last alias, up to its
  /// first use, counts as its own.
  void readName(StringRef rest) {
    StringRef name = rest.drop_front().take_while(
        [](char c) { return llvm::isAlnum(c) || StringRef("_.$").contains(c); });
    if (name.empty())
      return;
    name = rest.take_front(name.size() + 1);
    StringRef behind = rest.drop_front(name.size()).ltrim();
    at += name.size() - 1;
    if (depth == 0 && behind.starts_with("=")) {
      defined = name;
      aliases[name] = 0;
      return;
    }
    if (name == defined)
      defined = {};
    reach(depth + aliases.lookup(name));
  }

  StringRef text, defined;
  llvm::StringMap<unsigned> aliases; // how deep what they stand for is
  size_t at = 0, affineBegin = 0;
  unsigned lines = 1, depth = 0, deepest = 0, affineDepth = 0; // affineDepth: 0 outside
};

} // namespace

LogicalResult mlir::transformer::checkText(llvm::MemoryBufferRef text, MLIRContext *context) {
  if (isBytecode(text))
    return emitError(FileLineColLoc::get(context, text.getBufferIdentifier(), 1, 1),
                     "MLIR bytecode, whose reader does not check all that it reads; expected text");
  NestingScanner scanner(text.getBuffer());
  const char *problem = scanner.findProblem();
  if (!problem)
    return success();
  return emitError(
      FileLineColLoc::get(context, text.getBufferIdentifier(), scanner.line(), /*column=*/1),
      problem);
}

OwningOpRef<ModuleOp> mlir::transformer::parseModel(StringRef path, MLIRContext *context) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(path, &error);
  if (!file) {
    emitError(UnknownLoc::get(context), error);
    return {};
  }
  if (failed(checkText(*file, context)))
    return {};
  llvm::SourceMgr source;
  source.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  return parseSourceFile<ModuleOp>(source, context);
}
