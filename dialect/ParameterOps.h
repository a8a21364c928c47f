//===- ParameterOps.h - helpers of the parameter ops ----------------------===//
#ifndef DIALECT_PARAMETEROPS_H
#define DIALECT_PARAMETEROPS_H

#include "dialect/TransformerDialect.h"

namespace mlir::transformer {

/// `(@a, @b)`: the sources of a prepared tensor.
ParseResult parseSymbolList(OpAsmParser &parser, ArrayAttr &symbols);
void printSymbolList(OpAsmPrinter &printer, Operation *op, ArrayAttr symbols);

} // namespace mlir::transformer

#endif // DIALECT_PARAMETEROPS_H
