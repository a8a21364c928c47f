//===- LowerModuleAbi.cpp - parameters and entries to the module ABI ------===//
#include "codegen/Passes.h"
#include "codegen/Target.h"
#include "codegen/analysis/Flops.h"
#include "codegen/kernels/KernelDialect.h"
#include "codegen/module/Description.h"
#include "codegen/module/Descriptor.h"
#include "dialect/State.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "runtime/abi/ModuleAbi.h"
#include "runtime/base/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_LOWERMODULEABI
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;
namespace json = llvm::json;

namespace {

class AbiLowering {
public:
  /// `deviceArch`: of the GPU whose kernels the functions launch, or empty.
  AbiLowering(ModuleOp module, cpu::TargetAttr target, StringRef deviceArch)
      : module(module), target(target), deviceArch(deviceArch),
        pointer(LLVM::LLVMPointerType::get(module.getContext())),
        b(module.getLoc(), OpBuilder(module.getContext())) {}

  LogicalResult run() {
    int64_t prepared = 0;
    for (auto op : module.getOps<ParameterOp>())
      indexOf[op.getSymName()] = {"parameter", numParameters++};
    for (auto op : module.getOps<PreparedOp>())
      indexOf[op.getSymName()] = {"prepared", prepared++};
    std::string code = prepareCode();
    findWindows();
    for (auto &[callee, arguments] : windows)
      takeWindow(callee, arguments);

    json::Array entries;
    for (func::FuncOp entry : functionsWith(attr::entry)) {
      unsigned numIo = entry.getNumArguments() - 1; // all but the arena
      addSlots(entry);
      json::Object object = describeEntry(entry, 1, numIo);
      if (failed(addStates(entry, numIo, object)))
        return failure();
      object["function"] = wrap(entry, 1, ioOf(entry, numIo), /*sources=*/0);
      entries.push_back(std::move(object));
    }
    json::Array preparedList = lowerPrepared();
    if (failed(checkParametersAreGone()))
      return failure();

    json::Object description{
        {"producer", std::string("transformer-compile ") + ::transformer::runtime::version},
        {"mode", module.lookupSymbol("train_step") ? "train" : "inference"}};
    description["target"] = describeTarget(module, target, deviceArch);
    description["parameters"] = describeParameters(module);
    description["prepare_code"] = code;
    description["prepared"] = std::move(preparedList);
    description["slots"] = std::move(slots);
    if (!states.empty())
      description["states"] = std::move(states);
    description["entries"] = std::move(entries);
    // A long text that few commands read: behind the JSON, where nobody has to parse it.
    std::string tokenizer;
    if (auto text = module->getAttrOfType<StringAttr>(attr::tokenizer)) {
      tokenizer = text.str();
      module->removeAttr(attr::tokenizer);
    }
    for (auto [name, key] : {std::pair<StringRef, StringRef>(attr::modelType, "model_type"),
                             {attr::embedding, "embedding"},
                             {attr::generation, "generation"},
                             {attr::tokenizer, "tokenizer"}})
      if (Attribute value = module->getAttr(name)) {
        description[key] = attributeToJson(value);
        module->removeAttr(name);
      }
    module->removeAttr(attr::otherDropping);
    if (auto lora = module->getAttrOfType<LoraAttr>(attr::lora)) {
      description["lora"] = describeLora(lora);
      module->removeAttr(attr::lora);
    }
    emitModuleStruct(json::Value(std::move(description)), tokenizer);
    for (auto op : llvm::make_early_inc_range(module.getOps<PreparedOp>()))
      op.erase();
    for (auto op : llvm::make_early_inc_range(module.getOps<ParameterOp>()))
      op.erase();
    module->removeAttr(kTargetAttr);
    module->removeAttr(kHostTargetAttr);
    hideFunctions();
    return success();
  }

private:
  SmallVector<func::FuncOp> functionsWith(StringRef attribute) {
    SmallVector<func::FuncOp> found;
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr(attribute))
        found.push_back(function);
    return found;
  }

  /// For every function: the arguments to which every call passes a parameter.
  void findWindows() {
    module.walk([&](func::CallOp call) {
      auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
      if (!callee || callee.isExternal() || callee.getName().ends_with(".arena_bytes"))
        return;
      calls[callee].push_back(call);
    });
    for (auto &[callee, sites] : calls) {
      SmallVector<unsigned> arguments;
      for (unsigned i = 0; i < callee.getNumArguments(); ++i)
        if (llvm::all_of(sites, [&, i = i](func::CallOp call) {
              return call.getOperand(i).getDefiningOp<kernel::GetParameterOp>();
            }))
          arguments.push_back(i);
      if (!arguments.empty())
        windows.push_back({callee, arguments});
    }
  }

  int64_t addSlot(StringRef name) {
    auto [kind, index] = indexOf.at(name);
    slots.push_back(json::Object{{"kind", kind}, {"index", index}});
    return slots.size() - 1;
  }

  Value offset(Value table, int64_t index) {
    return LLVM::GEPOp::create(b, pointer, pointer, table,
                               ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(static_cast<int32_t>(index))});
  }
  Value loadSlot(Value table, int64_t index, MemRefType type) {
    Value data = LLVM::LoadOp::create(b, pointer, offset(table, index));
    return memrefFromPointer(b, data, type);
  }

  /// The callee takes a pointer to consecutive slots in place of its parameters.
  void takeWindow(func::FuncOp callee, ArrayRef<unsigned> arguments) {
    Block &block = callee.front();
    b.setInsertionPointToStart(&block);
    Value table = block.insertArgument(0u, pointer, callee.getLoc());
    for (auto [i, argument] : llvm::enumerate(arguments)) {
      Value old = block.getArgument(argument + 1);
      old.replaceAllUsesWith(loadSlot(table, i, cast<MemRefType>(old.getType())));
    }
    llvm::BitVector erase(block.getNumArguments());
    for (unsigned argument : arguments)
      erase.set(argument + 1);
    block.eraseArguments(erase);
    callee.setType(b.getFunctionType(block.getArgumentTypes(), {}));
    callee.removeArgAttrsAttr();
    for (func::CallOp call : calls[callee]) {
      int64_t first = slots.size();
      llvm::BitVector parameters(call.getNumOperands());
      for (unsigned argument : arguments) {
        auto get = call.getOperand(argument).getDefiningOp<kernel::GetParameterOp>();
        addSlot(get.getName());
        parameters.set(argument);
      }
      call->eraseOperands(parameters);
      pendingWindows.push_back({call, first});
    }
  }

  /// The entry takes the slot table; parameters become loads from it.
  void addSlots(func::FuncOp entry) {
    Block &block = entry.front();
    b.setInsertionPointToStart(&block);
    Value table = block.insertArgument(0u, pointer, entry.getLoc());
    SmallVector<Attribute> attributes = {DictionaryAttr::get(b.getContext())};
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      attributes.push_back(entry.getArgAttrDict(i) ? entry.getArgAttrDict(i)
                                                   : DictionaryAttr::get(b.getContext()));
    entry.setType(b.getFunctionType(block.getArgumentTypes(), {}));
    entry.setArgAttrsAttr(b.getArrayAttr(attributes));
    for (auto [call, first] : pendingWindows)
      if (call->getParentOfType<func::FuncOp>() == entry) {
        b.setInsertionPoint(call);
        call->insertOperands(0, offset(table, first));
      }
    SmallVector<kernel::GetParameterOp> gets;
    entry.walk([&](kernel::GetParameterOp get) { gets.push_back(get); });
    llvm::StringMap<int64_t> known;
    for (kernel::GetParameterOp get : gets) {
      if (!get.use_empty()) {
        auto [it, inserted] = known.try_emplace(get.getName(), 0);
        if (inserted)
          it->second = addSlot(get.getName());
        b.setInsertionPoint(get);
        get.replaceAllUsesWith(loadSlot(table, it->second, get.getType()));
      }
      get.erase();
    }
  }

  /// Lists the states of an entry (behind the slot table), which it may share with others.
  LogicalResult addStates(func::FuncOp entry, unsigned numIo, json::Object &object) {
    json::Array indices;
    for (unsigned i = 1; i <= numIo; ++i) {
      if (roleOf(entry, i) != Role::State)
        continue;
      json::Value state = describeState(entry, i);
      auto [it, inserted] = stateIndex.try_emplace(stateOfArgument(entry, i), states.size());
      if (inserted)
        states.push_back(state);
      else if (states[it->second] != state)
        return entry.emitOpError() << "state \"" << it->first()
                                   << "\" has another type or shape in another entry point";
      indices.push_back(it->second);
    }
    if (!indices.empty())
      object["states"] = std::move(indices);
    return success();
  }

  /// For each argument of an entry (behind the slot table) its place in `io`: inputs, states,
  /// outputs, the host's copies of inputs.
  static SmallVector<unsigned> ioOf(func::FuncOp entry, unsigned numIo) {
    SmallVector<unsigned> places(numIo);
    unsigned next = 0;
    for (Role role : {Role::Input, Role::State, Role::Output, Role::HostInput})
      for (unsigned i = 0; i < numIo; ++i)
        if (roleOf(entry, i + 1) == role)
          places[i] = next++;
    return places;
  }

  /// A hash of the functions that make prepared tensors, and of their tasks: names and shapes do
  /// not say what is in the tensors.
  std::string prepareCode() {
    std::string text;
    llvm::raw_string_ostream out(text);
    OpPrintingFlags alone; // without a look at the rest of the module for each
    alone.useLocalScope();
    llvm::StringSet<> seen;
    for (auto op : module.getOps<PreparedOp>()) {
      if (!seen.insert(op.getFunction()).second)
        continue;
      auto function = module.lookupSymbol<func::FuncOp>(op.getFunction());
      function.print(out, alone);
      function.walk([&](func::ConstantOp task) {
        module.lookupSymbol<func::FuncOp>(task.getValue()).print(out, alone);
      });
    }
    return llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true);
  }

  json::Array lowerPrepared() {
    json::Array list;
    llvm::StringMap<int64_t> wrapped;
    for (auto op : module.getOps<PreparedOp>()) {
      auto function = module.lookupSymbol<func::FuncOp>(op.getFunction());
      auto [it, inserted] = wrapped.try_emplace(op.getFunction(), 0);
      if (inserted)
        it->second = wrap(function, 0, {0}, function.getNumArguments() - 2);
      json::Array sources; // prepared tensors count on behind the parameters
      for (auto source : op.getSources().getAsRange<FlatSymbolRefAttr>()) {
        auto [kind, index] = indexOf.at(source.getValue());
        sources.push_back(kind == "prepared" ? numParameters + index : index);
      }
      auto type = cast<RankedTensorType>(op.getType());
      json::Object object{{"name", op.getSymName()},
                          {"function", it->second},
                          {"dtype", dtypeName(type.getElementType()).value_or("unknown")}};
      object["sources"] = std::move(sources);
      object["shape"] = json::Array(type.getShape());
      list.push_back(std::move(object));
    }
    return list;
  }

  /// Emits the C wrappers of a function and of its `.arena_bytes`; returns the
  /// index in the function table. `sources` arguments come from slots (prepare
  /// functions), `slotArguments` says whether the first is the table itself; the
  /// others come from the places `io` among the tensors.
  int64_t wrap(func::FuncOp function, unsigned slotArguments, ArrayRef<unsigned> io,
               unsigned sources) {
    auto size = module.lookupSymbol<func::FuncOp>((function.getName() + ".arena_bytes").str());
    std::string name = ("transformer." + function.getName()).str();
    Type i64 = b.getI64Type();
    b.setInsertionPointToEnd(module.getBody());
    auto call = LLVM::LLVMFuncOp::create(
        b, name,
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                    {pointer, pointer, pointer}),
        LLVM::Linkage::Internal);
    Block *entry = call.addEntryBlock(b);
    b.setInsertionPointToStart(entry);
    SmallVector<Value> arguments = loadArguments(function, *entry, slotArguments, io, sources);
    if (slotArguments)
      arguments.insert(arguments.begin(), entry->getArgument(0));
    Value most = LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(INT64_MAX));
    arguments.push_back(memrefFromPointer(
        b, entry->getArgument(2), MemRefType::get({ShapedType::kDynamic}, b.getI8Type()), {most}));
    func::CallOp::create(b, function, arguments);
    LLVM::ReturnOp::create(b, ValueRange{});

    b.setInsertionPointToEnd(module.getBody());
    auto bytes = LLVM::LLVMFuncOp::create(b, name + ".arena_bytes",
                                          LLVM::LLVMFunctionType::get(i64, {pointer, pointer}),
                                          LLVM::Linkage::Internal);
    entry = bytes.addEntryBlock(b);
    b.setInsertionPointToStart(entry);
    arguments = loadArguments(size, *entry, 0, io, sources);
    Value result = func::CallOp::create(b, size, arguments).getResult(0);
    LLVM::ReturnOp::create(b, arith::IndexCastOp::create(b, i64, result).getResult());
    functions.push_back({call, bytes});
    return functions.size() - 1;
  }

  /// Memrefs for `sources` slots and the tensors `io`, of the argument types of
  /// `function` from `first` on.
  SmallVector<Value> loadArguments(func::FuncOp function, Block &entry, unsigned first,
                                   ArrayRef<unsigned> io, unsigned sources) {
    SmallVector<Value> arguments;
    auto types = function.getArgumentTypes().drop_front(first);
    for (unsigned i = 0; i < sources; ++i)
      arguments.push_back(loadSlot(entry.getArgument(0), i, cast<MemRefType>(types[i])));
    auto tensor = LLVM::LLVMStructType::getLiteral(
        b.getContext(), {pointer, LLVM::LLVMArrayType::get(b.getI64Type(), TR_MAX_RANK)});
    for (auto [i, place] : llvm::enumerate(io)) {
      auto type = cast<MemRefType>(types[sources + i]);
      Value fields = LLVM::LoadOp::create(
          b, tensor,
          LLVM::GEPOp::create(b, pointer, tensor, entry.getArgument(1),
                              ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(static_cast<int32_t>(place))}));
      Value data = LLVM::ExtractValueOp::create(b, fields, ArrayRef<int64_t>{0});
      SmallVector<Value> sizes;
      for (int64_t d = 0; d < type.getRank(); ++d)
        if (type.isDynamicDim(d))
          sizes.push_back(LLVM::ExtractValueOp::create(b, fields, ArrayRef<int64_t>{1, d}));
      arguments.push_back(memrefFromPointer(b, data, type, sizes));
    }
    return arguments;
  }

  LogicalResult checkParametersAreGone() {
    WalkResult left = module.walk([](kernel::GetParameterOp get) {
      get.emitOpError("is read outside entry points and their layers");
      return WalkResult::interrupt();
    });
    return failure(left.wasInterrupted());
  }

  void emitModuleStruct(json::Value description, StringRef tokenizer) {
    std::string text;
    llvm::raw_string_ostream(text) << description;
    int64_t size = text.size();
    text += tokenizer;
    b.setInsertionPointToEnd(module.getBody());
    auto i32 = b.getI32Type(), i64 = b.getI64Type();
    auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), text.size());
    LLVM::GlobalOp::create(b, bytes, true, LLVM::Linkage::Internal, "transformer.description",
                           b.getStringAttr(text));
    auto pair = LLVM::LLVMStructType::getLiteral(b.getContext(), {pointer, pointer});
    auto tableType = LLVM::LLVMArrayType::get(pair, functions.size());
    auto fillTable = [&](Value value) {
      for (auto [i, both] : llvm::enumerate(functions)) {
        value = set(value, LLVM::AddressOfOp::create(b, both.first), {int64_t(i), 0});
        value = set(value, LLVM::AddressOfOp::create(b, both.second), {int64_t(i), 1});
      }
      return value;
    };
    emitConstant(b, module, "transformer.functions", tableType, LLVM::Linkage::Internal, fillTable);
    SmallVector<Type> fields = {i32, i32, pointer, i64, i64, i64, pointer, i64}; // a tr_module
    bool hasDevice = module.lookupSymbol(kDeviceSymbol);
    if (hasDevice) // a tr_device_module
      fields.push_back(pointer);
    auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), fields);
    auto fillModule = [&](Value value) {
      auto constant = [&](Type t, int64_t v) -> Value {
        return LLVM::ConstantOp::create(b, t, b.getIntegerAttr(t, v));
      };
      value = set(value, constant(i32, TR_MODULE_MAGIC), {0});
      value = set(value, constant(i32, TR_ABI_VERSION), {1});
      value = set(value, LLVM::AddressOfOp::create(b, pointer, "transformer.description"), {2});
      value = set(value, constant(i64, size), {3});
      value = set(value, constant(i64, tokenizer.size()), {4});
      value = set(value, constant(i64, llvm::xxh3_64bits(text)), {5});
      value = set(value, LLVM::AddressOfOp::create(b, pointer, "transformer.functions"), {6});
      value = set(value, constant(i64, functions.size()), {7});
      if (hasDevice)
        value = set(value, LLVM::AddressOfOp::create(b, pointer, kDeviceSymbol), {8});
      return value;
    };
    emitConstant(b, module, "transformer_module", type, LLVM::Linkage::External, fillModule);
  }

  Value set(Value aggregate, Value value, ArrayRef<int64_t> position) {
    return LLVM::InsertValueOp::create(b, aggregate, value, position);
  }

  /// Only `transformer_module` is visible outside.
  void hideFunctions() {
    auto linkage = LLVM::LinkageAttr::get(b.getContext(), LLVM::Linkage::Internal);
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal()) {
        function->setAttr("llvm.linkage", linkage);
        function.removeArgAttrsAttr();
        function->removeAttr(attr::entry);
        function->removeAttr(kFlopsAttr);
      }
  }

  ModuleOp module;
  cpu::TargetAttr target;
  StringRef deviceArch;
  Type pointer;
  ImplicitLocOpBuilder b;
  llvm::StringMap<std::pair<StringRef, int64_t>> indexOf;
  int64_t numParameters = 0;
  llvm::MapVector<func::FuncOp, SmallVector<func::CallOp>> calls;
  SmallVector<std::pair<func::FuncOp, SmallVector<unsigned>>> windows;
  SmallVector<std::pair<func::CallOp, int64_t>> pendingWindows;
  SmallVector<std::pair<LLVM::LLVMFuncOp, LLVM::LLVMFuncOp>> functions;
  json::Array slots, states;
  llvm::StringMap<int64_t> stateIndex;
};

struct LowerModuleAbiPass : mlir::transformer::impl::LowerModuleAbiBase<LowerModuleAbiPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto device = module->getAttrOfType<NVVM::NVVMTargetAttr>(kTargetAttr);
    auto target = device ? module->getAttrOfType<cpu::TargetAttr>(kHostTargetAttr)
                         : cpu::TargetAttr::of(module);
    if (device && !target)
      module.emitError("has no ") << kHostTargetAttr << ", which the functions are for";
    StringRef deviceArch = device ? device.getChip() : StringRef();
    if (!target || failed(AbiLowering(module, target, deviceArch).run()))
      signalPassFailure();
  }
};

} // namespace
