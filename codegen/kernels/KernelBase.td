//===- KernelBase.td - what destination-style ops share -------------------*- tablegen -*-===//

#ifndef CODEGEN_KERNELS_KERNELBASE_TD
#define CODEGEN_KERNELS_KERNELBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kernel_Buffer : AnyTypeOf<[AnyRankedTensor, AnyStridedMemRef]>;

defvar Kernel_DestinationDeclaration = [{
  ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
}];

/// Computes its `outs` from its other operands: on tensors, with results tied to the
/// outs, or on memrefs, without results.
class Kernel_DestinationOp<Dialect dialect, string mnemonic, list<Trait> traits = []>
    : Op<dialect, mnemonic, !listconcat([DestinationStyleOpInterface,
          DeclareOpInterfaceMethods<MemoryEffectsOpInterface>], traits)> {
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasVerifier = 1;
  let extraClassDeclaration = Kernel_DestinationDeclaration;
  let extraClassDefinition = [{
    void $cppClass::getEffects(::mlir::SmallVectorImpl<
        ::mlir::SideEffects::EffectInstance<::mlir::MemoryEffects::Effect>> &effects) {
      ::mlir::transformer::kernel::addKernelEffects(*this, effects);
    }
  }];
}

#endif // CODEGEN_KERNELS_KERNELBASE_TD
