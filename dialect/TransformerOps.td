//===- TransformerOps.td - all ops, in the order in which data meets them -*- tablegen -*-===//

#ifndef DIALECT_TRANSFORMEROPS_TD
#define DIALECT_TRANSFORMEROPS_TD

include "dialect/ParameterOps.td"
include "dialect/SequenceOps.td"
include "dialect/EmbeddingOps.td"
include "dialect/WindowOps.td"
include "dialect/LayerOps.td"
include "dialect/AttentionOps.td"
include "dialect/CacheOps.td"
include "dialect/CompositeOps.td"

#endif // DIALECT_TRANSFORMEROPS_TD
