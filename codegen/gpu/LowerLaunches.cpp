//===- LowerLaunches.cpp - launches to calls of the runtime's tr_launch ---===//
#include "codegen/gpu/EmitPtx.h"
#include "codegen/gpu/Passes.h"
#include "codegen/gpu/Target.h"
#include "codegen/gpu/dialect/GpuDialect.h"
#include "codegen/module/Description.h"
#include "codegen/module/Descriptor.h"
#include "codegen/module/HostCalls.h"
#include "codegen/module/Works.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_LOWERLAUNCHES
#include "codegen/gpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

bool isHostInput(Value buffer) {
  auto argument = dyn_cast<BlockArgument>(memref::skipViewLikeOps(cast<MemrefValue>(buffer)));
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return function && function.getArgAttr(argument.getArgNumber(), kHostInputAttr);
}

/// The host has no access to the device's memory, and the device none to the host's.
LogicalResult checkMemory(func::FuncOp function) {
  if (function.getName().ends_with(".arena_bytes")) // a slice of what is checked
    return success();
  auto interrupt = [](Operation *op, StringRef why) {
    op->emitOpError(why);
    return WalkResult::interrupt();
  };
  WalkResult result = function.walk([&](Operation *op) {
    if (auto load = dyn_cast<memref::LoadOp>(op); load && !isHostInput(load.getMemRef()))
      return interrupt(op, "reads the device's memory on the host");
    if (isa<memref::StoreOp, memref::CopyOp>(op))
      return interrupt(op, "writes the device's memory on the host");
    if (isa<mlir::gpu::LaunchFuncOp, func::CallOp, simt::TensorMapOp>(op))
      for (Value operand : op->getOperands())
        if (isa<MemRefType>(operand.getType()) &&
            memref::skipViewLikeOps(cast<MemrefValue>(operand))
                .getDefiningOp<memref::GetGlobalOp>())
          return interrupt(op, "passes a constant of the host to the device");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

class LaunchLowering {
public:
  explicit LaunchLowering(ModuleOp module)
      : module(module), pointer(LLVM::LLVMPointerType::get(module.getContext())),
        b(module.getLoc(), OpBuilder(module.getContext())) {}

  LogicalResult run() {
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        if (failed(checkMemory(function)) || failed(lower(function)))
          return failure();
    emitScopes(module);
    emitDeviceTable();
    for (auto global : llvm::make_early_inc_range(module.getOps<memref::GlobalOp>()))
      if (SymbolTable::symbolKnownUseEmpty(global, module)) // kernels have copies of their own
        global.erase();
    return success();
  }

private:
  Value constant(int64_t v) {
    return LLVM::ConstantOp::create(b, b.getI64Type(), b.getI64IntegerAttr(v));
  }

  Value place(Type list, Value base, int64_t i) {
    return LLVM::GEPOp::create(b, pointer, list, base,
                               ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(i)});
  }

  Value i64(Value index) { return arith::IndexCastOp::create(b, b.getI64Type(), index); }

  /// An operand as the kernel takes it: a buffer is a number for each field of its descriptor.
  LogicalResult flatten(Value operand, SmallVector<Value> &numbers) {
    Type type = operand.getType();
    if (type.isIndex()) {
      numbers.push_back(i64(operand));
      return success();
    }
    if (auto buffer = dyn_cast<MemRefType>(type)) {
      Type descriptor = LLVMTypeConverter(b.getContext()).convertType(buffer);
      Value fields =
          UnrealizedConversionCastOp::create(b, TypeRange{descriptor}, ValueRange{operand})
              .getResult(0);
      auto take = [&](ArrayRef<int64_t> position) {
        numbers.push_back(LLVM::ExtractValueOp::create(b, fields, position));
      };
      for (int64_t field : {0, 1, 2})
        take({field});
      for (int64_t list : {3, 4})
        for (int64_t d = 0; d < buffer.getRank(); ++d)
          take({list, d});
      return success();
    }
    if (!isa<LLVM::LLVMPointerType>(type) &&
        !(type.isIntOrFloat() && llvm::is_contained({8, 16, 32, 64}, type.getIntOrFloatBitWidth())))
      return failure();
    numbers.push_back(operand);
    return success();
  }

  LogicalResult lower(func::FuncOp function) {
    function.walk([&](simt::MultiprocessorsOp op) { lower(op); });
    SmallVector<mlir::gpu::LaunchFuncOp> launches;
    function.walk([&](mlir::gpu::LaunchFuncOp launch) { launches.push_back(launch); });
    if (launches.empty())
      return success();
    SmallVector<SmallVector<Value>> numbers(launches.size());
    size_t most = 1;
    for (auto [launch, of] : llvm::zip_equal(launches, numbers)) {
      b.setInsertionPoint(launch);
      if (launch.hasClusterSize() || !launch.getAsyncDependencies().empty())
        return launch.emitOpError("expected neither clusters nor dependencies");
      for (Value operand : launch.getKernelOperands())
        if (failed(flatten(operand, of)))
          return launch.emitOpError("cannot pass a ") << operand.getType() << " to a kernel";
      most = std::max(most, of.size());
    }
    b.setLoc(function.getLoc());
    // One place for each argument, where all launches put theirs: the driver copies them.
    auto list = LLVM::LLVMArrayType::get(b.getI64Type(), most);
    auto table = LLVM::LLVMArrayType::get(pointer, most);
    auto grid = LLVM::LLVMArrayType::get(b.getI64Type(), 7); // a tr_grid
    Value values = stackSlot(b, function, list), arguments = stackSlot(b, function, table),
          sizes = stackSlot(b, function, grid);
    b.setInsertionPointAfterValue(values); // the last one: each is put at the function's start
    for (size_t i = 0; i < most; ++i)
      LLVM::StoreOp::create(b, place(list, values, i), place(table, arguments, i));
    for (auto [launch, of] : llvm::zip_equal(launches, numbers)) {
      b.setInsertionPoint(launch);
      b.setLoc(launch.getLoc());
      SmallVector<int64_t> maps; // whose places have other memory for this launch
      for (auto [i, number] : llvm::enumerate(of)) {
        auto map = number.getDefiningOp<simt::TensorMapOp>();
        LLVM::StoreOp::create(b, map ? bytesOf(map) : number,
                              map ? place(table, arguments, i) : place(list, values, i));
        if (map)
          maps.push_back(i);
      }
      kernel::WorkOp work = workOf(launch);
      emitCall(launch, grid, sizes, arguments, lowerWork(b, function, work, works++));
      if (work)
        work.erase();
      for (int64_t i : maps)
        LLVM::StoreOp::create(b, place(list, values, i), place(table, arguments, i));
      launch.erase();
    }
    function.walk([](simt::TensorMapOp map) { map.erase(); });
    return success();
  }

  /// The runtime has them for as long as the function runs.
  Value bytesOf(simt::TensorMapOp op) {
    SmallVector<Value> fields;
    if (failed(flatten(op.getMatrix(), fields)))
      llvm_unreachable("a buffer has a descriptor");
    auto [base, offset, rows, columns, stride] =
        std::tuple(fields[1], fields[2], fields[3], fields[4], fields[5]);
    Type element = op.getMatrix().getType().getElementType();
    Value first = LLVM::GEPOp::create(b, pointer, element, base, ArrayRef<LLVM::GEPArg>{offset});
    Type i64 = b.getI64Type();
    declareHostFunction(module, "tr_tensor_map", {pointer, i64, i64, i64, i64}, pointer);
    Value box = constant(static_cast<int64_t>(op.getRows()));
    return func::CallOp::create(b, "tr_tensor_map", pointer,
                                ValueRange{first, rows, columns, stride, box})
        .getResult(0);
  }

  void lower(simt::MultiprocessorsOp op) {
    b.setInsertionPoint(op);
    b.setLoc(op.getLoc());
    declareHostFunction(module, "tr_multiprocessors", {}, b.getI64Type());
    Value count =
        func::CallOp::create(b, "tr_multiprocessors", b.getI64Type(), ValueRange()).getResult(0);
    Value index = arith::IndexCastOp::create(b, b.getIndexType(), count);
    op.replaceAllUsesWith(index);
    op.erase();
  }

  /// What stands in front of the launch, behind the one before.
  static kernel::WorkOp workOf(mlir::gpu::LaunchFuncOp launch) {
    for (Operation *op = launch->getPrevNode(); op && !isa<mlir::gpu::LaunchFuncOp>(op);
         op = op->getPrevNode())
      if (auto work = dyn_cast<kernel::WorkOp>(op))
        return work;
    return {};
  }

  void emitCall(mlir::gpu::LaunchFuncOp launch, Type grid, Value sizes, Value arguments,
                const WorkPointers &work) {
    auto blocks = launch.getGridSizeOperandValues(), threads = launch.getBlockSizeOperandValues();
    Value all[] = {blocks.x, blocks.y, blocks.z, threads.x, threads.y, threads.z};
    for (auto [i, size] : llvm::enumerate(all))
      LLVM::StoreOp::create(b, i64(size), place(grid, sizes, i));
    Value shared = constant(0);
    if (Value bytes = launch.getDynamicSharedMemorySize())
      shared = LLVM::ZExtOp::create(b, b.getI64Type(), bytes);
    LLVM::StoreOp::create(b, shared, place(grid, sizes, 6));
    int64_t index = kernels.insert({launch.getKernelName(), int64_t(kernels.size())}).first->second;
    declareHostFunction(module, "tr_launch", {b.getI64Type(), pointer, pointer, pointer, pointer});
    func::CallOp::create(
        b, "tr_launch", TypeRange{},
        ValueRange{constant(index), sizes, arguments, work.description, work.amounts});
  }

  /// `transformer.device`, a tr_device_code: what embedKernels has put there, and the names of the
  /// kernels in the order of their numbers.
  void emitDeviceTable() {
    b.setInsertionPointToEnd(module.getBody());
    auto set = [&](Value aggregate, Value value, int64_t place) -> Value {
      return LLVM::InsertValueOp::create(b, aggregate, value, ArrayRef<int64_t>{place});
    };
    auto table = LLVM::LLVMArrayType::get(pointer, kernels.size());
    emitConstant(b, module, "transformer.kernels", table, LLVM::Linkage::Internal, [&](Value v) {
      for (auto &[name, index] : kernels)
        v = set(v, stringPointer(b, name), index);
      return v;
    });
    auto i64 = b.getI64Type();
    auto type = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                                 {pointer, i64, pointer, i64, pointer, i64, i64});
    emitConstant(b, module, kDeviceSymbol, type, LLVM::Linkage::Internal, [&](Value v) {
      StringRef images[] = {kPtxSymbol, kCubinSymbol};
      for (auto [i, name] : llvm::enumerate(images)) {
        auto image = module.lookupSymbol<LLVM::GlobalOp>(name);
        Value data = image ? Value(LLVM::AddressOfOp::create(b, pointer, name))
                           : Value(LLVM::ZeroOp::create(b, pointer));
        int64_t bytes = image ? cast<StringAttr>(image.getValueOrNull()).size() : 0;
        v = set(v, data, 2 * int64_t(i));
        v = set(v, constant(bytes), 2 * int64_t(i) + 1);
      }
      v = set(v, LLVM::AddressOfOp::create(b, pointer, "transformer.kernels"), 4);
      v = set(v, constant(int64_t(kernels.size())), 5);
      const GpuTarget *target = gpuTargetOf(module);
      return set(v, constant(target && target->startsEarly), 6);
    });
  }

  ModuleOp module;
  Type pointer;
  ImplicitLocOpBuilder b;
  llvm::MapVector<StringAttr, int64_t> kernels; // their numbers
  unsigned works = 0;
};

struct LowerLaunchesPass : mlir::transformer::impl::LowerLaunchesBase<LowerLaunchesPass> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(LaunchLowering(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace

void mlir::transformer::embedKernels(ModuleOp module, StringRef ptx, StringRef cubin) {
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<mlir::gpu::GPUModuleOp>(op))
      op.erase();
  module->removeAttr(mlir::gpu::GPUDialect::getContainerModuleAttrName());
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto embed = [&](StringRef name, const std::string &bytes) {
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
    auto global = LLVM::GlobalOp::create(b, module.getLoc(), type, /*isConstant=*/true,
                                         LLVM::Linkage::Internal, name, b.getStringAttr(bytes));
    global.setAlignment(64);
  };
  embed(kPtxSymbol, ptx.str() + '\0');
  if (!cubin.empty())
    embed(kCubinSymbol, cubin.str());
}
