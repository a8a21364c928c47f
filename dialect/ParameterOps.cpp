//===- ParameterOps.cpp - named parameters --------------------------------===//
#include "dialect/ParameterOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::transformer;

LogicalResult ParameterOp::verify() {
  if (getSymName().empty())
    return emitOpError() << "expected a name, found an empty one";
  auto shape = cast<RankedTensorType>(getType()).getShape();
  InitAttr init = getInit().value_or(InitAttr());
  if (!init)
    return success();
  if (auto row = init.getZeroRow(); row && (shape.empty() || *row >= shape.front()))
    return emitOpError() << "expected a zero_row that its type " << getType() << " has, found "
                         << *row;
  bool hasFans =
      init.getKind() >= InitKind::XavierUniform && init.getKind() <= InitKind::KaimingNormal;
  if (hasFans && shape.size() < 2)
    return emitOpError() << "expected two dimensions or more for init '"
                         << stringifyInitKind(init.getKind()) << "', found " << getType();
  if (init.getKind() == InitKind::Sinusoids && shape.size() != 2)
    return emitOpError() << "expected two dimensions for init 'sinusoids', found " << getType();
  return success();
}

ParseResult transformer::parseSymbolList(OpAsmParser &parser, ArrayAttr &symbols) {
  SmallVector<Attribute> list;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
        FlatSymbolRefAttr symbol;
        if (parser.parseAttribute(symbol))
          return failure();
        list.push_back(symbol);
        return success();
      }))
    return failure();
  symbols = parser.getBuilder().getArrayAttr(list);
  return success();
}

void transformer::printSymbolList(OpAsmPrinter &printer, Operation *, ArrayAttr symbols) {
  printer << '(';
  llvm::interleaveComma(symbols, printer);
  printer << ')';
}

/// The type of a parameter or a prepared tensor; null for other symbols and none.
static Type typeOfParameter(Operation *symbol) {
  if (auto parameter = dyn_cast_or_null<ParameterOp>(symbol))
    return parameter.getType();
  if (auto prepared = dyn_cast_or_null<PreparedOp>(symbol))
    return prepared.getType();
  return {};
}

LogicalResult PreparedOp::verifySymbolUses(SymbolTableCollection &table) {
  auto function = table.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getFunctionAttr());
  if (!function)
    return emitOpError() << "expected a function " << getFunctionAttr() << ", found none";
  // Later the function takes its result as an argument, after bufferisation all as buffers.
  ArrayRef<Type> arguments = function.getArgumentTypes();
  bool buffers = llvm::any_of(arguments, llvm::IsaPred<MemRefType>);
  bool destination = arguments.size() == getSources().size() + 1 && arguments.back() == getType();
  bool returns = arguments.size() == getSources().size() && function.getNumResults() == 1 &&
                 function.getResultTypes().front() == getType();
  if (!buffers && !destination && !returns)
    return emitOpError() << "expected " << getFunctionAttr() << " to take " << getSources().size()
                         << " sources and to return " << getType() << ", found "
                         << function.getFunctionType();
  for (auto [i, source] : llvm::enumerate(getSources())) {
    Operation *symbol = table.lookupNearestSymbolFrom(*this, cast<FlatSymbolRefAttr>(source));
    auto earlier = dyn_cast_or_null<PreparedOp>(symbol);
    if (earlier && !earlier->isBeforeInBlock(*this))
      return emitOpError() << "expected source " << source << " to be prepared before it";
    Type type = typeOfParameter(symbol);
    if (!type)
      return emitOpError() << "expected a parameter " << source << ", found none";
    if (!buffers && function.getArgumentTypes()[i] != type)
      return emitOpError() << "source " << source << " has type " << type << ", but "
                           << getFunctionAttr() << " takes " << function.getArgumentTypes()[i];
  }
  return success();
}

LogicalResult GetParameterOp::verifySymbolUses(SymbolTableCollection &table) {
  Operation *symbol = table.lookupNearestSymbolFrom(*this, getNameAttr());
  Type declared = typeOfParameter(symbol);
  if (!declared)
    return emitOpError() << "expected a parameter " << getNameAttr() << ", found "
                         << (symbol ? "another symbol" : "none");
  if (declared != getType())
    return emitOpError() << "parameter " << getNameAttr() << " has type " << declared
                         << ", but the result has type " << getType();
  return success();
}
