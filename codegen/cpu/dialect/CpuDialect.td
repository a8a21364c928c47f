//===- CpuDialect.td - what only a CPU's code generation knows ------------*- tablegen -*-===//

#ifndef CODEGEN_CPU_DIALECT_CPUDIALECT_TD
#define CODEGEN_CPU_DIALECT_CPUDIALECT_TD

include "mlir/IR/DialectBase.td"

def Cpu_Dialect : Dialect {
  let name = "transformer_cpu";
  let cppNamespace = "::mlir::transformer::cpu";
  let dependentDialects = ["::mlir::transformer::TransformerDialect",
                           "::mlir::transformer::kernel::KernelDialect"];
  let summary = "a CPU, and how linear layers are computed on it";
  let description = [{
    The description of a CPU (`target`, the attribute `transformer.target` of a
    module), the ops that pack weights for its register tiles, and the attribute
    `transformer_cpu.linear` by which the passes on linear layers know the parts
    of each.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

#endif // CODEGEN_CPU_DIALECT_CPUDIALECT_TD
