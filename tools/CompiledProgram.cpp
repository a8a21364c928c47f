//===- CompiledProgram.cpp - compile a module and run it here -------------===//
#include "tools/CompiledProgram.h"
#include "dialect/OutputFile.h"
#include "runtime/base/Error.h"
#include "runtime/execute/Program.h"
#include "runtime/files/TensorFiles.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::transformer;
namespace rt = ::transformer::runtime;

static reference::Tensor fromRuntime(const rt::Tensor &tensor) {
  reference::Tensor result{tensor.shape(), {}};
  if (rt::isFloat(tensor.dtype())) {
    std::vector<float> values(tensor.count());
    rt::convertToFloat(tensor.dtype(), tensor.data<char>(), values.data(), tensor.count());
    result.data = std::vector<double>(values.begin(), values.end());
  } else {
    std::vector<int64_t> values(tensor.count());
    rt::convertToInt64(tensor.dtype(), tensor.data<char>(), values.data(), tensor.count());
    result.data = std::move(values);
  }
  return result;
}

static reference::NamedTensors fromRuntime(const rt::TensorMap &tensors) {
  reference::NamedTensors result;
  for (const auto &[name, tensor] : tensors)
    result.emplace(name, fromRuntime(tensor));
  return result;
}

llvm::Expected<RunData> RunData::open(const std::string &weights,
                                      const std::vector<std::string> &inputs) {
  RunData data;
  data.weights = weights;
  data.inputFiles = inputs;
  try {
    rt::Checkpoint::open(weights);
    data.given = fromRuntime(rt::readTensors(inputs));
  } catch (const rt::Error &error) {
    return llvm::createStringError(error.what());
  }
  return data;
}

FailureOr<reference::Tensor> RunData::parameter(ParameterOp op) const {
  rt::Checkpoint checkpoint = rt::Checkpoint::open(weights);
  auto found = checkpoint.find(op.getSymName().str());
  if (op.getAliases())
    for (auto alias : op.getAliases()->getAsValueRange<StringAttr>())
      if (!found)
        found = checkpoint.find(alias.str());
  if (!found || !rt::isFloat(found->view->dtype))
    return failure();
  reference::Tensor result{found->view->shape, {}};
  std::vector<float> values(result.size());
  rt::convertToFloat(found->view->dtype, found->view->data, values.data(), values.size());
  result.data = std::vector<double>(values.begin(), values.end());
  return result;
}

llvm::Expected<std::vector<reference::NamedTensors>>
RunData::runCompiled(ModuleOp module, const std::vector<std::string> &entries,
                     CompileOptions options) const {
  auto text = TemporaryFile::create("transformer-verify", "mlir");
  if (!text)
    return text.takeError();
  auto object = TemporaryFile::create("transformer-verify", "so");
  if (!object)
    return object.takeError();
  auto print = [&](llvm::raw_ostream &out) {
    module.print(out);
    return llvm::Error::success();
  };
  if (llvm::Error error = writeOutput(text->path().str(), print))
    return error;
  options.input = text->path().str();
  options.output = object->path().str();
  options.verifyEach = true;
  if (llvm::Error error = compile(options))
    return error;
  try {
    rt::Module compiled = rt::Module::open(options.output);
    rt::Program ready(compiled, rt::Checkpoint::open(weights));
    std::vector<reference::NamedTensors> results;
    for (const std::string &entry : entries)
      results.push_back(fromRuntime(ready.run(entry, rt::readTensors(inputFiles))));
    return results;
  } catch (const rt::Error &error) {
    return llvm::createStringError(error.what());
  }
}
