//===- CallGraph.h - the order of a module's functions ----------*- C++ -*-===//
#ifndef CODEGEN_MEMORY_CALLGRAPH_H
#define CODEGEN_MEMORY_CALLGRAPH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::transformer {

/// All functions with a body, each behind those that it calls. Of functions that call each other in
/// a circle one comes before what it calls.
SmallVector<func::FuncOp> calleesFirst(ModuleOp module);

/// The calls of a private function that others call and do nothing else with; else none.
SmallVector<func::CallOp> callsOf(func::FuncOp function, const SymbolUserMap &users);

/// What a function takes and returns becomes what is in it by now.
void updateType(func::FuncOp function);

} // namespace mlir::transformer

#endif // CODEGEN_MEMORY_CALLGRAPH_H
