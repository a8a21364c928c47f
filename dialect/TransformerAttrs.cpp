//===- TransformerAttrs.cpp - attributes ----------------------------------===//
#include "dialect/TransformerDialect.h"

using namespace mlir;
using namespace mlir::transformer;

LogicalResult InitAttr::verify(function_ref<InFlightDiagnostic()> emitError, InitKind kind,
                               FloatAttr value, std::optional<int64_t> zeroRow) {
  bool needsValue = kind == InitKind::Normal || kind == InitKind::TruncatedNormal ||
                    kind == InitKind::Uniform || kind == InitKind::Constant ||
                    kind == InitKind::Sinusoids;
  if (needsValue && !value)
    return emitError() << "init '" << stringifyInitKind(kind) << "' needs a value";
  bool mayHaveSlope = kind == InitKind::KaimingUniform || kind == InitKind::KaimingNormal;
  if (!needsValue && value && !mayHaveSlope)
    return emitError() << "init '" << stringifyInitKind(kind) << "' takes no value, found "
                       << value;
  if (value && kind != InitKind::Constant && !(value.getValueAsDouble() >= 0))
    return emitError() << "init '" << stringifyInitKind(kind) << "' needs a value >= 0, found "
                       << value;
  if (kind == InitKind::Sinusoids && value.getValueAsDouble() == 0)
    return emitError() << "init 'sinusoids' needs a value > 0, found " << value;
  if (zeroRow && !value)
    return emitError() << "init '" << stringifyInitKind(kind) << "' takes no row of zeros";
  if (zeroRow && *zeroRow < 0)
    return emitError() << "expected zero_row >= 0, found " << *zeroRow;
  return success();
}

LogicalResult DefaultAttr::verify(function_ref<InFlightDiagnostic()> emitError, DefaultKind kind,
                                  StringAttr input, int64_t value) {
  bool needsInput = kind == DefaultKind::NotEqual || kind == DefaultKind::Greater ||
                    kind == DefaultKind::CountNotEqual || kind == DefaultKind::CountBefore;
  if (needsInput && !input)
    return emitError() << "default '" << stringifyDefaultKind(kind)
                       << "' needs the name of an input";
  if (!needsInput && input)
    return emitError() << "default '" << stringifyDefaultKind(kind) << "' takes no input, found "
                       << input;
  return success();
}

/// Parses `<name, name = value, ...>` in any order; `one` parses what follows a
/// name, or refuses it.
static ParseResult parseNamed(AsmParser &parser,
                              function_ref<ParseResult(StringRef name)> parseOne) {
  SmallVector<StringRef> names;
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&]() -> ParseResult {
    SMLoc location = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    if (llvm::is_contained(names, name))
      return parser.emitError(location) << "'" << name << "' is given twice";
    names.push_back(name);
    return parseOne(name);
  });
}

static ParseResult unknownName(AsmParser &parser, StringRef name, StringRef expected) {
  return parser.emitError(parser.getCurrentLocation())
         << "expected one of " << expected << ", found '" << name << "'";
}

Attribute NormAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  std::optional<double> eps;
  bool unbiased = false, epsOutside = false;
  if (parseNamed(parser, [&](StringRef name) -> ParseResult {
        if (name == "unbiased")
          return unbiased = true, success();
        if (name == "eps_outside")
          return epsOutside = true, success();
        if (name == "eps")
          return failure(parser.parseEqual() || parser.parseFloat(eps.emplace()));
        return unknownName(parser, name, "eps, unbiased, eps_outside");
      }))
    return {};
  if (!eps) {
    parser.emitError(location) << "expected eps";
    return {};
  }
  return getChecked([&] { return parser.emitError(location); }, parser.getContext(), APFloat(*eps),
                    unbiased, epsOutside);
}

void NormAttr::print(AsmPrinter &printer) const {
  printer << "<eps = ";
  printer.printFloat(getEps());
  printer << (getUnbiased() ? ", unbiased" : "") << (getEpsOutside() ? ", eps_outside>" : ">");
}

LogicalResult NormAttr::verify(function_ref<InFlightDiagnostic()> emitError, APFloat eps, bool,
                               bool) {
  if (eps.isNaN() || (eps.isNegative() && !eps.isZero()))
    return emitError() << "expected eps >= 0, found " << eps.convertToDouble();
  return success();
}

Attribute ObjectiveAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  std::optional<ObjectiveKind> kind;
  std::optional<int64_t> padding;
  double smoothing = 0;
  if (parseNamed(parser, [&](StringRef name) -> ParseResult {
        if (name == "padding")
          return failure(parser.parseEqual() || parser.parseInteger(padding.emplace()));
        if (name == "label_smoothing")
          return failure(parser.parseEqual() || parser.parseFloat(smoothing));
        if (!kind && (kind = symbolizeObjectiveKind(name)))
          return success();
        return unknownName(parser, name, "a kind of objective, padding, label_smoothing");
      }))
    return {};
  if (!kind) {
    parser.emitError(location) << "expected a kind of objective";
    return {};
  }
  return getChecked([&] { return parser.emitError(location); }, parser.getContext(), *kind, padding,
                    smoothing);
}

void ObjectiveAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyObjectiveKind(getKind());
  if (getPadding())
    printer << ", padding = " << *getPadding();
  if (!getLabelSmoothing().isZero()) {
    printer << ", label_smoothing = ";
    printer.printFloat(getLabelSmoothing());
  }
  printer << '>';
}

LogicalResult ObjectiveAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                    ObjectiveKind kind, std::optional<int64_t>, APFloat smoothing) {
  double value = smoothing.convertToDouble();
  if (!(value >= 0 && value < 1))
    return emitError() << "expected a label_smoothing in [0, 1), found " << value;
  if (value > 0 && !labelsClasses(kind))
    return emitError() << "labels of " << stringifyObjectiveKind(kind)
                       << " are no classes, which alone are smoothed";
  return success();
}

Attribute LoraAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  int64_t rank = 0;
  double alpha = 0, dropout = 0;
  SmallVector<StringAttr> targets;
  if (parseNamed(parser, [&](StringRef name) -> ParseResult {
        if (name == "rank")
          return failure(parser.parseEqual() || parser.parseInteger(rank));
        if (name == "alpha")
          return failure(parser.parseEqual() || parser.parseFloat(alpha));
        if (name == "dropout")
          return failure(parser.parseEqual() || parser.parseFloat(dropout));
        if (name != "targets")
          return unknownName(parser, name, "rank, alpha, dropout, targets");
        return failure(parser.parseEqual() ||
                       parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
                         return parser.parseAttribute(targets.emplace_back());
                       }));
      }))
    return {};
  return getChecked([&] { return parser.emitError(location); }, parser.getContext(), rank, alpha,
                    dropout, ArrayRef<StringAttr>(targets));
}

void LoraAttr::print(AsmPrinter &printer) const {
  printer << "<rank = " << getRank() << ", alpha = ";
  printer.printFloat(getAlpha());
  if (!getDropout().isZero()) {
    printer << ", dropout = ";
    printer.printFloat(getDropout());
  }
  printer << ", targets = [";
  llvm::interleaveComma(getTargets(), printer);
  printer << "]>";
}

LogicalResult LoraAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rank,
                               APFloat alpha, APFloat dropout, ArrayRef<StringAttr> targets) {
  if (rank < 1)
    return emitError() << "expected a rank of 1 or more, found " << rank;
  if (!alpha.isFinite() || !(alpha.convertToDouble() > 0))
    return emitError() << "expected an alpha above 0, found " << alpha.convertToDouble();
  if (targets.empty() || llvm::any_of(targets, [](StringAttr target) { return target.empty(); }))
    return emitError() << "expected names of modules as targets";
  return verifyDropout(emitError, dropout);
}

bool LoraAttr::adapts(StringRef parameter) const {
  if (!parameter.consume_back(".weight"))
    return false;
  return llvm::any_of(getTargets(), [&](StringAttr target) {
    StringRef module = parameter;
    return module.consume_back(target.getValue()) && (module.empty() || module.ends_with("."));
  });
}

LogicalResult mlir::transformer::verifyDropout(function_ref<InFlightDiagnostic()> emitError,
                                               const APFloat &rate) {
  double value = rate.convertToDouble();
  if (!(value >= 0 && value < 1))
    return emitError() << "expected a rate of dropout in [0, 1), found " << value;
  return success();
}

Attribute AttentionOptionsAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  bool causal = false;
  int64_t window = 0;
  double dropout = 0;
  FloatType rounding;
  if (parseNamed(parser, [&](StringRef name) -> ParseResult {
        if (name == "causal")
          return causal = true, success();
        if (name == "bf16")
          return rounding = BFloat16Type::get(parser.getContext()), success();
        if (name == "f16")
          return rounding = Float16Type::get(parser.getContext()), success();
        if (name == "window")
          return failure(parser.parseEqual() || parser.parseInteger(window));
        if (name == "dropout")
          return failure(parser.parseEqual() || parser.parseFloat(dropout));
        return unknownName(parser, name, "causal, window, dropout, bf16, f16");
      }))
    return {};
  return getChecked([&] { return parser.emitError(location); }, parser.getContext(), causal, window,
                    dropout, rounding);
}

void AttentionOptionsAttr::print(AsmPrinter &printer) const {
  llvm::ListSeparator separator;
  llvm::raw_ostream &stream = printer.getStream();
  printer << '<';
  if (getCausal())
    stream << separator << "causal";
  if (getWindow())
    stream << separator << "window = " << getWindow();
  if (!getDropout().isZero()) {
    stream << separator << "dropout = ";
    printer.printFloat(getDropout());
  }
  if (getRounding())
    stream << separator << getRounding();
  printer << '>';
}

LogicalResult AttentionOptionsAttr::verify(function_ref<InFlightDiagnostic()> emitError, bool,
                                           int64_t window, APFloat dropout, FloatType) {
  if (window < 0)
    return emitError() << "expected a window >= 0, found " << window;
  return verifyDropout(emitError, dropout);
}
