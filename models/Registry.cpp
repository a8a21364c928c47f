//===- Registry.cpp - the families that can be imported -------------------===//
#include "models/Registry.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::transformer;

static constexpr StringLiteral bertHeads[] = {"Model",
                                              "ForMaskedLM",
                                              "ForPreTraining",
                                              "ForSequenceClassification",
                                              "ForTokenClassification",
                                              "ForQuestionAnswering"};

static constexpr StringLiteral encoderHeads[] = {"Model", "ForMaskedLM",
                                                 "ForSequenceClassification",
                                                 "ForTokenClassification", "ForQuestionAnswering"};
static constexpr StringLiteral electraHeads[] = {"Model",
                                                 "ForPreTraining",
                                                 "ForMaskedLM",
                                                 "ForSequenceClassification",
                                                 "ForTokenClassification",
                                                 "ForQuestionAnswering"};
static constexpr StringLiteral imageHeads[] = {"Model", "ForImageClassification"};
static constexpr StringLiteral decoderHeads[] = {"Model", "LMHeadModel"};
static constexpr StringLiteral causalHeads[] = {"Model", "ForCausalLM"};
static constexpr StringLiteral seq2seqHeads[] = {"Model", "ForConditionalGeneration"};
static constexpr StringLiteral t5Heads[] = {"Model", "ForConditionalGeneration", "EncoderModel"};
static constexpr StringLiteral marianHeads[] = {"Model", "MTModel"};

static const Family families[] = {
    {"bert", "Bert", bertHeads, buildBert},
    {"electra", "Electra", electraHeads, buildElectra},
    {"albert", "Albert", bertHeads, buildAlbert},
    {"roberta", "Roberta", encoderHeads, buildRoberta},
    {"distilbert", "DistilBert", encoderHeads, buildDistilBert},
    {"deberta-v2", "DebertaV2", encoderHeads, buildDebertaV2},
    {"vit", "ViT", imageHeads, buildVit},
    {"openai-gpt", "OpenAIGPT", decoderHeads, buildOpenAIGpt},
    {"gpt2", "GPT2", decoderHeads, buildGpt2},
    {"llama", "Llama", causalHeads, buildLlama},
    {"mistral", "Mistral", causalHeads, buildMistral},
    {"qwen2", "Qwen2", causalHeads, buildQwen2},
    {"qwen3", "Qwen3", causalHeads, buildQwen3},
    {"phi3", "Phi3", causalHeads, buildPhi3},
    {"gemma", "Gemma", causalHeads, buildGemma},
    {"gpt_neox", "GPTNeoX", causalHeads, buildGptNeoX},
    {"gptj", "GPTJ", causalHeads, buildGptJ},
    {"opt", "OPT", causalHeads, buildOpt},
    {"bloom", "Bloom", causalHeads, buildBloom},
    {"bart", "Bart", seq2seqHeads, buildBart},
    {"mbart", "MBart", seq2seqHeads, buildMBart},
    {"marian", "Marian", marianHeads, buildMarian},
    {"pegasus", "Pegasus", seq2seqHeads, buildPegasus},
    {"blenderbot", "Blenderbot", seq2seqHeads, buildBlenderbot},
    {"blenderbot-small", "BlenderbotSmall", seq2seqHeads, buildBlenderbotSmall},
    {"t5", "T5", t5Heads, buildT5},
    {"whisper", "Whisper", seq2seqHeads, buildWhisper},
    {"transformer", "", {}, buildNnTransformer},
    {"annotated_transformer", "", {}, buildAnnotatedTransformer},
    {"bert_pytorch", "", {}, buildBertPytorch},
};

/// The names of a family's architectures: "BertModel", ...
static SmallVector<std::string> architectures(const Family &family) {
  SmallVector<std::string> names;
  for (StringLiteral head : family.heads)
    names.push_back((family.name + head).str());
  return names;
}

/// Configurations of before `model_type` are known by their architecture.
static const Family *findByArchitecture(StringRef architecture) {
  for (const Family &family : families)
    if (llvm::is_contained(architectures(family), architecture))
      return &family;
  return nullptr;
}

static const Family *findFamily(Config &config, StringRef architecture) {
  std::string modelType = config.text({"model_type"}, "");
  if (!config.has({"model_type"}))
    if (const Family *family = findByArchitecture(architecture))
      return family;
  std::string known;
  for (const Family &family : families) {
    if (family.modelType == modelType)
      return &family;
    known += (known.empty() ? "" : ", ") + family.modelType.str();
  }
  if (config.has({"model_type"}))
    config.failText("model_type", "one of " + known, modelType);
  else
    config.fail("model_type", "one of " + known, "no such field");
  return nullptr;
}

std::optional<FamilyChoice> transformer::chooseFamily(Config &config) {
  std::string architecture = config.architecture();
  const Family *family = findFamily(config, architecture);
  if (!family || !config.ok())
    return std::nullopt;
  // Native definitions have one form, whatever the file calls it.
  if (family->heads.empty())
    return FamilyChoice{family, ""};
  if (architecture.empty())
    return FamilyChoice{family, family->heads.front().str()};
  SmallVector<std::string> names = architectures(*family);
  if (!llvm::is_contained(names, architecture)) {
    config.failText("architectures", "one of " + llvm::join(names, ", "), architecture);
    return std::nullopt;
  }
  return FamilyChoice{family, architecture.substr(family->name.size())};
}
