//===- Verify.cpp - the compiled program beside the specification ---------===//
#include "tools/Verify.h"
#include "codegen/driver/Stages.h"
#include "dialect/State.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <optional>

using namespace mlir;
using namespace mlir::transformer;
using reference::Tensor;

namespace {

constexpr llvm::StringLiteral probeName = "transformer-verify.probe";

/// A value that can be made an output: packed rows (`mask` is the entry's
/// argument that packed them, `sequences` in the entry) or rows of the batch.
struct Probe {
  Value value;
  Value sequences; // null: rows of the batch
  unsigned mask = 0;
};

struct Difference {
  double error = 0;     // largest absolute error
  double magnitude = 0; // of the reference
  /// Numbers below the least normal one of float32 count as nothing.
  bool exceeds(double bound, double floor) const {
    return !(error <= bound * magnitude + floor || error < 0x1p-126);
  }
};

/// Keeps the results of ops that stand in the entry itself.
struct EntryValues : reference::Observer {
  explicit EntryValues(func::FuncOp entry) : entry(entry) {}
  void observe(Operation *op, ArrayRef<std::string>, ArrayRef<const Tensor *> results) override {
    if (op->getParentOp() == entry)
      for (auto [value, tensor] : llvm::zip(op->getResults(), results))
        if (tensor)
          values.insert({value, *tensor});
  }
  func::FuncOp entry;
  llvm::DenseMap<Value, Tensor> values;
};

class Verifier {
public:
  Verifier(ModuleOp module, const std::string &name, const RunData &data,
           const VerifyOptions &options, llvm::raw_ostream &out)
      : module(module.clone()), name(name), data(data), options(options), out(out) {}

  /// Evaluates the entry.
  llvm::Error evaluate();
  /// Compares what the program computed; `unrounded` is what one of float32 did, if weights are
  /// rounded.
  llvm::Expected<bool> compareWith(const reference::NamedTensors &found,
                                   const reference::NamedTensors *unrounded);

private:
  func::FuncOp entry() { return module->lookupSymbol<func::FuncOp>(name); }
  bool isRounded() const { return options.compile.dtypes.areRounded(); }
  llvm::Error roundWeights();
  llvm::Error evaluate(reference::Observer *observer);
  void reportRounding(const reference::NamedTensors &found,
                      const reference::NamedTensors &unrounded);
  llvm::Error search();
  llvm::Expected<Difference> differenceAt(const Probe &probe, const Tensor &expected);
  SmallVector<Probe> probes(ArrayRef<Operation *> ops);

  OwningOpRef<ModuleOp> module; // calls become inlined, weights rounded
  const std::string &name;      // of the entry
  const RunData &data;
  const VerifyOptions &options;
  llvm::raw_ostream &out;
  std::vector<Tensor> inputs;  // of the entry, in order
  std::vector<Tensor> outputs; // of the reference
  double floor = 0;            // an error that is none
  std::vector<Tensor> exact;   // on weights that are not rounded, if those of `outputs` are
};

} // namespace

static Difference compare(const Tensor &expected, const Tensor &found) {
  Difference difference;
  if (expected.shape != found.shape || expected.isInteger() || found.isInteger())
    return {INFINITY, 0};
  for (auto [e, f] : llvm::zip_equal(expected.reals(), found.reals())) {
    double error = std::abs(e - f);
    if (std::isnan(error) && !(std::isnan(e) && std::isnan(f)))
      error = INFINITY;
    difference.error = std::max(difference.error, std::isnan(error) ? 0 : error);
    difference.magnitude = std::max(difference.magnitude, std::abs(e));
  }
  return difference;
}

static void print(llvm::raw_ostream &out, StringRef what, Difference difference) {
  out << what
      << llvm::formatv(": largest error {0:e2}, largest value {1:e2}\n", difference.error,
                       difference.magnitude);
}

/// The sequences that the rows of `value` belong to, as a value of the same
/// function; `perBatch` if they are rows of the batch. None if nothing tells.
static std::optional<std::pair<Value, bool>> rowsOf(Value value, unsigned depth = 0) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > 1000)
    return std::nullopt; // rows that are arguments: the caller looks
  if (auto pack = dyn_cast<PackTokensOp>(op))
    return std::pair(Value(pack.getSequences()), false);
  if (isa<FirstTokenOp, LastTokenOp>(op))
    return std::pair(op->getOperand(1), true);
  if (auto call = dyn_cast<func::CallOp>(op)) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, call.getCalleeAttr());
    Value returned =
        callee.front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
    std::optional<std::pair<Value, bool>> rows = rowsOf(returned, depth + 1);
    if (rows && isa<BlockArgument>(rows->first))
      return std::pair(call.getOperand(cast<BlockArgument>(rows->first).getArgNumber()),
                       rows->second);
  } else if (isa<AttentionOp, PagedAttentionOp, MultiHeadAttentionOp, EncoderLayerOp,
                 DecoderLayerOp>(op)) {
    for (Value operand : op->getOperands())
      if (isa<SequencesType>(operand.getType()))
        return std::pair(operand, false); // queries come first
  }
  for (Value operand : op->getOperands())
    if (auto rows = rowsOf(operand, depth + 1))
      return rows;
  return std::nullopt;
}

/// The values of `ops` that can become outputs, in order.
SmallVector<Probe> Verifier::probes(ArrayRef<Operation *> ops) {
  SmallVector<Probe> result;
  for (Operation *op : ops)
    for (Value value : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type || type.getRank() != 2 || !type.isDynamicDim(0) || type.isDynamicDim(1) ||
          !type.getElementType().isF32())
        continue;
      auto rows = rowsOf(value);
      auto pack = rows ? rows->first.getDefiningOp<PackTokensOp>() : nullptr;
      auto mask = pack ? dyn_cast<BlockArgument>(pack.getMask()) : nullptr;
      if (mask)
        result.push_back({value, rows->second ? Value() : rows->first, mask.getArgNumber()});
    }
  return result;
}

/// Rows of `[B, S, W]` where the mask is not zero.
static Tensor pack(const Tensor &grid, const Tensor &mask) {
  int64_t width = grid.shape.back();
  std::vector<double> rows;
  for (auto [place, kept] : llvm::enumerate(mask.integers()))
    if (kept)
      rows.insert(rows.end(), grid.reals().begin() + place * width,
                  grid.reals().begin() + (place + 1) * width);
  return {{static_cast<int64_t>(rows.size()) / width, width}, std::move(rows)};
}

/// Compiles the module with the probe's value as one more output of the entry.
llvm::Expected<Difference> Verifier::differenceAt(const Probe &probe, const Tensor &expected) {
  IRMapping mapping;
  OwningOpRef<ModuleOp> probing(cast<ModuleOp>(module->getOperation()->clone(mapping)));
  auto function = probing->lookupSymbol<func::FuncOp>(name);
  Operation *terminator = function.front().getTerminator();
  OpBuilder builder(terminator);
  Value value = mapping.lookup(probe.value);
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<NamedAttribute> attributes = {
      builder.getNamedAttr(attr::name, builder.getStringAttr(probeName))};
  if (probe.sequences) {
    type = RankedTensorType::get({ShapedType::kDynamic, ShapedType::kDynamic, type.getDimSize(1)},
                                 type.getElementType());
    value = UnpackTokensOp::create(builder, value.getLoc(), type, value,
                                   mapping.lookup(probe.sequences), IntegerAttr());
    if (Attribute dims = entry().getArgAttr(probe.mask, attr::dims))
      attributes.push_back(builder.getNamedAttr(attr::dims, dims));
  } else {
    attributes.push_back(builder.getNamedAttr(attr::dims, builder.getStrArrayAttr({"batch"})));
  }
  terminator->insertOperands(terminator->getNumOperands(), value);
  if (failed(function.insertResult(function.getNumResults(), type,
                                   builder.getDictionaryAttr(attributes))))
    return llvm::createStringError("cannot add an output to the entry");
  auto results = data.runCompiled(*probing, {name}, options.compile);
  if (!results)
    return results.takeError();
  const Tensor &found = results->front().find(probeName)->second;
  return compare(expected, probe.sequences ? pack(found, inputs[probe.mask]) : found);
}

/// Runs the reference interpreter on the module as it is now.
llvm::Error Verifier::evaluate(reference::Observer *observer) {
  std::string error;
  auto results = reference::run(
      *module, name, inputs, [&](ParameterOp op) { return data.parameter(op); }, error, observer);
  if (failed(results))
    return llvm::createStringError(error);
  outputs = std::move(*results);
  return llvm::Error::success();
}

/// Puts the callee's body in place of a call; returns the ops that came in.
static SmallVector<Operation *> inlineCall(func::CallOp call) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
  IRMapping mapping;
  mapping.map(callee.getArguments(), call.getOperands());
  OpBuilder builder(call);
  SmallVector<Operation *> ops;
  for (Operation &op : callee.front().without_terminator())
    ops.push_back(builder.clone(op, mapping));
  for (auto [result, returned] :
       llvm::zip(call.getResults(), callee.front().getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(returned));
  call.erase();
  return ops;
}

/// Finds the first op that differs, going into calls.
llvm::Error Verifier::search() {
  SmallVector<Operation *> ops;
  for (Operation &op : entry().front().without_terminator())
    ops.push_back(&op);
  std::string scope;
  while (true) {
    EntryValues expected(entry());
    if (llvm::Error error = evaluate(&expected))
      return error;
    SmallVector<Probe> candidates = probes(ops);
    // The first that differs is in [low, high]; high == size: none is known to. What does not
    // compile with one more output is left out.
    size_t low = 0, high = candidates.size();
    Difference first;
    while (low < high) {
      size_t middle = (low + high) / 2;
      auto difference =
          differenceAt(candidates[middle], expected.values.find(candidates[middle].value)->second);
      if (!difference) {
        out << "cannot look at " << candidates[middle].value.getDefiningOp()->getName() << ": "
            << llvm::toString(difference.takeError()) << "\n";
        candidates.erase(candidates.begin() + middle);
        high -= high > middle;
        continue;
      }
      if (difference->exceeds(options.bound, floor)) {
        high = middle;
        first = *difference;
      } else {
        low = middle + 1;
      }
    }
    if (high == candidates.size()) {
      out << "first difference: " << scope
          << "after the last op that can be looked at, or only where ops are fused\n";
      return llvm::Error::success();
    }
    Operation *op = candidates[high].value.getDefiningOp();
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto name = call->getAttrOfType<StringAttr>(attr::scope);
      scope += (name ? name.getValue() : call.getCallee()).str() + ": ";
      ops = inlineCall(call);
      continue;
    }
    print(out, "first difference: " + scope + op->getName().getStringRef().str(), first);
    out << "  " << *op << "\n";
    return llvm::Error::success();
  }
}

/// What the program computes with rounded weights, as a model that the interpreter evaluates.
llvm::Error Verifier::roundWeights() {
  PassManager manager(module->getContext());
  manager.addPass(createExpandCompositesPass());
  const CompileOptions &compile = options.compile;
  LinearDtypes dtypes = cpuDtypes({compile.arch, compile.dtypes, compile.purpose});
  addRounding(manager, dtypes);
  if (failed(manager.run(*module)))
    return llvm::createStringError("cannot round the weights to " + dtypes.weights);
  return llvm::Error::success();
}

/// The perplexity of `logits` `[B, S, V]` about the ids behind each; none if nothing is behind one.
static std::optional<double> perplexityOf(const Tensor &logits, const Tensor &ids,
                                          const Tensor *mask) {
  int64_t length = logits.shape[1], vocab = logits.shape[2], count = 0;
  double sum = 0;
  auto isThere = [&](int64_t place) { return !mask || mask->integers()[place] != 0; };
  for (int64_t place = 0; place < logits.shape[0] * length; ++place) {
    if (place % length == length - 1 || !isThere(place) || !isThere(place + 1))
      continue;
    llvm::ArrayRef<double> row(logits.reals().data() + place * vocab, vocab);
    double most = *llvm::max_element(row), exponentials = 0;
    for (double logit : row)
      exponentials += std::exp(logit - most);
    sum += most + std::log(exponentials) - row[ids.integers()[place + 1]];
    ++count;
  }
  return count ? std::optional(std::exp(sum / count)) : std::nullopt;
}

/// How far the program is from the model whose weights are not rounded, beside one of float32.
void Verifier::reportRounding(const reference::NamedTensors &found,
                              const reference::NamedTensors &unrounded) {
  auto input = [&](StringRef name) -> const Tensor * {
    for (unsigned i = 0; i < entry().getNumArguments(); ++i)
      if (auto given = entry().getArgAttrOfType<StringAttr>(i, attr::name))
        if (given.getValue() == name)
          return &inputs[i];
    return nullptr;
  };
  const LinearDtypes &dtypes = options.compile.dtypes;
  std::string dtype = dtypes.weights;
  if (dtypes.activations != "f32")
    dtype += " and rows of " + dtypes.activations;
  for (auto [i, expected] : llvm::enumerate(exact)) {
    std::string output = entry().getResultAttrOfType<StringAttr>(i, attr::name).str();
    const Tensor &rounded = found.find(output)->second, &floats = unrounded.find(output)->second;
    print(out, "  " + output + " against float32 weights, " + dtype, compare(expected, rounded));
    print(out, "  " + output + " against float32 weights, f32", compare(expected, floats));
    // Only what generates text has a step.
    const Tensor *ids = input("input_ids");
    if (output != "logits" || expected.rank() != 3 || !ids || !module->lookupSymbol("step") ||
        ids->shape != std::vector<int64_t>{expected.shape[0], expected.shape[1]})
      continue;
    auto perplexity = [&](const Tensor &logits) {
      return perplexityOf(logits, *ids, input("attention_mask"));
    };
    if (auto reference = perplexity(expected))
      out << llvm::formatv("  perplexity: {0} {1:f4}, f32 {2:f4}, reference {3:f4}\n", dtype,
                           *perplexity(rounded), *perplexity(floats), *reference);
  }
}

llvm::Error Verifier::evaluate() {
  if (!entry())
    return llvm::createStringError("there is no entry '" + name + "'");
  for (unsigned i = 0; i < entry().getNumArguments(); ++i)
    if (StringRef state = stateOfArgument(entry(), i); !state.empty())
      return llvm::createStringError("entry '" + name + "' keeps state \"" + state +
                                     "\": only entries without state are compared");
  std::string error;
  auto complete = reference::completeInputs(entry(), data.inputs(), error);
  if (failed(complete))
    return llvm::createStringError(error);
  inputs = std::move(*complete);
  if (llvm::Error failed = evaluate(nullptr))
    return failed;
  if (!isRounded())
    return llvm::Error::success();
  exact = outputs;
  if (llvm::Error failed = roundWeights())
    return failed;
  return evaluate(nullptr);
}

llvm::Expected<bool> Verifier::compareWith(const reference::NamedTensors &found,
                                           const reference::NamedTensors *unrounded) {
  SmallVector<Difference> differences;
  for (auto [i, expected] : llvm::enumerate(outputs)) {
    auto output = entry().getResultAttrOfType<StringAttr>(i, attr::name);
    auto result = output ? found.find(output.getValue()) : found.end();
    if (result == found.end())
      return llvm::createStringError("the program has no output " + std::to_string(i));
    differences.push_back(compare(expected, result->second));
    print(out, output.getValue(), differences.back());
    floor = std::max(floor, options.floor * differences.back().magnitude);
  }
  bool agree = llvm::none_of(differences, [&](const Difference &difference) {
    return difference.exceeds(options.bound, floor);
  });
  if (unrounded)
    reportRounding(found, *unrounded);
  if (!agree)
    if (llvm::Error failed = search())
      return failed;
  return agree;
}

llvm::Expected<bool> mlir::transformer::verifyProgram(ModuleOp module, const RunData &data,
                                                      const VerifyOptions &options,
                                                      llvm::raw_ostream &out) {
  std::vector<Verifier> verifiers;
  for (const std::string &entry : options.entries)
    if (llvm::Error failed = verifiers.emplace_back(module, entry, data, options, out).evaluate())
      return failed;
  auto found = data.runCompiled(module, options.entries, options.compile);
  if (!found)
    return found.takeError();
  std::vector<reference::NamedTensors> unrounded;
  if (options.compile.dtypes.areRounded()) {
    CompileOptions plain = options.compile;
    plain.dtypes = {};
    auto floats = data.runCompiled(module, options.entries, plain);
    if (!floats)
      return floats.takeError();
    unrounded = std::move(*floats);
  }
  bool agree = true;
  for (auto [i, verifier] : llvm::enumerate(verifiers)) {
    if (verifiers.size() > 1)
      out << "@" << options.entries[i] << "\n";
    auto same = verifier.compareWith((*found)[i], unrounded.empty() ? nullptr : &unrounded[i]);
    if (!same)
      return same.takeError();
    agree &= *same;
  }
  return agree;
}
